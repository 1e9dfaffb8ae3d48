package mpsfake

import (
	"fmt"

	"github.com/gpushare/gpushare/mps"
)

// clientRows are the clients of the servers that server leaves ("": all).
func (d *Daemon) clientTable(r *request) mps.Output {
	if strange := r.only("format", "server", "all"); strange != "" || len(r.args) > 0 {
		return d.refuse("Invalid argument %.100s", orDash(strange))
	}
	server, _ := r.take("server")
	if server != "" && d.named(server) == nil {
		return d.refuse("Server %.100s not found", server)
	}
	var rows [][]string
	for _, s := range d.servers {
		if server != "" && server != s.name {
			continue
		}
		for _, c := range d.attached(s) {
			for _, sh := range c.at.Shares {
				rows = append(rows, []string{itoa(c.PID), s.name, sh.UUID, c.namespace.name, c.Command})
			}
		}
	}
	return d.list(r, clientColumns[:], rows)
}

// withClient takes the PID of a client as the first argument.
func (d *Daemon) withClient(r *request, f func(*client) mps.Output) mps.Output {
	pid, ok := number(r.arg(0))
	c := d.client(pid)
	if !ok || c == nil || c.server == nil {
		return d.refuse("Client %.100s not found", orDash(r.arg(0)))
	}
	return f(c)
}

func (d *Daemon) clientGet(r *request) mps.Output {
	if strange := r.only(); strange != "" || len(r.args) != 2 {
		return d.refuse("Invalid argument %.100s", orDash(strange))
	}
	return d.withClient(r, func(c *client) mps.Output {
		first := c.at.Shares[0]
		switch r.arg(1) {
		case "pid":
			return say("%d", c.PID)
		case "server":
			return say("%s", c.server.name)
		case "device":
			return say("%s", first.UUID)
		case "pci-id":
			return say("%s", pciID(first.Ordinal))
		case "linux-ns":
			return say("%s", namespacePID)
		case "maws-ns":
			return say("%s", c.namespace.name)
		case "cmd":
			return say("%s", c.Command)
		default:
			return d.refuse("Invalid field %.100s", r.arg(1))
		}
	})
}

// clientTerminate prints the code of its success as protocol 2 does, which nobody
// has published for protocol 3.
func (d *Daemon) clientTerminate(r *request) mps.Output {
	if strange := r.only(); strange != "" || len(r.args) != 1 {
		return d.refuse("Invalid argument %.100s", orDash(strange))
	}
	return d.withClient(r, func(c *client) mps.Output {
		d.cutOff(c)
		return d.value("terminate", "0")
	})
}

func pciID(ordinal int) string { return fmt.Sprintf("0000:%02x:00.0", 0x17+ordinal*0x10) }

// deviceRows have one line per device, or per server and device.
func (d *Daemon) deviceRows(servers []*server) [][]string {
	row := func(i int, server string) []string {
		g := d.gpus[i]
		return []string{
			itoa(i), orDash(server), pciID(i), g.UUID, g.Name, itoa(g.SMs), itoa(g.Chunks), "-",
		}
	}
	var rows [][]string
	for _, s := range servers {
		name := s.name
		if name == "" {
			name = itoa(s.pid)
		}
		for _, i := range s.onDevices {
			rows = append(rows, row(i, name))
		}
	}
	if servers == nil {
		for i := range d.gpus {
			rows = append(rows, row(i, ""))
		}
	}
	return rows
}

func (d *Daemon) deviceTable(r *request) mps.Output {
	if strange := r.only("format", "server"); strange != "" || len(r.args) > 0 {
		return d.refuse("Invalid argument %.100s", orDash(strange))
	}
	if name, has := r.take("server"); has {
		return d.withNamed(name, func(s *server) mps.Output {
			return d.list(r, deviceColumns[:], d.deviceRows([]*server{s}))
		})
	}
	return d.list(r, deviceColumns[:], d.deviceRows(nil))
}

func (d *Daemon) featureSet(r *request, off bool) mps.Output {
	if strange := r.only(); strange != "" || len(r.args) != 1 {
		return d.refuse("Invalid argument %.100s", orDash(strange))
	}
	switch r.arg(0) {
	case "memacct":
		d.memacctOff = off
	case "context-share":
		d.contextShareOff = off
	default:
		return d.refuse("Invalid feature %.100s", r.arg(0))
	}
	return d.done("Feature '%s' changed", r.arg(0))
}

func (d *Daemon) featureTable(r *request) mps.Output {
	if strange := r.only("format"); strange != "" || len(r.args) > 1 {
		return d.refuse("Invalid argument %.100s", orDash(strange))
	}
	var rows [][]string
	for _, f := range []struct {
		name, covers string
		off          bool
	}{{"memacct", "memory accounting", d.memacctOff}, {"context-share", "shared contexts", d.contextShareOff}} {
		if r.arg(0) != "" && r.arg(0) != f.name {
			continue
		}
		state := "enabled (default)"
		if f.off {
			state = "disabled"
		}
		rows = append(rows, []string{f.name, state, f.name, f.covers})
	}
	if len(rows) == 0 {
		return d.refuse("Invalid feature %.100s", r.arg(0))
	}
	return d.list(r, featureColumns[:], rows)
}

func (d *Daemon) memacctSet(r *request) mps.Output {
	text, has := r.take("audit_log")
	on, ok := boolean(text)
	if strange := r.only("audit_log"); strange != "" || len(r.args) > 0 || !has || !ok {
		return d.refuse("Invalid argument %.100s", orDash(strange))
	}
	d.auditLog = on
	return d.done("audit_log is now %s", text)
}
