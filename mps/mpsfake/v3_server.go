package mpsfake

import (
	"slices"
	"strings"

	"github.com/gpushare/gpushare/mps"
)

func (d *Daemon) named(name string) *server {
	for _, s := range d.servers {
		if s.name == name && name != "" {
			return s
		}
	}
	return nil
}

// spawnNamed starts a server of protocol 3 with its namespace "default".
func (d *Daemon) spawnNamed(name string, uid int, allowed []string, locality bool) *server {
	s := &server{
		pid: d.takePID(), uid: uid, name: name, percent: 100, allowed: allowed, locality: locality,
		namespaces: []*namespace{{name: "default", server: name, priority: -1}},
	}
	for i := range d.gpus {
		if allowed == nil || slices.ContainsFunc(allowed, func(key string) bool { return findGPU(key, d.gpus) == i }) {
			s.onDevices = append(s.onDevices, i)
		}
	}
	d.launchServer(s)
	return s
}

// settleNamed starts the servers that clients of protocol 3 wait for.
func (d *Daemon) settleNamed() bool {
	for _, c := range d.clients {
		if c.at.State != Pending || d.serverOf(c) != nil {
			continue
		}
		name, _, _ := strings.Cut(c.Namespace, "/")
		uid := d.serverUser(c.UID)
		if name == "" || name == userServer(uid) {
			s := d.named(userServer(uid))
			if s == nil {
				s = d.spawnNamed(userServer(uid), uid, nil, false)
			}
			c.namespace = s.namespaces[0]
			return true
		}
		c.refused(ConnectionFailed) // its server has gone
		return true
	}
	return false
}

func userServer(uid int) string { return "uid_" + itoa(uid) }

// route finds the namespace that a client's pipe directory means. It is false where
// the client has been turned away.
func (d *Daemon) route(c *client) bool {
	name, ns, _ := strings.Cut(c.Namespace, "/")
	if ns == "" {
		ns = "default"
	}
	uid := d.serverUser(c.UID)
	if name == "" {
		name = userServer(uid)
	}
	s := d.named(name)
	switch {
	case s == nil && c.Namespace == "":
		return true // its server is started for it
	case s == nil || s.namespace(ns) == nil:
		c.at = Attachment{State: Direct} // no such directory
		return false
	case s.uid != uid:
		c.refused(NotPermitted)
		return false
	}
	c.namespace = s.namespace(ns)
	return true
}

func (d *Daemon) serverCreate(r *request) mps.Output {
	name := r.arg(0)
	uidText, hasUID := r.take("uid")
	uid, ok := d.cfg.UID, true
	if hasUID {
		uid, ok = number(uidText)
	}
	if name == "" && hasUID {
		name = userServer(uid)
	}
	localityText, hasLocality := r.take("locality-domains")
	locality, okLocality := boolean(localityText)
	var allowed []string
	if list, has := r.take("allowed-devices"); has {
		allowed = strings.Split(list, ",")
	}
	switch strange := r.only("uid", "allowed-devices", "locality-domains"); {
	case strange != "" || len(r.args) > 1:
		return d.refuse("Invalid argument %.100s", orDash(strange))
	case !ok:
		return d.refuse("Invalid UID %.100s", uidText)
	case !validName(name):
		return d.refuse("Invalid server name %.100s", name)
	case hasLocality && !okLocality:
		return d.refuse("Invalid value %.100s", localityText)
	case d.multi && uid != 0, d.cfg.UID != 0 && uid != d.cfg.UID:
		return d.refuse("Operation not permitted for user %d", uid)
	case d.quitting:
		return d.refuse("The daemon is shutting down")
	case d.named(name) != nil:
		return d.refuse("Server %s already exists", name)
	}
	d.spawnNamed(name, uid, allowed, locality)
	return d.done("Server '%s' created", name)
}

// withNamed takes the name of a server as the first argument.
func (d *Daemon) withNamed(name string, f func(*server) mps.Output) mps.Output {
	s := d.named(name)
	if s == nil {
		return d.refuse("Server %.100s not found", orDash(name))
	}
	return f(s)
}

func (d *Daemon) serverDelete(r *request) mps.Output {
	force := r.flag("force")
	if strange := r.only("force"); strange != "" || len(r.args) != 1 {
		return d.refuse("Invalid argument %.100s", orDash(strange))
	}
	return d.withNamed(r.arg(0), func(s *server) mps.Output {
		if len(d.attached(s)) > 0 && !force {
			return d.refuse("Server %s has clients", s.name)
		}
		d.end(s, 0)
		return d.done("Server '%s' deleted", s.name)
	})
}

func (d *Daemon) serverRow(s *server) []string {
	var ids []string
	for _, c := range d.attached(s) {
		ids = append(ids, itoa(c.at.ID))
	}
	return []string{
		s.name, itoa(s.uid), itoa(s.pid), s.word(), d.cfg.PipeDirectory + "/" + s.name,
		orDash(strings.Join(s.allowed, ",")), orDash(strings.Join(ids, " ")),
	}
}

// word is the status; of the words only Ready is known.
func (s *server) word() string { return [...]string{"Initializing", "Ready", "Fault"}[s.state] }

func (d *Daemon) serverTable(r *request) mps.Output {
	if strange := r.only("format"); strange != "" || len(r.args) > 1 {
		return d.refuse("Invalid argument %.100s", orDash(strange))
	}
	var rows [][]string
	for _, s := range d.servers {
		if name := r.arg(0); name == "" || name == s.name {
			rows = append(rows, d.serverRow(s))
		}
	}
	if len(rows) == 0 && r.arg(0) != "" {
		return d.refuse("Server %.100s not found", r.arg(0))
	}
	return d.list(r, serverColumns[:], rows)
}

func (d *Daemon) serverGet(r *request) mps.Output {
	if strange := r.only(); strange != "" || len(r.args) != 2 {
		return d.refuse("Invalid argument %.100s", orDash(strange))
	}
	return d.withNamed(r.arg(0), func(s *server) mps.Output {
		i := slices.Index(serverColumns[:], r.arg(1))
		if i < 0 || i > 5 {
			return d.refuse("Invalid field %.100s", r.arg(1))
		}
		return say("%s", d.serverRow(s)[i])
	})
}

// serverSet sets limits of the namespace default, and what is the server's own.
func (d *Daemon) serverSet(r *request) mps.Output {
	return d.withNamed(r.arg(0), func(s *server) mps.Output {
		uid, locality := s.uid, s.locality
		if text, has := r.take("uid"); has {
			n, ok := number(text)
			if !ok || n != s.uid && len(d.attached(s)) > 0 || d.multi && n != 0 || d.cfg.UID != 0 && n != d.cfg.UID {
				return d.refuse("Invalid UID %.100s", text)
			}
			uid = n
		}
		if text, has := r.take("locality-domains"); has {
			b, ok := boolean(text)
			if !ok {
				return d.refuse("Invalid value %.100s", text)
			}
			locality = b
		}
		ns := *s.namespaces[0]
		if why := ns.set(r); why != "" {
			return d.refuse("%s", why)
		}
		if strange := r.only(append([]string{"uid", "locality-domains"}, limitKeys()...)...); strange != "" ||
			len(r.keys) == 0 || len(r.args) != 1 {
			return d.refuse("Invalid argument %.100s", orDash(strange))
		}
		*s.namespaces[0] = ns
		s.uid, s.locality = uid, locality
		return d.done("Server '%s' updated", s.name)
	})
}
