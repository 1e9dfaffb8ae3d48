package churn_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/churn"
)

// Mixes that take turns faster than they are learned: a table for the first one does
// worse than first fit, the learned default does not.
func TestDriftDoesNotHurtTheDefault(t *testing.T) {
	t.Parallel()
	if testing.Short() || raceEnabled {
		t.Skip("takes seconds")
	}
	m := model(t, "a100-40gb")
	for _, tt := range []struct {
		first, then int  // of eight
		hurts       bool // a fixed table for the first mix
	}{
		{5, 6, true}, // mid34 and bimodal: whole GPUs come to fleets full of halves
		{2, 3, true}, // 123 and small7
		{1, 2, false},
	} {
		first, then := eight[tt.first].of(t, m), eight[tt.then].of(t, m)
		fixed, err := placement.ByIndex(index(t, m, first, fragmentation.IndexParams{Gamma: 2, Alpha: 1}))
		require.NoError(t, err)
		var base, table, learned outcome
		for seed := range uint64(3) {
			trace := newTrace(t, churn.Config{
				Fleet: []churn.Group{{Model: m, GPUs: 64}}, Mix: first, Then: []fragmentation.Mix{then}, Phase: 8,
				Load: 1, WarmUp: 6, Arrivals: 15_000, Seed: seed,
			})
			base.add(run(t, trace, placement.FirstFit()))
			table.add(run(t, trace, fixed))
			learned.add(learning(t, trace, m))
		}
		requests, slices := learned.fewer(base)
		assert.Greater(t, min(requests, slices), -3.0, "%s and %s", eight[tt.first].name, eight[tt.then].name)
		_, slices = table.fewer(base)
		assert.Equal(t, tt.hurts, slices < -10, "the fixed table: %.1f %%", slices)
	}
}

// A profile that two models share goes where it takes the smaller share of a GPU,
// until those GPUs are what others need.
func TestMixedFleet(t *testing.T) {
	t.Parallel()
	if testing.Short() || raceEnabled {
		t.Skip("takes seconds")
	}
	small, large := model(t, "a100-40gb"), model(t, "a100-80gb")
	var mix fragmentation.Mix
	for _, e := range []struct {
		profile string
		count   int64
	}{{"1g.5gb", 30}, {"1g.10gb", 40}, {"2g.10gb", 10}, {"2g.20gb", 10}, {"3g.20gb", 5}, {"3g.40gb", 5}} {
		mix = append(mix, fragmentation.Entry{Shape: fragmentation.Shape{GPUs: 1, Profile: e.profile}, Count: e.count})
	}
	params := fragmentation.IndexParams{Gamma: 2, Alpha: 1}
	p, err := placement.ByIndex(index(t, small, mix, params), index(t, large, mix, params))
	require.NoError(t, err)
	for _, order := range [][]*mig.Model{{small, large}, {large, small}} {
		trace := newTrace(t, churn.Config{
			Fleet: []churn.Group{{Model: order[0], GPUs: 32}, {Model: order[1], GPUs: 32}},
			Mix:   mix, Load: 1, WarmUp: 6, Arrivals: 20_000,
		})
		var first, best, values outcome
		first.add(run(t, trace, placement.FirstFit()))
		best.add(run(t, trace, placement.BestFit(placement.Largest{GPU: fragmentation.Whole})))
		values.add(run(t, trace, p))
		requests, slices := values.fewer(first)
		assert.Greater(t, min(requests, slices), 3.0, "than first fit, %s first", order[0])
		requests, slices = values.fewer(best)
		assert.Greater(t, min(requests, slices), 20.0, "than best fit, %s first", order[0])
	}
}
