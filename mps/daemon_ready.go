package mps

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Phase is how far a daemon has come.
type Phase uint8

// The phases. A daemon that answers but does not have its limits is starting: a client
// that connects now would run without them.
const (
	PhaseStopped Phase = iota
	PhaseStarting
	PhaseReady
)

var phaseNames = [...]string{"stopped", "starting", "ready"}

// String is the phase in a word.
func (p Phase) String() string {
	if int(p) >= len(phaseNames) {
		return fmt.Sprintf("Phase(%d)", uint8(p))
	}
	return phaseNames[p]
}

// Readiness is how far a daemon has come, and why no further.
type Readiness struct {
	Phase    Phase
	Reason   error     // why it is not ready
	Identity Identity  // of the daemon, if it is known
	Settings []Setting // what Start set, in the order of devices, percentage, priority
	Warnings []string
}

// unread notes an answer that cannot be read.
func (r *Readiness) unread(what, reply string, accept bool) {
	if accept {
		r.Warnings = append(r.Warnings, what+": taken, but what the daemon says of it cannot be read")
		return
	}
	r.notYet(fmt.Errorf("%s: %.80q cannot be read", what, strings.TrimSpace(reply)))
}

func (r *Readiness) notYet(reason error) {
	r.Phase = PhaseStarting
	r.Reason = errors.Join(r.Reason, reason)
}

// Ready asks the daemon whether it has the limits of the configuration; it changes
// nothing. It serves as a health check that is not fooled by a daemon that answers
// before its limits are set. The error is for what is no answer to that: a time-out, a
// program that cannot be run, a daemon that was replaced meanwhile.
func (d *Daemon) Ready(ctx context.Context) (Readiness, error) {
	c := d.client.pin()
	r := Readiness{Phase: PhaseReady}
	r.Identity, _, _ = c.who()
	switch err := d.answer(ctx, c); {
	case errors.Is(err, ErrNoDaemon):
		return Readiness{Phase: PhaseStopped, Reason: err}, nil
	case errors.Is(err, ErrNotReady):
		r.notYet(err)
		return r, nil
	case err != nil:
		return Readiness{}, err
	}
	l := d.config.Limits
	for _, device := range sortedKeys(l.PinnedMiB) {
		what := "memory limit of device " + device
		got, err := c.DefaultPinnedLimit(ctx, device)
		if err == nil && got == 0 { // it tells none, which is not that there is another
			r.unread(what, "", d.config.AcceptUnread)
			continue
		}
		if err := r.compare(d, what, got, l.PinnedMiB[device], err); err != nil {
			return Readiness{}, err
		}
	}
	if l.Percentage != 0 {
		got, err := c.DefaultPercentage(ctx)
		if samePercentage(l.Percentage, got) {
			got = l.Percentage
		}
		if err := r.compare(d, "percentage", got, l.Percentage, err); err != nil {
			return Readiness{}, err
		}
	}
	if l.Priority != nil {
		got, err := c.DefaultClientPriority(ctx)
		if err := r.compare(d, "priority", got, *l.Priority, err); err != nil {
			return Readiness{}, err
		}
	}
	return r, nil
}

// compare notes what differs, and gives back an error that is no answer.
func (r *Readiness) compare(d *Daemon, what string, got, want any, err error) error {
	var op *OpError
	switch {
	case err != nil && lost(err):
		return err
	case errors.Is(err, ErrUnparsed) && errors.As(err, &op):
		r.unread(what, op.Reply, d.config.AcceptUnread)
	case err != nil:
		r.notYet(fmt.Errorf("%s: %w", what, err))
	case got != want:
		r.notYet(fmt.Errorf("%s is %v, want %v", what, got, want))
	}
	return nil
}

func sortedKeys(m map[string]int64) []string { return slices.Sorted(maps.Keys(m)) }
