package timeslice

// engine carries a Sim out. The clock moves from turn to turn; a client is known
// by its oldest job alone, since the jobs behind it can be asked for when it is
// done. So nothing grows with the horizon or with a backlog.
type engine struct {
	sim     Sim
	visit   func(Run) bool
	clients []client
	stops   bool // some client stops before the horizon

	now    int64
	loaded int // whose context is on the GPU, Nobody at first
	last   int // the client or place that had its turn last, in the order of turns
	ended  bool

	windows int64 // StrictFraction: windows so far
	total   Report
}

// client is the state of one client.
type client struct {
	next        func() (Job, bool)
	start, stop int64
	switchCost  int64
	overrun     int64
	fraction    int64
	account     ARR

	at, work, left int64 // the oldest job: when it came, what it takes, what is left of it
	from           int64 // since when that job is the oldest
	busy           int64 // since when there has always been a job
	since          int64 // since when a job has waited for a turn
	again          bool  // it waits since its own turn ended
	soloFree       int64 // when its jobs so far would be done, had it the GPU alone

	release, deadline, given int64 // StrictFraction: bounds of the next window, windows so far
	tag, rest                int64 // FairFraction: when its next turn is due; a remainder of it

	report ClientReport
}

// never is later than every horizon.
const never = 8 * MaxTime

func newEngine(s Sim, visit func(Run) bool) *engine {
	e := &engine{sim: s, visit: visit, loaded: Nobody, last: len(s.Clients) - 1, clients: make([]client, len(s.Clients))}
	if s.Discipline == FixedShare {
		e.last = s.slots() - 1
	}
	for i, in := range s.Clients {
		c := &e.clients[i]
		c.next = in.Arrivals.jobs(s.Seed, uint64(i))
		c.start, c.stop = in.Start, in.Stop
		if c.stop == 0 || c.stop > s.Horizon {
			c.stop = never
		}
		e.stops = e.stops || c.stop != never
		c.switchCost = s.Switch + in.ExtraSwitch
		c.overrun, c.fraction = in.Overrun, in.Fraction
		c.account = ARR{Slice: s.Slice, Factor: s.Factor}
		c.report.Name = in.Name
		c.schedule(0)
		c.fetch(0)
	}
	return e
}

// fetch takes up the next job at a time when the one before is done.
func (c *client) fetch(now int64) {
	job, ok := c.next()
	c.at, c.work, c.left = c.start+job.At, job.Work, job.Work
	if !ok || c.at >= c.stop {
		c.at = never
	}
	if c.at > now {
		c.busy = c.at
	}
	c.from = max(c.at, now)
	c.since, c.again = c.from, false
}

// ready says whether the client has work at a time.
func (c *client) ready(now int64) bool { return c.at <= now && now < c.stop }

// present says whether the client is there at a time.
func (c *client) present(now int64) bool { return c.start <= now && now < c.stop }

// turn lets client i run for a slice. When it has no work it keeps the GPU for
// linger ns or, if hold, until the slice is over.
func (e *engine) turn(i int, linger int64, hold bool) {
	c := &e.clients[i]
	e.loaded = i
	begin, end, worked := e.now, e.now+c.account.Target(), false
	for !e.ended {
		if c.ready(e.now) && (e.now < end || e.now == begin) {
			e.work(i, end)
			worked = true
			continue
		}
		until := end
		if !hold {
			until = min(until, e.now+linger, c.stop)
		}
		if c.at > e.now {
			until = min(until, c.at)
		}
		if until <= e.now {
			break
		}
		e.idle(i, until)
		if !c.ready(e.now) {
			break
		}
	}
	c.since, c.again = max(c.at, e.now), c.at <= e.now
	c.account = c.account.Next(e.now - end)
	if worked {
		c.report.Turns++
	}
}

// work runs the jobs of client i from now on, as one run: jobs begin before end,
// and what is in progress then goes on for the client's overrun.
func (e *engine) work(i int, end int64) {
	c := &e.clients[i]
	c.report.Waits.add(e.now - c.since)
	t := e.now
	limit := min(end+c.overrun, c.stop, e.sim.Horizon)
	for {
		d := min(c.left, limit-t)
		t += d
		c.left -= d
		if c.left > 0 {
			break
		}
		c.finish(t)
		if t >= min(end, limit) || !c.ready(t) {
			break
		}
	}
	c.report.Served += t - e.now
	e.spend(Working, i, t)
}

// finish books the oldest job, done at a time, and takes up the next.
func (c *client) finish(now int64) {
	c.report.Jobs++
	c.report.Ready = satAdd(c.report.Ready, now-c.from)
	c.report.Turnarounds.add(now - c.at)
	c.soloFree = max(c.soloFree, c.at) + c.work
	c.report.Solo = satAdd(c.report.Solo, c.soloFree-c.at)
	c.fetch(now)
}

// idle lets the GPU rest until a time. i is whose turn it is, or Nobody.
func (e *engine) idle(i int, until int64) {
	for until = min(until, e.sim.Horizon); e.now < until && !e.ended; {
		next, ready := until, until // the set of clients is the same up to next
		if e.stops {
			for j := range e.clients {
				if stop := e.clients[j].stop; stop > e.now {
					next = min(next, stop)
				}
			}
		}
		for j := range e.clients {
			if c := &e.clients[j]; e.now < c.stop {
				ready = min(ready, max(c.at, e.now))
			}
		}
		e.total.Wasted += max(0, next-ready)
		if e.stops && next < until {
			e.advance(Run{Kind: Idle, Client: i, Start: e.now, End: next})
			continue
		}
		e.advance(Run{Kind: Idle, Client: i, Start: e.now, End: until})
	}
}

// spend lets the GPU do something for client i until a time.
func (e *engine) spend(kind RunKind, i int, until int64) {
	until = min(until, e.sim.Horizon)
	if kind == Switching {
		e.clients[i].report.Switching += until - e.now
	}
	if until > e.now {
		e.advance(Run{Kind: kind, Client: i, Start: e.now, End: until})
	}
}

func (e *engine) advance(r Run) {
	d := r.End - r.Start
	switch r.Kind {
	case Idle:
		e.total.Idle += d
	case Switching:
		e.total.Switching += d
	case Working:
		e.total.Working += d
	}
	e.now = r.End
	e.ended = e.now >= e.sim.Horizon
	if e.visit != nil && !e.visit(r) {
		e.ended = true
	}
}

// report closes the books at the time that was reached.
func (e *engine) report() Report {
	r := e.total
	r.Horizon = e.now
	r.Clients = make([]ClientReport, len(e.clients))
	for i := range e.clients {
		c := &e.clients[i]
		out := c.report
		until := min(e.now, c.stop)
		out.Present = max(0, until-c.start)
		out.Ready = satAdd(out.Ready, max(0, until-c.from))
		r.Clients[i] = out
	}
	return r
}
