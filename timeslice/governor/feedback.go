package governor

import (
	"fmt"
	"time"
)

// FeedbackConfig configures [Feedback].
type FeedbackConfig struct {
	Limit
	// Refund is how much of what Done reports the samples may give back, in
	// thousandths, 0 to 1000. Leave it zero where Done reports GPU time. Where
	// it can only report elapsed time, which neighbours stretch, Refund trusts
	// the device's figure down to this: 500 bears one equal neighbour. A
	// device that wrongly reads zero then lets the client have up to
	// 1000/(1000 − Refund) of its share.
	Refund int
}

// Feedback holds a client to its share by credit, and keeps the credit true by
// what the device measures.
//
// Credit comes in at Share of the time, launches spend it, and Done puts the
// charge right. Each [Used] sample is then compared with the books: use that no
// launch explains (graphs, libraries that were loaded before the shim, launches
// declared too short and still running) is charged as well. Nothing accumulates
// while the client is idle beyond Burst, and nothing is owed beyond Debt.
type Feedback struct {
	account
	refund   int64
	measured int64 // ns the device has reported, without what was forgiven
	extra    int64 // ns charged beyond the launches; negative: given back
}

var _ Governor = (*Feedback)(nil)

// NewFeedback returns a governor with its burst of credit. The error wraps
// [ErrInput].
func NewFeedback(c FeedbackConfig) (*Feedback, error) {
	l, err := c.withDefaults(defaultBurstSpan)
	if err != nil {
		return nil, err
	}
	if c.Refund < 0 || c.Refund > milli {
		return nil, fmt.Errorf("governor: FeedbackConfig.Refund %d thousandths is not within 0 to %d: %w", c.Refund, milli, ErrInput)
	}
	return &Feedback{account: newAccount(l), refund: int64(c.Refund)}, nil
}

// Ask implements [Governor].
func (f *Feedback) Ask(now, cost time.Duration) time.Duration { return f.ask(now, cost) }

// Done implements [Governor].
func (f *Feedback) Done(now, cost, used time.Duration) {
	f.forget(f.done(now, cost, used)) // on both sides
}

// Observe implements [Governor]; it listens to [Used].
//
// In the long run launches and extra charge must add up to what is measured. A
// launch in flight may have used anything from nothing to its cost, so extra is
// left alone as long as it lies between the two.
func (f *Feedback) Observe(now time.Duration, s Signal, value int64) {
	if s != Used {
		return
	}
	f.advance(now)
	f.measured += min(max(value, 0), int64(MaxCost))
	high := f.measured - f.charged
	low := high - f.inflight
	extra := max(f.extra, low)
	if extra > high {
		extra = max(high, min(extra, -(f.charged/milli)*f.refund))
	}
	forgiven := f.charge(extra-f.extra, 0)
	f.extra = extra - forgiven
	f.forget(forgiven)
}

func (f *Feedback) forget(forgiven int64) {
	f.measured = max(f.measured-min(forgiven, 1<<61), -1<<61)
}

// State tells the credit and the charges.
func (f *Feedback) State() State { return f.state() }
