package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/parted"
	"github.com/gpushare/gpushare/mig/plan"
)

// apply changes GPUs to what a file, a demand or a plan says.
func apply(ctx context.Context, inv *invocation, args []string) error {
	file := inv.flags.String("f", "", "")
	label := inv.flags.String("label", "", "")
	want := inv.flags.String("want", "", "")
	planFile := inv.flags.String("plan", "", "")
	inv.flags.BoolVar(&inv.change.dryRun, "dry-run", false, "")
	inv.changes()
	if err := inv.parseMachine(args, 0); err != nil {
		return err
	}
	which, err := inv.exactlyOne("f", "want", "plan")
	if err != nil {
		return err
	}
	if inv.given("label") && which != "f" {
		return errors.New("-label is for -f")
	}
	var targets func(*machine, []*gpu) ([]target, error)
	switch which {
	case "f":
		config, err := inv.readConfig(*file)
		if err != nil {
			return err
		}
		targets = func(m *machine, gpus []*gpu) ([]target, error) { return labelTargets(m, gpus, config, *label) }
	case "want":
		demand := mig.Demand{}
		if *want != "none" {
			if demand, err = mig.ParseDemand(*want); err != nil {
				return fmt.Errorf("-want: %w", err)
			}
		}
		targets = func(m *machine, gpus []*gpu) ([]target, error) { return inv.demandTargets(m, gpus, demand) }
	default:
		data, err := inv.read(*planFile)
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
// it says nothing of keeps its state.
func labelTargets(m *machine, gpus []*gpu, config *parted.Config, label string) ([]target, error) {
	var node []parted.GPU
	for _, g := range m.gpus {
		if g.err != nil && slices.Contains(gpus, g) {
			return nil, g.err
		}
		node = append(node, g.parted())
	}
	selection, err := config.Select(label, node, nil)
	if errors.Is(err, mig.ErrNoFit) {
		return nil, &noError{"impossible", err}
	}
	if err != nil {
		return nil, fmt.Errorf("-f, -label: %w", err)
	}
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
		targets = append(targets, target{gpu: g, on: t.Entry.Enabled, place: "-f: ", solve: solve})
	}
	if len(targets) == 0 {
		return nil, fmt.Errorf("-f, -gpu: label %q wants nothing of the GPUs", selection.Label)
	}
	return targets, nil
}

// demandTargets is a demand on every GPU of -gpu.
func (inv *invocation) demandTargets(m *machine, gpus []*gpu, demand mig.Demand) ([]target, error) {
	if len(m.gpus) > 1 && !inv.given("gpu") {
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
			if _, err := readBook(dir); dir != "" && err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("-journal: %w", err)
			}
		}
		changes, err := prepare(ctx, list)
		if err != nil {
			return err
		}
		if !inv.json {
			fmt.Fprint(inv.out, changesText(changes))
		}
		if !feasible(changes) || dry {
			a := answerOf(command, dry, changes)
			return inv.answer(a.Feasible, a, func() string { return "nothing was changed\n" })
		}
		if err := inv.carryOut(ctx, m, dir, changes); err != nil {
			return err
		}
		a := answerOf(command, dry, changes)
		return inv.answer(a.Done, a, func() string { return outcomeText(a) + m.keeping() })
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
