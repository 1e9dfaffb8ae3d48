package churn

import (
	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
)

// Answer is what a policy says of a request in a state.
type Answer struct {
	OK    bool
	Score int64
	Start int
}

// Ask returns the answers of a policy by state, for requests by profile.
func Ask(m *mig.Model, p placement.Policy, profiles []string) (*fragmentation.States, [][]Answer, error) {
	r, err := newRack(Group{Model: m, GPUs: 1})
	if err != nil {
		return nil, nil, err
	}
	requests := make([]request, len(profiles))
	for i, name := range profiles {
		requests[i].shape = fragmentation.Shape{GPUs: 1, Profile: name}
	}
	t, err := r.ask(p, requests)
	if err != nil {
		return nil, nil, err
	}
	answers := make([][]Answer, r.states.Len())
	for state := range answers {
		answers[state] = make([]Answer, len(profiles))
		for i := range profiles {
			if row := &t.rows[i]; row.kind >= 0 && row.place[state] >= 0 {
				place := row.place[state]
				answers[state][i] = Answer{true, row.score[place], int(row.start[place])}
			}
		}
	}
	return r.states, answers, nil
}

// Fits returns the test of RunRepacking, for demands by profile.
func Fits(m *mig.Model) (func(want mig.Demand, gpus int) bool, error) {
	ways, fits := packing(m)
	if fits == nil {
		return nil, ErrBadConfig
	}
	return func(want mig.Demand, gpus int) bool {
		var counts [6]int
		for name, n := range want {
			counts[ways[name]] += n
		}
		return fits(&counts, gpus)
	}, nil
}
