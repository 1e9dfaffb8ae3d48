package placement_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/placement"
)

func TestNormalize(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		extremes := rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64})
		amount := rapid.OneOf(extremes, rapid.Int64(), rapid.Int64Range(-5, 5))
		scores := rapid.SliceOfN(amount, 0, 20).Draw(t, "scores")
		low, high := amount.Draw(t, "low"), amount.Draw(t, "high")
		if low > high {
			low, high = high, low
		}
		out := slices.Clone(scores)
		merged, err := placement.Normalize(out, low, high)
		require.NoError(t, err)
		require.Len(t, out, len(scores))
		if len(scores) == 0 {
			assert.False(t, merged)
			return
		}

		distinct := slices.Compact(slices.Sorted(slices.Values(scores)))
		room := high - low // as many values besides the first; negative beyond 64 bits
		fits := room < 0 || int64(len(distinct)-1) <= room
		assert.Equal(t, !fits, merged, "merged is exact")
		after := map[int64]bool{}
		for i := range scores {
			after[out[i]] = true
			assert.GreaterOrEqual(t, out[i], low)
			assert.LessOrEqual(t, out[i], high)
			for j := range scores {
				switch {
				case scores[i] == scores[j]:
					assert.Equal(t, out[i], out[j])
				case scores[i] < scores[j] && fits:
					assert.Less(t, out[i], out[j], "distinct scores stay distinct")
				case scores[i] < scores[j]:
					assert.LessOrEqual(t, out[i], out[j])
				}
			}
		}
		assert.Equal(t, high, slices.Max(out), "the largest becomes high")
		if len(distinct) > 1 {
			assert.Equal(t, low, slices.Min(out), "the smallest becomes low")
		}
		assert.Equal(t, merged, len(after) < len(distinct))
	})
}

func TestNormalizeTable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		scores    []int64
		low, high int64
		want      []int64
		merged    bool
	}{
		{"evenly by rank", []int64{-1 << 40, 7, 1 << 50}, 0, 100, []int64{0, 50, 100}, false},
		{"one", []int64{5}, 0, 100, []int64{100}, false},
		{"all equal", []int64{5, 5}, 0, 100, []int64{100, 100}, false},
		{"no room", []int64{1, 2, 3}, 0, 1, []int64{0, 0, 1}, true},
		{"a range of one value", []int64{1, 2}, 7, 7, []int64{7, 7}, true},
		{"just room", []int64{3, 1, 2}, 0, 2, []int64{2, 0, 1}, false},
		{"the whole of 64 bits", []int64{1, 2}, math.MinInt64, math.MaxInt64, []int64{math.MinInt64, math.MaxInt64}, false},
		{"nothing", nil, 0, 100, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			merged, err := placement.Normalize(tt.scores, tt.low, tt.high)
			require.NoError(t, err)
			assert.Equal(t, tt.want, tt.scores)
			assert.Equal(t, tt.merged, merged)
		})
	}
}

func TestNormalizeRefuses(t *testing.T) {
	t.Parallel()
	scores := []int64{3, 1}
	_, err := placement.Normalize(scores, 1, 0)
	require.ErrorIs(t, err, placement.ErrBadRange)
	require.ErrorContains(t, err, "range 1 to 0")
	assert.Equal(t, []int64{3, 1}, scores, "unchanged")
}
