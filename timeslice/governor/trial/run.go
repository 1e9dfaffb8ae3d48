package trial

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/gpushare/gpushare/timeslice/governor"
)

const never time.Duration = math.MaxInt64

// launch is one kernel on the GPU.
type launch struct {
	seq            uint64
	full, left     time.Duration
	cost           time.Duration // as declared
	sent           time.Duration
	request        time.Duration // when its request arrived
	last, governed bool          // last of its request; known to the governor
}

type client struct {
	Client
	gaps     *rand.Rand
	spread   *rand.Rand // of its own, so that arrivals do not depend on launches
	report   *ClientReport
	requests []time.Duration // arrivals not wholly sent; for a backlog always one
	kernel   int             // next of the first request
	length   time.Duration   // of that kernel; 0 = not drawn
	sent     int
	queue    []launch // on the GPU, in order
	next     time.Duration
	wake     time.Duration
	turn     time.Duration // when the head of the queue became the head
	sampled  time.Duration // GPUTime at the last sample
}

type machine struct {
	GPU
	now, length time.Duration
	clients     []client
	report      Report
	seq         uint64

	running  int // client, -1 = idle
	previous int // client that ran last
	from     time.Duration
	until    time.Duration // next event of the engine
	sliceEnd time.Duration

	sampleAt      time.Duration
	pressure      int64
	solo, elapsed time.Duration // of protected launches since the last sample
}

// Run runs the clients on the GPU for so long, at most 1000 hours. The governors are
// used up: give each run new ones. The error wraps [ErrInput] and names the client
// and the field.
func Run(gpu GPU, clients []Client, length time.Duration) (Report, error) {
	if err := gpu.withDefaults(); err != nil {
		return Report{}, err
	}
	if length <= 0 || length > longest || len(clients) == 0 {
		return Report{}, fmt.Errorf("trial: %d clients for %v: %w", len(clients), length, ErrInput)
	}
	m := &machine{
		GPU: gpu, length: length, running: -1, previous: -1, until: never, sampleAt: gpu.Sample,
		clients: make([]client, len(clients)),
		report:  Report{Length: length, Clients: make([]ClientReport, len(clients))},
	}
	for i, c := range clients {
		if err := c.withDefaults(i); err != nil {
			return Report{}, err
		}
		if c.Stop == 0 || c.Stop > length {
			c.Stop = length
		}
		m.report.Clients[i].Name = c.Name
		p := &m.clients[i]
		*p = client{
			Client: c, report: &m.report.Clients[i],
			gaps:   rand.New(rand.NewPCG(gpu.Seed, uint64(2*i))),
			spread: rand.New(rand.NewPCG(gpu.Seed, uint64(2*i+1))),
			next:   c.Start, wake: never,
		}
		if c.Gap > 0 {
			p.next = c.Start + exponential(p.gaps, c.Gap)
		}
	}
	for m.step() {
	}
	for i := range m.clients {
		m.report.Clients[i].finish()
	}
	return m.report, nil
}

// step goes to the next event and does all that happens then, in a fixed order:
// the engine, arrivals, samples, pressure, launches.
func (m *machine) step() bool {
	at := min(m.until, m.sampleAt)
	for i := range m.clients {
		at = min(at, m.clients[i].next, m.clients[i].wake)
	}
	if at >= m.length {
		m.now = m.length
		m.stop()
		return false
	}
	m.now = at
	if m.until <= at {
		m.engine()
	}
	for i := range m.clients {
		if c := &m.clients[i]; c.next <= at {
			c.arrive(at)
		}
	}
	if m.sampleAt <= at {
		m.sample()
		m.sampleAt += m.Sample
	}
	m.press()
	for i := range m.clients {
		if m.clients[i].wake <= at {
			m.pump(i)
		}
	}
	if m.running < 0 {
		m.dispatch()
	}
	return true
}

func (c *client) arrive(now time.Duration) {
	c.next = never
	if now >= c.Stop {
		return
	}
	c.requests = append(c.requests, now)
	c.wake = now
	if c.Gap > 0 {
		c.next = now + exponential(c.gaps, c.Gap)
	}
}

// pump sends what the client may send.
func (m *machine) pump(i int) {
	c := &m.clients[i]
	c.wake = never
	for len(c.requests) > 0 && len(c.queue) < c.Depth {
		if c.Gap == 0 && m.now >= c.Stop {
			return
		}
		if c.length == 0 {
			c.length = jittered(c.spread, c.Kernels[c.kernel], c.Jitter)
		}
		l := launch{full: c.length, left: c.length, sent: m.now, request: c.requests[0]}
		l.last = c.kernel == len(c.Kernels)-1
		l.governed = c.Governor != nil && (c.Hidden == 0 || (c.sent+1)%c.Hidden != 0)
		if l.governed {
			l.cost = c.declare(l.full)
			c.report.Asked++
			if wait := c.Governor.Ask(m.now, l.cost); wait > 0 {
				c.report.Refused++
				if wait < never-m.now {
					c.wake = m.now + wait
				}
				return
			}
		}
		if len(c.queue) == 0 {
			c.turn = m.now
		}
		l.seq = m.seq
		m.seq++
		c.queue = append(c.queue, l)
		c.sent++
		c.length = 0
		c.kernel++
		if l.last {
			c.kernel = 0
			if c.Gap > 0 {
				c.requests = c.requests[1:]
			} else {
				c.requests[0] = m.now
			}
		}
	}
}

func (c *client) declare(full time.Duration) time.Duration {
	switch {
	case c.Declared < 0:
		return 0
	case c.Declared == 0:
		return full
	}
	return max(full*time.Duration(c.Declared)/1000, 1) // an hour times 1,000,000 fits
}

// press tells the governors of the others how much the protected tenants have to do.
func (m *machine) press() {
	var n int64
	for i := range m.clients {
		if c := &m.clients[i]; c.Protected {
			n += int64(len(c.queue))
			if len(c.requests) > 0 {
				n += int64(len(c.requests)*len(c.Kernels) - c.kernel)
			}
		}
	}
	if n == m.pressure {
		return
	}
	m.pressure = n
	m.tell(governor.Pressure, n)
}

// tell lets the unprotected governors know of something about the protected.
func (m *machine) tell(s governor.Signal, value int64) {
	for i := range m.clients {
		if c := &m.clients[i]; c.Governor != nil && !c.Protected {
			c.Governor.Observe(m.now, s, value)
			c.wake = m.now
		}
	}
}

func (m *machine) sample() {
	if m.elapsed > 0 {
		m.tell(governor.Loss, int64((m.elapsed-m.solo)*1000/m.elapsed))
	}
	m.solo, m.elapsed = 0, 0
	for i := range m.clients {
		c := &m.clients[i]
		used := c.report.GPUTime
		if m.running == i && m.now > m.from {
			used += m.now - m.from
		}
		if c.Governor != nil {
			c.Governor.Observe(m.now, governor.Used, int64(used-c.sampled))
			c.wake = m.now
		}
		c.sampled = used
	}
}
