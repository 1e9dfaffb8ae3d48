package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/examples/internal/draw"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/parted"
	"github.com/gpushare/gpushare/mig/plan"
)

// target is what a GPU shall become.
type target struct {
	gpu   *gpu
	on    bool // MIG mode
	place string
	// solve plans the way there from what stands on the GPU.
	solve func(plan.State) (plan.Plan, error)
}

// cleared plans the way to an empty GPU.
func cleared(from plan.State) (plan.Plan, error) { return plan.Repartition(from, mig.Demand{}) }

// change is a target with the way there, and what became of it.
type change struct {
	gpu  *gpu
	mode device.Mode // before
	on   bool
	from plan.State
	plan plan.Plan

	refusal *refusal // nil where the target can be had
	picture string   // of the plan, or of what stands in the way
	report  *device.Report
	err     error // why it was not carried out
}

// refusal is why a GPU cannot become what it shall.
type refusal struct {
	reason
	busy    []mig.Instance   // those in the way
	holders []device.Blocker // the processes
}

// needed reports whether there is anything to do.
func (c *change) needed() bool { return len(c.plan.Steps) > 0 || c.switches() }

// switches reports whether the MIG mode has to be set.
func (c *change) switches() bool { return c.mode.Current != c.on || c.mode.Pending != c.on }

// prepare plans all changes. Nothing is changed.
func prepare(ctx context.Context, targets []target) ([]*change, error) {
	var list []*change
	for _, t := range targets {
		c, err := t.prepare(ctx)
		if err != nil {
			return nil, fmt.Errorf("%sGPU %d: %w", t.place, t.gpu.index, err)
		}
		list = append(list, c)
	}
	return list, nil
}

func (t target) prepare(ctx context.Context) (*change, error) {
	if err := t.gpu.capable(); err != nil {
		return nil, err
	}
	dev := t.gpu.dev
	c := &change{gpu: t.gpu, on: t.on}
	st, err := dev.State(ctx)
	if err != nil {
		return nil, err
	}
	c.mode = st.Mode
	held, err := dev.Blockers(ctx)
	if err != nil && !errors.Is(err, device.ErrNotSupported) {
		return nil, err
	}
	if c.from, err = dev.PlanState(ctx); err != nil {
		return nil, err
	}
	c.plan, err = t.solve(c.from)
	var no *plan.Refusal
	switch {
	case errors.As(err, &no):
		c.refuse(no, st, held)
	case errors.Is(err, plan.ErrStale):
		c.refusal = &refusal{reason: reason{"stale", err.Error()}}
	case errors.Is(err, plan.ErrBusy):
		c.refusal = &refusal{reason: reason{"busy", err.Error()}, holders: held}
	case err != nil:
		return nil, err
	case c.mode.Current != c.on && len(held) > 0:
		detail := fmt.Sprintf("MIG mode is to be switched %s, and a process holds the GPU", onOff(c.on))
		c.refusal = &refusal{reason: reason{"busy", detail}, holders: held}
	}
	if c.refusal != nil {
		c.picture, err = draw.State("now", c.from)
	} else {
		c.picture, err = draw.Plan(c.from, c.plan)
	}
	return c, err
}

// refuse keeps why there is no plan, with who is in the way.
func (c *change) refuse(no *plan.Refusal, st device.State, held []device.Blocker) {
	r := &refusal{reason: reason{no.Kind(), no.Detail}}
	var names []string
	for _, in := range no.Busy {
		r.busy = append(r.busy, in.Instance)
		names = append(names, in.String())
		stands, there := st.At(in.Start)
		for _, b := range held {
			if there && b.GPUInstance == stands.ID {
				r.holders = append(r.holders, b)
			}
		}
	}
	if len(names) > 0 && no.Limit != 0 {
		r.Detail += "; busy and in the way: " + strings.Join(names, ", ")
	}
	c.refusal = r
}

// feasible reports whether every change is.
func feasible(changes []*change) bool {
	return !slices.ContainsFunc(changes, func(c *change) bool { return c.refusal != nil })
}

type changeAnswer struct {
	Schema   int         `json:"schema"`
	Command  string      `json:"command"`
	DryRun   bool        `json:"dryRun"`
	Feasible bool        `json:"feasible"`
	Done     bool        `json:"done"` // all of it, now or before
	GPUs     []gpuChange `json:"gpus"`

	Warnings []parted.Finding `json:"warnings,omitempty"` // of what in the file matches nothing
}

type gpuChange struct {
	Index     int              `json:"index"`
	UUID      string           `json:"uuid"`
	Model     string           `json:"model"`
	Feasible  bool             `json:"feasible"`
	Reason    *reason          `json:"reason,omitempty"`  // why it is not
	Busy      []mig.Instance   `json:"busy,omitempty"`    // instances in the way
	Holders   []device.Blocker `json:"holders,omitempty"` // and who uses them
	ModeFrom  bool             `json:"modeFrom"`
	ModeTo    bool             `json:"modeTo"`
	Destroyed int              `json:"destroyed"` // by the plan
	Created   int              `json:"created"`
	Plan      *plan.Plan       `json:"plan,omitempty"`
	Report    *device.Report   `json:"report,omitempty"` // of what was carried out
	Error     string           `json:"error,omitempty"`  // why it was not
}

func (inv *invocation) answerOf(name string, changes []*change) changeAnswer {
	a := changeAnswer{
		Schema: schema, Command: name, DryRun: inv.change.dryRun, Feasible: feasible(changes),
		GPUs: []gpuChange{}, Warnings: inv.warnings,
	}
	a.Done = a.Feasible && !a.DryRun
	for _, c := range changes {
		g := gpuChange{
			Index: c.gpu.index, UUID: c.gpu.uuid, Model: c.gpu.model(), Feasible: c.refusal == nil,
			ModeFrom: c.mode.Current, ModeTo: c.on, Report: c.report,
		}
		if c.refusal != nil {
			g.Reason, g.Busy, g.Holders = &c.refusal.reason, c.refusal.busy, c.refusal.holders
		} else {
			g.Plan = &c.plan
			g.Destroyed, g.Created = c.plan.Count()
		}
		if c.err != nil {
			g.Error = command.OneLine(c.err.Error())
			a.Done = false
		}
		a.GPUs = append(a.GPUs, g)
	}
	return a
}
