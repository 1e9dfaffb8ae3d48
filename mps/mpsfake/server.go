package mpsfake

import (
	"fmt"
	"slices"
)

// serverState is the state that get_server_status names.
type serverState uint8

const (
	initializing serverState = iota
	active
	faulted
)

func (s serverState) String() string {
	return [...]string{"INITIALIZING", "ACTIVE", "FAULT"}[s]
}

// server is one nvidia-cuda-mps-server.
type server struct {
	pid, uid  int
	state     serverState
	polls     int // calls until it is ready
	draining  bool
	percent   float64
	priority  int
	limits    limits
	lastID    int   // of its clients
	onDevices []int // ordinals on which it has a context
	faults    []int // ordinals that a fault has reached

	// Of protocol 3 only.
	name       string
	allowed    []string // "" of --allowed-devices is nil
	locality   bool
	namespaces []*namespace // "default" first
}

func (d *Daemon) server(pid int) *server {
	for _, s := range d.servers {
		if s.pid == pid {
			return s
		}
	}
	return nil
}

// spawn starts a server of a user with a copy of the defaults.
func (d *Daemon) spawn(uid int) *server {
	s := &server{
		pid: d.takePID(), uid: uid, percent: d.percent, priority: d.priority, limits: slices.Clone(d.limits),
	}
	for i := range d.gpus {
		s.onDevices = append(s.onDevices, i)
	}
	d.launchServer(s)
	return s
}

// launchServer adds a server that has its PID, and lets it start.
func (d *Daemon) launchServer(s *server) {
	d.servers = append(d.servers, s)
	who := d.pid
	if d.cfg.Version >= 13000 {
		who = s.pid
	}
	d.logLine("control.log", "Control", who, "Starting new server %d for user %d", s.pid, s.uid)
	d.serverLog(s, "Startup")
	d.serverLog(s, "Connecting to control daemon on socket: %s/control", d.cfg.PipeDirectory)
	d.serverLog(s, "Initializing server process")
	s.state, s.polls = initializing, d.cfg.InitPolls
	if d.crashes != 0 || !d.canStart(s) {
		s.polls = max(s.polls, 1) // or a loop of crashes would never return
	}
	if s.polls == 0 && !d.cfg.HoldInit {
		d.started(s)
	}
}

// started ends the initialisation of a server: it is ready, or it crashes.
func (d *Daemon) started(s *server) {
	if d.crashes != 0 {
		d.crashes = max(d.crashes-1, -1)
		d.crash(s)
		return
	}
	if !d.canStart(s) {
		d.serverLog(s, "Failed to start : invalid argument")
		d.end(s, 1)
		return
	}
	for _, i := range s.onDevices {
		d.serverLog(s, "Creating server context on device %d (%s)", i, d.gpus[i].Name)
	}
	if d.cfg.Version >= 13000 {
		d.serverLog(s, "Creating shared memory region mps.shm.%d.%d", s.uid, s.pid)
	} else {
		d.serverLog(s, "Creating shared memory region /cuda.shm.%x.%x.1", s.uid, s.pid)
	}
	d.serverLog(s, "CUDA MPS Server for Linux/Unix. Binary version: %d", d.cfg.Version)
	d.serverLog(s, "Active Threads Percentage set to %.1f", s.percent)
	for _, i := range s.onDevices {
		if bytes := d.limitOf(s.limits, i); bytes > 0 {
			d.serverLog(s, "Device pinned memory limit for device %d set to 0x%x bytes", i, bytes)
		}
	}
	d.serverLog(s, "Server Priority set to %d", s.priority)
	d.serverLog(s, "Server has started")
	s.state = active
	d.control("NEW SERVER %d: Ready", s.pid)
	d.createPartitions(s)
}

// canStart tells whether a server has a device, and every one that it asks for.
func (d *Daemon) canStart(s *server) bool {
	for _, key := range s.allowed {
		if findGPU(key, d.gpus) < 0 {
			return false
		}
	}
	return len(s.onDevices) > 0
}

// end removes a server; who is attached to it has lost it.
func (d *Daemon) end(s *server, status int) {
	d.drop(s)
	d.servers = slices.DeleteFunc(d.servers, func(x *server) bool { return x == s })
	if s.name != "" {
		d.parts = slices.DeleteFunc(d.parts, func(p *partition) bool { return p.server == s.name })
	}
	if d.cfg.ExitPolls > 0 {
		d.leaving = append(d.leaving, leaving{s.pid, d.cfg.ExitPolls})
	}
	d.control("Server %d exited with status %d", s.pid, status)
}

// drop cuts the clients of a server off.
func (d *Daemon) drop(s *server) {
	for _, c := range d.clients {
		if c.server == s {
			c.lost(RPCFailure)
		}
	}
}

// crash ends a server with status 1 and starts another one in its place.
func (d *Daemon) crash(s *server) {
	d.serverLog(s, "Server encountered a fatal exception. Shutting down")
	d.control("Server encountered a fatal exception. Shutting down")
	d.drop(s)
	d.control("Server %d exited with status 1", s.pid)
	next := *s
	next.pid, next.lastID, next.faults, next.draining = d.takePID(), 0, nil, false
	if s.name == "" {
		next.percent, next.priority, next.limits = d.percent, d.priority, slices.Clone(d.limits)
	}
	i := slices.Index(d.servers, s)
	d.servers = slices.Delete(d.servers, i, i+1)
	d.launchServer(&next)
}

// settle does what the daemon does by itself: attach who waits, end what is not
// needed, start what is. It stops because every round takes a client off the queue,
// or a server that is not needed out of the list, or starts the one that is.
func (d *Daemon) settle() {
	for more := true; more; {
		more = d.alive && !d.quitting && d.settleOnce()
	}
}

func (d *Daemon) settleOnce() bool {
	d.heal()
	for _, s := range d.servers {
		if s.draining && len(d.attached(s)) == 0 {
			d.end(s, 0)
			return true
		}
	}
	for _, c := range d.clients {
		if c.at.State != Pending {
			continue
		}
		if s := d.serverOf(c); s != nil && s.state == active && !s.draining {
			d.attach(c, s)
			return true
		}
	}
	if d.protocol == 3 {
		return d.settleNamed()
	}
	uid := d.nextUser()
	switch {
	case uid == noUser:
		return false
	case len(d.servers) == 0:
		d.wanted = noUser
		d.spawn(uid)
		return true
	case d.servers[0].state == active && d.servers[0].uid != uid && len(d.attached(d.servers[0])) == 0:
		d.end(d.servers[0], 0)
		return true
	}
	return false
}

// nextUser is the user who is to have the next server, or noUser.
func (d *Daemon) nextUser() int {
	if d.wanted != noUser {
		return d.wanted
	}
	for _, c := range d.clients {
		if c.at.State == Pending {
			return d.serverUser(c.UID)
		}
	}
	return noUser
}

// serverUser is the user whose server serves this one.
func (d *Daemon) serverUser(uid int) int {
	if d.multi {
		return 0
	}
	return uid
}

// ServerReady ends the initialisation of a server, whatever it waits for.
func (d *Daemon) ServerReady(pid int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.server(pid)
	if s == nil || s.state != initializing {
		return fmt.Errorf("%w: no server %d that is starting", ErrInput, pid)
	}
	d.started(s)
	d.settle()
	return nil
}
