package mpsfake

import (
	"fmt"
	"strings"

	"github.com/gpushare/gpushare/mps"
)

// namespacePID is the PID namespace that ps shows for every client.
const namespacePID = "4026531836"

func (d *Daemon) clientList(s *server, _ []string) mps.Output {
	pids := d.clientPIDs(s, func(*client) bool { return true })
	switch {
	case len(pids) == 0:
		return mps.Output{}
	case d.cfg.Placeholders == Wordy: // lines or blanks: unknown
		return say("%s", strings.Join(pids, " "))
	default:
		return say("%s", strings.Join(pids, "\n"))
	}
}

func (d *Daemon) clientPIDs(s *server, keep func(*client) bool) []string {
	var pids []string
	for _, c := range d.attached(s) {
		if keep(c) {
			pids = append(pids, itoa(c.PID))
		}
	}
	return pids
}

// some are the servers that an optional PID leaves.
func (d *Daemon) some(args []string, f func([]*server) mps.Output) mps.Output {
	if len(args) == 0 {
		return f(d.servers)
	}
	return d.withServer(1, args, func(s *server, _ []string) mps.Output { return f([]*server{s}) })
}

// deviceClientList has a layout of ours: nobody has published the real one.
func (d *Daemon) deviceClientList(args []string) mps.Output {
	return d.some(args, func(servers []*server) mps.Output {
		var b strings.Builder
		for i, g := range d.gpus {
			var pids []string
			for _, s := range servers {
				pids = append(pids, d.clientPIDs(s, func(c *client) bool { return c.uses(i) })...)
			}
			if d.cfg.Placeholders != Wordy {
				fmt.Fprintln(&b, strings.Join(append([]string{g.UUID}, pids...), " "))
				continue
			}
			fmt.Fprintf(&b, "Device %d (%s): %d clients\n", i, g.UUID, len(pids))
			for _, pid := range pids {
				fmt.Fprintf(&b, "\t%s\n", pid)
			}
		}
		return mps.Output{Stdout: b.String()}
	})
}

// ps has one line per client and device. Widths are ours.
func (d *Daemon) ps(args []string) mps.Output {
	if len(args) > 0 {
		if len(args) != 2 || args[0] != "-p" {
			return d.refuse("Invalid arguments for ps")
		}
		args = args[1:]
	}
	return d.some(args, func(servers []*server) mps.Output {
		rows := [][]string{{"PID", "ID", "SERVER", "DEVICE", "NAMESPACE", "COMMAND"}}
		for _, s := range servers {
			for _, c := range d.attached(s) {
				for _, sh := range c.at.Shares {
					rows = append(rows, []string{
						itoa(c.PID), itoa(c.at.ID), itoa(s.pid), partialUUID(sh.UUID), namespacePID, c.Command,
					})
				}
			}
		}
		if len(rows) == 1 && (d.cfg.Placeholders == Failing || d.cfg.Placeholders == Silent) {
			return mps.Output{} // header or nothing: unknown
		}
		return mps.Output{Stdout: aligned(rows)}
	})
}

// partialUUID is the form that ps shows: three groups of digits.
func partialUUID(uuid string) string { return uuid[:min(len(uuid), len("GPU-xxxxxxxx-xxxx-xxxx"))] }

// terminate gives a client a sticky error and frees its contexts. Its process lives
// on. The codes of a failure are unknown.
func (d *Daemon) terminate(args []string) mps.Output {
	pid, ok := number(args[0])
	s := d.server(pid)
	cpid, ok2 := number(args[1])
	c := d.client(cpid)
	if !ok || !ok2 || s == nil || c == nil || c.server != s {
		switch d.cfg.Placeholders {
		case Wordy:
			return say("CUDA_ERROR_INVALID_VALUE (1)")
		case Failing:
			return mps.Output{Stderr: "1\n", Exit: 1}
		case Silent:
			return mps.Output{}
		default:
			return say("1")
		}
	}
	d.cutOff(c)
	return say("0")
}

func (d *Daemon) cutOff(c *client) {
	s := c.server
	d.serverLog(s, "Client {%d, %d} exit", c.PID, c.at.ID)
	c.lost(ClientTerminated)
	d.settle()
}

// deviceQuery has the columns of the device list of protocol 3: the layout of the
// real one is unknown.
func (d *Daemon) deviceQuery(args []string) mps.Output {
	format := "table"
	if n := len(args); n > 0 && args[n-1] == "--csv" {
		format, args = "csv", args[:n-1]
	}
	return d.some(args, func(servers []*server) mps.Output {
		if len(args) == 0 {
			servers = nil
		}
		return mps.Output{Stdout: d.render(deviceColumns[:], d.deviceRows(servers), format, true)}
	})
}
