package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gpushare/gpushare/mig/plan"
)

// restore changes GPUs to the layout of a file.
func restore(ctx context.Context, inv *invocation, args []string) error {
	byIndex := inv.flags.Bool("by-index", false, "")
	inv.flags.BoolVar(&inv.change.dryRun, "dry-run", false, "")
	inv.changes()
	if err := inv.parseMachine(args, 1); err != nil {
		return err
	}
	if len(inv.args) == 0 {
		return errors.New("FILE is missing (-h explains)")
	}
	name := inv.args[0]
	data, err := inv.read(name)
	if err != nil {
		return err
	}
	file, err := readLayout(data)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return inv.make(ctx, "restore", func(m *machine, gpus []*gpu) ([]target, error) {
		var targets []target
		for i, l := range file.GPUs {
			place := fmt.Sprintf("%s: gpus[%d]", name, i)
			text := l.UUID
			if *byIndex {
				text = fmt.Sprint(l.Index)
			}
			g, err := m.find(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w (-by-index takes the GPUs by their index)", place, err)
			}
			if !slices.Contains(gpus, g) {
				continue
			}
			if err := g.capable(); err != nil {
				return nil, fmt.Errorf("%s: %w", place, err)
			}
			if g.model() != l.Model {
				return nil, fmt.Errorf("%s: the layout is of a %s, GPU %d is a %s", place, l.Model, g.index, g.model())
			}
			goal := l.Instances
			targets = append(targets, target{gpu: g, on: l.MIG, place: place + ": ", solve: func(from plan.State) (plan.Plan, error) {
				return plan.Restore(from, goal)
			}})
		}
		if len(targets) == 0 {
			return nil, fmt.Errorf("%s, -gpu: it says nothing of the GPUs", name)
		}
		return targets, nil
	})
}
