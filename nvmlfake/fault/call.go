package fault

import (
	"slices"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// method is what the generated list says of a method.
type method struct {
	name      string
	onGPU     bool // a call on a GPU or on what is cut from it
	codesOnly bool // it returns nothing but codes
}

// ruleSet is a list of rules in use. The lock of its Rules guards it.
type ruleSet struct {
	seed  uint64
	rules []*compiled
	lost  map[*gpu]bool
}

// record is a Call as it is kept.
type record struct {
	method int
	gpu    *gpu // nil: none
	fired  []int
	done   bool
	ret    nvml.Return
}

func (e record) call(n int) Call {
	c := Call{N: n, Method: methods[e.method].name, GPU: -1, Fired: slices.Clone(e.fired), Done: e.done, Return: e.ret}
	if e.gpu != nil {
		c.GPU, c.UUID = e.gpu.index, e.gpu.uuid
	}
	return c
}

// call is a call under way.
type call struct {
	rules  *Rules // nil: of a handle that no library gave out
	set    *ruleSet
	record record
	n      int         // its number
	pass   bool        // let the library do it
	answer bool        // with code, whatever the library says
	code   nvml.Return // if answer
}

// begin looks at a call before it is made. On an invalid handle nothing is done.
func (o origin) begin(m int, valid bool) call {
	c := call{rules: o.rules, pass: valid, answer: !valid, code: nvml.ERROR_INVALID_ARGUMENT}
	r := o.rules
	if r == nil {
		return c
	}
	c.record = record{method: m, gpu: o.gpu}
	c.set = r.set.Load()
	over := c.set.asked(m, o.gpu, c.record)
	r.mu.Lock()
	c.set.apply(&c, over)
	r.calls = append(r.calls, c.record)
	c.n = r.first + len(r.calls)
	r.mu.Unlock()
	for _, i := range c.record.fired {
		c.set.rules[i].before(&c)
	}
	return c
}

// asked returns the rules that their own function ends, by their place. It runs
// without the lock.
func (s *ruleSet) asked(m int, g *gpu, e record) map[int]bool {
	if s == nil {
		return nil
	}
	var over map[int]bool
	for i, rule := range s.rules {
		if rule.Until != nil && rule.methods.has(m) && rule.on(g) && rule.Until(e.call(0)) {
			if over == nil {
				over = map[int]bool{}
			}
			over[i] = true
		}
	}
	return over
}

// apply lets the rules decide, with the lock held.
func (s *ruleSet) apply(c *call, over map[int]bool) {
	if s == nil {
		return
	}
	m, g := c.record.method, c.record.gpu
	if g != nil && s.lost[g] {
		c.pass, c.answer, c.code = false, true, nvml.ERROR_GPU_IS_LOST
		return
	}
	decided := false
	for i, rule := range s.rules {
		if !rule.on(g) {
			continue
		}
		rule.over = rule.over || over[i] || rule.hasUntil && rule.until.has(m)
		if !rule.methods.has(m) || !rule.fires(s.seed, i) {
			continue
		}
		c.record.fired = append(c.record.fired, i)
		if rule.Effect == Pass || decided {
			continue
		}
		decided = true
		c.answer, c.code = true, rule.Return
		c.pass = c.pass && rule.Effect == After
		if rule.Effect == Lose {
			s.lost[g] = true
			c.code = nvml.ERROR_GPU_IS_LOST
		}
	}
}

func (c *compiled) before(under *call) {
	if c.Delay > 0 {
		time.Sleep(c.Delay)
	}
	if c.Block != nil {
		<-c.Block
	}
	if c.Before != nil {
		c.Before(under.record.call(under.n))
	}
}

func (c *compiled) after(under *call) {
	if c.After != nil {
		c.After(under.record.call(under.n))
	}
	if c.DelayAfter > 0 {
		time.Sleep(c.DelayAfter)
	}
}

// end looks at a call after it was made, or not, and returns the code that the
// client gets, and whether that is all that the client gets.
func (c *call) end(ret nvml.Return) (nvml.Return, bool) {
	if c.answer {
		ret = c.code
	}
	r := c.rules
	if r == nil {
		return ret, c.answer
	}
	c.record.done, c.record.ret = true, ret
	for _, i := range c.record.fired {
		c.set.rules[i].after(c)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := c.n - 1 - r.first; i >= 0 {
		r.calls[i] = c.record
	}
	return ret, c.answer
}
