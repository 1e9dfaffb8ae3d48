package placement

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// DevicePlan is what moves change on one GPU in MIG mode.
type DevicePlan struct {
	Node string
	GPU  int
	Plan plan.Plan
}

// Plans returns what moves mean for the GPUs in MIG mode: which instances are
// destroyed and created, GPU by GPU in the order of the nodes. Instances of tasks
// that do not move count as busy, so no plan touches them. A GPU on which the same
// instances stand before and after has no plan, also where other tasks use them.
//
// Carry out what is destroyed before the tasks are started anew. The error is
// that of Apply, or wraps that of plan.Restore. The cluster is not changed.
func (c *Cluster) Plans(moves []Move) ([]DevicePlan, error) {
	next := &Cluster{nodes: slices.Clone(c.nodes), byName: c.byName, at: maps.Clone(c.at)}
	if err := next.Apply(moves); err != nil {
		return nil, err
	}
	moving := map[string]bool{}
	for _, m := range moves {
		moving[m.Task] = true
	}
	var all []DevicePlan
	for i, before := range c.nodes {
		after := next.nodes[i]
		for gpu := range before.state.GPUs {
			was, is := &before.state.GPUs[gpu], &after.state.GPUs[gpu]
			if !was.Cut() || was.Layout == is.Layout {
				continue
			}
			p, err := plan.Restore(devicePlanState(before, gpu, was, moving), goalOf(is.Layout))
			if err != nil {
				return nil, fmt.Errorf("placement: GPU %d of node %q: %w", gpu, before.Name(), err)
			}
			all = append(all, DevicePlan{before.Name(), gpu, p})
		}
	}
	return all, nil
}

func devicePlanState(n *Node, gpu int, g *fragmentation.GPU, moving map[string]bool) plan.State {
	s := plan.StateOf(g.Layout)
	for _, x := range instancesOn(n, gpu) {
		if moving[x.task.Task.ID] {
			continue
		}
		for j := range s.Instances {
			if s.Instances[j].Start == x.task.spot.Start {
				s.Instances[j].Busy = true
			}
		}
	}
	return s
}

func goalOf(l mig.Layout) []plan.Instance {
	var goal []plan.Instance
	for in := range l.Instances() {
		goal = append(goal, plan.Instance{Instance: in})
	}
	return goal
}
