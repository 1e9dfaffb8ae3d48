package mps

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Quit ends the daemon and waits until it is gone, for at most the time of the
// configuration besides wait. Of a wait above 0 the daemon gives its clients that
// time. That no daemon runs is no error. AfterQuit runs at the end, and not if the
// daemon may still be there.
func (d *Daemon) Quit(ctx context.Context, wait time.Duration) error {
	unlock, err := d.lock(ctx, "quit")
	if err != nil {
		return err
	}
	defer unlock()
	if err := d.removeReady(); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, d.config.QuitTimeout+max(wait, 0))
	defer cancel()
	if err := d.quit(waiting, wait); err != nil {
		return err
	}
	return d.after(ctx)
}

// quit is Quit without the ready file and the hook.
func (d *Daemon) quit(ctx context.Context, wait time.Duration) error {
	c := d.client.pin() // it is this daemon that is to end
	id, known, err := c.who()
	alive := known && err == nil // else its process is in another PID namespace, or gone already
	process := alive && lives(id)
	if err := d.sendQuit(ctx, c, wait); err != nil && !errors.Is(err, ErrReplaced) {
		return err
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		left, err := d.left(ctx, id, alive)
		// It takes its files away first, and holds the lock until its process ends.
		left = left && (!process || !lives(id))
		if left {
			return nil
		}
		if err != nil && !errors.Is(err, ErrTimedOut) {
			return err
		}
		if ctx.Err() != nil || !sleep(ctx, pause) {
			return &OpError{
				Kind: TimedOut, Command: "quit", Exit: -1,
				Err: fmt.Errorf("asked to quit, but it is still there: %w", errors.Join(ctx.Err(), err)),
			}
		}
	}
}

// lives tells whether this very process is still there. It is false where the system
// does not tell, and for a daemon of another PID namespace.
func lives(id Identity) bool {
	start, err := processStart(id.PID)
	return err == nil && start != 0 && start == id.Start
}

func (d *Daemon) sendQuit(ctx context.Context, c *Client, wait time.Duration) error {
	if d.config.Protocol != 3 {
		return c.Quit(ctx, wait)
	}
	if wait != 0 {
		return fmt.Errorf("%w: quit of protocol 3 has no time for clients", ErrInput)
	}
	call := Call{Args: []string{"--quit"}}
	end, err := c.begin(ctx, call.command())
	if err != nil {
		return err
	}
	defer end()
	out, err := c.round(ctx, call, c.timeout, false)
	switch {
	case errors.Is(err, ErrNoDaemon):
		return nil
	case err != nil:
		return err
	}
	_, err = accept(call, out)
	return err
}

// left tells whether the daemon is gone: its process by the identity, and nobody
// answers. Where another daemon has come meanwhile, it is gone too. Files that it
// leaves behind do not count: a socket without its daemon answers nobody.
func (d *Daemon) left(ctx context.Context, id Identity, alive bool) (bool, error) {
	if alive {
		switch now, known, err := d.client.who(); {
		case known && err == nil && now == id:
			return false, nil
		case known && err == nil:
			return true, nil
		}
	}
	err := d.answer(ctx, d.client)
	switch {
	case errors.Is(err, ErrNoDaemon):
		return true, nil
	case err == nil, errors.Is(err, ErrReplaced), errors.Is(err, ErrUnparsed), errors.Is(err, ErrNotReady),
		errors.Is(err, ErrRefused), errors.Is(err, ErrUnsupported), errors.Is(err, ErrFault):
		return false, nil // in its last moments it may say anything
	}
	return false, err
}
