package fault

import (
	"sync"
	"sync/atomic"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Rules decide what becomes of the calls through the wrappers that share them,
// and record these calls. The zero value lets everything pass. It is safe for
// concurrent use, and must not be copied.
type Rules struct {
	set atomic.Pointer[ruleSet]

	seed  uint64
	mu    sync.Mutex // guards the rest and the counts of the set
	calls []record
	first int // number of the first of calls, less one
	gpus  map[string]*gpu
}

// New returns rules. The seed decides the draws of those with a Probability. The
// error is Set's.
func New(seed uint64, rules ...Rule) (*Rules, error) {
	r := &Rules{seed: seed}
	if err := r.Set(rules...); err != nil {
		return nil, err
	}
	return r, nil
}

// Set replaces all rules: counts begin anew and a lost GPU is back. A call that
// is under way ends under the rules it began with. The error names the rule's
// place in the list and the value at fault and wraps ErrBadRule; then nothing
// has changed.
func (r *Rules) Set(rules ...Rule) error {
	set := &ruleSet{seed: r.seed, lost: map[*gpu]bool{}}
	for i, rule := range rules {
		c, err := compile(rule)
		if err != nil {
			return badRule(i, err)
		}
		set.rules = append(set.rules, c)
	}
	r.set.Store(set)
	return nil
}

// Fired returns how many times each rule of the list fired. A test should look:
// a fault that was never met proves nothing.
func (r *Rules) Fired() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	set := r.set.Load()
	if set == nil {
		return nil
	}
	fired := make([]int, len(set.rules))
	for i, c := range set.rules {
		fired[i] = c.fired
	}
	return fired
}

// Calls returns the calls made since the last Forget, in the order in which they
// began. The slice is the caller's.
func (r *Rules) Calls() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := make([]Call, len(r.calls))
	for i, e := range r.calls {
		calls[i] = e.call(r.first + i + 1)
	}
	return calls
}

// Forget empties the list of calls. Numbers go on.
func (r *Rules) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first += len(r.calls)
	r.calls = r.calls[:0]
}

// Wrap returns a library whose calls pass the rules on their way to lib. Without
// rules (nil) it is lib itself.
func Wrap(lib nvml.Interface, rules *Rules) nvml.Interface {
	if rules == nil {
		return lib
	}
	return library{lib, origin{rules: rules}}
}

// WrapDevice is Wrap for one device, a GPU or a MIG device. It asks the device who it is.
func WrapDevice(d nvml.Device, rules *Rules) nvml.Device {
	if rules == nil {
		return d
	}
	return origin{rules: rules}.resolved(d)
}
