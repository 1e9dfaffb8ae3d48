package mpsfake

import (
	"slices"
	"strings"

	"github.com/gpushare/gpushare/mps"
)

// begin starts a daemon process with fresh state.
func (d *Daemon) begin(p process) {
	p.pid = d.takePID()
	d.births++
	p.start = d.births * 100
	p.alive = true
	d.process = p
	d.world = d.fresh()
	d.control("Starting control daemon using socket %s/control", d.cfg.PipeDirectory)
	verb := "To connect CUDA applications to this daemon, set env"
	if p.protocol == 3 {
		verb = "To connect CUDA applications to this daemon, set"
	}
	d.control("%s CUDA_MPS_PIPE_DIRECTORY=%s", verb, d.cfg.PipeDirectory)
	if d.cfg.Version >= 13000 {
		d.control("CUDA MPS Control binary version: %d", d.cfg.Version)
	}
}

func (d *Daemon) takePID() int {
	for {
		d.lastPID++
		if d.client(d.lastPID) == nil {
			return d.lastPID
		}
	}
}

// Start runs the program with start flags, such as "-d", "-S", "-M", "-p", "3", and
// gives what it prints. What the flags leave open is as configured. Rules do not apply.
func (d *Daemon) Start(args ...string) mps.Output {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.launch(args)
}

func (d *Daemon) launch(args []string) mps.Output {
	p := process{protocol: d.cfg.Protocol, static: d.cfg.StaticPartitioning, multi: d.cfg.MultiUser}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		switch name {
		case "-d", "--daemon":
		case "-S", "--static-partitioning":
			p.static = true
		case "-M", "-m", "-multiuser-server", "--multiuser-server", "--multiuser":
			p.multi = true
		case "-p", "--protocol":
			if !joined && i+1 < len(args) {
				i++
				value = args[i]
			}
			if value != "2" && value != "3" {
				return d.refuse("Invalid protocol version %.20s", value)
			}
			p.protocol = int(value[0] - '0')
		default:
			return d.refuse("Unknown option: %.100s", args[i])
		}
	}
	switch {
	case d.alive:
		return mps.Output{Stdout: "An instance of this daemon is already running\n", Exit: 1}
	case p.multi && d.cfg.UID != 0:
		return d.refuse("Invalid option: only root can run a multi-user server")
	case p.static && (p.protocol == 3 || d.cfg.Version < defaultVersion):
		return d.refuse("Unknown option: -S")
	}
	d.begin(p)
	return mps.Output{}
}

// flags answers a call whose first argument is an option.
func (d *Daemon) flags(args []string) mps.Output {
	switch args[0] {
	case "-v":
		return d.value("CUDA MPS Control binary version", itoa(d.cfg.Version))
	case "-q", "--quit":
		switch {
		case !d.alive:
			return d.absent()
		case d.protocol == 3:
			return d.quit(nil)
		}
	case "-a", "--apply", "-h", "--help":
		return d.refuse("Unknown option: %s", args[0])
	}
	if slices.Contains(args, "-d") || slices.Contains(args, "--daemon") {
		return d.launch(args)
	}
	return d.refuse("Unknown option: %.100s", args[0])
}
