package mpsfake

import (
	"fmt"
	"slices"
	"strings"
)

// client is a CUDA program that is left, attached or not.
type client struct {
	Client
	at        Attachment
	server    *server    // while its contexts are there
	namespace *namespace // protocol 3
	part      *partition // static partition it is in
	affected  bool       // a fault has reached it
}

func (c *client) refused(code int) { c.at = Attachment{State: Refused, Code: code} }

// lost makes a client useless: its next CUDA call answers code, and so do all others.
func (c *client) lost(code int) {
	c.at.State, c.at.Code = Inactive, code
	c.release()
}

func (c *client) release() { c.server, c.part, c.affected = nil, nil, false }

func (d *Daemon) client(pid int) *client {
	for _, c := range d.clients {
		if c.PID == pid {
			return c
		}
	}
	return nil
}

// attached are the clients with contexts on a server, in the order in which they came.
func (d *Daemon) attached(s *server) []*client {
	var all []*client
	for _, c := range d.clients {
		if c.server == s {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b *client) int { return a.at.ID - b.at.ID })
	return all
}

// Connect is a CUDA program that initialises, and how it stands then. One that waits
// for a server may be attached later: Client tells. The program is there until
// Disconnect, whatever became of its connection. The error is for a bad call only.
func (d *Daemon) Connect(c Client) (Attachment, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.PID < 1 || c.UID < 0 || strings.ContainsAny(c.Command, "\r\n") {
		return Attachment{}, fmt.Errorf("%w: client %d of user %d, command %q", ErrInput, c.PID, c.UID, c.Command)
	}
	if d.client(c.PID) != nil || d.alive && (c.PID == d.pid || d.server(c.PID) != nil) {
		return Attachment{}, fmt.Errorf("%w: process %d is there already", ErrInput, c.PID)
	}
	if c.Command == "" {
		c.Command = "./app"
	}
	x := &client{Client: c}
	d.clients = append(d.clients, x)
	d.arrive(x)
	d.settle()
	return x.view(), nil
}

func (c *client) view() Attachment {
	at := c.at
	at.Shares = slices.Clone(at.Shares)
	return at
}

// arrive decides whether a program is turned away, queued, or runs without MPS.
func (d *Daemon) arrive(c *client) {
	switch {
	case !d.alive && d.killed, d.alive && d.quitting:
		c.refused(ConnectionFailed) // a socket, and nobody who answers
		return
	case !d.alive:
		c.at = Attachment{State: Direct}
		return
	}
	d.control("Accepting connection...")
	d.control("User did not send valid credentials")
	d.control("Accepting connection...")
	if d.cfg.UID != 0 && c.UID != d.cfg.UID {
		c.refused(NotPermitted)
		return
	}
	if d.protocol == 3 && !d.route(c) {
		return
	}
	s := d.serverOf(c)
	switch {
	case s != nil && s.state == faulted:
		d.control("NEW CLIENT %d from user %d: Server already exists", c.PID, c.UID)
		c.refused(ServerNotReady)
	case s != nil && s.state == active && !s.draining:
		d.control("NEW CLIENT %d from user %d: Server already exists", c.PID, c.UID)
		c.at = Attachment{State: Pending}
	default:
		d.control("NEW CLIENT %d from user %d: Server is not ready, push client to pending list", c.PID, c.UID)
		c.at = Attachment{State: Pending}
	}
}

// serverOf is the server that a client is for, if it is there.
func (d *Daemon) serverOf(c *client) *server {
	for _, s := range d.servers {
		switch {
		case d.protocol == 3:
			if s.namespaceAt(c.namespace) {
				return s
			}
		case s.uid == d.serverUser(c.UID):
			return s
		}
	}
	return nil
}

// attach gives a waiting client its contexts, or refuses it.
func (d *Daemon) attach(c *client, s *server) {
	d.serverLog(s, "Received new client request")
	devices, ok := d.devicesOf(c, s)
	if !ok {
		c.refused(NoDevice)
		return
	}
	part, devices, ok := d.partitionOf(c, s, devices)
	if !ok {
		c.refused(InvalidConfiguration)
		return
	}
	for _, i := range devices {
		if d.clientsOn(s, i) >= d.cfg.ClientCap {
			c.refused(MaxClientsReached)
			return
		}
	}
	s.lastID++
	c.server, c.part = s, part
	c.at = Attachment{State: Active, Server: s.pid, ID: s.lastID, Priority: d.priorityOf(c, s)}
	for _, i := range devices {
		c.at.Shares = append(c.at.Shares, d.share(c, s, i))
	}
	d.serverLog(s, "Client {PID: %d, Context ID: %d} connected", c.PID, c.at.ID)
	d.serverLog(s, "Creating worker thread for client {PID: %d, Context ID: %d}", c.PID, c.at.ID)
	d.serverLog(s, "Worker created")
	for _, i := range devices {
		d.serverLog(s, "Device %s (uuid %s) is associated", d.gpus[i].Name, d.gpus[i].UUID)
	}
}

// Client is how a client stands now; ok is false if there is none under this PID.
func (d *Daemon) Client(pid int) (at Attachment, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.client(pid); c != nil {
		return c.view(), true
	}
	return Attachment{}, false
}

// Disconnect is a CUDA program that exits, in whatever state.
func (d *Daemon) Disconnect(pid int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.client(pid)
	if c == nil {
		return fmt.Errorf("%w: no client %d", ErrInput, pid)
	}
	if s := c.server; s != nil {
		if c.affected {
			d.serverLog(s, "Client {%d, %d} exit", c.PID, c.at.ID)
		}
		d.serverLog(s, "Receive command failed, assuming client exit")
		d.serverLog(s, "Client process disconnected")
	}
	d.clients = slices.DeleteFunc(d.clients, func(x *client) bool { return x == c })
	d.settle()
	return nil
}
