package fault

import (
	"errors"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// methodSet is a set of places in the list of methods.
type methodSet [len(methods)/64 + 1]uint64

func (s *methodSet) add(m int)      { s[m/64] |= 1 << (m % 64) }
func (s *methodSet) has(m int) bool { return s[m/64]&(1<<(m%64)) != 0 }

// parseMethods reads a list of patterns. Each has to match something. The second
// set holds what is named in full.
func parseMethods(field, list string) (set, named methodSet, err error) {
	for pattern := range strings.SplitSeq(list, ",") {
		pattern = strings.TrimSpace(pattern)
		matched := false
		for m, method := range methods {
			ok, err := path.Match(pattern, method.name)
			if err != nil {
				return set, named, fmt.Errorf("%s %q: %w", field, pattern, err)
			}
			if ok {
				set.add(m)
				matched = true
			}
			if pattern == method.name {
				named.add(m)
			}
		}
		if !matched {
			return set, named, fmt.Errorf("%s %q: no method of that name", field, pattern)
		}
	}
	return set, named, nil
}

// compiled is a rule in use. The lock of its Rules guards the counts.
type compiled struct {
	Rule
	methods, until methodSet
	named          methodSet // of methods, those that a pattern names in full
	hasUntil       bool
	index          int // of the GPU; -1: by UUID or any

	matched, fired int
	over           bool
}

func compile(r Rule) (*compiled, error) {
	c := &compiled{Rule: r, index: -1}
	var err error
	if c.methods, c.named, err = parseMethods("method", r.Method); err != nil {
		return nil, err
	}
	if r.UntilCall != "" {
		c.hasUntil = true
		if c.until, _, err = parseMethods("until call", r.UntilCall); err != nil {
			return nil, err
		}
	}
	if n, err := strconv.Atoi(r.GPU); err == nil {
		if n < 0 {
			return nil, fmt.Errorf("GPU %q: neither an index nor a UUID", r.GPU)
		}
		c.index = n
	}
	switch {
	case r.Nth < 0:
		return nil, fmt.Errorf("nth %d: below 0", r.Nth)
	case r.Times < 0:
		return nil, fmt.Errorf("times %d: below 0", r.Times)
	case math.IsNaN(r.Probability) || r.Probability < 0 || r.Probability > 1:
		return nil, fmt.Errorf("probability %v: not from 0 to 1", r.Probability)
	case r.Delay < 0 || r.DelayAfter < 0:
		return nil, fmt.Errorf("delay %v, delay after %v: below 0", r.Delay, r.DelayAfter)
	}
	return c, c.checkEffect()
}

func (c *compiled) checkEffect() error {
	needsCode := c.Effect == Refuse || c.Effect == After
	switch {
	case c.Effect > Lose:
		return fmt.Errorf("effect %d: unknown", c.Effect)
	case needsCode && c.Return == nvml.SUCCESS:
		return fmt.Errorf("effect %s: no code to return", c.Effect)
	case !needsCode && c.Return != nvml.SUCCESS:
		return fmt.Errorf("effect %s: does not return %s", c.Effect, c.Return.Error())
	case c.Effect == Pretend:
		return c.every("effect pretend: %s returns more than codes", func(m method) bool { return m.codesOnly })
	case c.Effect == Lose:
		return c.every("effect lose: %s is not a call on a GPU", func(m method) bool { return m.onGPU })
	case c.Effect == Pass && c.Delay == 0 && c.DelayAfter == 0 && c.Block == nil && c.Before == nil && c.After == nil:
		return errors.New("it does nothing")
	default:
		return nil
	}
}

// every checks what a rule's methods have to be. A pattern for several means
// those that are.
func (c *compiled) every(refusal string, ok func(method) bool) error {
	for m, method := range methods {
		if !c.methods.has(m) || ok(method) {
			continue
		}
		if c.named.has(m) {
			return fmt.Errorf(refusal, method.name)
		}
		c.methods[m/64] &^= 1 << (m % 64)
	}
	if c.methods == (methodSet{}) {
		return fmt.Errorf(refusal, strconv.Quote(c.Method))
	}
	return nil
}

// on reports whether a call on that GPU, or on none, concerns the rule.
func (c *compiled) on(g *gpu) bool {
	switch {
	case c.GPU == "":
		return true
	case g == nil:
		return false
	case c.index >= 0:
		return g.index == c.index
	default:
		return g.uuid == c.GPU
	}
}

// fires counts a call that matches and says whether the rule fires for it.
func (c *compiled) fires(seed uint64, place int) bool {
	c.matched++
	if c.over || c.matched < c.Nth || c.Times > 0 && c.fired >= c.Times {
		return false
	}
	if c.Probability > 0 && draw(seed, uint64(place), uint64(c.matched)) >= c.Probability {
		return false
	}
	c.fired++
	return true
}

// draw returns a number from 0 up to 1 that follows from all arguments: the
// finaliser of SplitMix64 over them.
func draw(numbers ...uint64) float64 {
	x := uint64(0)
	for _, n := range numbers {
		x += n + 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return float64(x>>11) / (1 << 53)
}
