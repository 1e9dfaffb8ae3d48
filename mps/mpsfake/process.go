package mpsfake

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gpushare/gpushare/mps"
)

// Options is what Start starts.
type Options struct {
	// Program is the fake program: what was built from the directory named after it,
	// or what Link made.
	Program string

	// Pipe and Log are its directories. Without them there are two in a temporary
	// directory, which Stop removes.
	Pipe, Log string

	Args  []string // flags for the daemon besides -f: -S, -M, -p 3
	Env   []string // variables for the daemon: CUDA_…
	Setup Setup    // Hooks and Owner are set if they are not
}

// Process is a fake control daemon in a process of its own. It is safe for concurrent
// use. Its servers and clients are no processes. The PIDs of servers are above those that
// Linux gives, unless Config.PID says where to begin; those of clients are the caller's.
// None is ever to be signalled.
type Process struct {
	Pipe, Log string // the directories

	hooks   string
	options Options
	scratch string // to remove

	mu    sync.Mutex
	child *child // nil if the daemon is another's
}

// Link makes a link called mps.Program to the running executable in dir, and gives its
// path. The executable must call Main when it is started under that name:
//
//	if mpsfake.Invoked(os.Args[0]) {
//		os.Exit(mpsfake.Main(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
//	}
func Link(dir string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, mps.Program)
	return path, os.Symlink(self, path)
}

// Start starts a daemon as a child of this process and waits until it takes orders. It
// ends with this process, at the latest. Only Linux has it: elsewhere the error is
// errors.ErrUnsupported.
func Start(ctx context.Context, o Options) (*Process, error) {
	if !supported {
		return nil, fmt.Errorf("mpsfake: a daemon in a process: %w", errors.ErrUnsupported)
	}
	p := &Process{options: o}
	if o.Pipe == "" || o.Log == "" {
		dir, err := os.MkdirTemp("", "mps")
		if err != nil {
			return nil, err
		}
		p.scratch = dir
		if o.Pipe == "" {
			p.options.Pipe = filepath.Join(dir, "pipe")
		}
		if o.Log == "" {
			p.options.Log = filepath.Join(dir, "log")
		}
	}
	if o.Setup.Hooks == "" {
		p.options.Setup.Hooks = "@mpsfake-" + rand.Text()
	}
	if o.Setup.Owner == 0 {
		p.options.Setup.Owner = os.Getpid()
	}
	p.Pipe, p.Log, p.hooks = p.options.Pipe, p.options.Log, p.options.Setup.Hooks
	if err := p.start(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(p.scratch))
	}
	return p, nil
}

// Attach gives the daemon that somebody else started with Setup.Hooks; it need not run
// yet. Its directories are the caller's to know.
func Attach(hooks string) *Process { return &Process{hooks: hooks} }

func (p *Process) start(ctx context.Context) error {
	o := p.options
	c := &child{exited: make(chan struct{})}
	c.cmd = exec.Command(o.Program, append([]string{"-f"}, o.Args...)...)
	c.cmd.Env = slices.Concat([]string{
		"CUDA_MPS_PIPE_DIRECTORY=" + o.Pipe, "CUDA_MPS_LOG_DIRECTORY=" + o.Log,
	}, o.Setup.Environ(), o.Env)
	c.cmd.Stdout, c.cmd.Stderr = &c.output, &c.output
	c.cmd.WaitDelay = time.Second
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("mpsfake: %w", err)
	}
	go func() {
		defer close(c.exited)
		c.cmd.Wait() //nolint:errcheck // what it said is kept
	}()
	p.mu.Lock()
	p.child = c
	p.mu.Unlock()

	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := p.order(hookCall{Do: hookPID}); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			c.kill()
			return fmt.Errorf("mpsfake: the daemon does not answer: %w", ctx.Err())
		case <-c.exited:
			return fmt.Errorf("mpsfake: the daemon ended: %.300q", c.output.String())
		case <-tick.C:
		}
	}
}

// child is a process that this one started.
type child struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when it is reaped
	output bytes.Buffer  // what it said; to be read after that
}

func (c *child) kill() {
	c.cmd.Process.Kill() //nolint:errcheck // it may have ended
	<-c.exited
}

// patience is how long the daemon may take over an order.
const patience = 10 * time.Second

func (p *Process) order(c hookCall) (hookReply, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return order(ctx, p.hooks, c)
}
