package churn_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/churn"
)

// duel is two GPUs of a model at load 1 under a mix, solved exactly over the pairs
// of their states. The order of the two does not matter.
type duel struct {
	states   *fragmentation.States
	kinds    []int
	profiles []string
	rates    []float64 // arrivals per lifetime, of both GPUs together
	rewards  []float64
	pairs    [][2]int32
	number   map[[2]int32]int32
	moves    [][][]int32 // by pair and request: the pairs that accepting leads to
	leaves   [][]int32   // by pair
}

func newDuel(t *testing.T, m *mig.Model, mix fragmentation.Mix, bySlices bool) *duel {
	t.Helper()
	states, err := fragmentation.NewStates(m)
	require.NoError(t, err)
	d := &duel{states: states, number: map[[2]int32]int32{}}
	compute, memory := 0.0, 0.0
	for _, e := range mix {
		p, err := m.Profile(e.Shape.Profile)
		require.NoError(t, err)
		w := float64(e.Count) / float64(mix.Total())
		compute += w * float64(p.ComputeSlices) / float64(m.ComputeSlices())
		memory += w * float64(p.Size) / float64(m.MemorySlices())
		reward := 1.0
		if bySlices {
			reward = float64(p.ComputeSlices)
		}
		d.kinds, d.profiles = append(d.kinds, states.Kind(p.Name)), append(d.profiles, p.Name)
		d.rates, d.rewards = append(d.rates, w), append(d.rewards, reward)
	}
	for i := range d.rates {
		d.rates[i] *= 2 / max(compute, memory)
	}
	d.explore()
	return d
}

// explore numbers the pairs that can be reached from two empty GPUs.
func (d *duel) explore() {
	reach := d.reachable()
	for i, a := range reach {
		for _, b := range reach[i:] {
			d.number[[2]int32{a, b}] = int32(len(d.pairs))
			d.pairs = append(d.pairs, [2]int32{a, b})
		}
	}
	for _, pair := range d.pairs {
		moves := make([][]int32, len(d.kinds))
		var leaves []int32
		for side := range 2 {
			here, other := pair[side], pair[1-side]
			for i, kind := range d.kinds {
				for start := range d.states.Starts(int(here), kind).All() {
					moves[i] = append(moves[i], d.pair(int32(d.states.With(int(here), kind, start)), other))
				}
			}
			for start := range d.states.Model().MemorySlices() {
				if before := d.states.Without(int(here), start); before >= 0 {
					leaves = append(leaves, d.pair(int32(before), other))
				}
			}
		}
		d.moves, d.leaves = append(d.moves, moves), append(d.leaves, leaves)
	}
}

func (d *duel) reachable() []int32 {
	seen := make([]bool, d.states.Len())
	seen[0] = true
	list := []int32{0}
	for i := 0; i < len(list); i++ {
		for _, kind := range d.kinds {
			for start := range d.states.Starts(int(list[i]), kind).All() {
				if to := d.states.With(int(list[i]), kind, start); !seen[to] {
					seen[to] = true
					list = append(list, int32(to))
				}
			}
		}
	}
	sorted := list[:0]
	for s, ok := range seen {
		if ok {
			sorted = append(sorted, int32(s))
		}
	}
	return sorted
}

func (d *duel) pair(a, b int32) int32 { return d.number[[2]int32{min(a, b), max(a, b)}] }

// follow returns the moves that a policy leaves: one for a request that fits.
func (d *duel) follow(t *testing.T, p placement.Policy) [][][]int32 {
	t.Helper()
	_, answers, err := churn.Ask(d.states.Model(), p, d.profiles)
	require.NoError(t, err)
	all := make([][][]int32, len(d.pairs))
	for n, pair := range d.pairs {
		all[n] = make([][]int32, len(d.kinds))
		for i, kind := range d.kinds {
			x, y := answers[pair[0]][i], answers[pair[1]][i]
			here, other := pair[0], pair[1]
			if !x.OK || y.OK && y.Score > x.Score {
				x, here, other = y, other, here
			}
			if x.OK {
				all[n][i] = []int32{d.pair(int32(d.states.With(int(here), kind, x.Start)), other)}
			}
		}
	}
	return all
}

// rejected returns the rejected share of the rewards if the best of the moves is
// taken everywhere, in the long run.
func (d *duel) rejected(moves [][][]int32) float64 {
	offered, rate := 0.0, 0.0
	for i, a := range d.rates {
		offered += a * d.rewards[i]
		rate += a
	}
	most := 0
	for _, l := range d.leaves {
		most = max(most, len(l))
	}
	rate += float64(most)
	h, next := make([]float64, len(d.pairs)), make([]float64, len(d.pairs))
	for {
		low, high := math.Inf(1), math.Inf(-1)
		for n := range h {
			gain := 0.0
			for i, to := range moves[n] {
				if len(to) == 0 {
					continue
				}
				best := math.Inf(-1)
				for _, m := range to {
					best = max(best, h[m])
				}
				gain += d.rates[i] * (d.rewards[i] + best - h[n])
			}
			for _, to := range d.leaves[n] {
				gain += h[to] - h[n]
			}
			low, high = min(low, gain), max(high, gain)
			next[n] = h[n] + gain/rate
		}
		h, next = next, h
		if high-low < 1e-4*offered {
			return 1 - (low+high)/2/offered
		}
	}
}
