package mpsfake

import (
	"errors"
	"fmt"
)

// Check audits the state: it is nil unless the fake itself is wrong.
func (d *Daemon) Check() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("mpsfake: "+format, args...)) }
	d.checkServers(bad)
	d.checkClients(bad)
	d.checkPartitions(bad)
	return errors.Join(errs...)
}

type complain func(format string, args ...any)

func (d *Daemon) checkServers(bad complain) {
	if (!d.alive || d.quitting) && len(d.servers) > 0 {
		bad("%d servers without a daemon", len(d.servers))
	}
	if d.alive && d.protocol == 2 && len(d.servers) > 1 {
		bad("%d servers at once", len(d.servers))
	}
	seen := map[int]bool{d.pid: d.alive}
	for _, s := range d.servers {
		if seen[s.pid] {
			bad("process %d twice", s.pid)
		}
		seen[s.pid] = true
		if !(s.percent > 0 && s.percent <= 100) {
			bad("server %d at %g percent", s.pid, s.percent)
		}
		affected := 0
		for _, c := range d.attached(s) {
			if c.affected {
				affected++
			}
		}
		if (affected > 0) != (s.state == faulted) {
			bad("server %d is %v with %d affected clients", s.pid, s.state, affected)
		}
		if s.state == initializing && len(d.attached(s)) > 0 {
			bad("server %d has clients and is not ready", s.pid)
		}
		for i := range d.gpus {
			if n := d.clientsOn(s, i); n > d.cfg.ClientCap {
				bad("server %d has %d clients on device %d", s.pid, n, i)
			}
		}
	}
}

func (d *Daemon) checkClients(bad complain) {
	seen := map[int]bool{}
	for _, c := range d.clients {
		if seen[c.PID] {
			bad("client %d twice", c.PID)
		}
		seen[c.PID] = true
		attached := c.server != nil
		switch {
		case attached && (!d.alive || d.server(c.server.pid) != c.server):
			bad("client %d is attached to a server that is gone", c.PID)
		case attached != (c.at.State == Active || c.affected):
			bad("client %d is %v, attached %v", c.PID, c.at.State, attached)
		case (c.at.Code == Success) != (c.at.State == Active || c.at.State == Pending || c.at.State == Direct):
			bad("client %d is %v with code %d", c.PID, c.at.State, c.at.Code)
		case c.at.State == Active && len(c.at.Shares) == 0:
			bad("client %d has no device", c.PID)
		case c.at.State == Pending && (!d.alive || d.quitting):
			bad("client %d waits for nobody", c.PID)
		}
		if s := d.serverOf(c); c.at.State == Pending && s != nil && s.state == active && !s.draining {
			bad("client %d waits for server %d, which is ready", c.PID, s.pid)
		}
	}
}

func (d *Daemon) checkPartitions(bad complain) {
	for i := range d.gpus {
		if free := d.freeChunks(i); free < 0 {
			bad("device %d has %d free chunks", i, free)
		}
	}
	ids := map[string]bool{}
	for _, p := range d.parts {
		if p.id != "" && ids[p.id] {
			bad("partition %s twice", p.id)
		}
		ids[p.id] = true
		if p.id != "" && len(p.id) != 36 {
			bad("partition id %q", p.id)
		}
	}
	for _, c := range d.clients {
		if d.alive && d.static && c.at.State == Active && c.part == nil {
			bad("client %d is in no partition", c.PID)
		}
	}
}
