package governor

import (
	"fmt"
	"time"
)

// A Limit is what the governors of this package have in common: a share of GPU
// time and how far a client may get away from it. Zero fields but Share mean the
// defaults.
type Limit struct {
	// Share is the client's part of GPU time in thousandths, 1 to 1000.
	Share int
	// Burst is the GPU time that a client can save up while it does not launch,
	// and has at the start; at most MaxCost. A launch that costs more saves up
	// for itself. Default: Share of 100 ms. Over any stretch of time the client
	// is granted at most Share of it plus the larger of Burst and its longest launch.
	Burst time.Duration
	// Debt is how far launches that take longer than declared can put the
	// client behind; what goes beyond is forgiven. At most MaxCost. Default:
	// Share of 10 s, so that no mishap stops a client for more than 10 s.
	Debt time.Duration
	// Inflight bounds the GPU time granted and not yet done; a launch that
	// costs more on its own goes when nothing else is in flight. It bounds how
	// long others wait behind this client on a first-come first-served engine.
	// Default: no bound ([CoRunConfig] has its own).
	Inflight time.Duration
	// Unknown is the cost assumed for a launch that declares none. At most
	// MaxCost. Default: 1 ms.
	Unknown time.Duration
}

const (
	milli = 1000
	ppm   = 1_000_000

	defaultBurstSpan = 100 * time.Millisecond
	defaultDebtSpan  = 10 * time.Second
	defaultUnknown   = time.Millisecond
)

// withDefaults fills the zero fields; burstSpan is the time whose share is the
// default burst.
func (l Limit) withDefaults(burstSpan time.Duration) (Limit, error) {
	if l.Share < 1 || l.Share > milli {
		return l, fmt.Errorf("governor: Limit.Share %d thousandths is not within 1 to %d: %w", l.Share, milli, ErrInput)
	}
	for _, f := range []struct {
		name     string
		value    *time.Duration
		standard time.Duration
	}{
		{"Burst", &l.Burst, share(burstSpan, l.Share)},
		{"Debt", &l.Debt, share(defaultDebtSpan, l.Share)},
		{"Inflight", &l.Inflight, 0},
		{"Unknown", &l.Unknown, defaultUnknown},
	} {
		if *f.value < 0 || *f.value > MaxCost {
			return l, fmt.Errorf("governor: Limit.%s %v is not within 0 to %v: %w", f.name, *f.value, MaxCost, ErrInput)
		}
		if *f.value == 0 {
			*f.value = f.standard
		}
	}
	return l, nil
}

// share is thousandths of d, rounded down.
func share(d time.Duration, thousandths int) time.Duration {
	return d * time.Duration(thousandths) / milli
}

// A State is what a governor knows, for logs and pictures.
type State struct {
	// Rate is the share of GPU time paid out now, in millionths.
	Rate int64
	// Credit is the GPU time that could be granted at once; negative is debt.
	Credit time.Duration
	// Inflight is the declared GPU time of granted launches that are not done.
	Inflight time.Duration
	// Charged is the GPU time charged and done, without what was forgiven.
	Charged time.Duration
	// Forgiven is the debt that was dropped in all.
	Forgiven time.Duration
}
