package mpsfake

import (
	"fmt"
	"slices"

	"github.com/gpushare/gpushare/mps"
)

// namespace is what clients of protocol 3 connect to. It inherits nothing.
type namespace struct {
	name, server string
	percent      float64 // 0: not set
	priority     int     // -1: not set
	limit        string  // as it was set
	bytes        int64
}

func (s *server) namespace(name string) *namespace {
	for _, n := range s.namespaces {
		if n.name == name {
			return n
		}
	}
	return nil
}

func (s *server) namespaceAt(n *namespace) bool {
	return n != nil && slices.Contains(s.namespaces, n)
}

// in tells whether a client is in a namespace, or waits for it.
func (c *client) in(n *namespace) bool {
	return c.namespace == n && (c.server != nil || c.at.State == Pending)
}

func limitKeys() []string {
	return []string{"pinned-memory-limit", "active-thread-percentage", "client-priority"}
}

// set takes the limits of a request, or says why not.
func (n *namespace) set(r *request) (why string) {
	if text, has := r.take("pinned-memory-limit"); has {
		bytes, ok := parseLimit(text, "GMK")
		if !ok {
			return fmt.Sprintf("Invalid memory limit %.100s", text)
		}
		n.limit, n.bytes = text, bytes
	}
	if text, has := r.take("active-thread-percentage"); has {
		p, ok := percentage(text)
		if !ok {
			return fmt.Sprintf("Invalid active thread percentage %.100s", text)
		}
		n.percent = p
	}
	if text, has := r.take("client-priority"); has {
		if text != "0" && text != "1" {
			return fmt.Sprintf("Invalid client priority %.100s", text)
		}
		n.priority, _ = number(text)
	}
	return ""
}

// withNamespace takes a namespace of the server of this name by the first argument.
func (d *Daemon) withNamespace(r *request, of string, f func(*server, *namespace) mps.Output) mps.Output {
	return d.withNamed(of, func(s *server) mps.Output {
		n := s.namespace(r.arg(0))
		if n == nil {
			return d.refuse("Namespace %.100s not found", orDash(r.arg(0)))
		}
		return f(s, n)
	})
}

func (d *Daemon) namespaceCreate(r *request) mps.Output {
	of, _ := r.take("server")
	return d.withNamed(of, func(s *server) mps.Output {
		n := &namespace{name: r.arg(0), server: s.name, priority: -1}
		if why := n.set(r); why != "" {
			return d.refuse("%s", why)
		}
		switch strange := r.only(append(limitKeys(), "server")...); {
		case strange != "" || len(r.args) != 1:
			return d.refuse("Invalid argument %.100s", orDash(strange))
		case !validName(n.name):
			return d.refuse("Invalid namespace name %.100s", n.name)
		case s.namespace(n.name) != nil:
			return d.refuse("Namespace %s already exists", n.name)
		}
		s.namespaces = append(s.namespaces, n)
		return d.done("Namespace '%s' created", n.name)
	})
}

// namespaceDelete cuts clients off where it is forced, as a server that ends does.
func (d *Daemon) namespaceDelete(r *request) mps.Output {
	of, _ := r.take("server")
	return d.withNamespace(r, of, func(s *server, n *namespace) mps.Output {
		switch strange := r.only("server", "force"); {
		case strange != "" || len(r.args) != 1:
			return d.refuse("Invalid argument %.100s", orDash(strange))
		case n.name == "default":
			return d.refuse("Invalid namespace: default stays")
		case !r.flag("force") && slices.ContainsFunc(d.clients, func(c *client) bool { return c.in(n) }):
			return d.refuse("Namespace %s has clients", n.name)
		}
		for _, c := range d.clients {
			switch {
			case c.in(n) && c.at.State == Pending:
				c.refused(ConnectionFailed)
			case c.in(n):
				c.lost(RPCFailure)
			}
		}
		s.namespaces = slices.DeleteFunc(s.namespaces, func(x *namespace) bool { return x == n })
		return d.done("Namespace '%s' deleted", n.name)
	})
}

func (d *Daemon) namespaceSet(r *request) mps.Output {
	of, _ := r.take("server")
	return d.withNamespace(r, of, func(_ *server, n *namespace) mps.Output {
		next := *n
		if why := next.set(r); why != "" {
			return d.refuse("%s", why)
		}
		if strange := r.only(append(limitKeys(), "server")...); strange != "" || len(r.args) != 1 || len(r.keys) == 1 {
			return d.refuse("Invalid argument %.100s", orDash(strange))
		}
		*n = next
		return d.done("Namespace '%s' updated", n.name)
	})
}

// namespaceRow shows what is not set in one of two ways: the real one is unknown.
func (d *Daemon) namespaceRow(s *server, n *namespace) []string {
	percent, priority := "100.00", "0"
	if d.cfg.Placeholders == Wordy {
		percent, priority = "-", "-"
	}
	if n.percent > 0 {
		percent = fmt.Sprintf("%.2f", n.percent)
	}
	if n.priority >= 0 {
		priority = itoa(n.priority)
	}
	return []string{
		n.name, s.name, s.word(), orDash(n.limit), percent, priority,
		d.cfg.PipeDirectory + "/" + s.name + "/" + n.name,
	}
}

func (d *Daemon) namespaceTable(r *request) mps.Output {
	if strange := r.only("format", "server"); strange != "" || len(r.args) > 1 {
		return d.refuse("Invalid argument %.100s", orDash(strange))
	}
	server, _ := r.take("server")
	var rows [][]string
	for _, s := range d.servers {
		for _, n := range s.namespaces {
			if (server == "" || server == s.name) && (r.arg(0) == "" || r.arg(0) == n.name) {
				rows = append(rows, d.namespaceRow(s, n))
			}
		}
	}
	return d.list(r, namespaceColumns[:], rows)
}

func (d *Daemon) namespaceGet(r *request) mps.Output {
	if strange := r.only(); strange != "" || len(r.args) != 3 {
		return d.refuse("Invalid argument %.100s", orDash(strange))
	}
	// Here the server is an argument, elsewhere a key.
	return d.withNamespace(r, r.arg(1), func(s *server, n *namespace) mps.Output {
		i := slices.Index(namespaceColumns[:], r.arg(2))
		if i < 0 {
			return d.refuse("Invalid field %.100s", r.arg(2))
		}
		return say("%s", d.namespaceRow(s, n)[i])
	})
}
