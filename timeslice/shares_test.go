package timeslice_test

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/timeslice"
)

func genClaims(t *rapid.T) []timeslice.Claim {
	var claims []timeslice.Claim
	left := int64(1000)
	for i := range rapid.IntRange(0, 6).Draw(t, "claims") {
		c := timeslice.Claim{
			Demand: rapid.Int64Range(0, 1200).Draw(t, fmt.Sprintf("demand %d", i)),
			Weight: rapid.Int64Range(0, left).Draw(t, fmt.Sprintf("weight %d", i)),
		}
		left -= c.Weight
		claims = append(claims, c)
	}
	return claims
}

func sharesOf(t require.TestingT, d timeslice.Discipline, capacity int64, slots int, claims []timeslice.Claim) []int64 {
	shares, err := timeslice.Shares(d, capacity, slots, claims)
	require.NoError(t, err)
	require.Len(t, shares, len(claims))
	return shares
}

func sum(values []int64) int64 {
	var total int64
	for _, v := range values {
		total += v
	}
	return total
}

func TestMaxMinEqualsRaisingTheLevel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		claims, capacity := genClaims(t), rapid.Int64Range(0, 3000).Draw(t, "capacity")
		want := make([]int64, len(claims))
		for level := int64(0); level <= 1200; level++ {
			next := make([]int64, len(claims))
			for i, c := range claims {
				next[i] = min(c.Demand, level)
			}
			if sum(next) > capacity {
				break
			}
			want = next
		}
		require.Equal(t, want, sharesOf(t, timeslice.RoundRobin, capacity, 0, claims))
	})
}

func TestSharesProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		claims, capacity := genClaims(t), rapid.Int64Range(0, 3000).Draw(t, "capacity")
		d := genDiscipline(t)
		n := len(claims)
		slots := n + rapid.IntRange(0, 3).Draw(t, "empty slots")
		shares := sharesOf(t, d, capacity, slots, claims)

		var demand int64
		for i, c := range claims {
			demand += c.Demand
			require.LessOrEqual(t, shares[i], c.Demand, "above its demand")
			require.GreaterOrEqual(t, shares[i], int64(0))
		}
		require.LessOrEqual(t, sum(shares), capacity)
		if d.WorkConserving() {
			require.GreaterOrEqual(t, sum(shares), min(capacity, demand)-int64(n), "given away but for rounding")
		}
		for i, a := range claims {
			for j, b := range claims {
				if a == b {
					require.Equal(t, shares[i], shares[j], "equal claims, equal shares")
				}
			}
		}

		if n > 0 {
			i := rapid.IntRange(0, n-1).Draw(t, "who wants more")
			more := slices.Clone(claims)
			more[i].Demand += rapid.Int64Range(1, 500).Draw(t, "how much more")
			require.GreaterOrEqual(t, sharesOf(t, d, capacity, slots, more)[i], shares[i], "wanting more never brings less")
		}

		best := sharesOf(t, timeslice.BestEffort, capacity, slots, claims)
		equal := sharesOf(t, timeslice.EqualShare, capacity, slots, claims)
		fixed := sharesOf(t, timeslice.FixedShare, capacity, slots, claims)
		strict := sharesOf(t, timeslice.StrictFraction, capacity, slots, claims)
		fair := sharesOf(t, timeslice.FairFraction, capacity, slots, claims)
		for i := range claims {
			require.LessOrEqual(t, fixed[i], equal[i])
			require.LessOrEqual(t, equal[i], best[i])
			require.LessOrEqual(t, strict[i], fair[i])
		}
	})
}

// weightedByHand raises all levels at once, in exact fractions: whoever is full drops
// out, and the rest share what is left.
func weightedByHand(capacity int64, claims []timeslice.Claim) []int64 {
	shares := make([]int64, len(claims))
	var open []int
	for i, c := range claims {
		if c.Weight > 0 {
			open = append(open, i)
		}
	}
	left := capacity
	for len(open) > 0 {
		var weights int64
		for _, i := range open {
			weights += claims[i].Weight
		}
		part := func(i int) *big.Rat { return big.NewRat(left*claims[i].Weight, weights) }
		full := slices.DeleteFunc(slices.Clone(open), func(i int) bool {
			return big.NewRat(claims[i].Demand, 1).Cmp(part(i)) > 0
		})
		if len(full) == 0 {
			for _, i := range open {
				shares[i] = left * claims[i].Weight / weights
			}
			return shares
		}
		for _, i := range full {
			shares[i] = claims[i].Demand
			left -= claims[i].Demand
		}
		open = slices.DeleteFunc(open, func(i int) bool { return slices.Contains(full, i) })
	}
	return shares
}

func TestWeightedMaxMin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		claims, capacity := genClaims(t), rapid.Int64Range(0, 3000).Draw(t, "capacity")
		got, err := timeslice.WeightedMaxMin(capacity, claims)
		require.NoError(t, err)
		require.Equal(t, weightedByHand(capacity, claims), got)

		for i := range claims {
			claims[i].Weight = 7
		}
		got, err = timeslice.WeightedMaxMin(capacity, claims)
		require.NoError(t, err)
		require.Equal(t, sharesOf(t, timeslice.RoundRobin, capacity, 0, claims), got, "equal weights are none")
	})
}

// The two readings of a fair fraction: what is left is divided equally, or by weight.
func TestFairIsNotWeighted(t *testing.T) {
	t.Parallel()
	claims := []timeslice.Claim{{Demand: 1000, Weight: 600}, {Demand: 1000, Weight: 200}}
	assert.Equal(t, []int64{700, 300}, sharesOf(t, timeslice.FairFraction, 1000, 0, claims))
	weighted, err := timeslice.WeightedMaxMin(1000, claims)
	require.NoError(t, err)
	assert.Equal(t, []int64{750, 250}, weighted)
	assert.Equal(t, []int64{600, 200}, sharesOf(t, timeslice.StrictFraction, 1000, 0, claims))
	assert.Equal(t, []int64{500, 500}, sharesOf(t, timeslice.RoundRobin, 1000, 0, claims), "a driver knows no fractions")
}

func TestSharesRefuse(t *testing.T) {
	t.Parallel()
	ok := []timeslice.Claim{{Demand: 1, Weight: 500}, {Demand: 1, Weight: 501}}
	for name, fail := range map[string]func() error{
		"capacity": func() error { _, err := timeslice.Shares(timeslice.RoundRobin, -1, 0, nil); return err },
		"demand": func() error {
			_, err := timeslice.Shares(timeslice.RoundRobin, 1, 0, []timeslice.Claim{{Demand: -1}})
			return err
		},
		"weight": func() error {
			_, err := timeslice.WeightedMaxMin(1, []timeslice.Claim{{Weight: -1}})
			return err
		},
		"weights": func() error {
			_, err := timeslice.WeightedMaxMin(1, []timeslice.Claim{{Weight: 1 << 62}, {Weight: 1 << 62}})
			return err
		},
		"slots":      func() error { _, err := timeslice.Shares(timeslice.FixedShare, 1, 1, ok); return err },
		"fractions":  func() error { _, err := timeslice.Shares(timeslice.FairFraction, 1, 0, ok); return err },
		"discipline": func() error { _, err := timeslice.Shares(99, 1, 0, nil); return err },
	} {
		require.ErrorIs(t, fail(), timeslice.ErrInput, name)
	}
}
