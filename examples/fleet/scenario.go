package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay"
	"github.com/gpushare/gpushare/placement/replay/openb"
)

// scenario is a fleet and what arrives at it.
type scenario struct {
	title string              // for people
	value fragmentation.Value // that measures fragmentation
	draw  func(seed int64) (*arrivals, error)
}

// arrivals is what a seed makes of a scenario.
type arrivals struct {
	config replay.Config // the nodes in the order that breaks ties, and the tasks
	policy func(name string) (policyFunc, error)
}

// newScenario reads the files that the options name, or takes the workload that
// is built in.
func newScenario(o options) (*scenario, error) {
	if o.nodes == "" {
		return builtIn(o.inflate)
	}
	return fromFiles(o.nodes, o.tasks, o.inflate)
}

// builtIn is the scenario of the embedded workload: every policy is one of the
// library, but for fgd-published.
func builtIn(inflate float64) (*scenario, error) {
	w, err := readWorkload(embedded)
	if err != nil {
		return nil, fmt.Errorf("embedded workload: %w", err)
	}
	fgd, err := fragmentation.NewFGD(w.shares)
	if err != nil {
		return nil, fmt.Errorf("embedded workload: shares: %w", err)
	}
	migFGD, err := fragmentation.NewMIGFGD(w.instances)
	if err != nil {
		return nil, fmt.Errorf("embedded workload: instances: %w", err)
	}
	published, err := openb.PublishedFGD(w.shares, int(w.shares.Total()))
	if err != nil {
		return nil, fmt.Errorf("embedded workload: shares: %w", err)
	}
	value, err := fragmentation.Sum(fgd, migFGD)
	if err != nil {
		return nil, fmt.Errorf("embedded workload: %w", err)
	}
	ours, err := fgdPolicy(fgd, migFGD)
	if err != nil {
		return nil, err
	}
	return &scenario{
		title: "GPU allocated as tasks arrive: fractions, whole GPUs and MIG instances on one fleet",
		value: value,
		draw: func(seed int64) (*arrivals, error) {
			nodes, tasks := w.draw(seed, inflate)
			return &arrivals{replay.Config{Nodes: nodes, Tasks: tasks}, func(name string) (policyFunc, error) {
				switch name {
				case fgdName:
					return fixed(ours), nil
				case publishedName: // it has no rule for MIG instances
					return scaled(func(largest placement.Largest) placement.Policy {
						return placement.SplitMIG(placement.BestFit(largest), published)
					}), nil
				default:
					return plainPolicy(name, seed)
				}
			}}, nil
		},
	}, nil
}

// fromFiles is the published protocol on files in the format of the openb
// trace: where a rule was published, the policy of that name is the published
// one.
func fromFiles(nodesFile, tasksFile string, inflate float64) (*scenario, error) {
	nodes, err := read(nodesFile, "-nodes", openb.ReadNodes)
	if err != nil {
		return nil, err
	}
	tasks, err := read(tasksFile, "-tasks", openb.ReadTasks)
	if err != nil {
		return nil, err
	}
	mix, err := openb.TargetMix(tasks, openb.Popularity)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tasksFile, err)
	}
	value, err := fragmentation.NewFGD(mix)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tasksFile, err)
	}
	ours, err := fgdPolicy(value, nil)
	if err != nil {
		return nil, err
	}
	rules := map[string]string{
		"bestfit": openb.BestFit, "dotproduct": openb.DotProd, "packing": openb.GpuPacking,
		"clustering": openb.GpuClustering, publishedName: openb.FGD,
	}
	return &scenario{
		title: "GPU allocated as tasks arrive: the openb trace",
		value: value,
		draw: func(seed int64) (*arrivals, error) {
			e, err := openb.NewExperiment(nodes, tasks, inflate, seed)
			if err != nil {
				return nil, fmt.Errorf("-nodes %s, -tasks %s: %w", nodesFile, tasksFile, err)
			}
			return &arrivals{e.Config(nil), func(name string) (policyFunc, error) {
				if name == fgdName {
					return fixed(ours), nil
				}
				if rule, found := rules[name]; found {
					p, err := e.Policy(rule)
					return fixed(p), err
				}
				return plainPolicy(name, seed)
			}}, nil
		},
	}, nil
}

// read gives a file to a reader of package openb.
func read[T any](file, flag string, parse func(r io.Reader, name string) ([]T, error)) ([]T, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return parse(bytes.NewReader(data), file)
}
