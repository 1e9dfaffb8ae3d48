package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/parted"
)

type assertAnswer struct {
	Schema    int  `json:"schema"`
	Satisfied bool `json:"satisfied"`
	parted.Report
	Reason *reason `json:"reason,omitempty"` // the label cannot be satisfied at all
}

// assertCommand compares the machine with a label of a mig-parted file.
func assertCommand(ctx context.Context, inv *invocation, args []string) error {
	file := inv.Flags.String("f", "", "")
	label := inv.Flags.String("label", "", "")
	strict := inv.Flags.Bool("strict", false, "")
	if err := inv.parseMachine(args, 0, "f"); err != nil {
		return err
	}
	config, err := inv.readConfig(*file)
	if err != nil {
		return err
	}
	return inv.with(ctx, func(m *machine, gpus []*gpu) error {
		states, err := partedStates(ctx, m.gpus) // all: the file's indices are the node's
		if err != nil {
			return err
		}
		report, err := config.Assert(*label, states, nil)
		if err != nil && !errors.Is(err, mig.ErrNoFit) {
			return fmt.Errorf("-f, -label: %w", err)
		}
		if err != nil {
			a := assertAnswer{Schema: schema, Reason: &reason{"impossible", err.Error()}}
			a.Label, a.Differences, a.Uncovered, a.Warnings = *label, []parted.Difference{}, []int{}, []parted.Finding{}
			return inv.Answer(false, a, func() string { return "the machine is not as the label says, and cannot be: " + a.Reason.Detail + "\n" })
		}
		asked := func(index int) bool {
			return slices.ContainsFunc(gpus, func(g *gpu) bool { return g.index == index })
		}
		report.Differences = slices.DeleteFunc(report.Differences, func(d parted.Difference) bool { return !asked(d.GPU) })
		report.Uncovered = slices.DeleteFunc(report.Uncovered, func(index int) bool { return !asked(index) })
		report.Warnings = append([]parted.Finding{}, report.Warnings...)
		answer := assertAnswer{Schema: schema, Satisfied: report.Satisfied(), Report: report}
		if *strict {
			answer.Satisfied = report.Strict()
		}
		return inv.Answer(answer.Satisfied, answer, func() string { return assertText(answer, *strict) })
	})
}

func assertText(a assertAnswer, strict bool) string {
	var b strings.Builder
	if a.Satisfied {
		fmt.Fprintf(&b, "the machine is as label %q says\n", a.Label)
	} else {
		fmt.Fprintf(&b, "the machine is not as label %q says\n", a.Label)
	}
	for _, d := range a.Differences {
		fmt.Fprintf(&b, "%s\n", d)
	}
	for _, index := range a.Uncovered {
		if strict {
			fmt.Fprintf(&b, "GPU %d: the label says nothing of it\n", index)
		}
	}
	for _, w := range a.Warnings {
		fmt.Fprintf(&b, "%s\n", w)
	}
	return b.String()
}

// readConfig reads a mig-parted file.
func (inv *invocation) readConfig(name string) (*parted.Config, error) {
	data, err := inv.Read(name)
	if err != nil {
		return nil, fmt.Errorf("-f: %w", err)
	}
	if name == "-" {
		name = "stdin"
	}
	config, err := parted.Parse(data, name)
	if err != nil {
		return nil, fmt.Errorf("-f: %w", err)
	}
	return config, nil
}

// partedStates reads GPUs in the terms of mig-parted.
func partedStates(ctx context.Context, gpus []*gpu) ([]parted.State, error) {
	var states []parted.State
	for _, g := range gpus {
		if g.err != nil {
			return nil, g.err
		}
		s := parted.State{GPU: g.parted(), Instances: mig.Demand{}, Remnants: mig.Demand{}}
		if g.dev != nil {
			read, err := g.dev.State(ctx)
			if err != nil {
				return nil, fmt.Errorf("GPU %d: %w", g.index, err)
			}
			s.Enabled = read.Mode.Current
			for _, in := range read.Instances {
				if len(in.Compute) == 0 {
					s.Remnants[in.Profile]++
				}
				for _, c := range in.Compute {
					s.Instances[c.Profile]++
				}
			}
		}
		states = append(states, s)
	}
	return states, nil
}
