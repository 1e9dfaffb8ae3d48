package trial

// dispatch gives the idle engine to a client, if one has work.
func (m *machine) dispatch() {
	next := m.choose()
	if next < 0 {
		m.running, m.until = -1, never
		return
	}
	m.from = m.now
	if m.previous >= 0 && next != m.previous {
		m.from += m.Switch
	}
	m.running = next
	m.sliceEnd = never
	if m.Engine == TimeSliced {
		m.sliceEnd = m.from + m.Slice
	}
	m.until = min(m.from+m.clients[next].queue[0].left, m.sliceEnd)
}

// choose says who runs next: who sent first, or who is next in turn.
func (m *machine) choose() int {
	best := -1
	for k := range m.clients {
		i := k
		if m.Engine == TimeSliced {
			i = (m.previous + 1 + k) % len(m.clients)
		}
		switch q := m.clients[i].queue; {
		case len(q) == 0:
		case m.Engine == TimeSliced:
			return i
		case best < 0 || q[0].seq < m.clients[best].queue[0].seq:
			best = i
		}
	}
	return best
}

// account books what ran until now.
func (m *machine) account() {
	i := m.running
	if i < 0 {
		return
	}
	c := &m.clients[i]
	if m.previous >= 0 && i != m.previous {
		m.report.Switching += m.Switch - max(m.from-m.now, 0)
	}
	m.previous = i
	if m.now <= m.from {
		return
	}
	c.report.GPUTime += m.now - m.from
	c.queue[0].left -= m.now - m.from
	if m.OnRun != nil {
		m.OnRun(i, m.from, m.now)
	}
	m.from = m.now
}

// stop books the last stretch at the end of the trial, and a launch that ends with it.
func (m *machine) stop() {
	m.account()
	if i := m.running; i >= 0 && m.clients[i].queue[0].left == 0 {
		m.complete(i)
	}
}

// engine handles the end of a launch or of a slice.
func (m *machine) engine() {
	i := m.running
	m.account()
	c := &m.clients[i]
	if c.queue[0].left == 0 {
		m.complete(i)
	}
	if m.Engine == TimeSliced && m.now < m.sliceEnd {
		m.pump(i) // its next launch may come at once and keep the slice
		if len(c.queue) > 0 {
			m.until = min(m.now+c.queue[0].left, m.sliceEnd)
			return
		}
	}
	m.running, m.until = -1, never
}

// complete ends the first launch of a client.
func (m *machine) complete(i int) {
	c := &m.clients[i]
	l := c.queue[0]
	c.queue = c.queue[:copy(c.queue, c.queue[1:])]
	elapsed := m.now - max(l.sent, c.turn)
	c.turn = m.now
	c.report.Launches++
	if l.last {
		c.report.Requests++
		if c.Gap > 0 {
			c.report.latencies = append(c.report.latencies, m.now-l.request)
		}
	}
	if c.Protected {
		m.solo += l.full
		m.elapsed += elapsed
	}
	if l.governed {
		used := l.full
		if c.Elapsed {
			used = elapsed
		}
		c.Governor.Done(m.now, l.cost, used)
	}
	c.wake = m.now
}
