package mpsfake

import (
	"fmt"
	"slices"
	"strings"
)

// Fault is a fatal error that a client of the server causes on the devices. It
// reaches every client on them, and through the devices that those share with
// others, more: all that are connected. They answer LaunchFailed until they exit.
// The server is in FAULT and refuses new clients on every device, until all that
// the fault reached are gone.
func (d *Daemon) Fault(server int, devices ...int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.server(server)
	if s == nil || s.state == initializing {
		return fmt.Errorf("%w: no server %d that runs", ErrInput, server)
	}
	for _, i := range devices {
		if d.clientsOn(s, i) == 0 {
			return fmt.Errorf("%w: server %d has no client on device %d", ErrInput, server, i)
		}
	}
	if len(devices) == 0 {
		return fmt.Errorf("%w: no device", ErrInput)
	}
	reached := d.component(s, devices)
	clients := d.attached(s)
	for _, c := range clients {
		d.status(s, c)
	}
	d.serverLog(s, "Volta MPS: Server is handling a fatal GPU error.")
	var sticky []string
	for _, c := range clients {
		if slices.ContainsFunc(reached, c.uses) {
			c.affected = true
			c.at.State, c.at.Code = Inactive, LaunchFailed
			sticky = append(sticky, fmt.Sprintf("{%d, %d}", c.PID, c.at.ID))
			d.status(s, c)
		}
	}
	names := make([]string, len(reached))
	for k, i := range reached {
		names[k] = itoa(i)
		if !slices.Contains(s.faults, i) {
			s.faults = append(s.faults, i)
		}
	}
	d.serverLog(s, "Volta MPS: Devices with a fault: %s", strings.Join(names, ", "))
	d.serverLog(s, "Volta MPS: Clients with a sticky error: %s", strings.Join(sticky, ", "))
	s.state = faulted
	return nil
}

func (d *Daemon) status(s *server, c *client) {
	word := "ACTIVE"
	if c.at.State != Active {
		word = "INACTIVE"
	}
	d.serverLog(s, "Volta MPS: status of client {%d, %d} is %s", c.PID, c.at.ID, word)
}

// component are the devices that clients link to the given ones, in order.
func (d *Daemon) component(s *server, devices []int) []int {
	reached := slices.Clone(devices)
	for more := true; more; {
		more = false
		for _, c := range d.attached(s) {
			if !slices.ContainsFunc(reached, c.uses) {
				continue
			}
			for _, sh := range c.at.Shares {
				if !slices.Contains(reached, sh.Ordinal) {
					reached, more = append(reached, sh.Ordinal), true
				}
			}
		}
	}
	slices.Sort(reached)
	return slices.Compact(reached)
}

// heal makes servers active again whose affected clients are all gone.
func (d *Daemon) heal() {
	for _, s := range d.servers {
		if s.state != faulted || slices.ContainsFunc(d.attached(s), func(c *client) bool { return c.affected }) {
			continue
		}
		for _, i := range s.faults {
			d.serverLog(s, "Destroy server context on device %d", i)
		}
		for _, i := range s.faults {
			d.serverLog(s, "Creating server context on device %d (%s)", i, d.gpus[i].Name)
		}
		s.state, s.faults = active, nil
	}
}

// CrashServer ends a server with status 1, as a bug of its own would. Its clients
// answer RPCFailure, and another server starts in its place.
func (d *Daemon) CrashServer(pid int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.server(pid)
	if s == nil {
		return fmt.Errorf("%w: no server %d", ErrInput, pid)
	}
	d.crash(s)
	d.settle()
	return nil
}

// CrashStarts makes the next n servers crash instead of becoming ready, one after
// the other, at most one a call; a negative n means all of them, 0 ends it.
func (d *Daemon) CrashStarts(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.crashes = max(n, -1)
}
