package timeslice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// Runner runs a program to its end and returns what it wrote and its exit status.
// The error says that it could not be run, or was cut short with the context; that
// a program failed is in its exit status alone. It must be safe for concurrent use
// if the [SMI] that has it is used so.
type Runner func(ctx context.Context, name string, args ...string) (stdout, stderr []byte, exit int, err error)

// MostOutput is how much [Exec] keeps of each stream, in bytes. The rest is read
// and dropped.
const MostOutput = 1 << 20

// Exec is a Runner that starts a process on this machine, without standard input,
// and kills it after the limit or when the context ends, whatever comes first; the
// error then wraps that of the context. A limit of 0 is none.
//
// nvidia-smi hangs on a GPU that has fallen off the bus, so a limit of some seconds
// is wise. It may hang in the kernel, where nothing kills it: Exec returns all the
// same, without output, and the process is reaped when it ends. What a process
// started itself and left behind is not waited for longer than a second.
func Exec(limit time.Duration) Runner {
	return func(ctx context.Context, name string, args ...string) ([]byte, []byte, int, error) {
		if limit > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
		}
		var stdout, stderr head
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		cmd.WaitDelay = leftBehind
		if err := cmd.Start(); err != nil {
			return nil, nil, -1, cutShort(ctx, err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		ended, err := await(ctx, done)
		if !ended { // cmd and the buffers are still in use
			return nil, nil, -1, cutShort(ctx, errUnkillable)
		}
		if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && failed.Exited() || errors.Is(err, exec.ErrWaitDelay) {
			err = nil
		}
		return stdout.kept.Bytes(), stderr.kept.Bytes(), cmd.ProcessState.ExitCode(), cutShort(ctx, err)
	}
}

const (
	// leftBehind is how long output is waited for when a process has ended.
	leftBehind = time.Second

	// unkillable is how long a process may live on that is killed.
	unkillable = leftBehind + 2*time.Second
)

var errUnkillable = errors.New("it does not end although it was killed")

// await waits for the end of a process; false says that it does not end although
// the context has.
func await(ctx context.Context, done <-chan error) (ended bool, err error) {
	select {
	case err = <-done:
		return true, err
	case <-ctx.Done():
	}
	timer := time.NewTimer(unkillable)
	defer timer.Stop()
	select {
	case err = <-done:
		return true, err
	case <-timer.C:
		return false, nil
	}
}

// cutShort makes an error after the end of the context one of the context.
func cutShort(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil && err != nil && !errors.Is(err, ended) {
		return fmt.Errorf("%w: %w", ended, err)
	}
	return err
}

// head keeps the beginning of what is written to it. The buffer is not embedded:
// its ReadFrom would keep everything.
type head struct{ kept bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	h.kept.Write(p[:min(len(p), MostOutput-h.kept.Len())])
	return len(p), nil
}
