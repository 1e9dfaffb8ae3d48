package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/parted"
	"github.com/gpushare/gpushare/mig/plan"
)

// apply changes GPUs to what a file, a demand or a plan says.
func apply(ctx context.Context, inv *invocation, args []string) error {
	file := inv.Flags.String("f", "", "")
	label := inv.Flags.String("label", "", "")
	want := inv.Flags.String("want", "", "")
	planFile := inv.Flags.String("plan", "", "")
	inv.Flags.BoolVar(&inv.change.dryRun, "dry-run", false, "")
	inv.changes()
	if err := inv.parseMachine(args, 0); err != nil {
		return err
	}
	which, err := inv.ExactlyOne("f", "want", "plan")
	if err != nil {
		return err
	}
	if inv.Given("label") && which != "f" {
		return errors.New("-label is for -f")
	}
	var targets func(*machine, []*gpu) ([]target, error)
	switch which {
	case "f":
		config, err := inv.readConfig(*file)
		if err != nil {
			return err
		}
		targets = func(m *machine, gpus []*gpu) ([]target, error) {
			return inv.labelTargets(m, gpus, config, *label, "-f, -label: ")
		}
	case "want":
		demand := mig.Demand{}
		if *want != "none" {
			if demand, err = mig.ParseDemand(*want); err != nil {
				return fmt.Errorf("-want: %w", err)
			}
		}
		targets = func(m *machine, gpus []*gpu) ([]target, error) { return inv.demandTargets(m, gpus, demand) }
	default:
		data, err := inv.Read(*planFile)
		if err != nil {
			return fmt.Errorf("-plan: %w", err)
		}
		p, err := plan.Decode(bytes.NewReader(data))
		if err != nil {
			return fmt.Errorf("-plan: %w", err)
		}
		targets = func(m *machine, gpus []*gpu) ([]target, error) { return inv.planTargets(m, gpus, p) }
	}
	return inv.make(ctx, "apply", targets)
}

// labelTargets is what a label of a mig-parted file wants of the GPUs. One that
// it says nothing of keeps its state. What the models can hold shows when it is
// planned, for each GPU.
func (inv *invocation) labelTargets(m *machine, gpus []*gpu, config *parted.Config, label, place string) ([]target, error) {
	var node []parted.GPU
	for _, g := range m.gpus {
		if g.err != nil && slices.Contains(gpus, g) {
			return nil, g.err
		}
		p := g.parted()
		p.Model = nil
		node = append(node, p)
	}
	selection, err := config.Select(label, node, nil)
	if err != nil {
		return nil, fmt.Errorf("%s%w", place, err)
	}
	inv.warnings = selection.Warnings
	var targets []target
	for i, t := range selection.Targets {
		g := m.gpus[i]
		if t.Entry == nil || !slices.Contains(gpus, g) || g.dev == nil {
			continue
		}
		demand := t.Entry.Demand()
		solve := cleared
		if t.Entry.Enabled {
			solve = func(from plan.State) (plan.Plan, error) { return plan.Repartition(from, demand) }
		}
		line := fmt.Sprintf("%sline %d: ", place, t.Entry.Pos.Line)
		targets = append(targets, target{gpu: g, on: t.Entry.Enabled, place: line, solve: solve})
	}
	if len(targets) == 0 {
		return nil, fmt.Errorf("%slabel %q wants nothing of the GPUs of -gpu", place, selection.Label)
	}
	return targets, nil
}

// demandTargets is a demand on every GPU of -gpu.
func (inv *invocation) demandTargets(m *machine, gpus []*gpu, demand mig.Demand) ([]target, error) {
	if len(m.gpus) > 1 && !inv.Given("gpu") {
		return nil, fmt.Errorf("-gpu is missing: there are %d GPUs", len(m.gpus))
	}
	var targets []target
	for _, g := range gpus {
		targets = append(targets, target{gpu: g, on: true, place: "-want: ", solve: func(from plan.State) (plan.Plan, error) {
			return plan.Repartition(from, demand)
		}})
	}
	return targets, nil
}

// planTargets is a plan that was made before, for the GPU that it names, or for
// that of -gpu.
func (inv *invocation) planTargets(m *machine, gpus []*gpu, p plan.Plan) ([]target, error) {
	if p.GPU != "" {
		g, err := m.find(p.GPU)
		if err != nil {
			return nil, fmt.Errorf("-plan: %w", err)
		}
		if !slices.Contains(gpus, g) {
			return nil, fmt.Errorf("-gpu: the plan is for GPU %d, %s", g.index, g.uuid)
		}
		gpus = []*gpu{g}
	}
	if len(gpus) != 1 {
		return nil, fmt.Errorf("-gpu: the plan names no GPU, and there are %d", len(gpus))
	}
	return []target{{gpu: gpus[0], on: true, place: "-plan: ", solve: func(from plan.State) (plan.Plan, error) {
		return p, p.Check(from)
	}}}, nil
}

// make plans the way to the targets, and carries it out unless it is a dry run or
// impossible.
func (inv *invocation) make(ctx context.Context, command string, targets func(*machine, []*gpu) ([]target, error)) error {
	return inv.inTurn(ctx, func(m *machine, gpus []*gpu) error {
		list, err := targets(m, gpus)
		if err != nil {
			return err
		}
		dir, dry := "", inv.change.dryRun
		if !dry {
			if dir, err = inv.journalDir(m); err != nil {
				return err
			}
			if err := ended(dir); err != nil {
				return err
			}
		}
		changes, err := prepare(ctx, list)
		if err != nil {
			return err
		}
		if !inv.JSON {
			for _, w := range inv.warnings {
				fmt.Fprintf(inv.Out, "%s\n", w)
			}
			fmt.Fprint(inv.Out, changesText(changes))
		}
		if !feasible(changes) || dry {
			a := inv.answerOf(command, changes)
			return inv.Answer(a.Feasible, a, func() string { return "nothing was changed\n" })
		}
		if err := inv.carryOut(ctx, m, dir, changes); err != nil {
			return err
		}
		a := inv.answerOf(command, changes)
		return inv.Answer(a.Done, a, func() string { return outcomeText(a) + m.keeping() })
	})
}

// carryOut carries changes out that are feasible. What becomes of each is noted in
// it; the error is about the record.
func (inv *invocation) carryOut(ctx context.Context, m *machine, dir string, changes []*change) error {
	var needed []*change
	for _, c := range changes {
		if c.needed() {
			needed = append(needed, c)
		}
	}
	if len(needed) == 0 {
		return nil
	}
	b, err := newBook(dir, needed)
	if err != nil {
		return err
	}
	c := &carrier{inv: inv, m: m, book: b}
	done, err := c.run(ctx, b.GPUs, "done", c.forward)
	for i, n := range needed {
		if i < len(done) {
			n.report, n.err = done[i].report, done[i].err
		} else {
			n.err = errors.New("not begun, since the GPU before it was not done")
		}
	}
	return err
}

// inTurn opens the machine when it is this process's turn.
func (inv *invocation) inTurn(ctx context.Context, f func(*machine, []*gpu) error) error {
	if inv.change.lock == "" {
		return inv.with(ctx, f)
	}
	patience, cancel := context.WithTimeout(ctx, inv.change.wait)
	defer cancel()
	unlock, err := device.Lock(patience, inv.change.lock)
	if errors.Is(err, device.ErrLocked) {
		return &noError{"locked", fmt.Errorf("-lock: %w", err)}
	}
	if err != nil {
		return fmt.Errorf("-lock: %w", err)
	}
	return errors.Join(inv.with(ctx, f), unlock())
}
