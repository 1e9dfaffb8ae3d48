package timeslice

import (
	"fmt"
	"iter"
	"slices"
)

// Bounds of a simulation, such that no sum of times overflows.
const (
	MaxTime    int64 = 1_000_000_000_000_000 // ns: 11 days
	MaxClients int   = 4096
)

// Sim is clients on one GPU under one discipline. All times are in ns. The same
// Sim gives the same runs everywhere and always; the arrivals of a client do not depend on
// the discipline or on other clients.
//
// A turn is a switch, if somebody else ran before, and then at most Slice of
// work. Nobody is interrupted within a turn; who has no more work, gives the GPU
// back. Under EqualShare, FixedShare and StrictFraction a turn is a window that is
// not cut short, with a switch at its head whoever had the window before: whether
// a client has work moves nobody else's window, unless it has an Overrun. Work that
// comes in the window of its client runs there.
type Sim struct {
	Discipline Discipline
	Clients    []Client
	Horizon    int64 // simulated time; 1..MaxTime

	Slice  int64 // at least 1
	Switch int64 // before a turn of another client than the last; not for a first one

	Slots  int    // FixedShare: places, at least the clients; 0: as many as clients
	Factor int64  // averaging factor of ARR, which pays Overrun back; 0: nothing is paid back
	Linger int64  // how long a client without work keeps the GPU within its turn, where it would give it back
	Seed   uint64 // of Poisson arrivals
}

// Client is one of those that share the GPU.
type Client struct {
	Name     string // for errors and reports
	Arrivals Arrivals

	Fraction    int64 // milli; StrictFraction and FairFraction
	ExtraSwitch int64 // added to Sim.Switch before its turns: a large state, or memory to page in
	Overrun     int64 // how much longer than its slice it runs when it has work: what cannot be preempted

	Start int64 // present from here on; its arrivals are counted from here
	Stop  int64 // present until here, work left is dropped; 0: stays
}

// RunKind says what the GPU does.
type RunKind uint8

// The kinds of [Run].
const (
	Idle      RunKind = iota // nothing runs
	Switching                // the context of a client is being loaded
	Working                  // a client runs
)

// String is "idle", "switching" or "working".
func (k RunKind) String() string {
	switch k {
	case Idle:
		return "idle"
	case Switching:
		return "switching"
	case Working:
		return "working"
	}
	return fmt.Sprintf("run kind(%d)", uint8(k))
}

// Run is a span of time in which the GPU does one thing.
type Run struct {
	Kind       RunKind
	Client     int   // index of the client; of Idle, whose turn it is; Nobody: no one's
	Start, End int64 // ns, Start < End
}

// Nobody is the client of an idle span that is in no client's turn.
const Nobody = -1

// Simulate runs s and calls visit, which may be nil, with one run after the
// other: from 0 to the horizon, without gaps. Each turn of a client is a run of
// its own. If visit returns false the simulation ends there, and so does the time
// that the report is about.
//
// The cost is O(clients) a turn at most and O(1) a job, the memory O(clients)
// whatever the horizon. It is safe for concurrent use; visit is called by the caller's
// goroutine. [ErrInput] for a Sim that does not validate.
func Simulate(s Sim, visit func(Run) bool) (Report, error) {
	if err := s.Validate(); err != nil {
		return Report{}, err
	}
	e := newEngine(s, visit)
	e.run()
	return e.report(), nil
}

// Runs is [Simulate] as an iterator, for those who do not need the report. The
// sequence may be used again, and from several goroutines.
func Runs(s Sim) (iter.Seq[Run], error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	s.Clients = slices.Clone(s.Clients)
	return func(yield func(Run) bool) { newEngine(s, yield).run() }, nil
}

// Validate refuses, with [ErrInput] and the client it is about, what Simulate
// cannot run.
func (s Sim) Validate() error {
	if int(s.Discipline) >= len(disciplineNames) {
		return fmt.Errorf("%w: %s", ErrInput, s.Discipline)
	}
	if len(s.Clients) > MaxClients {
		return fmt.Errorf("%w: %d clients, more than %d", ErrInput, len(s.Clients), MaxClients)
	}
	for _, t := range []struct {
		name  string
		v, lo int64
	}{{"horizon", s.Horizon, 1}, {"slice", s.Slice, 1}, {"switch", s.Switch, 0}, {"factor", s.Factor, 0}, {"linger", s.Linger, 0}} {
		if t.v < t.lo || t.v > MaxTime {
			return fmt.Errorf("%w: %s %d, not in %d..%d", ErrInput, t.name, t.v, t.lo, MaxTime)
		}
	}
	if s.Slots < 0 || s.Slots > MaxClients || s.Discipline == FixedShare && s.Slots != 0 && s.Slots < len(s.Clients) {
		return fmt.Errorf("%w: %d slots for %d clients, at most %d", ErrInput, s.Slots, len(s.Clients), MaxClients)
	}
	var fractions int64
	for i, c := range s.Clients {
		if err := c.validate(); err != nil {
			return fmt.Errorf("%w: client %d %q", err, i, c.Name)
		}
		fractions += c.Fraction
	}
	if fractions > 1000 && (s.Discipline == StrictFraction || s.Discipline == FairFraction) {
		return fmt.Errorf("%w: fractions of %d milli in sum, more than 1000", ErrInput, fractions)
	}
	return nil
}

func (c Client) validate() error {
	for _, t := range []struct {
		name  string
		v, hi int64
	}{
		{"fraction", c.Fraction, 1000},
		{"extra switch", c.ExtraSwitch, MaxTime},
		{"overrun", c.Overrun, MaxTime},
		{"start", c.Start, MaxTime},
		{"stop", c.Stop, MaxTime},
	} {
		if t.v < 0 || t.v > t.hi {
			return fmt.Errorf("%w: %s %d, not in 0..%d", ErrInput, t.name, t.v, t.hi)
		}
	}
	if c.Stop != 0 && c.Stop <= c.Start {
		return fmt.Errorf("%w: stops at %d and starts at %d", ErrInput, c.Stop, c.Start)
	}
	switch c.Arrivals.(type) {
	case AlwaysBusy, Periodic, Poisson, Trace:
		return c.Arrivals.validate()
	case nil:
		return fmt.Errorf("%w: no arrivals (none is Trace{})", ErrInput)
	default: // a pointer to one, which may be nil
		return fmt.Errorf("%w: arrivals of type %T", ErrInput, c.Arrivals)
	}
}

// WorstWait bounds the time (ns) in which client i is ready and does not run. With
// T the slice and the longest overrun, C a switch, o for the others:
//
//	round robin, best effort, exclusive turn, equal share   sum of (C_o + T_o) + C_i
//	fixed share                                             the same, with a turn for each empty place
//	strict fraction w    (ceil(2000/w) - 1) turns + C_i: the timetable keeps each
//	                     turn within one turn of where an exact division has it
//	fair fraction w      2000/w turns + the longest of any other: an exact
//	                     division's turn, late by one that cannot be interrupted,
//	                     after one that was taken in advance
//
// It saturates. It is false where there is no bound: a fraction of 0. It is false
// too for a client or a Sim that is not valid.
func (s Sim) WorstWait(i int) (int64, bool) {
	if s.Validate() != nil || i < 0 || i >= len(s.Clients) {
		return 0, false
	}
	mine, longest, others := s.turn(i), s.Switch+s.Slice, int64(0)
	for j := range s.Clients {
		longest = max(longest, s.turn(j))
		if j != i {
			others = satAdd(others, s.turn(j))
		}
	}
	w := s.Clients[i].Fraction
	own := s.Switch + s.Clients[i].ExtraSwitch
	switch s.Discipline {
	case FixedShare:
		others = satAdd(others, satMul(int64(s.slots()-len(s.Clients)), s.Switch+s.Slice))
	case StrictFraction:
		if w == 0 {
			return 0, false
		}
		return satAdd(satMul(ceilDiv(2000, w)-1, longest), own), true
	case FairFraction:
		if w == 0 {
			return 0, false
		}
		return satAdd(ceilDiv(2000*mine, w), longest+own), true
	case RoundRobin, BestEffort, EqualShare, ExclusiveTurn:
	}
	if others == 0 {
		own = 0
	}
	return satAdd(others, own), true
}

// turn is the longest turn of client i.
func (s *Sim) turn(i int) int64 {
	c := &s.Clients[i]
	return s.Switch + c.ExtraSwitch + s.Slice + c.Overrun
}

func (s *Sim) slots() int {
	if s.Slots == 0 {
		return len(s.Clients)
	}
	return s.Slots
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
