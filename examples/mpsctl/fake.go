package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

type fakeAnswer struct {
	Schema        int    `json:"schema"`
	PID           int    `json:"pid"`
	PipeDirectory string `json:"pipeDirectory"`
	LogDirectory  string `json:"logDirectory"`
	Program       string `json:"program"`
}

// fakeDaemon keeps a fake daemon with two clients running until it is interrupted, for
// commands that shall build on one another.
func fakeDaemon(ctx context.Context, inv *invocation, args []string) error {
	dir := inv.Flags.String("dir", "", "")
	length := inv.Flags.Duration("for", 0, "")
	static := inv.Flags.Bool("static", false, "")
	inv.Flags.StringVar(&inv.replies, "replies", "quiet", "")
	inv.Flags.IntVar(&inv.protocol, "protocol", 2, "")
	inv.timeout = 10 * time.Second
	inv.fake = true
	if err := inv.parse(args, "dir"); err != nil {
		return err
	}
	switch {
	case *length < 0:
		return fmt.Errorf("-for: %v is negative", *length)
	case *static && inv.protocol == 3:
		return fmt.Errorf("-static: with protocol 3 partitions need no flag")
	}
	s := inv.fakeConfig(*static)
	var err error
	if s.dir, err = filepath.Abs(*dir); err == nil {
		err = os.MkdirAll(s.dir, 0o755)
	}
	if err != nil {
		return fmt.Errorf("-dir: %w", err)
	}
	st, err := startStage(ctx, s)
	if err != nil {
		return fmt.Errorf("-dir: %w", err)
	}
	defer st.close()
	if st.program == "" {
		return fmt.Errorf("this system cannot have it; -fake works with every command")
	}
	c := mps.New(st.runner, mps.Options{Identity: st.identity})
	if err := st.populate(ctx, c); err != nil {
		return err
	}
	id, err := st.identity()
	if err != nil {
		return err
	}
	a := fakeAnswer{schema, id.PID, st.directories.Pipe, st.directories.Log, st.program}
	if err := inv.Print(a, func() string {
		until := "until it is interrupted"
		if *length > 0 {
			until = fmt.Sprintf("for %v", *length)
		}
		return fmt.Sprintf("daemon %d runs %s; in another shell:\n  mpsctl status %s\n", a.PID, until, st.usable())
	}); err != nil {
		return err
	}
	var end <-chan time.Time
	if *length > 0 {
		end = time.After(*length)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-end:
		return nil
	}
}

// play lets something happen to the fake, one scene after the other: a client comes,
// a fault hits the two that are there, and they leave, so that the server recovers. It returns a
// pause after the last.
func (st *stage) play(ctx context.Context, d *daemon, pause time.Duration) {
	server := func() int {
		if d.protocol == 3 {
			list, err := d.v3().Servers(ctx)
			if err != nil || len(list) == 0 {
				return 0
			}
			return list[0].PID
		}
		list, err := d.client.Servers(ctx)
		if err != nil || len(list) == 0 {
			return 0
		}
		return list[0]
	}
	for _, scene := range []func() error{
		func() error {
			_, err := st.actors.Connect(mpsfake.Client{PID: 503, UID: 1000, Command: "./serve", Env: map[string]string{"CUDA_VISIBLE_DEVICES": "1"}})
			return err
		},
		func() error { return st.actors.Fault(server(), 0) },
		func() error { return st.actors.Disconnect(501) },
		func() error { return st.actors.Disconnect(502) },
		func() error { return nil },
	} {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		if scene() != nil {
			return // nothing more to see
		}
	}
}
