package governor

import (
	"fmt"
	"time"
)

// CoRunConfig configures [CoRun].
type CoRunConfig struct {
	// Limit bounds the client at all times; Inflight defaults to 2 ms here. It
	// is the price of starting while the protected tenant sleeps: a launch
	// cannot be called back, so a request that arrives waits for about this.
	Limit
	// Beside is the share of GPU time, in thousandths, that the client gets
	// while the protected tenant has work. Default 0: it waits. At most Share.
	Beside int
	// Quiet is how long the protected tenant must have had no work before the
	// client goes on. Default 0. Requests that come in trains are met less
	// often with Quiet a little over the gap within a train.
	Quiet time.Duration
}

// CoRun lets best-effort work fill what latency-critical work leaves: it goes
// while the protected tenant has nothing to do, as told by [Pressure], with few
// launches in flight, and holds, or keeps to a small share, as soon as it has.
//
// With Beside zero a protected tenant that never rests starves the client; that
// is then its meaning.
type CoRun struct {
	account
	beside account
	quiet  int64
	from   int64 // when the client may go on, while not active
	active bool
}

var _ Governor = (*CoRun)(nil)

// NewCoRun returns a governor that takes the protected tenant to be at rest. The
// error wraps [ErrInput].
func NewCoRun(c CoRunConfig) (*CoRun, error) {
	l, err := c.withDefaults(defaultBurstSpan)
	if err != nil {
		return nil, err
	}
	if c.Beside < 0 || c.Beside > c.Share {
		return nil, fmt.Errorf("governor: CoRunConfig.Beside %d thousandths is not within 0 to Share %d: %w", c.Beside, c.Share, ErrInput)
	}
	if c.Quiet < 0 || c.Quiet > MaxCost {
		return nil, fmt.Errorf("governor: CoRunConfig.Quiet %v is not within 0 to %v: %w", c.Quiet, MaxCost, ErrInput)
	}
	if l.Inflight == 0 {
		l.Inflight = 2 * time.Millisecond
	}
	g := &CoRun{account: newAccount(l), quiet: int64(c.Quiet)}
	l.Share, l.Burst, l.Inflight = c.Beside, min(l.Burst, l.Inflight), 0
	g.beside = newAccount(l)
	g.beside.credit = 0 // no burst beside a tenant at work
	return g, nil
}

// Ask implements [Governor].
func (g *CoRun) Ask(now, cost time.Duration) time.Duration {
	at := g.advance(now)
	g.beside.advance(now)
	c := g.cost(cost)
	wait := g.check(c)
	if g.active {
		wait = max(wait, g.beside.check(c))
	} else {
		wait = max(wait, time.Duration(g.from-at))
	}
	if wait > 0 {
		g.keep(c, wait)
		g.beside.keep(c, wait)
		return wait
	}
	g.take(c)
	if g.active {
		g.beside.take(c)
		g.beside.inflight -= c // counted once, in the client's own account
	}
	return 0
}

// Done implements [Governor].
func (g *CoRun) Done(now, cost, used time.Duration) {
	g.done(now, cost, used)
	g.beside.advance(now)
	if over := spent(used) - g.cost(cost); over > 0 && g.active {
		g.beside.charge(over, 0)
	}
}

// Observe implements [Governor]; it listens to [Pressure].
func (g *CoRun) Observe(now time.Duration, s Signal, value int64) {
	if s != Pressure {
		return
	}
	at := g.advance(now)
	g.beside.advance(now)
	if g.active && value <= 0 {
		g.from = at + g.quiet
	}
	g.active = value > 0
}

// State tells the credit and the charges.
func (g *CoRun) State() State { return g.state() }
