package governor

import (
	"fmt"
	"time"
)

// AIMDConfig configures [AIMD]. Zero fields of the law mean the defaults.
type AIMDConfig struct {
	// Limit bounds the rate: Share is its maximum. Burst defaults to Share of
	// 10 ms here, since a protected tenant feels every burst.
	Limit
	// Floor is the least rate, in thousandths of GPU time, that is kept to
	// find out whether there is room. Default 10; at most Share.
	Floor int
	// Target is the loss of the protected tenant, in thousandths, up to which
	// the rate goes up. Default 30.
	Target int
	// Severe is the loss from which the rate collapses to a tenth; above 1000
	// never. Default three times Target, at least 90.
	Severe int
	// Step is what is added at a time, in millionths of GPU time. Default
	// 2,500.
	Step int
	// Cut is what is taken off at a time, in thousandths of the rate. Default
	// 80.
	Cut int
}

// AIMD gives a best-effort client what a protected tenant does not miss: with
// every [Loss] sample the rate goes up a step while the loss is within Target,
// and down by a part of itself above it. It starts at Floor with a slow start,
// times 1.5 a sample, which the first loss ends.
//
// The rate is a share of GPU time. It goes up only when it was the rate that
// held the client back, so that an idle client does not come back with a rate
// that nobody has tried; and down only when the client has used the GPU since
// the last sample, since otherwise the loss is not its doing.
type AIMD struct {
	account
	law   AIMDConfig
	top   int64 // ppm
	floor int64 // ppm
	slow  bool
	seen  int64 // charged at the last sample
}

var _ Governor = (*AIMD)(nil)

// NewAIMD returns a governor at its floor. The error wraps [ErrInput].
func NewAIMD(c AIMDConfig) (*AIMD, error) {
	l, err := c.withDefaults(10 * time.Millisecond)
	if err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name               string
		value              *int
		standard, min, max int
	}{
		{"Floor", &c.Floor, min(10, c.Share), 1, c.Share},
		{"Target", &c.Target, 30, 1, milli},
		{"Severe", &c.Severe, max(90, 3*c.Target), 1, ppm},
		{"Step", &c.Step, 2500, 1, ppm},
		{"Cut", &c.Cut, 80, 1, milli},
	} {
		if *f.value == 0 {
			*f.value = f.standard
		}
		if *f.value < f.min || *f.value > f.max {
			return nil, fmt.Errorf("governor: AIMDConfig.%s %d is not within %d to %d: %w", f.name, *f.value, f.min, f.max, ErrInput)
		}
	}
	if c.Severe < c.Target {
		return nil, fmt.Errorf("governor: AIMDConfig.Severe %d is under Target %d: %w", c.Severe, c.Target, ErrInput)
	}
	a := &AIMD{account: newAccount(l), law: c, slow: true}
	a.top, a.floor = a.rate, int64(c.Floor)*(ppm/milli)
	a.rate = a.floor
	return a, nil
}

// Ask implements [Governor].
func (a *AIMD) Ask(now, cost time.Duration) time.Duration { return a.ask(now, cost) }

// Done implements [Governor].
func (a *AIMD) Done(now, cost, used time.Duration) { a.done(now, cost, used) }

// Observe implements [Governor]; it listens to [Loss].
func (a *AIMD) Observe(now time.Duration, s Signal, value int64) {
	if s != Loss {
		return
	}
	a.advance(now) // at the old rate
	loss := int(min(max(value, 0), milli))
	used := a.charged != a.seen || a.inflight > 0
	held := a.held
	a.seen, a.held = a.charged, false
	switch {
	case loss <= a.law.Target && !held, loss > a.law.Target && !used:
		return
	case loss <= a.law.Target && a.slow:
		a.rate += a.rate/2 + 1
	case loss <= a.law.Target:
		a.rate += int64(a.law.Step)
	case a.slow:
		a.rate = a.rate * 2 / 3
		a.slow = false
	default:
		a.rate -= max(a.rate*int64(a.law.Cut)/milli, int64(a.law.Step))
		if loss >= a.law.Severe {
			a.rate /= 10
			a.slow = true
		}
	}
	a.rate = min(max(a.rate, a.floor), a.top)
}

// State tells the rate, the credit and the charges.
func (a *AIMD) State() State { return a.state() }
