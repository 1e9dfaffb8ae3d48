package mpsfake_test

import (
	"maps"
	"slices"
	"strconv"

	"github.com/gpushare/gpushare/mps/mpsfake"
)

const (
	modelCap  = 2 // clients per device
	modelGPUs = 2
)

// model is the daemon as a reader of its documentation would write it down: one
// server, a queue, and three rules.
type model struct {
	percent  int
	priority int
	pinned   map[string]int64
	server   *modelServer
	wanted   []int // at most one UID
	queue    []*modelClient
	clients  map[int]*modelClient
}

type modelServer struct {
	uid, percent int
	pinned       map[string]int64
	draining     bool
	attached     []*modelClient
	affected     []*modelClient // of a fault, and not gone yet
}

type modelClient struct {
	pid, uid int
	devices  []int
	env      int // percentage, 0 if none
	state    mpsfake.ClientState
	code     int
	percent  int
}

func newModel() *model {
	return &model{percent: 100, pinned: map[string]int64{}, clients: map[int]*modelClient{}}
}

// reset is what a new daemon knows: nothing. Programs stay, and have lost theirs.
func (m *model) reset() {
	if m.server != nil {
		m.lose(m.server.attached, mpsfake.RPCFailure)
	}
	for _, c := range m.queue {
		c.state, c.code = mpsfake.Refused, mpsfake.ConnectionFailed
	}
	clients := m.clients
	*m = *newModel()
	m.clients = clients
}

func (m *model) lose(clients []*modelClient, code int) {
	for _, c := range clients {
		c.state, c.code = mpsfake.Inactive, code
	}
}

func (m *model) connect(c *modelClient) {
	m.clients[c.pid] = c
	if s := m.server; s != nil && s.uid == c.uid && len(s.affected) > 0 {
		c.state, c.code = mpsfake.Refused, mpsfake.ServerNotReady
		return
	}
	c.state = mpsfake.Pending
	m.queue = append(m.queue, c)
	m.settle()
}

func (m *model) leave(c *modelClient) {
	same := func(x *modelClient) bool { return x == c }
	m.queue = slices.DeleteFunc(m.queue, same)
	if m.server != nil {
		m.server.attached = slices.DeleteFunc(m.server.attached, same)
		m.server.affected = slices.DeleteFunc(m.server.affected, same)
	}
	m.settle()
}

func (m *model) start(uid int) {
	m.server = &modelServer{uid: uid, percent: m.percent, pinned: maps.Clone(m.pinned)}
}

func (m *model) settle() {
	for {
		if m.server != nil && len(m.server.attached) == 0 && (m.server.draining || m.otherNext()) {
			m.server = nil
		}
		if m.server == nil {
			uid, waits := m.next()
			if !waits {
				return
			}
			m.wanted = nil
			m.start(uid)
		}
		if s := m.server; !s.draining && len(s.affected) == 0 {
			waiting := m.queue
			m.queue = nil
			for _, c := range waiting {
				if c.uid == s.uid {
					m.attach(c)
				} else {
					m.queue = append(m.queue, c)
				}
			}
		}
		if len(m.server.attached) > 0 || !m.otherNext() {
			return
		}
	}
}

// next is the user whose turn it is.
func (m *model) next() (int, bool) {
	switch {
	case len(m.wanted) > 0:
		return m.wanted[0], true
	case len(m.queue) > 0:
		return m.queue[0].uid, true
	}
	return 0, false
}

// otherNext tells whether it is the turn of another user than the server's. One of
// the server's own who waits is served first.
func (m *model) otherNext() bool {
	own := func(c *modelClient) bool { return c.uid == m.server.uid }
	uid, waits := m.next()
	return waits && uid != m.server.uid && !slices.ContainsFunc(m.queue, own)
}

func (m *model) attach(c *modelClient) {
	for _, device := range c.devices {
		n := 0
		for _, x := range m.server.attached {
			if slices.Contains(x.devices, device) {
				n++
			}
		}
		if n >= modelCap {
			c.state, c.code = mpsfake.Refused, mpsfake.MaxClientsReached
			return
		}
	}
	c.state, c.percent = mpsfake.Active, m.server.percent
	if c.env > 0 {
		c.percent = min(c.percent, c.env)
	}
	m.server.attached = append(m.server.attached, c)
}

// fault reaches who is connected with the device, by whatever chain.
func (m *model) fault(device int) {
	s := m.server
	hit := map[int]bool{device: true}
	for range modelGPUs {
		for _, c := range s.attached {
			if slices.ContainsFunc(c.devices, func(i int) bool { return hit[i] }) {
				for _, i := range c.devices {
					hit[i] = true
				}
			}
		}
	}
	for _, c := range s.attached {
		if slices.ContainsFunc(c.devices, func(i int) bool { return hit[i] }) {
			c.state, c.code = mpsfake.Inactive, mpsfake.LaunchFailed
			if !slices.Contains(s.affected, c) {
				s.affected = append(s.affected, c)
			}
		}
	}
}

func (m *model) crash() {
	m.lose(m.server.attached, mpsfake.RPCFailure)
	m.start(m.server.uid)
	m.settle()
}

// startServer is the command; it is refused where the user has a server.
func (m *model) startServer(uid int) (refused bool) {
	if m.server != nil && m.server.uid == uid {
		return true
	}
	m.wanted = []int{uid}
	m.settle()
	return false
}

// smsOf is the largest even number of SMs that is no more than the percentage.
func smsOf(sms, percent int) int {
	n := 0
	for (n+2)*100 <= sms*percent {
		n += 2
	}
	return n
}

func (c *modelClient) client() mpsfake.Client {
	env := map[string]string{}
	if len(c.devices) == 1 {
		env["CUDA_VISIBLE_DEVICES"] = strconv.Itoa(c.devices[0])
	}
	if c.env > 0 {
		env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = strconv.Itoa(c.env)
	}
	return mpsfake.Client{PID: c.pid, UID: c.uid, Env: env}
}
