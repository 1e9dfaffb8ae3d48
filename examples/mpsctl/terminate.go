package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gpushare/gpushare/mps"
)

type terminateAnswer struct {
	Schema   int              `json:"schema"`
	Protocol int              `json:"protocol"`
	Server   *int             `json:"server"` // null with protocol 3, which finds it by itself
	Clients  []terminatedInfo `json:"clients"`
}

type terminatedInfo struct {
	PID int `json:"pid"`

	// SafeToKill: the daemon said that the client's work has ended. Without that the
	// client may be at work, and killing it leaves the server undefined.
	SafeToKill bool    `json:"safeToKill"`
	Reason     *reason `json:"reason"`
}

// terminate ends the work of clients and says whether a kill is safe.
func terminate(ctx context.Context, inv *invocation, args []string) error {
	inv.reaches()
	server := inv.Flags.String("server", "", "")
	client := inv.Flags.String("client", "", "")
	if err := inv.parse(args, "client"); err != nil {
		return err
	}
	pids, err := numbers(*client, 1, maxPID)
	if err != nil {
		return fmt.Errorf("-client: %w", err)
	}
	if inv.Given("server") && inv.protocol != 3 {
		if _, err := inv.pidFlag("server", *server); err != nil {
			return err
		}
	}
	d, err := inv.open(ctx)
	if err != nil {
		return err
	}
	a := terminateAnswer{Schema: schema, Protocol: d.protocol}
	end := func(pid int) error { return d.terminateV3(ctx, pid) }
	if d.protocol != 3 {
		s, err := d.server(ctx, inv, *server)
		if err != nil {
			return err
		}
		a.Server = &s
		end = func(pid int) error { return d.client.TerminateClient(ctx, s, pid) }
	} else if inv.Given("server") {
		return errors.New("-server is for protocol 2: a client of protocol 3 is found by its pid")
	}
	safe := true
	for _, pid := range pids {
		info := terminatedInfo{PID: pid, SafeToKill: true}
		if err := end(pid); err != nil {
			if ctx.Err() != nil || errors.Is(err, mps.ErrInput) || errors.Is(err, mps.ErrNoProgram) {
				return err
			}
			info.SafeToKill, info.Reason = false, reasonOf(err)
			safe = false
		}
		a.Clients = append(a.Clients, info)
	}
	return inv.Answer(safe, a, a.text)
}

func (d *daemon) terminateV3(ctx context.Context, pid int) error {
	r, err := d.v3().Terminate(ctx, pid)
	if err == nil && !r.Verified {
		return &noError{"not verified", fmt.Errorf("the daemon did not complain, but answered %.200q; only a 0 is known to mean that the work has ended", strings.TrimSpace(r.Raw))}
	}
	return err
}

func (a *terminateAnswer) text() string {
	var b strings.Builder
	for _, c := range a.Clients {
		if c.SafeToKill {
			fmt.Fprintf(&b, "client %d: its work has ended, a kill is safe\n", c.PID)
			continue
		}
		fmt.Fprintf(&b, "client %d: no, do not kill it: it may be at work\nreason: %s: %s\n", c.PID, c.Reason.Kind, c.Reason.Detail)
	}
	return b.String()
}
