package timeslice_test

import (
	"slices"

	"github.com/gpushare/gpushare/timeslice"
)

// tick is what the GPU does in 1 ns.
type tick struct {
	kind   timeslice.RunKind
	client int
}

// pendingJob is a job in the queue of a naiveClient.
type pendingJob struct{ at, left int64 }

type naiveClient struct {
	timeslice.Client
	arriving   []timeslice.Job
	queue      []pendingJob
	running    bool // its oldest job ran in the last tick and is not done
	wasWorking bool // it ran in the last tick
	waiting    int64
	emptied    int64 // when the queue was last empty
	accrued    int64

	windows          int64 // StrictFraction
	base, cost, busy int64 // FairFraction

	waits, turnarounds []int64
	ready, served      int64
}

// naive is a second simulator: it walks from nanosecond to nanosecond, keeps all
// jobs in queues and asks at each tick what happens next.
type naive struct {
	timeslice.Sim
	clients []*naiveClient
	fifo    []int // ExclusiveTurn: who is in line
	now     int64

	loaded, last int
	windows      int64

	// The turn in progress; none if !inTurn.
	inTurn, hold, worked bool
	who                  int
	toSwitch             int64
	elapsed, target      int64
	idleFor              int64
	turnBegan            int64
	owed                 bool // FairFraction: counts against the fraction

	ticks  []tick
	wasted int64
}

// arrivalsBefore lists the jobs of a client before the horizon, in a plain way but
// for those of Poisson arrivals.
func arrivalsBefore(s timeslice.Sim, i int) []timeslice.Job {
	var jobs []timeslice.Job
	switch a := s.Clients[i].Arrivals.(type) {
	case timeslice.AlwaysBusy:
		jobs = append(jobs, timeslice.Job{Work: 1 << 40})
	case timeslice.Periodic:
		for at := a.First; at < s.Horizon; at += a.Every {
			jobs = append(jobs, timeslice.Job{At: at, Work: a.Work})
		}
	case timeslice.Poisson:
		jobs = timeslice.JobsBefore(a, s.Seed, uint64(i), s.Horizon)
	case timeslice.Trace:
		jobs = append(jobs, a...)
	}
	return jobs
}

func newNaive(s timeslice.Sim) *naive {
	n := &naive{Sim: s, loaded: -1, last: len(s.Clients) - 1}
	if s.Discipline == timeslice.FixedShare {
		if n.Slots == 0 {
			n.Slots = len(s.Clients)
		}
		n.last = n.Slots - 1
	}
	for i, c := range s.Clients {
		n.clients = append(n.clients, &naiveClient{Client: c, arriving: arrivalsBefore(s, i), base: c.Start})
	}
	for n.now < s.Horizon {
		n.arrive()
		for used := false; !used; {
			used = n.step()
		}
		n.now++
	}
	return n
}

func (n *naive) gone(i int) bool { c := n.clients[i]; return c.Stop != 0 && n.now >= c.Stop }

func (n *naive) here(i int) bool { return n.now >= n.clients[i].Start && !n.gone(i) }

func (n *naive) hasWork(i int) bool { return i >= 0 && len(n.clients[i].queue) > 0 }

func (n *naive) arrive() {
	for i, c := range n.clients {
		if n.gone(i) {
			c.queue, c.arriving, c.running = nil, nil, false
		}
		for len(c.arriving) > 0 && c.Start+c.arriving[0].At == n.now {
			if len(c.queue) == 0 {
				if c.emptied != n.now || n.now == 0 {
					c.busy = n.now // one job upon the other's end leaves no gap
				}
				c.waiting = n.now
				if !slices.Contains(n.fifo, i) && (!n.inTurn || n.who != i) {
					n.fifo = append(n.fifo, i)
				}
			}
			c.queue = append(c.queue, pendingJob{at: n.now, left: c.arriving[0].Work})
			c.arriving = c.arriving[1:]
		}
		if len(c.queue) > 0 {
			c.ready++
		}
	}
	n.fifo = slices.DeleteFunc(n.fifo, func(i int) bool { return !n.hasWork(i) })
}

// step decides one thing at the present tick; true when the tick is used up.
func (n *naive) step() bool {
	if !n.inTurn {
		return !n.begin()
	}
	if n.toSwitch > 0 {
		n.toSwitch--
		n.use(timeslice.Switching)
		return true
	}
	if n.over() {
		n.end()
		return false
	}
	if n.who < 0 || !n.hasWork(n.who) {
		n.elapsed++
		n.idleFor++
		n.use(timeslice.Idle)
		return true
	}
	c := n.clients[n.who]
	if !c.wasWorking {
		c.waits = append(c.waits, n.now-c.waiting)
	}
	n.use(timeslice.Working)
	n.elapsed++
	n.idleFor = 0
	n.worked = true
	c.served++
	c.wasWorking, c.running = true, true
	c.queue[0].left--
	if c.queue[0].left == 0 {
		c.turnarounds = append(c.turnarounds, n.now+1-c.queue[0].at)
		c.queue = c.queue[1:]
		c.running = false
		c.emptied = n.now + 1
	}
	return true
}

func (n *naive) use(kind timeslice.RunKind) {
	n.ticks = append(n.ticks, tick{kind, n.who})
	if kind == timeslice.Idle && slices.ContainsFunc(n.clients, func(c *naiveClient) bool { return len(c.queue) > 0 }) {
		n.wasted++
	}
	if kind != timeslice.Working {
		for _, c := range n.clients {
			c.wasWorking = false
		}
	}
}

// over says whether the turn has ended when this tick begins.
func (n *naive) over() bool {
	if n.who < 0 {
		return n.elapsed >= n.target
	}
	c := n.clients[n.who]
	if n.elapsed >= n.target {
		if n.target == 0 && !n.worked {
			return !n.hasWork(n.who)
		}
		return !c.running || n.elapsed >= n.target+c.Overrun
	}
	if n.hasWork(n.who) || n.hold {
		return false
	}
	return n.gone(n.who) || n.idleFor >= n.Linger
}

func (n *naive) end() {
	n.inTurn = false
	if n.who < 0 {
		return
	}
	c := n.clients[n.who]
	c.wasWorking, c.running = false, false
	c.waiting = n.now
	if n.Factor > 0 {
		c.accrued -= c.accrued / n.Factor
		c.accrued += max(0, n.elapsed-n.target)
	}
	if n.owed {
		c.cost += n.now - n.turnBegan
	}
	if n.hasWork(n.who) {
		n.fifo = append(n.fifo, n.who)
	}
}

// begin starts the next turn; false if there is none, and the tick stays idle.
func (n *naive) begin() bool {
	n.worked, n.hold, n.owed = false, false, false
	n.elapsed, n.idleFor, n.toSwitch = 0, 0, 0
	n.turnBegan = n.now
	who, ok, places := n.choose()
	n.who = -1
	if !ok {
		n.use(timeslice.Idle)
		return false
	}
	n.who, n.inTurn = who, true
	if who < 0 {
		n.target = n.Slice
		if places > 1 {
			n.target += n.Switch
		}
		return true
	}
	c := n.clients[who]
	n.target = n.Slice
	if n.Factor > 0 {
		n.target = max(0, n.Slice-c.accrued/n.Factor)
	}
	if places > 1 || n.loaded != who && n.loaded >= 0 {
		n.toSwitch = n.Switch + c.ExtraSwitch
	}
	n.loaded = who
	return true
}

// choose says whose turn it is (-1: of an empty place), whether there is one, and
// for windows among how many places.
func (n *naive) choose() (who int, ok bool, places int) {
	all := len(n.clients)
	switch n.Discipline {
	case timeslice.EqualShare:
		n.hold = true
		for i := range all {
			if n.here(i) {
				places++
			}
		}
		for k := 1; k <= all; k++ {
			if i := (n.last + k) % all; n.here(i) {
				n.last = i
				return i, true, places
			}
		}
		return 0, false, 0
	case timeslice.FixedShare:
		if n.Slots == 0 {
			return 0, false, 0
		}
		n.hold = true
		n.last = (n.last + 1) % n.Slots
		if n.last < all {
			return n.last, true, n.Slots
		}
		return -1, true, n.Slots
	case timeslice.StrictFraction:
		n.hold = true
		return n.timetable(), true, all
	case timeslice.FairFraction:
		if i, due := n.due(); due {
			n.owed = true
			return i, true, 0
		}
	case timeslice.ExclusiveTurn:
		if len(n.fifo) == 0 {
			return 0, false, 0
		}
		who = n.fifo[0]
		n.fifo = n.fifo[1:]
		return who, true, 0
	case timeslice.RoundRobin, timeslice.BestEffort:
	}
	for k := 1; k <= all; k++ {
		if i := (n.last + k) % all; n.hasWork(i) {
			n.last = i
			return i, true, 0
		}
	}
	return 0, false, 0
}

// timetable is the earliest deadline among the windows that may be given now.
func (n *naive) timetable() int {
	best, bestDeadline := -1, int64(0)
	for i, c := range n.clients {
		if c.Fraction == 0 || c.windows*1000 >= (n.windows+1)*c.Fraction {
			continue // with one window more it would be ahead by one or more
		}
		deadline := ((c.windows+1)*1000 + c.Fraction - 1) / c.Fraction
		if best < 0 || deadline < bestDeadline {
			best, bestDeadline = i, deadline
		}
	}
	n.windows++
	if best >= 0 {
		n.clients[best].windows++
	}
	return best
}

func (n *naive) due() (int, bool) {
	best, bestDue := -1, int64(0)
	for i, c := range n.clients {
		if c.Fraction == 0 || !n.hasWork(i) {
			continue
		}
		if c.busy > c.base+1000*c.cost/c.Fraction {
			c.base, c.cost = c.busy, 0
		}
		tag := c.base + 1000*c.cost/c.Fraction
		due := tag + 1000*(n.Switch+c.ExtraSwitch+n.Slice+c.Overrun)/c.Fraction
		if tag <= n.now && (best < 0 || due < bestDue) {
			best, bestDue = i, due
		}
	}
	return best, best >= 0
}

// waitsStill is how long client i has waited at the end for a turn that it has not had.
func (n *naive) waitsStill(i int) int64 {
	if c := n.clients[i]; n.hasWork(i) && !n.gone(i) && !c.wasWorking {
		return n.now - c.waiting
	}
	return 0
}
