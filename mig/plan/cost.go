package plan

import (
	"math"
	"math/bits"
	"time"

	"github.com/gpushare/gpushare/mig"
)

// Costs are the durations of what a plan does on a device. A zero Costs makes
// everything free.
type Costs struct {
	DestroyGPUInstance     time.Duration
	CreateGPUInstance      time.Duration
	DestroyComputeInstance time.Duration
	CreateComputeInstance  time.Duration
	SetMode                time.Duration
	Reset                  time.Duration

	// JobSetup is the time from an instance that exists to a job that does useful
	// work in it: scheduling, container start, context, loading of weights.
	JobSetup time.Duration
}

// Assumption is one constant of DefaultCosts with where it comes from.
type Assumption struct {
	Name   string        `json:"name"`
	Value  time.Duration `json:"nanoseconds"`
	Source string        `json:"source"`

	// Published says that a public source gives the figure, be it one observation.
	// Where false the figure is an assumption of this package: measure your own.
	Published bool `json:"published"`
}

// DefaultCosts returns the costs to use where nothing was measured. Only one of
// them is published: see Assumptions.
func DefaultCosts() Costs {
	return Costs{
		DestroyGPUInstance:     time.Second,
		CreateGPUInstance:      500 * time.Millisecond,
		DestroyComputeInstance: 100 * time.Millisecond,
		CreateComputeInstance:  100 * time.Millisecond,
		SetMode:                2 * time.Second,
		Reset:                  10 * time.Second,
		JobSetup:               5 * time.Second,
	}
}

// Assumptions lists the constants of DefaultCosts, each with its source.
func Assumptions() []Assumption {
	c := DefaultCosts()
	const assumed = "assumed; no public figure"
	return []Assumption{
		{"destroy GPU instance", c.DestroyGPUInstance, "about a second on real hardware, by a comment in NVIDIA's DRA driver", true},
		{"create GPU instance", c.CreateGPUInstance, assumed, false},
		{"destroy compute instance", c.DestroyComputeInstance, assumed, false},
		{"create compute instance", c.CreateComputeInstance, assumed, false},
		{"set MIG mode", c.SetMode, assumed, false},
		{"reset GPU", c.Reset, assumed, false},
		{"set up a job", c.JobSetup, assumed + "; depends on the job more than on the GPU", false},
	}
}

// Cost is what a plan costs. Slice-time is time of one memory slice: three slices
// that stand still for two seconds are six seconds.
type Cost struct {
	Duration time.Duration // of all steps, one after another

	// Lost is the work of the destroyed instances that is done again, in slice-time.
	Lost time.Duration

	// Downtime is the slice-time out of service: each slice of a destroyed instance
	// counts from the begin of that step until JobSetup after the step that creates
	// an instance over it, or until the end of the plan where none does.
	Downtime time.Duration
}

// SliceTime returns Lost and Downtime together, at most what a time.Duration holds.
func (c Cost) SliceTime() time.Duration {
	if c.Lost > 0 && c.Downtime > math.MaxInt64-c.Lost {
		return math.MaxInt64
	}
	return c.Lost + c.Downtime
}

// Of returns what a plan costs, its steps one after another. The answer means
// something for plans that Check accepts, and constants of less than a year.
func (c Costs) Of(p Plan) Cost {
	var cost Cost
	starts := make([]time.Duration, len(p.Steps)+1)
	for i, s := range p.Steps {
		starts[i+1] = starts[i] + c.step(s)
	}
	cost.Duration = starts[len(p.Steps)]
	for i, s := range p.Steps {
		if s.Op != Destroy {
			continue
		}
		size := min(s.Size, mig.MaxUnits) // no GPU has more
		cost.Lost += time.Duration(s.LossSeconds) * time.Second * time.Duration(size)
		for slice := s.Start; slice < s.Start+size; slice++ {
			back := cost.Duration
			for j := i + 1; j < len(p.Steps); j++ {
				if n := p.Steps[j]; n.Op == Create && n.Start <= slice && slice < n.Start+n.Size {
					back = starts[j+1] + c.JobSetup
					break
				}
			}
			cost.Downtime += back - starts[i]
		}
	}
	return cost
}

func (c Costs) step(s Step) time.Duration {
	inside := time.Duration(len(s.Compute))
	if s.Op == Destroy {
		return c.DestroyGPUInstance + inside*c.DestroyComputeInstance
	}
	return c.CreateGPUInstance + inside*c.CreateComputeInstance
}

// Mode returns how long the steps of a mode change take; a reset that may be
// needed counts.
func (c Costs) Mode(steps []ModeStep) time.Duration {
	var d time.Duration
	for _, s := range steps {
		if s.Op == SetMode {
			d += c.SetMode
		} else {
			d += c.Reset
		}
	}
	return d
}

// BreakEven returns how long after its start a change with this cost has paid for
// itself, if from its end on it gains so many thousandths of a memory slice
// (1000: one more slice does useful work). It is
//
//	Duration + SliceTime / gain
//
// rounded up to the nanosecond, and false if that never happens: a gain of zero
// does not pay for a change that costs anything, a negative one never pays, nor
// does one that takes longer than a time.Duration can hold. What costs nothing and
// takes nothing away pays at once.
func (c Cost) BreakEven(gainMilli int) (time.Duration, bool) {
	price := c.SliceTime()
	if price <= 0 && gainMilli >= 0 {
		return 0, true
	}
	if gainMilli <= 0 {
		return 0, false
	}
	high, low := bits.Mul64(uint64(price), 1000)
	gain := uint64(gainMilli)
	if high >= gain {
		return 0, false
	}
	quotient, rest := bits.Div64(high, low, gain)
	if rest > 0 {
		quotient++
	}
	if quotient > math.MaxInt64-uint64(c.Duration) {
		return 0, false
	}
	return c.Duration + time.Duration(quotient), true
}
