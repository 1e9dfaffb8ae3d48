package plan

import "time"

// Gate keeps a GPU from being cut again and again. It holds a change back until
// the same better layout has been wanted for long enough, and until the last
// change is long enough ago. It is plain data: keep one per GPU, store it where
// you like, and replace it with what its methods return. The clock is the
// caller's. The zero Gate lets every change pass. In JSON durations are nanoseconds.
type Gate struct {
	Persist  time.Duration `json:"persist"`  // how long the same must be wanted without a break
	Dwell    time.Duration `json:"dwell"`    // how long a layout stays at least after a change began
	CoolDown time.Duration `json:"coolDown"` // how long nothing is tried after a change failed or was rolled back

	Wanted  string    `json:"wanted"`  // what was wanted last; empty: nothing
	Since   time.Time `json:"since"`   // since when, without a break
	Changed time.Time `json:"changed"` // when the last change passed; zero: never
	Failed  time.Time `json:"failed"`  // when one failed last; zero: never
}

// Reason says why a gate holds a change back.
type Reason string

// The reasons.
const (
	Open       Reason = "open"       // it passes
	NotWanted  Reason = "not wanted" // no change is wanted
	Persisting Reason = "persist"    // not wanted for long enough yet
	Dwelling   Reason = "dwell"      // too soon after the last change
	Cooling    Reason = "cool-down"  // too soon after one that failed
)

// Decision is the answer of a gate.
type Decision struct {
	Reason Reason        `json:"reason"` // of several, the one that binds longest
	Wait   time.Duration `json:"wait"`   // until it passes, if the same stays wanted and nothing fails
}

// Pass reports whether the change may begin now.
func (d Decision) Pass() bool { return d.Reason == Open }

// Next takes what is wanted now and returns the gate as it then stands, with the
// decision. Wanted names the better layout: the text of a demand, or of a goal;
// any other text starts to persist anew, the empty text says that what stands is
// good. Call it at every evaluation, at least once in every Persist.
//
// When a change passes, the gate takes it as begun: whoever asks again is held by
// the dwell. A failed change counts as a change. A clock that steps back makes the
// gate wait longer, by at most the full durations.
func (g Gate) Next(now time.Time, wanted string) (Gate, Decision) {
	g.Changed, g.Failed = notAfter(g.Changed, now), notAfter(g.Failed, now)
	if wanted != g.Wanted || g.Since.After(now) {
		g.Wanted, g.Since = wanted, now
	}
	if wanted == "" {
		return g, Decision{Reason: NotWanted}
	}
	d := Decision{Reason: Open}
	for _, hold := range []struct {
		reason Reason
		from   time.Time
		length time.Duration
	}{{Persisting, g.Since, g.Persist}, {Dwelling, g.Changed, g.Dwell}, {Cooling, g.Failed, g.CoolDown}} {
		if hold.reason != Persisting && hold.from.IsZero() {
			continue
		}
		if wait := hold.length - now.Sub(hold.from); wait > d.Wait {
			d = Decision{Reason: hold.reason, Wait: wait}
		}
	}
	if d.Pass() {
		g.Wanted, g.Since, g.Changed = "", now, now
	}
	return g, d
}

// Fail records that the change that passed last failed or was rolled back.
func (g Gate) Fail(now time.Time) Gate {
	g.Failed, g.Wanted, g.Since = now, "", now
	return g
}

func notAfter(t, now time.Time) time.Time {
	if t.After(now) {
		return now
	}
	return t
}
