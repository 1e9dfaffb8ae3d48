package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/mig/device"
)

type recordAnswer struct {
	Schema  int         `json:"schema"`
	Command string      `json:"command"`
	Done    bool        `json:"done"`
	GPUs    []gpuRecord `json:"gpus"`
}

type gpuRecord struct {
	Index  int            `json:"index"`
	UUID   string         `json:"uuid"`
	Mode   bool           `json:"mode"`             // MIG mode that it was led to
	Report *device.Report `json:"report,omitempty"` // absent: its instances were right, or not reached
	Error  string         `json:"error,omitempty"`
}

// undo leads the GPUs of the last change back to what they were.
func undo(ctx context.Context, inv *invocation, args []string) error {
	return inv.fromRecord(ctx, "undo", args, true)
}

// resume leads the GPUs of the last change on to what they shall become.
func resume(ctx context.Context, inv *invocation, args []string) error {
	return inv.fromRecord(ctx, "resume", args, false)
}

// fromRecord works on the last change of a journal directory, the last GPU first
// on the way back.
func (inv *invocation) fromRecord(ctx context.Context, name string, args []string, back bool) error {
	inv.changes()
	if err := inv.parseMachine(args, 0); err != nil {
		return err
	}
	if inv.Given("gpu") {
		return fmt.Errorf("-gpu: %s is for all GPUs of the last change", name)
	}
	return inv.inTurn(ctx, func(m *machine, _ []*gpu) error {
		dir, err := inv.journalDir(m)
		if err != nil {
			return err
		}
		if dir == "" {
			return errors.New("-fake: a preset keeps no record; -fake FILE does, see init")
		}
		b, err := readBook(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("-journal: no change is recorded in %s", dir)
		}
		if err != nil {
			return fmt.Errorf("-journal: %w", err)
		}
		c := &carrier{inv: inv, m: m, book: b}
		list, ended, lead := slices.Clone(b.GPUs), "done", c.forward
		if back {
			slices.Reverse(list)
			ended, lead = "undone", c.backward
		}
		done, err := c.run(ctx, list, ended, lead)
		if err != nil {
			return err
		}
		a := recordAnswer{Schema: schema, Command: name, Done: true, GPUs: []gpuRecord{}}
		for i, g := range list {
			r := gpuRecord{Index: g.Index, UUID: g.UUID, Mode: g.ModeTo}
			if back {
				r.Mode = g.ModeFrom
			}
			switch {
			case i >= len(done):
				r.Error = "not begun, since the GPU before it was not done"
			case done[i].err != nil:
				r.Report, r.Error = done[i].report, command.OneLine(done[i].err.Error())
			default:
				r.Report = done[i].report
			}
			a.Done = a.Done && r.Error == ""
			a.GPUs = append(a.GPUs, r)
		}
		return inv.Answer(a.Done, a, func() string { return outcomeText(a.changes()) })
	})
}

// changes returns the answer in the form that outcomeText takes.
func (a recordAnswer) changes() changeAnswer {
	var c changeAnswer
	for _, g := range a.GPUs {
		c.GPUs = append(c.GPUs, gpuChange{Index: g.Index, ModeFrom: g.Mode, ModeTo: g.Mode, Report: g.Report, Error: g.Error})
	}
	return c
}
