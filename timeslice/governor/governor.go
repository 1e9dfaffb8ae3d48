package governor

import (
	"math"
	"sync"
	"time"
)

// Forever is the wait that only an event can end: ask again after the next Done
// or Observe, whichever comes first.
const Forever time.Duration = math.MaxInt64

// MaxCost is the longest cost or use that is taken at its word; more counts as
// this much.
const MaxCost = time.Hour

// A Signal says what an observation is about. A governor ignores signals that it
// has no use for, so a shim sends whatever it has.
type Signal uint8

const (
	// Used is GPU time, in nanoseconds, that this client has used since the
	// previous Used, as the device reports it (per-process utilisation times
	// the sample period). It covers what Done does not see.
	Used Signal = iota + 1
	// Loss is how far the protected tenant's progress lies under its
	// undisturbed one, in thousandths, 0 to 1000.
	Loss
	// Pressure is the number of launches of the protected tenant that wait or
	// run. Send it when it changes between zero and more.
	Pressure
)

// String names the signal.
func (s Signal) String() string {
	switch s {
	case Used:
		return "used"
	case Loss:
		return "loss"
	case Pressure:
		return "pressure"
	}
	return "unknown signal"
}

// A Governor decides when the next kernel launch of one client may go to the GPU.
// Times are since a start of the caller's choosing and must not fall; one that
// does counts as the latest seen. A negative time counts as zero.
//
// The zero value of a governor that has a constructor grants nothing.
//
// A Governor belongs to one goroutine unless it comes from [Locked]. Calls
// allocate nothing.
type Governor interface {
	// Ask asks to launch work that is expected to take cost of GPU time. Zero
	// means go: the launch is charged and must be followed by one Done. A
	// positive wait means hold it and ask again after that long, or earlier
	// after a Done or an Observe; nothing has been charged. A cost of zero or
	// less stands for an unknown one. See [Estimates] for a way to know.
	Ask(now, cost time.Duration) (wait time.Duration)

	// Done says that a granted launch has ended: cost as given to Ask, used as
	// measured. The charge is put right by the difference. Where GPU time
	// cannot be had, the elapsed time is a stand-in; see [FeedbackConfig].
	Done(now, cost, used time.Duration)

	// Observe reports what else is known; see [Signal] for the units of value.
	Observe(now time.Duration, s Signal, value int64)
}

// Open grants everything: no governor at all. The zero value is ready, and safe
// for concurrent use.
type Open struct{}

// Ask grants.
func (Open) Ask(_, _ time.Duration) time.Duration { return 0 }

// Done does nothing.
func (Open) Done(_, _, _ time.Duration) {}

// Observe does nothing.
func (Open) Observe(time.Duration, Signal, int64) {}

// Locked returns a governor safe for concurrent use: g behind a mutex, or [Open] for
// nil. The caller must not use g itself any more. Threads of one process that read the clock
// before they get the lock may call with times slightly out of order, which
// governors bear.
func Locked(g Governor) Governor {
	if g == nil {
		return Open{}
	}
	return &locked{g: g}
}

type locked struct {
	mu sync.Mutex
	g  Governor
}

func (l *locked) Ask(now, cost time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.g.Ask(now, cost)
}

func (l *locked) Done(now, cost, used time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.g.Done(now, cost, used)
}

func (l *locked) Observe(now time.Duration, s Signal, value int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.g.Observe(now, s, value)
}
