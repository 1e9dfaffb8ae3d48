package mps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	firstPause = 10 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// Start starts the daemon and waits until it is ready: it answers, and its limits are
// set and were read back. It refuses with ErrRunning where one runs already. When it
// fails later than that, it ends the daemon again, unless another one has taken its
// place, and says so if that failed too.
func (d *Daemon) Start(ctx context.Context) (Readiness, error) {
	unlock, err := d.lock(ctx, "start")
	if err != nil {
		return Readiness{}, err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(ctx, d.config.StartTimeout)
	defer cancel()

	switch err := d.answer(ctx, d.client); {
	case errors.Is(err, ErrNoDaemon):
	case err != nil && lost(err):
		return Readiness{}, fmt.Errorf("before start: %w", err)
	default: // whatever it says, somebody answers
		return Readiness{}, d.running("", err)
	}
	if err := d.removeReady(); err != nil {
		return Readiness{}, err
	}
	if d.config.BeforeStart != nil {
		if err := d.config.BeforeStart(ctx); err != nil {
			return Readiness{}, errors.Join(fmt.Errorf("before start: %w", err), d.after(context.WithoutCancel(ctx)))
		}
	}
	ready, err := d.launch(ctx)
	switch {
	case err == nil:
		return ready, nil
	case errors.Is(err, ErrRunning), errors.Is(err, ErrReplaced):
		return Readiness{}, err // the one that runs is somebody else's
	case errors.Is(err, ErrNoProgram):
		return Readiness{}, errors.Join(err, d.after(context.WithoutCancel(ctx)))
	case errors.Is(err, errNotStarted):
		return Readiness{}, errors.Join(err, d.clearNothing(ctx))
	}
	return Readiness{}, errors.Join(err, d.clear(ctx))
}

// errNotStarted is for a program that ended with a failure: it left no daemon.
var errNotStarted = errors.New("the daemon was not started")

// launch is what Start does once it is sure that no daemon runs.
func (d *Daemon) launch(ctx context.Context) (Readiness, error) {
	if d.config.Runner == nil {
		for _, dir := range [...]string{d.config.Directories.Pipe, d.config.Directories.Log} {
			if dir == "" {
				continue
			}
			// Clients of other users have to get through.
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return Readiness{}, err
			}
		}
	}
	call := Call{Args: d.config.Args()}
	out, err := d.runner.Run(ctx, call)
	switch {
	case errors.Is(err, ErrNoProgram):
		return Readiness{}, &OpError{Kind: NoProgram, Command: call.command(), Exit: -1, Err: err}
	case err != nil:
		kind := Unparsed
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			kind = TimedOut
		}
		return Readiness{}, &OpError{Kind: kind, Command: call.command(), Reply: out.reply(), Exit: -1, Err: err}
	case strings.Contains(strings.ToLower(out.reply()), "already running"):
		return Readiness{}, d.running(out.reply(), nil)
	case out.Exit != 0:
		return Readiness{}, replyError(call, out, errNotStarted)
	}
	if err := d.await(ctx, call); err != nil {
		return Readiness{}, err
	}
	ready, err := d.limit(ctx)
	if err != nil {
		return Readiness{}, fmt.Errorf("limits of the new daemon: %w", err)
	}
	if ready.Phase != PhaseReady {
		return Readiness{}, &OpError{Kind: Unverified, Command: "limits of the new daemon", Exit: -1, Err: ready.Reason}
	}
	return ready, d.writeReady(ready)
}

func (d *Daemon) running(reply string, err error) error {
	return &OpError{
		Kind: Refused, Command: strings.Join(d.config.Args(), " "), Reply: reply, Exit: -1,
		Err: errors.Join(ErrRunning, err),
	}
}

// await asks until the new daemon answers. That it cannot be found yet, that it is not
// ready and that a question takes too long are no reason to give up.
func (d *Daemon) await(ctx context.Context, start Call) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := d.answer(ctx, d.client)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrNoDaemon), errors.Is(err, ErrNotReady), errors.Is(err, ErrTimedOut), errors.Is(err, ErrReplaced):
		default:
			return fmt.Errorf("wait for the new daemon: %w", err)
		}
		if ctx.Err() != nil || !sleep(ctx, pause) {
			return &OpError{
				Kind: TimedOut, Command: start.command(), Exit: -1,
				Err: fmt.Errorf("started, but it does not answer: %w", errors.Join(ctx.Err(), err)),
			}
		}
	}
}

// limit sets the limits of one and the same daemon.
func (d *Daemon) limit(ctx context.Context) (Readiness, error) {
	c := d.client.pin()
	ready := Readiness{Phase: PhaseReady}
	ready.Identity, _, _ = c.who()
	take := func(what string, s Setting, err error) error {
		ready.Settings = append(ready.Settings, s)
		if s.Warning != "" {
			ready.Warnings = append(ready.Warnings, what+": "+s.Warning)
		}
		if err == nil && !s.Verified {
			ready.unread(what, s.Read, d.config.AcceptUnread)
		}
		return err
	}
	l := d.config.Limits
	for _, device := range sortedKeys(l.PinnedMiB) {
		s, err := c.SetDefaultPinnedLimit(ctx, device, l.PinnedMiB[device])
		if err := take("memory limit of device "+device, s, err); err != nil {
			return ready, err
		}
	}
	if l.Percentage != 0 {
		s, err := c.SetDefaultPercentage(ctx, l.Percentage)
		if err := take("percentage", s, err); err != nil {
			return ready, err
		}
	}
	if l.Priority != nil {
		s, err := c.SetDefaultClientPriority(ctx, *l.Priority)
		if err := take("priority", s, err); err != nil {
			return ready, err
		}
	}
	return ready, nil
}

// clear ends what a failed start left, with time of its own.
func (d *Daemon) clear(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.config.QuitTimeout)
	defer cancel()
	if err := d.quit(ctx, 0); err != nil {
		return fmt.Errorf("end the daemon after a failed start: %w", err)
	}
	return d.after(ctx)
}

// clearNothing ends no daemon: one that answers now was started by somebody else at the
// same time.
func (d *Daemon) clearNothing(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.config.QuitTimeout)
	defer cancel()
	if err := d.answer(ctx, d.client); !errors.Is(err, ErrNoDaemon) {
		return nil
	}
	return d.after(ctx)
}

func (d *Daemon) after(ctx context.Context) error {
	if d.config.AfterQuit == nil {
		return nil
	}
	if err := d.config.AfterQuit(ctx); err != nil {
		return fmt.Errorf("after quit: %w", err)
	}
	return nil
}

func (d *Daemon) removeReady() error {
	if d.config.ReadyFile == "" {
		return nil
	}
	if err := os.Remove(d.config.ReadyFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("ready file: %w", err)
	}
	return nil
}

// writeReady puts the file there whole or not at all.
func (d *Daemon) writeReady(r Readiness) (err error) {
	if d.config.ReadyFile == "" {
		return nil
	}
	text := ""
	if r.Identity.PID != 0 {
		text = strconv.Itoa(r.Identity.PID) + "\n"
	}
	temporary := filepath.Join(filepath.Dir(d.config.ReadyFile), "."+filepath.Base(d.config.ReadyFile)+".new")
	if err = os.WriteFile(temporary, []byte(text), 0o644); err == nil {
		err = os.Rename(temporary, d.config.ReadyFile)
	}
	if err != nil {
		return fmt.Errorf("ready file: %w", err)
	}
	return nil
}
