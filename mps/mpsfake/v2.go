package mpsfake

import (
	"fmt"
	"strings"

	"github.com/gpushare/gpushare/mps"
)

// v2 carries out one command line of protocol 2. A name that no text of NVIDIA's
// documents is unknown, however often it is seen in scripts.
func (d *Daemon) v2(words []string) mps.Output {
	name, args := words[0], words[1:]
	switch name {
	case "get_server_list":
		return d.exactly(0, args, d.serverList)
	case "get_server_status":
		return d.withServer(1, args, d.serverStatus)
	case "start_server":
		return d.startServer(args)
	case "shutdown_server":
		return d.shutdownServer(args)
	case "get_client_list":
		return d.withServer(1, args, d.clientList)
	case "get_device_client_list":
		return d.deviceClientList(args)
	case "get_default_active_thread_percentage":
		return d.exactly(0, args, func([]string) mps.Output { return say("%.1f", d.percent) })
	case "set_default_active_thread_percentage":
		return d.exactly(1, args, d.setDefaultPercent)
	case "get_active_thread_percentage":
		return d.withServer(1, args, func(s *server, _ []string) mps.Output {
			return d.value("Active thread percentage of server "+itoa(s.pid), percentText(s.percent))
		})
	case "set_active_thread_percentage":
		return d.withServer(2, args, d.setPercent)
	case "get_default_device_pinned_mem_limit":
		return d.exactly(1, args, func(args []string) mps.Output {
			return d.value("Default pinned memory limit of device "+args[0], d.limits.get(args[0]))
		})
	case "set_default_device_pinned_mem_limit":
		return d.exactly(2, args, d.setDefaultLimit)
	case "get_device_pinned_mem_limit":
		return d.withServer(2, args, func(s *server, args []string) mps.Output {
			return d.value("Pinned memory limit of device "+args[0], s.limits.get(args[0]))
		})
	case "set_device_pinned_mem_limit":
		return d.withServer(3, args, d.setLimit)
	case "get_default_client_priority":
		return d.exactly(0, args, func([]string) mps.Output {
			return d.value("Default client priority", itoa(d.priority))
		})
	case "set_default_client_priority":
		return d.setPriority(args)
	case "terminate_client":
		return d.exactly(2, args, d.terminate)
	case "ps":
		return d.ps(args)
	case "device_query":
		return d.deviceQuery(args)
	case "sm_partition":
		return d.smPartition(args)
	case "lspart":
		return d.exactly(0, args, d.lspart)
	case "quit":
		return d.quit(args)
	default:
		return d.refuse("Unknown command: %.100s", name)
	}
}

// exactly refuses another number of arguments than n.
func (d *Daemon) exactly(n int, args []string, f func([]string) mps.Output) mps.Output {
	if len(args) != n {
		return d.refuse("Invalid number of arguments: %d", len(args))
	}
	return f(args)
}

// withServer takes n arguments, the first the PID of a server.
func (d *Daemon) withServer(n int, args []string, f func(*server, []string) mps.Output) mps.Output {
	return d.exactly(n, args, func(args []string) mps.Output {
		pid, ok := number(args[0])
		s := d.server(pid)
		if !ok || s == nil {
			return d.refuse("Server %.100s not found", args[0])
		}
		return f(s, args[1:])
	})
}

func (d *Daemon) serverList([]string) mps.Output {
	var b strings.Builder
	for _, l := range d.leaving {
		fmt.Fprintln(&b, l.pid)
	}
	for _, s := range d.servers {
		fmt.Fprintln(&b, s.pid)
	}
	return mps.Output{Stdout: b.String()}
}

func (d *Daemon) serverStatus(s *server, _ []string) mps.Output {
	return d.value("Server "+itoa(s.pid), s.state.String())
}

// startServer takes -uid N, and -mlopart, which changes nothing that is told here.
func (d *Daemon) startServer(args []string) mps.Output {
	uid := noUser
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "-mlopart":
		case args[i] == "-uid" && uid == noUser && i+1 < len(args):
			n, ok := number(args[i+1])
			if !ok {
				return d.refuse("Invalid UID %.100s", args[i+1])
			}
			uid, i = n, i+1
		default:
			return d.refuse("Invalid argument %.100s", args[i])
		}
	}
	switch {
	case uid == noUser:
		return d.refuse("Invalid number of arguments: %d", len(args))
	case d.quitting:
		return d.refuse("The daemon is shutting down")
	case d.cfg.UID != 0 && uid != d.cfg.UID:
		return d.refuse("Operation not permitted for user %d", uid)
	}
	uid = d.serverUser(uid)
	for _, s := range d.servers {
		if s.uid == uid {
			return d.refuse("Server already exists")
		}
	}
	d.wanted = uid
	d.settle()
	return d.done("Server for user %d is starting", uid)
}

func (d *Daemon) shutdownServer(args []string) mps.Output {
	force := len(args) == 2 && args[1] == "-f"
	if force {
		args = args[:1]
	}
	return d.withServer(1, args, func(s *server, _ []string) mps.Output {
		if force {
			d.end(s, 0)
		} else {
			s.draining = true
		}
		d.settle()
		return d.done("Server %d is shutting down", s.pid)
	})
}

func (d *Daemon) setDefaultPercent(args []string) mps.Output {
	p, ok := percentage(args[0])
	if !ok {
		return d.refuse("Invalid active thread percentage %.100s", args[0])
	}
	d.percent = p
	return say("%.1f", p)
}

func (d *Daemon) setPercent(s *server, args []string) mps.Output {
	p, ok := percentage(args[0])
	if !ok {
		return d.refuse("Invalid active thread percentage %.100s", args[0])
	}
	s.percent = p
	return d.value("Active thread percentage of server "+itoa(s.pid), percentText(p))
}

// setDefaultLimit stores under the name that was given: whether a device has it is
// asked when a server starts.
func (d *Daemon) setDefaultLimit(args []string) mps.Output {
	bytes, ok := parseLimit(args[1], "GM")
	if !ok {
		return d.refuse("Invalid memory limit %.100s", args[1])
	}
	d.limits = d.limits.set(args[0], args[1], bytes)
	return mps.Output{}
}

func (d *Daemon) setLimit(s *server, args []string) mps.Output {
	bytes, ok := parseLimit(args[1], "GM")
	if !ok {
		return d.refuse("Invalid memory limit %.100s", args[1])
	}
	s.limits = s.limits.set(args[0], args[1], bytes)
	return d.done("Pinned memory limit of device %s is now %s", args[0], args[1])
}

// setPriority without a value sets nothing; what the real one does then is unknown.
func (d *Daemon) setPriority(args []string) mps.Output {
	if len(args) != 1 || args[0] != "0" && args[0] != "1" {
		return d.refuse("Invalid client priority")
	}
	d.priority, _ = number(args[0])
	return d.done("Default client priority is now %d", d.priority)
}
