package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// furnishedStates returns every state of a model's plain profiles with every
// choice of compute instances in each GPU instance, starts aside.
func furnishedStates(t *testing.T, m *mig.Model) []plan.State {
	options := map[string][][]mig.ComputeInstance{}
	for p := range m.PlainProfiles() {
		seen := map[string]bool{}
		var grow func(list []mig.ComputeInstance)
		grow = func(list []mig.ComputeInstance) {
			key := fmt.Sprint(held(list))
			if seen[key] {
				return
			}
			seen[key] = true
			options[p.Name] = append(options[p.Name], list)
			for row := range m.ComputeProfiles(p.Name) {
				free, err := m.ComputeFreeStarts(p.Name, row, list...)
				require.NoError(t, err)
				for s := range free.All() {
					grow(append(slices.Clone(list), mig.ComputeInstance{Profile: row.Name, Start: s, Size: row.Size, Index: row.Index}))
				}
			}
		}
		grow([]mig.ComputeInstance{})
	}
	var states []plan.State
	var fill func(s plan.State, rest []mig.Instance)
	fill = func(s plan.State, rest []mig.Instance) {
		if len(rest) == 0 {
			states = append(states, s)
			return
		}
		for _, compute := range options[rest[0].Profile] {
			next := s
			next.Instances = append(slices.Clone(s.Instances), plan.Instance{Instance: rest[0], Compute: compute})
			fill(next, rest[1:])
		}
	}
	fill(plan.State{Model: m}, nil)
	for l := range m.Layouts(nil) {
		fill(plan.State{Model: m}, slices.Collect(l.Instances()))
	}
	return states
}

// held lists profiles and indices, sorted.
func held(compute []mig.ComputeInstance) []string {
	var list []string
	for _, c := range compute {
		list = append(list, fmt.Sprint(c.Profile, " ", c.Index))
	}
	slices.Sort(list)
	return list
}

// TestExactWithComputeInstances compares Repartition with a look at all states of
// an A30, for every state and every demand of compute names that some state
// serves. The best plan goes to one of the states that hold just what is wanted,
// with no empty GPU instance; what is kept must be the same there, starts of
// compute instances aside.
func TestExactWithComputeInstances(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a30-24gb")
	states := furnishedStates(t, m)
	goals := map[string][]plan.State{}
	var wants []mig.Demand
	for _, s := range states {
		if slices.ContainsFunc(s.Instances, func(in plan.Instance) bool { return len(in.Compute) == 0 }) {
			continue
		}
		d := holdings(s.Instances)
		if goals[d.String()] == nil {
			wants = append(wants, d)
		}
		goals[d.String()] = append(goals[d.String()], s)
	}
	rng := rand.New(rand.NewPCG(7, 8))
	checked := 0
	for i, from := range states {
		if raceEnabled && i%8 != 0 {
			continue
		}
		for _, want := range wants {
			from := plan.State{Model: m, Instances: slices.Clone(from.Instances)}
			for i := range from.Instances {
				from.Instances[i].Busy = rng.IntN(8) == 0
				from.Instances[i].LossSeconds = rng.Int64N(2)
			}
			expect, possible := cheapest(from, goals[want.String()])
			p, err := plan.Repartition(from, want)
			if !possible {
				require.ErrorIs(t, err, plan.ErrBusy, "from %s to %s", from, want)
				continue
			}
			require.NoError(t, err, "from %s to %s", from, want)
			require.NoError(t, p.Check(from))
			got := price{}
			for _, s := range p.Steps {
				if s.Op == plan.Destroy {
					got.destroyed++
					got.loss += s.LossSeconds * int64(s.Size)
				} else {
					got.created++
				}
			}
			require.Equal(t, expect, got, "from %s to %s: %s", from, want, p)
			checked++
		}
	}
	t.Logf("%d states, %d demands, %d plans", len(states), len(wants), checked)
}

type price struct {
	destroyed int
	loss      int64
	created   int
}

func cheapest(from plan.State, goals []plan.State) (best price, found bool) {
	for _, goal := range goals {
		cost, ok := price{created: len(goal.Instances)}, true
		for _, in := range from.Instances {
			stays := slices.ContainsFunc(goal.Instances, func(g plan.Instance) bool {
				return g.Instance == in.Instance && slices.Equal(held(g.Compute), held(in.Compute))
			})
			if stays {
				cost.created--
				continue
			}
			ok = ok && !in.Busy
			cost.destroyed++
			cost.loss += in.LossSeconds * int64(in.Size)
		}
		less := cost.destroyed < best.destroyed || cost.destroyed == best.destroyed &&
			(cost.loss < best.loss || cost.loss == best.loss && cost.created < best.created)
		if ok && (!found || less) {
			best, found = cost, true
		}
	}
	return best, found
}
