package mpsfake

import (
	"context"
	"fmt"
	"os"
	"time"
)

// PID is the process that answers.
func (p *Process) PID() (int, error) {
	r, err := p.order(hookCall{Do: hookPID})
	return r.PID, err
}

// Stop has the daemon quit, waits until it is gone and removes the directories that
// Start made. A daemon that is gone already is no error.
func (p *Process) Stop() error {
	err := p.finish(hookQuit)
	if p.scratch == "" {
		return err
	}
	if clean := os.RemoveAll(p.scratch); err == nil {
		err = clean
	}
	return err
}

// Kill ends the daemon without a last word: its files stay, the pid file and the sockets
// that nobody listens at among them.
func (p *Process) Kill() error { return p.finish(hookDie) }

// Replace kills the daemon and starts another in its place, which knows nothing of what
// was set. Only a daemon of Start can be replaced.
func (p *Process) Replace(ctx context.Context) error {
	if p.options.Program == "" {
		return fmt.Errorf("%w: the daemon was not started here", ErrInput)
	}
	if err := p.Kill(); err != nil {
		return err
	}
	return p.start(ctx)
}

// finish ends the daemon and waits for that: for ours to be reaped, for any other to
// answer no more.
func (p *Process) finish(how string) error {
	p.order(hookCall{Do: how}) //nolint:errcheck // whether it is gone is what counts
	p.mu.Lock()
	c := p.child
	p.mu.Unlock()
	late := time.NewTimer(patience)
	defer late.Stop()
	if c != nil {
		select {
		case <-c.exited:
		case <-late.C:
			c.kill()
		}
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := p.order(hookCall{Do: hookPID}); err != nil {
			return nil // no answer is what is waited for
		}
		select {
		case <-late.C:
			return fmt.Errorf("mpsfake: the daemon still answers")
		case <-tick.C:
		}
	}
}

// Connect is a CUDA program that initialises. It stays connected until Disconnect.
func (p *Process) Connect(c Client) (Attachment, error) {
	r, err := p.order(hookCall{Do: hookConnect, Client: &c})
	return r.Attachment, err
}

// Client is how a client stands now; known is false for one that never connected.
func (p *Process) Client(pid int) (a Attachment, known bool, err error) {
	r, err := p.order(hookCall{Do: hookClient, PID: pid})
	return r.Attachment, r.Known, err
}

// Disconnect is a CUDA program that exits.
func (p *Process) Disconnect(pid int) error { return p.do(hookCall{Do: hookDisconnect, PID: pid}) }

// Fault is a fatal error on devices of a server, by their ordinals.
func (p *Process) Fault(server int, devices ...int) error {
	return p.do(hookCall{Do: hookFault, PID: server, Devices: devices})
}

// CrashServer ends a server with status 1.
func (p *Process) CrashServer(pid int) error { return p.do(hookCall{Do: hookCrash, PID: pid}) }

// CrashStarts makes the next n servers crash as they start.
func (p *Process) CrashStarts(n int) error { return p.do(hookCall{Do: hookCrashStarts, PID: n}) }

// ServerReady ends the initialisation of a server that Config.HoldInit holds.
func (p *Process) ServerReady(pid int) error { return p.do(hookCall{Do: hookReady, PID: pid}) }

// AddRule adds a fault.
func (p *Process) AddRule(r Rule) error { return p.do(hookCall{Do: hookRule, Rule: &r}) }

// Advance lets the time of one call pass.
func (p *Process) Advance() error { return p.do(hookCall{Do: hookAdvance}) }

// Check has the daemon audit its state.
func (p *Process) Check() error { return p.do(hookCall{Do: hookCheck}) }

func (p *Process) do(c hookCall) error {
	_, err := p.order(c)
	return err
}
