package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gpushare/gpushare/mig/parted"
	"github.com/gpushare/gpushare/mig/plan"
)

// restore changes GPUs to what export wrote: to the very layout, or, where the file
// is mig-parted's, to the instances that it counts.
func restore(ctx context.Context, inv *invocation, args []string) error {
	byIndex := inv.Flags.Bool("by-index", false, "")
	inv.Flags.BoolVar(&inv.change.dryRun, "dry-run", false, "")
	inv.changes()
	if err := inv.parseMachine(args, 1); err != nil {
		return err
	}
	if len(inv.args) == 0 {
		return errors.New("FILE is missing (-h explains)")
	}
	name := inv.args[0]
	data, err := inv.Read(name)
	if err != nil {
		return err
	}
	if config, err := parted.Parse(data, name); err == nil {
		return inv.make(ctx, "restore", func(m *machine, gpus []*gpu) ([]target, error) {
			return inv.labelTargets(m, gpus, config, "", name+": ")
		})
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
