package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/gpushare/gpushare/mps"
)

// daemon is the control daemon that a command talks to.
type daemon struct {
	client      *mps.Client
	protocol    int // 2 or 3
	directories mps.Directories
	identity    mps.IdentityFunc

	stage *stage // of the fake; nil with a real one
}

func (d *daemon) close() {
	if d.stage != nil {
		d.stage.close()
	}
}

// v3 is the client for protocol 3.
func (d *daemon) v3() mps.V3 { return d.client.V3() }

// open gives the daemon that the flags name, and finds out which protocol it speaks
// where they do not say. All calls of one command then go to that daemon, or fail if
// another one takes its place.
func (inv *invocation) open(ctx context.Context) (*daemon, error) {
	d, err := inv.reach(ctx, false)
	if err != nil {
		return nil, err
	}
	return d, inv.settle(ctx, d)
}

// openStatic is open; a fake daemon is started with static partitioning.
func (inv *invocation) openStatic(ctx context.Context) (*daemon, error) {
	d, err := inv.reach(ctx, true)
	if err != nil {
		return nil, err
	}
	return d, inv.settle(ctx, d)
}

func (inv *invocation) settle(ctx context.Context, d *daemon) error {
	if pinned, err := d.client.Pin(); err == nil {
		d.client = pinned
	} // else there is no pid file that can be read, and the first call tells who answers
	if d.protocol != 0 {
		return nil
	}
	detected, err := d.client.Detect(ctx)
	d.protocol = detected.Protocol
	return err
}

// reach is open without a look at the daemon: its protocol is 0 if it is not known,
// and another daemon may follow it.
func (inv *invocation) reach(ctx context.Context, static bool) (*daemon, error) {
	d := &daemon{protocol: inv.protocol}
	if inv.fake {
		s, err := startStage(ctx, inv.fakeConfig(static))
		if err != nil {
			return nil, fmt.Errorf("-fake: %w", err)
		}
		d.stage, d.directories, d.identity = s, s.directories, s.identity
		d.protocol = max(d.protocol, 2)
		inv.daemon = d
		d.client = mps.New(s.runner, mps.Options{Timeout: inv.timeout, Identity: d.identity})
		return d, s.populate(ctx, d.client)
	}
	d.directories = inv.directories()
	if err := d.directories.Check(); err != nil {
		return nil, fmt.Errorf("-pipe, -log: %w", err)
	}
	d.identity = mps.PIDFile(d.directories.Pipe)
	exec := &mps.Exec{Path: inv.program, Directories: d.directories}
	d.client = mps.New(exec, mps.Options{Timeout: inv.timeout, Identity: d.identity})
	return d, nil
}

// directories are those of the flags, else of the environment, else the default ones
// of the protocol.
func (inv *invocation) directories() mps.Directories {
	protocol := inv.protocol
	if protocol == 0 && os.Getenv("CUDA_MPS_PROTOCOL_VERSION") == "3" {
		protocol = 3
	}
	d := mps.ResolveDirectories(os.Getenv, max(protocol, 2), os.Geteuid() == 0)
	if inv.pipe != "" {
		d.Pipe = inv.pipe
	}
	if inv.log != "" {
		d.Log = inv.log
	}
	return d
}

// server is the one that is named, by its pid, or the only one there is.
func (d *daemon) server(ctx context.Context, inv *invocation, value string) (int, error) {
	if value != "" {
		return inv.pidFlag("server", value)
	}
	pids, err := d.client.Servers(ctx)
	switch {
	case err != nil:
		return 0, err
	case len(pids) == 0:
		return 0, &noError{"no server", errors.New("the daemon has no server, so there are no clients")}
	case len(pids) > 1:
		return 0, fmt.Errorf("-server: the daemon has %d servers, %v: say which", len(pids), pids)
	}
	return pids[0], nil
}
