package governor

import (
	"fmt"
	"time"
)

// Gemini is the quota law of Gemini (KubeShare) as published, to compare with: a
// client holds the token for a quota of GPU time, and the next quota is the mean
// of the last one and of the burst that was used, within bounds. A quota is handed
// out while the use within the window lies under the limit.
type Gemini struct {
	quota, least, most time.Duration
	left               time.Duration // of the token
	burst              time.Duration // used of it
	held               bool
	window             window
	inflight, last     int64
}

var _ Governor = (*Gemini)(nil)

// NewGemini returns the law with a first quota and the bounds of all others, all
// positive and at most MaxCost; the client may use limit thousandths of a window
// of 1 ms to MaxCost. The error wraps [ErrInput].
func NewGemini(quota, least, most time.Duration, limit int, window time.Duration) (*Gemini, error) {
	if least < 1 || most < least || most > MaxCost || quota < least || quota > most {
		return nil, fmt.Errorf("governor: gemini: quota %v is not within %v to %v, both positive: %w", quota, least, most, ErrInput)
	}
	if limit < 1 || limit > milli {
		return nil, fmt.Errorf("governor: gemini: limit %d thousandths is not within 1 to %d: %w", limit, milli, ErrInput)
	}
	if err := checkWindow(window); err != nil {
		return nil, err
	}
	return &Gemini{quota: quota, least: least, most: most, window: newWindow(window, share(window, limit))}, nil
}

// Step is one turn of the law: the next quota after a burst.
func (g *Gemini) Step(burst time.Duration) time.Duration {
	burst = min(max(burst, 0), MaxCost)
	g.quota = min(max((g.quota+burst)/2, g.least), g.most)
	return g.quota
}

// Ask grants as long as there is something left of the quota, and takes a new one
// when the window allows. A launch that declares no cost counts as 1 ms.
func (g *Gemini) Ask(now, cost time.Duration) time.Duration {
	g.slide(now)
	if g.held && g.left <= 0 {
		g.Step(g.burst)
		g.held = false
	}
	if !g.held {
		if wait := g.window.full(); wait > 0 {
			return wait
		}
		g.held, g.left, g.burst = true, g.quota, 0
	}
	if cost <= 0 {
		cost = defaultUnknown
	}
	c := min(cost, MaxCost)
	g.window.take(int64(c))
	g.inflight += int64(c)
	g.left -= c
	return 0
}

// Done counts the use.
func (g *Gemini) Done(now, cost, used time.Duration) {
	g.slide(now)
	if cost <= 0 {
		cost = defaultUnknown
	}
	reserved := min(int64(min(cost, MaxCost)), g.inflight)
	g.inflight -= reserved
	g.window.done(reserved, spent(used))
	g.burst += time.Duration(spent(used))
}

// Observe does nothing.
func (g *Gemini) Observe(time.Duration, Signal, int64) {}

func (g *Gemini) slide(now time.Duration) {
	g.last = max(g.last, instant(now))
	g.window.slide(g.last)
}
