package mpsfake

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/gpushare/gpushare/mps"
)

// quit ends servers at once, and the daemon when ExitPolls calls have passed.
func (d *Daemon) quit(args []string) mps.Output {
	if len(args) > 0 {
		if _, ok := number(args[len(args)-1]); len(args) != 2 || args[0] != "-t" || !ok {
			return d.refuse("Invalid argument for quit")
		}
	}
	if !d.quitting {
		d.quitting, d.ending = true, d.cfg.ExitPolls
		d.endServers(0)
	}
	if d.ending == 0 {
		d.gone(false)
	}
	return mps.Output{}
}

// endServers ends every server, and refuses whoever waits for one.
func (d *Daemon) endServers(status int) {
	for len(d.servers) > 0 {
		d.end(d.servers[0], status)
	}
	for _, c := range d.clients {
		if c.at.State == Pending {
			c.refused(ConnectionFailed)
		}
	}
	d.wanted = noUser
}

// gone is the daemon's end.
func (d *Daemon) gone(killed bool) {
	d.alive, d.killed = false, killed
	d.world = world{wanted: noUser}
}

func (d *Daemon) kill() {
	if !d.alive {
		return
	}
	// The servers notice that their daemon is gone. No line says so.
	for _, s := range d.servers {
		d.drop(s)
	}
	d.servers = nil
	d.endServers(1)
	d.gone(true)
}

func (d *Daemon) replace(pid int) {
	p := process{protocol: d.protocol, static: d.static, multi: d.multi}
	if d.births == 0 {
		p = process{protocol: d.cfg.Protocol, static: d.cfg.StaticPartitioning, multi: d.cfg.MultiUser}
	}
	if d.alive {
		d.endServers(0)
		d.gone(false)
	}
	last := d.lastPID
	if pid > 0 {
		d.lastPID = pid - 1
	}
	d.begin(p)
	d.lastPID = max(d.lastPID, last)
}

// Kill ends the daemon at once. Its files stay behind; its servers and what was set
// are gone.
func (d *Daemon) Kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kill()
}

// Replace ends the daemon and starts another one with the same flags, which knows
// nothing of what was set: under this PID, or under the next one that is free if pid
// is 0. With the PID of the one before, only the start time tells them apart.
func (d *Daemon) Replace(pid int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.replace(pid)
}

// PIDFile is who answers: what mps.PIDFile would find in the pid file and the process
// table, as an mps.IdentityFunc. No two processes have the same start time. The file is
// gone after a quit and stale after Kill. A daemon that quits counts this as a call
// (Config.ExitPolls), so that waiting for its end ends.
func (d *Daemon) PIDFile() (mps.Identity, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.alive && d.quitting {
		d.tickQuit()
	}
	switch {
	case d.alive:
		return mps.Identity{PID: d.pid, Start: d.start}, nil
	case d.killed:
		return mps.Identity{PID: d.pid}, fmt.Errorf("mpsfake: process %d: %w", d.pid, mps.ErrStale)
	default:
		return mps.Identity{}, fmt.Errorf("mpsfake: pid file: %w", fs.ErrNotExist)
	}
}

// Advance lets the time of one call pass: servers become ready, what ends is gone.
func (d *Daemon) Advance() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tick()
	d.settle()
}

// tick is the time that passes with each call.
func (d *Daemon) tick() {
	for i := range d.leaving {
		d.leaving[i].polls--
	}
	d.leaving = slices.DeleteFunc(d.leaving, func(l leaving) bool { return l.polls < 0 })
	for _, s := range slices.Clone(d.servers) {
		if s.state != initializing || d.cfg.HoldInit {
			continue
		}
		if s.polls > 0 {
			s.polls--
			continue
		}
		d.started(s)
	}
	if d.alive && d.quitting {
		d.tickQuit()
	}
	d.settle()
}

func (d *Daemon) tickQuit() {
	if d.ending--; d.ending < 0 {
		d.gone(false)
	}
}
