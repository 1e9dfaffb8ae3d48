package churn_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/churn"
)

// Of two GPUs the optimum is known: no rule that admits what fits rejects less. The
// selected rule rejects at most 4 % more, by requests and by slices.
func TestWithinFourPercentOfTheOptimum(t *testing.T) {
	t.Parallel()
	tests := []struct {
		key   string
		mixes []named
		slow  bool
	}{
		{"a30-24gb", four, false},
		{"a100-40gb", eight[6:], false}, // bimodal
		{"a100-40gb", eight[2:3], true}, // 123: 41,041 pairs
	}
	for _, tt := range tests {
		for _, mix := range tt.mixes {
			t.Run(tt.key+"/"+mix.name, func(t *testing.T) {
				t.Parallel()
				if tt.slow && (testing.Short() || raceEnabled) {
					t.Skip("takes seconds")
				}
				m := model(t, tt.key)
				requests := mix.of(t, m)
				selected, err := churn.Select(m, requests, 1)
				require.NoError(t, err)
				for _, bySlices := range []bool{false, true} {
					d := newDuel(t, m, requests, bySlices)
					best := d.rejected(d.moves)
					got := d.rejected(d.follow(t, selected.Best.Policy))
					assert.GreaterOrEqual(t, got, best-1e-4, "the optimum is one")
					assert.LessOrEqual(t, got, best*1.04, "%s", selected.Best.Name)
				}
			})
		}
	}
}

// The optimum differs from what a bad rule does, or it would prove nothing.
func TestOptimumTellsRulesApart(t *testing.T) {
	t.Parallel()
	m := model(t, "a30-24gb")
	d := newDuel(t, m, four[3].of(t, m), true)
	worst := placement.WorstFit(placement.Largest{GPU: fragmentation.Whole})
	assert.Greater(t, d.rejected(d.follow(t, worst)), 1.1*d.rejected(d.moves))
}

// For whole GPUs alone the rejected share is Erlang's formula.
func TestDuelIsErlang(t *testing.T) {
	t.Parallel()
	m := model(t, "a30-24gb")
	d := newDuel(t, m, fragmentation.Mix{{Shape: fragmentation.Shape{GPUs: 1, Profile: "4g.24gb"}, Count: 1}}, false)
	// Two servers, two arrivals per lifetime: (2*2/2) / (1 + 2 + 2).
	assert.InDelta(t, 0.4, d.rejected(d.moves), 1e-3)
}
