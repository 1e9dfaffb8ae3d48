package timeslice

// run gives turns until the end, by the rule of the discipline.
func (e *engine) run() {
	for !e.ended {
		switch e.sim.Discipline {
		case EqualShare:
			e.equalTurn()
		case FixedShare:
			e.fixedTurn()
		case StrictFraction:
			e.strictTurn()
		case FairFraction:
			e.fairTurn()
		case ExclusiveTurn:
			e.nextTurn(e.firstCome())
		case RoundRobin, BestEffort:
			e.nextTurn(e.nextReady())
		}
	}
}

// nextTurn gives client i the next turn in the order of turns. With Nobody it waits
// for work.
func (e *engine) nextTurn(i int) {
	if i == Nobody {
		e.idle(Nobody, e.nextArrival())
		return
	}
	e.last = i
	e.give(i)
}

// give gives client i a turn that it may give back.
func (e *engine) give(i int) {
	e.load(i)
	e.turn(i, e.sim.Linger, false)
}

// load switches to client i unless it was the last on the GPU.
func (e *engine) load(i int) {
	if e.loaded != i && e.loaded != Nobody {
		e.spend(Switching, i, e.now+e.clients[i].switchCost)
	}
}

// window gives client i, or an empty place, a turn of full length. With more than
// one place there is always a switch, so that windows lie where they lie.
func (e *engine) window(i, places int) {
	if i == Nobody {
		length := e.sim.Slice
		if places > 1 {
			length += e.sim.Switch
		}
		e.idle(Nobody, e.now+length)
		return
	}
	if places > 1 {
		e.loaded = i
		e.spend(Switching, i, e.now+e.clients[i].switchCost)
	} else {
		e.load(i)
	}
	e.turn(i, 0, true)
}

// nextReady is the next client with work behind the last one, in a circle.
func (e *engine) nextReady() int {
	for _, span := range [2][2]int{{e.last + 1, len(e.clients)}, {0, e.last + 1}} {
		for i := span[0]; i < span[1]; i++ {
			if e.clients[i].ready(e.now) {
				return i
			}
		}
	}
	return Nobody
}

// firstCome is the client that has waited longest. At one instant new work comes
// before the client whose turn ends then, and otherwise the lower index.
func (e *engine) firstCome() int {
	first := Nobody
	for i := range e.clients {
		c := &e.clients[i]
		if c.ready(e.now) && (first == Nobody || c.before(&e.clients[first])) {
			first = i
		}
	}
	return first
}

func (c *client) before(other *client) bool {
	return c.since < other.since || c.since == other.since && other.again && !c.again
}

// nextArrival is when the next job comes, if nobody has work now.
func (e *engine) nextArrival() int64 {
	next := never
	for i := range e.clients {
		if at := e.clients[i].at; at > e.now {
			next = min(next, at)
		}
	}
	return next
}

// equalTurn gives a window to the next client that is present.
func (e *engine) equalTurn() {
	next, places, arrives := Nobody, 0, never
	for k := range e.clients {
		i := (e.last + 1 + k) % len(e.clients)
		c := &e.clients[i]
		if c.present(e.now) {
			places++
			if next == Nobody {
				next = i
			}
		} else if c.start > e.now {
			arrives = min(arrives, c.start)
		}
	}
	if next == Nobody {
		e.idle(Nobody, arrives)
		return
	}
	e.last = next
	e.window(next, places)
}

// fixedTurn gives a window to the next place, client or none.
func (e *engine) fixedTurn() {
	places := e.sim.slots()
	if places == 0 {
		e.idle(Nobody, never)
		return
	}
	e.last = (e.last + 1) % places
	if e.last < len(e.clients) {
		e.window(e.last, places)
	} else {
		e.window(Nobody, places)
	}
}

// strictTurn gives the next window of the timetable. An exact division would have
// given w*t/1000 windows after t. The k-th window of a client must lie
// where that is from k to k+1: not before floor(1000k/w), and before
// ceil(1000(k+1)/w). To serve who must be done earliest among those that may
// keeps all such bounds, as long as the fractions are 1000 milli at most.
func (e *engine) strictTurn() {
	next := Nobody
	for i := range e.clients {
		c := &e.clients[i]
		if c.fraction > 0 && c.release <= e.windows && (next == Nobody || c.deadline < e.clients[next].deadline) {
			next = i
		}
	}
	e.windows++
	if next != Nobody {
		e.clients[next].schedule(e.clients[next].given + 1)
	}
	e.window(next, len(e.clients))
}

// schedule sets the bounds of the client's window number k.
func (c *client) schedule(k int64) {
	if c.fraction == 0 {
		return
	}
	c.given = k
	c.release = 1000 * k / c.fraction
	c.deadline = ceilDiv(1000*(k+1), c.fraction)
}

// fairTurn gives a turn to who is owed one: a client with fraction w that has been
// busy for t is owed w*t/1000 of the time, switches included. Of those that are owed
// one, whose turn should be over first has it. If nobody is, what is left goes
// round, and is not counted against anyone's fraction.
func (e *engine) fairTurn() {
	next, deadline := Nobody, int64(0)
	for i := range e.clients {
		c := &e.clients[i]
		if c.fraction == 0 || !c.ready(e.now) {
			continue
		}
		if c.busy > c.tag {
			c.tag, c.rest = c.busy, 0 // nothing is saved up while there is no work
		}
		if c.tag > e.now {
			continue
		}
		if due := c.tag + 1000*e.sim.turn(i)/c.fraction; next == Nobody || due < deadline {
			next, deadline = i, due
		}
	}
	if next == Nobody {
		e.nextTurn(e.nextReady())
		return
	}
	before := e.now
	e.give(next)
	c := &e.clients[next]
	c.rest += 1000 * (e.now - before)
	c.tag += c.rest / c.fraction
	c.rest %= c.fraction
}
