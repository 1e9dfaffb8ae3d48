package mps

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// DaemonConfig is a control daemon to be started.
type DaemonConfig struct {
	Directories Directories

	Protocol           int      // 2 or 3; 0 is 2
	MultiUser          bool     // one server of root for all users, started by root
	StaticPartitioning bool     // of protocol 2: clients must then name an SM partition
	Devices            []string // what it sees, UUIDs or ordinals, as its clients count them; none: all

	// Limits of servers of protocol 2. With protocol 3 they belong to servers and
	// namespaces, see V3.SetServer.
	Limits DaemonLimits
	// AcceptUnread takes the daemon for ready even if it answers a question for a limit
	// in a form that cannot be read. A limit that reads differently is never accepted.
	AcceptUnread bool

	// ReadyFile is written last and removed first; "" is none. It holds the PID of the
	// daemon, if that is known. The file says that the limits were set, which the
	// sockets and an answer do not.
	ReadyFile string

	// BeforeStart and AfterQuit are for what needs another tool, such as the compute
	// mode of the devices: EXCLUSIVE_PROCESS keeps out a client that missed the daemon.
	// AfterQuit also follows a start that failed, unless another daemon runs.
	BeforeStart, AfterQuit func(context.Context) error

	Path string   // the program; "" is nvidia-cuda-mps-control
	Env  []string // more variables for it, KEY=VALUE

	// Runner runs the program, with Environ as its environment; nil is an Exec.
	Runner Runner
	// Client is for the commands. Without Identity it is PIDFile, unless Runner is set.
	Client Options

	StartTimeout time.Duration // until it answers and the limits are set; 0 is 30 s
	QuitTimeout  time.Duration // from quit to its end; 0 is 10 s
}

// DaemonLimits are what servers start with. A zero field leaves it to the daemon.
type DaemonLimits struct {
	Percentage float64          // active thread percentage, above 0 and at most 100
	PinnedMiB  map[string]int64 // per client by device: an ordinal as the daemon counts, or a UUID, which some drivers ignore
	Priority   *int             // 0 normal, 1 below normal
}

// Daemon starts and ends a control daemon. Its methods are safe for concurrent use;
// Start and Quit wait for one another.
type Daemon struct {
	config DaemonConfig
	runner Runner
	client *Client
	turn   chan struct{}
}

// NewDaemon checks the configuration, with errors that wrap ErrInput. Nothing is run.
func NewDaemon(c DaemonConfig) (*Daemon, error) {
	if c.Protocol == 0 {
		c.Protocol = 2
	}
	if c.StartTimeout <= 0 {
		c.StartTimeout = 30 * time.Second
	}
	if c.QuitTimeout <= 0 {
		c.QuitTimeout = 10 * time.Second
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	d := &Daemon{config: c, runner: c.Runner, turn: make(chan struct{}, 1)}
	if d.runner == nil {
		d.runner = &Exec{Path: c.Path, Directories: c.Directories, Env: c.extra()}
		if c.Client.Identity == nil {
			c.Client.Identity = PIDFile(c.Directories.Pipe)
		}
	}
	d.client = New(d.runner, c.Client)
	return d, nil
}

// Client is a client of the daemon.
func (d *Daemon) Client() *Client { return d.client }

func (c DaemonConfig) check() error {
	if c.Runner == nil || c.Directories.Pipe != "" {
		if err := c.Directories.Check(); err != nil {
			return err
		}
	}
	switch {
	case c.Protocol != 2 && c.Protocol != 3:
		return fmt.Errorf("%w: protocol %d, want 2 or 3", ErrInput, c.Protocol)
	case c.Protocol == 3 && c.StaticPartitioning:
		return fmt.Errorf("%w: static partitioning is a flag of protocol 2 only", ErrInput)
	case c.Protocol == 3 && !c.Limits.isZero():
		return fmt.Errorf("%w: limits of protocol 3 belong to servers and namespaces, not to the daemon", ErrInput)
	}
	for i, device := range c.Devices {
		if _, err := checkDevice(device); err != nil {
			return fmt.Errorf("visible device %d: %w", i, err)
		}
	}
	return c.Limits.check()
}

func (l DaemonLimits) isZero() bool {
	return l.Percentage == 0 && len(l.PinnedMiB) == 0 && l.Priority == nil
}

func (l DaemonLimits) check() error {
	if l.Percentage != 0 {
		if err := checkPercentage(l.Percentage); err != nil {
			return err
		}
	}
	if l.Priority != nil && *l.Priority != 0 && *l.Priority != 1 {
		return fmt.Errorf("%w: client priority %d, want 0 or 1", ErrInput, *l.Priority)
	}
	for device, mib := range l.PinnedMiB {
		if _, err := checkPinned(device, mib); err != nil {
			return err
		}
	}
	return nil
}

// Environ is the environment of the program, without what a Runner adds itself. The
// percentage and the priority are in it as well, so that no client starts without
// them between the first answer and the commands that set them; a memory limit is not,
// since what the daemon makes of that variable is not documented.
func (c DaemonConfig) Environ() []string {
	return append(c.Directories.Env(), c.extra()...)
}

func (c DaemonConfig) extra() []string {
	var env []string
	if len(c.Devices) > 0 {
		env = append(env, "CUDA_VISIBLE_DEVICES="+strings.Join(c.Devices, ","))
	}
	if c.Limits.Percentage != 0 {
		env = append(env, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE="+formatPercentage(c.Limits.Percentage))
	}
	if c.Limits.Priority != nil {
		env = append(env, "CUDA_MPS_CLIENT_PRIORITY="+strconv.Itoa(*c.Limits.Priority))
	}
	return append(env, c.Env...)
}

// Args are the flags with which the daemon is started.
func (c DaemonConfig) Args() []string {
	args := []string{"-d"}
	if c.Protocol == 3 {
		args = append(args, "-p", "3")
		if c.MultiUser {
			args = append(args, "--multiuser")
		}
		return args
	}
	if c.MultiUser {
		args = append(args, "-multiuser-server")
	}
	if c.StaticPartitioning {
		args = append(args, "-S")
	}
	return args
}

// lock waits for the other of Start and Quit.
func (d *Daemon) lock(ctx context.Context, what string) (unlock func(), err error) {
	if err := d.client.unmade(what); err != nil {
		return nil, err
	}
	select {
	case d.turn <- struct{}{}:
		return func() { <-d.turn }, nil
	case <-ctx.Done():
		return nil, &OpError{Kind: TimedOut, Command: what, Exit: -1, Err: ctx.Err()}
	}
}

// answer is the cheapest question that any daemon of the protocol answers.
func (d *Daemon) answer(ctx context.Context, c *Client) error {
	if d.config.Protocol == 3 {
		_, err := c.V3().Servers(ctx)
		return err
	}
	_, err := c.Servers(ctx)
	return err
}

// sleep waits, and tells whether ctx still lives.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
