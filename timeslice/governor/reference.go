package governor

import (
	"fmt"
	"math/bits"
	"time"
)

// Vcuda is the feedback law of vcuda and HAMi, as published, to compare with: the
// credit is in thread blocks and not in GPU time, it grows to the size of the
// whole GPU while the client is idle, and the debt has no bound.
type Vcuda struct {
	sms, threads, limit int64
	blocks              int64
	total               int64
	share               int64
	pool                int64
	last                time.Duration
}

var _ Governor = (*Vcuda)(nil)

// NewVcuda returns the law for a GPU of so many SMs, with so many threads each, and
// a limit in percent, 1 to 99. Each launch is charged with blocks, whatever it
// takes. The error wraps [ErrInput].
func NewVcuda(sms, threads, limit, blocks int) (*Vcuda, error) {
	for _, f := range []struct {
		name       string
		value, max int
	}{{"SMs", sms, 1024}, {"threads", threads, 65536}, {"limit", limit, 99}, {"blocks", blocks, 1 << 30}} {
		if f.value < 1 || f.value > f.max {
			return nil, fmt.Errorf("governor: vcuda: %s %d is not within 1 to %d: %w", f.name, f.value, f.max, ErrInput)
		}
	}
	return &Vcuda{
		sms: int64(sms), threads: int64(threads), limit: int64(limit), blocks: int64(blocks),
		total: int64(sms) * int64(threads) * 32,
	}, nil
}

// Step is one turn of the law: the share for a utilisation in percent.
func (v *Vcuda) Step(utilisation int) int64 {
	u := int64(min(max(utilisation, 0), 100))
	diff := max(v.limit-u, u-v.limit, 5)
	step := v.sms * v.sms * v.threads / 256 * diff / 10
	if diff > v.limit/2 {
		step = step * 2 * diff / (v.limit + 1)
	}
	if u > v.limit {
		step = -step
	}
	v.share = min(max(v.share+step, 0), v.total)
	return v.share
}

// Ask grants while the pool is not in debt.
func (v *Vcuda) Ask(_, _ time.Duration) time.Duration {
	if v.pool < 0 || v.blocks == 0 { // in debt, or nobody made it
		return Forever
	}
	v.pool -= v.blocks
	return 0
}

// Done does nothing: the law does not know how long a launch takes.
func (v *Vcuda) Done(_, _, _ time.Duration) {}

// Observe turns [Used] into a utilisation since the last one, steps, and adds the
// share to the pool.
func (v *Vcuda) Observe(now time.Duration, s Signal, value int64) {
	if s != Used || now <= v.last {
		return
	}
	used := min(max(value, 0), int64(now-v.last))
	hi, lo := bits.Mul64(uint64(used), 100) // used ≤ period, so the quotient is at most 100
	percent, _ := bits.Div64(hi, lo, uint64(now-v.last))
	v.last = now
	v.pool = min(v.pool+v.Step(int(percent)), v.total)
}

// TGS is the rate law of TGS as published, to compare with: a rate in launches and
// not in GPU time, which goes up whether or not the client makes use of it.
type TGS struct {
	rate, most int64
	period     time.Duration
	units      int64
	avoid      bool          // slow start is over
	until      time.Duration // end of the period
	last       time.Duration // latest time seen
	count      int64
}

var _ Governor = (*TGS)(nil)

// NewTGS returns the law at a rate, in units a period, for a production job whose
// highest rate is most. A launch counts as so many units. All are positive,
// the period at most MaxCost, the others at most 1e14. The error wraps [ErrInput].
func NewTGS(rate, most int64, period time.Duration, units int64) (*TGS, error) {
	const top = 100_000_000_000_000
	if rate < 1 || rate > top || most < 1 || most > top || period < 1 || period > MaxCost || units < 1 || units > top {
		return nil, fmt.Errorf("governor: tgs: rate %d, most %d, period %v, units %d: %w", rate, most, period, units, ErrInput)
	}
	return &TGS{rate: rate, most: most, period: period, units: units}, nil
}

// Step is one turn of the law: the rate for a loss in thousandths.
func (t *TGS) Step(loss int) int64 {
	const (
		top       = 100_000_000_000_000
		threshold = 30
		least     = 1000
	)
	switch {
	case !t.avoid && loss <= threshold:
		t.rate = t.rate*3/2 + 1
	case !t.avoid:
		t.rate = t.rate * 2 / 3
		t.avoid = true
	case loss <= threshold:
		t.rate += max(t.most/4000, least)
	default:
		t.rate -= max(t.rate*8/100, least)
		if loss >= 3*threshold {
			t.rate /= 10
			t.avoid = false
		}
	}
	t.rate = min(max(t.rate, 0), top)
	return t.rate
}

// Ask grants while the units of this period do not exceed the rate.
func (t *TGS) Ask(now, _ time.Duration) time.Duration {
	if t.period == 0 {
		return Forever // nobody made it
	}
	now = max(time.Duration(instant(now)), t.last)
	t.last = now
	if now >= t.until {
		t.count = 0
		t.until = now - now%t.period + t.period
	}
	if t.count > t.rate {
		return t.until - now
	}
	t.count += t.units
	return 0
}

// Done does nothing: the law counts launches.
func (t *TGS) Done(_, _, _ time.Duration) {}

// Observe takes a step with every [Loss].
func (t *TGS) Observe(_ time.Duration, s Signal, value int64) {
	if s == Loss {
		t.Step(int(min(max(value, 0), milli)))
	}
}
