package churn

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// rack is a group of the fleet, and a node of one GPU for each state of it.
type rack struct {
	states *fragmentation.States
	gpus   int
	nodes  []*placement.Node
}

// plenty of CPU and main memory, so that neither binds.
const plenty = 1 << 30

func newRack(g Group) (*rack, error) {
	states, err := fragmentation.NewStates(g.Model)
	if err != nil {
		return nil, fmt.Errorf("churn: %w", err)
	}
	r := &rack{states: states, gpus: g.GPUs, nodes: make([]*placement.Node, states.Len())}
	spec := placement.NodeSpec{
		Name: "gpu", CPU: plenty, Memory: plenty, Model: g.Model.Key(),
		GPUs: []placement.GPUSpec{{MIG: g.Model}},
	}
	for state := range r.nodes {
		if r.nodes[state], err = placement.NewNode(spec); err != nil {
			return nil, fmt.Errorf("churn: %w", err)
		}
		for in := range states.Layout(state).Instances() {
			r.nodes[state], err = r.nodes[state].With(placement.Assignment{
				Task: placement.Task{ID: strconv.Itoa(in.Start), Shape: fragmentation.Shape{GPUs: 1, Profile: in.Profile}},
				Spot: placement.Spot{GPUs: placement.GPUs(0), Start: in.Start},
			})
			if err != nil {
				return nil, fmt.Errorf("churn: %w", err)
			}
		}
	}
	return r, nil
}

// table is what a policy answers in every state of a rack.
type table struct{ rows []row }

// row is the answers to one request: the states that take it, the best first.
type row struct {
	kind  int // of the profile; -1: the model does not offer it
	order []int32
	place []int32 // by state, into order; -1: it does not fit
	score []int64 // by place
	start []int8  // by place
}

// ask fills the table of a policy. The error says which answer cannot be taken.
func (r *rack) ask(p placement.Policy, requests []request) (*table, error) {
	t := &table{rows: make([]row, len(requests))}
	for i := range requests {
		row := &t.rows[i]
		task := placement.Task{Shape: requests[i].shape}
		if row.kind = r.states.Kind(task.Shape.Profile); row.kind < 0 {
			continue
		}
		choices := make([]placement.Choice, r.states.Len())
		row.place = make([]int32, r.states.Len())
		for state := range choices {
			row.place[state] = -1
			choices[state] = p.Choose(r.nodes[state], &task)
			if !choices[state].OK() {
				continue
			}
			if start := choices[state].Spot.Start; r.states.With(state, row.kind, start) < 0 {
				return nil, fmt.Errorf("churn: the policy puts %s at %d of %s: that is not free: %w",
					task.Shape.Profile, start, r.states.Layout(state), ErrBadConfig)
			}
			row.order = append(row.order, int32(state))
		}
		slices.SortStableFunc(row.order, func(a, b int32) int {
			return cmp.Compare(choices[b].Score, choices[a].Score)
		})
		row.score, row.start = make([]int64, len(row.order)), make([]int8, len(row.order))
		for place, state := range row.order {
			row.place[state] = int32(place)
			row.score[place] = choices[state].Score
			row.start[place] = int8(choices[state].Spot.Start)
		}
	}
	return t, nil
}
