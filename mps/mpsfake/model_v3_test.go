package mpsfake_test

import (
	"slices"
	"strconv"

	"github.com/gpushare/gpushare/mps/mpsfake"
)

// modelV3 is a daemon of protocol 3: servers, and namespaces that inherit nothing. What
// changes tells whether it was refused.
type modelV3 struct {
	servers []*serverV3
	clients map[int]*clientV3
}

type serverV3 struct {
	name       string
	namespaces []*namespaceV3
}

type namespaceV3 struct {
	name    string
	percent int // 0: not set
	mib     int64
}

type clientV3 struct {
	pid, env int
	place    string // server/namespace
	in       *namespaceV3
	state    mpsfake.ClientState
	code     int
	percent  int
	mib      int64
}

func (n *namespaceV3) limit() string {
	if n.mib == 0 {
		return ""
	}
	return strconv.FormatInt(n.mib, 10) + "M"
}

func (m *modelV3) server(name string) *serverV3 {
	for _, s := range m.servers {
		if s.name == name {
			return s
		}
	}
	return nil
}

func (m *modelV3) namespace(server, name string) *namespaceV3 {
	if s := m.server(server); s != nil {
		for _, n := range s.namespaces {
			if n.name == name {
				return n
			}
		}
	}
	return nil
}

// cut takes the contexts of the clients in some namespaces, and counts them.
func (m *modelV3) cut(namespaces []*namespaceV3, really bool) (clients int) {
	for _, c := range m.clients {
		if c.state == mpsfake.Active && slices.Contains(namespaces, c.in) {
			clients++
			if really {
				c.state, c.code = mpsfake.Inactive, mpsfake.RPCFailure
			}
		}
	}
	return clients
}

func (m *modelV3) reset() {
	for _, s := range m.servers {
		m.cut(s.namespaces, true)
	}
	m.servers = nil
}

func (m *modelV3) createServer(name string) (refused bool) {
	if m.server(name) != nil {
		return true
	}
	m.servers = append(m.servers, &serverV3{name, []*namespaceV3{{name: "default"}}})
	return false
}

func (m *modelV3) deleteServer(name string, force bool) (refused bool) {
	s := m.server(name)
	if s == nil || m.cut(s.namespaces, force) > 0 && !force {
		return true
	}
	m.servers = slices.DeleteFunc(m.servers, func(x *serverV3) bool { return x == s })
	return false
}

func (m *modelV3) createNamespace(server, name string) (refused bool) {
	s := m.server(server)
	if s == nil || m.namespace(server, name) != nil {
		return true
	}
	s.namespaces = append(s.namespaces, &namespaceV3{name: name})
	return false
}

func (m *modelV3) deleteNamespace(server, name string, force bool) (refused bool) {
	n := m.namespace(server, name)
	if n == nil || name == "default" || m.cut([]*namespaceV3{n}, force) > 0 && !force {
		return true
	}
	s := m.server(server)
	s.namespaces = slices.DeleteFunc(s.namespaces, func(x *namespaceV3) bool { return x == n })
	return false
}

func (m *modelV3) setNamespace(server, name string, percent int, mib int64) (refused bool) {
	n := m.namespace(server, name)
	if n == nil {
		return true
	}
	if percent > 0 {
		n.percent = percent
	}
	if mib > 0 {
		n.mib = mib
	}
	return false
}

func (m *modelV3) terminate(pid int) (refused bool) {
	c := m.clients[pid]
	if c == nil || c.state != mpsfake.Active {
		return true
	}
	c.state, c.code = mpsfake.Inactive, mpsfake.ClientTerminated
	return false
}

// connect: what the namespace says counts instead of what the client asks for.
func (m *modelV3) connect(c *clientV3, server, name string) {
	m.clients[c.pid] = c
	c.state = mpsfake.Direct
	n := m.namespace(server, name)
	if n == nil {
		return
	}
	c.state, c.in, c.place, c.mib, c.percent = mpsfake.Active, n, server+"/"+name, n.mib, 100
	switch {
	case n.percent > 0:
		c.percent = n.percent
	case c.env > 0:
		c.percent = c.env
	}
}
