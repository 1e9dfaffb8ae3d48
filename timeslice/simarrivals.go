package timeslice

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
)

// Job is work that arrives: At ns after its client started, for Work ns of the
// GPU.
type Job struct {
	At, Work int64
}

// Arrivals says when a client has work. It is one of [AlwaysBusy], [Periodic],
// [Poisson] and [Trace]. The jobs of a client run in the order in which they come.
type Arrivals interface {
	validate() error
	jobs(seed, stream uint64) func() (Job, bool) // in the order of At
}

// AlwaysBusy is endless work from the start.
type AlwaysBusy struct{}

// Periodic is a burst of Work ns at First and then every so many ns: a frame, a
// training step.
type Periodic struct {
	First int64 // at least 0
	Every int64 // at least 1
	Work  int64 // at least 1
}

// Poisson is jobs at random, independent of each other, one in Every ns in the
// mean. They take Work ns each or, if Vary, so many in the mean with an exponential
// distribution. The sequence depends on the seed of the [Sim] and the index of the client.
type Poisson struct {
	Every int64 // mean gap, at least 1
	Work  int64 // at least 1
	Vary  bool
}

// Trace is a given list of jobs, in the order of At, each with a Work of at least 1.
// It is not copied: leave it as it is during a simulation.
type Trace []Job

var (
	_ Arrivals = AlwaysBusy{}
	_ Arrivals = Periodic{}
	_ Arrivals = Poisson{}
	_ Arrivals = Trace(nil)
)

// endless is the work of AlwaysBusy: more than any horizon.
const endless = 4 * MaxTime

func (AlwaysBusy) validate() error { return nil }

func (AlwaysBusy) jobs(_, _ uint64) func() (Job, bool) {
	return Trace{{Work: endless}}.jobs(0, 0)
}

func (p Periodic) validate() error {
	if p.First < 0 || p.First > MaxTime || p.Every < 1 || p.Every > MaxTime || p.Work < 1 || p.Work > MaxTime {
		return fmt.Errorf("%w: periodic arrivals %+v: Every and Work are in 1..%d, First in 0..%[3]d", ErrInput, p, MaxTime)
	}
	return nil
}

func (p Periodic) jobs(_, _ uint64) func() (Job, bool) {
	next := p.First
	return func() (Job, bool) {
		at := next
		next = min(next+p.Every, endless)
		return Job{At: at, Work: p.Work}, true
	}
}

func (p Poisson) validate() error {
	if p.Every < 1 || p.Every > MaxTime || p.Work < 1 || p.Work > MaxTime {
		return fmt.Errorf("%w: Poisson arrivals %+v: Every and Work are in 1..%d", ErrInput, p, MaxTime)
	}
	return nil
}

func (p Poisson) jobs(seed, stream uint64) func() (Job, bool) {
	source := rand.NewPCG(seed, stream)
	var at int64
	return func() (Job, bool) {
		at = min(at+exponential(source, p.Every), endless)
		work := p.Work
		if p.Vary {
			work = max(1, exponential(source, p.Work))
		}
		return Job{At: at, Work: work}, true
	}
}

// exponential draws from the exponential distribution with this mean, rounded
// down and at most MaxTime. It is von Neumann's method, which compares uniform
// numbers and needs no logarithm, so it draws the same on every machine: the first of a
// falling run u1 > u2 > ... is kept if the run has odd length; each run that is not
// kept adds one mean.
func exponential(source *rand.PCG, mean int64) int64 {
	var whole int64
	for {
		first := source.Uint64()
		odd, last := true, first
		for next := source.Uint64(); next < last; next = source.Uint64() {
			odd, last = !odd, next
		}
		if odd {
			part, _ := bits.Mul64(first, uint64(mean))
			return min(whole+int64(part), MaxTime)
		}
		whole = min(whole+mean, MaxTime)
	}
}

func (t Trace) validate() error {
	var last int64
	for i, j := range t {
		if j.At < last || j.At > MaxTime || j.Work < 1 || j.Work > MaxTime {
			return fmt.Errorf("%w: job %d of the trace, %+v after %d: At does not fall and is at most %d, Work is in 1..%[4]d",
				ErrInput, i, j, last, MaxTime)
		}
		last = j.At
	}
	return nil
}

func (t Trace) jobs(_, _ uint64) func() (Job, bool) {
	next := 0
	return func() (Job, bool) {
		if next >= len(t) {
			return Job{}, false
		}
		next++
		return t[next-1], true
	}
}
