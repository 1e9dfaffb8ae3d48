package mps

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"
)

const (
	// Program is the control program of the driver: daemon and client in one.
	Program = "nvidia-cuda-mps-control"

	// DefaultMaxOutput is how much an Exec reads if it is not told.
	DefaultMaxOutput = 1 << 20

	defaultWaitDelay = 500 * time.Millisecond
	searchPath       = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// Exec is the Runner that starts the program, once for each call. The zero value runs
// nvidia-cuda-mps-control with the daemon's default directories. It is safe for
// concurrent use as long as nobody changes it.
//
// The program gets the input and then its end, and runs in a process group of its own
// (on Unix). When ctx ends or it says too much, the whole group is killed and the
// program reaped. A process that it leaves behind may keep its output open: that is
// waited for no longer than WaitDelay, and the process is left alone, as it may be the
// daemon. A program that the system cannot kill at once, because it hangs in the
// driver, is left to be reaped when it ends, and Run returns.
type Exec struct {
	Path        string        // the program; "" is nvidia-cuda-mps-control, looked up in PATH
	Directories Directories   // passed on as CUDA_MPS_PIPE_DIRECTORY and CUDA_MPS_LOG_DIRECTORY
	Env         []string      // more variables, KEY=VALUE, which win; nothing of our own environment is passed on
	MaxOutput   int           // bytes of both streams together; 0 is DefaultMaxOutput
	WaitDelay   time.Duration // from the program's end, or its kill, to the last of its output; 0 is half a second
}

// Run implements Runner. A program that ended by itself is no error, whatever its
// status; with an error comes what was read until then.
func (e *Exec) Run(ctx context.Context, c Call) (Output, error) {
	failed := Output{Exit: -1}
	if err := ctx.Err(); err != nil {
		return failed, fmt.Errorf("not started: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := e.command(ctx, c)
	budget := &budget{left: e.MaxOutput, full: func() { cancel(ErrTooMuchOutput) }}
	if budget.left <= 0 {
		budget.left = DefaultMaxOutput
	}
	stdout, stderr := &limited{budget: budget}, &limited{budget: budget}
	cmd.Stdout, cmd.Stderr = stdout, stderr

	if err := cmd.Start(); err != nil {
		if ctx.Err() != nil {
			return failed, fmt.Errorf("not started: %w", ctx.Err())
		}
		return failed, fmt.Errorf("%w: %w", ErrNoProgram, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		unkillable := time.NewTimer(2 * cmd.WaitDelay)
		defer unkillable.Stop()
		select {
		case err = <-ended:
		case <-unkillable.C:
			out := Output{Stdout: stdout.String(), Stderr: stderr.String(), Exit: -1}
			return out, fmt.Errorf("process %d does not die: %w", cmd.Process.Pid, context.Cause(ctx))
		}
	}
	out := Output{Stdout: stdout.String(), Stderr: stderr.String(), Exit: cmd.ProcessState.ExitCode()}
	var status *exec.ExitError
	switch {
	case budget.spent():
		out.Exit = -1
		return out, fmt.Errorf("more than %d bytes: %w", len(out.Stdout)+len(out.Stderr), ErrTooMuchOutput)
	case out.Exit >= 0 && (err == nil || errors.Is(err, exec.ErrWaitDelay) || errors.As(err, &status)):
		return out, nil
	case ctx.Err() != nil:
		out.Exit = -1
		return out, fmt.Errorf("killed: %w", ctx.Err())
	}
	out.Exit = -1
	return out, fmt.Errorf("program ended without a status: %w", err)
}

// command is the program, ready to start.
func (e *Exec) command(ctx context.Context, c Call) *exec.Cmd {
	path := e.Path
	if path == "" {
		path = Program
	}
	cmd := exec.CommandContext(ctx, path, c.Args...)
	cmd.Env = append(append([]string{searchPath}, e.Directories.Env()...), e.Env...)
	if c.Input != "" {
		cmd.Stdin = strings.NewReader(c.Input)
	}
	if cmd.WaitDelay = e.WaitDelay; cmd.WaitDelay <= 0 {
		cmd.WaitDelay = defaultWaitDelay
	}
	killGroup(cmd)
	return cmd
}

// budget is what both streams together may still hold.
type budget struct {
	mu   sync.Mutex
	left int
	over bool
	full func() // called once there is more
}

// take grants up to n bytes.
func (b *budget) take(n int) (granted int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	granted = min(n, b.left)
	b.left -= granted
	if granted < n && !b.over {
		b.over = true
		b.full()
	}
	return granted
}

func (b *budget) spent() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.over
}

// limited keeps what the budget grants. It may be read while it is written.
type limited struct {
	budget *budget
	mu     sync.Mutex
	text   strings.Builder
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	granted := l.budget.take(len(p))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p[:granted])
	if granted < len(p) {
		return granted, ErrTooMuchOutput
	}
	return granted, nil
}

// String is what was kept.
func (l *limited) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
