package governor

import (
	"fmt"
	"time"
)

// QuotaConfig configures [Quota].
type QuotaConfig struct {
	// Limit without Burst, which must be zero: the quota of one window, Share
	// of Window, takes its place.
	Limit
	// Window is the length over which the quota is counted, 1 ms to MaxCost.
	// Default 100 ms. Over a stretch L the share is off by at most Window / L
	// of itself, and a launch.
	Window time.Duration
}

// Quota gives a client tokens of GPU time, Share of Window, for any window of that
// length: a launch goes while less than the quota was granted in the last Window,
// and its tokens come back when it has slid out. It is stricter than credit:
// credit that was saved up can be spent beside what comes in, twice the burst in
// one window; tokens never exceed the quota by more than the last launch.
//
// What the last launch of a window takes too much is repaid in the next ones. A
// window is kept in 128 parts and given back by whole parts, which may cost the
// client up to 1/128 of its share. A launch longer than declared counts in full;
// after its window only what Limit.Debt covers is still held against the client.
type Quota struct {
	account
	window
}

var _ Governor = (*Quota)(nil)

// NewQuota returns a governor with a full quota. The error wraps [ErrInput].
func NewQuota(c QuotaConfig) (*Quota, error) {
	if c.Burst != 0 {
		return nil, fmt.Errorf("governor: QuotaConfig.Burst %v: the quota of a window is the burst: %w", c.Burst, ErrInput)
	}
	if c.Window == 0 {
		c.Window = defaultBurstSpan
	}
	if err := checkWindow(c.Window); err != nil {
		return nil, err
	}
	l, err := c.withDefaults(c.Window)
	if err != nil {
		return nil, err
	}
	return &Quota{account: newAccount(l), window: newWindow(c.Window, l.Burst)}, nil
}

func checkWindow(d time.Duration) error {
	if d < time.Millisecond || d > MaxCost {
		return fmt.Errorf("governor: a window of %v is not within 1ms to %v: %w", d, MaxCost, ErrInput)
	}
	return nil
}

// Ask implements [Governor].
func (q *Quota) Ask(now, cost time.Duration) time.Duration {
	q.slide(q.advance(now))
	c := q.cost(cost)
	wait := max(q.check(c), q.full())
	if wait == 0 {
		q.account.take(c)
		q.window.take(c)
	} else {
		q.keep(c, wait)
	}
	return wait
}

// Done implements [Governor].
func (q *Quota) Done(now, cost, used time.Duration) {
	q.slide(q.advance(now))
	before := q.inflight
	q.account.done(now, cost, used)
	q.window.done(before-q.inflight, spent(used))
}

// Observe implements [Governor]; a quota listens to nothing.
func (q *Quota) Observe(time.Duration, Signal, int64) {}

// State tells the credit and the charges. A client with credit may still have to
// wait for its window.
func (q *Quota) State() State { return q.state() }
