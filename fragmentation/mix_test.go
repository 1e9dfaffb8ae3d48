package fragmentation_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
)

func TestMixValidate(t *testing.T) {
	t.Parallel()
	good := plain(1000, 500)
	tests := []struct {
		name string
		mix  fragmentation.Mix
		err  error
		text string
	}{
		{"one", fragmentation.Mix{{good, 1}}, nil, ""},
		{"most tasks", fragmentation.Mix{{good, 9_999_999}, {good, 1}}, nil, ""},
		{"nil", nil, fragmentation.ErrEmptyMix, "empty mix"},
		{"empty", fragmentation.Mix{}, fragmentation.ErrEmptyMix, "empty mix"},
		{"zero count", fragmentation.Mix{{good, 1}, {good, 0}}, fragmentation.ErrBadMix, "entry 1: count 0"},
		{"negative count", fragmentation.Mix{{good, -3}}, fragmentation.ErrBadMix, "entry 0: count -3"},
		{"too many tasks", fragmentation.Mix{{good, 9_999_999}, {good, 2}}, fragmentation.ErrBadMix, "entry 1: count 2"},
		{"too many tasks at once", fragmentation.Mix{{good, math.MaxInt64}}, fragmentation.ErrBadMix, "entry 0"},
		{"sum beyond 64 bits", fragmentation.Mix{{good, 1}, {good, math.MaxInt64}}, fragmentation.ErrBadMix, "entry 1"},
		{"bad shape", fragmentation.Mix{{good, 1}, {plain(-1, 500), 1}}, fragmentation.ErrBadShape, "entry 1: fragmentation: CPU -1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.mix.Validate()
			_, fgdErr := fragmentation.NewFGD(tt.mix)
			if tt.err == nil {
				require.NoError(t, err)
				require.NoError(t, fgdErr)
				return
			}
			require.ErrorIs(t, err, tt.err)
			require.ErrorContains(t, err, tt.text)
			require.ErrorIs(t, fgdErr, tt.err)
		})
	}
	_, err := fragmentation.NewFGD(mixed())
	require.ErrorIs(t, err, fragmentation.ErrEmptyMix, "MIG requests alone are nothing to FGD")
}

func TestMixOf(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// Few shapes, so that they repeat and their counts tie.
		few := rapid.SliceOfN(rapid.Custom(genPlainShape), 1, 4).Draw(t, "shapes")
		tasks := rapid.SliceOfN(rapid.SampledFrom(few), 1, 20).Draw(t, "tasks")
		mix := fragmentation.MixOf(tasks)

		require.NoError(t, mix.Validate())
		assert.EqualValues(t, len(tasks), mix.Total())
		assert.Equal(t, mix, fragmentation.MixOf(rapid.Permutation(tasks).Draw(t, "other order")))
		counts := map[fragmentation.Shape]int64{}
		for _, s := range tasks {
			counts[s]++
		}
		require.Len(t, mix, len(counts))
		for i, e := range mix {
			assert.Equal(t, counts[e.Shape], e.Count)
			if i > 0 {
				assert.LessOrEqual(t, e.Count, mix[i-1].Count)
			}
			if i > 0 && e.Count == mix[i-1].Count {
				assert.LessOrEqual(t, e.Shape.CPU, mix[i-1].Shape.CPU)
			}
		}
	})
	assert.Empty(t, fragmentation.MixOf(nil))
}

// Equal counts are ordered by CPU, then by milli-GPU, then by the number of
// GPUs, then by the text of models, the larger first.
func TestMixOfTies(t *testing.T) {
	t.Parallel()
	ordered := []fragmentation.Shape{
		{CPU: 2000},
		{CPU: 1000, GPUs: 2, Milli: 1000},
		{CPU: 1000, GPUs: 1, Milli: 1000, Models: "T4"},
		{CPU: 1000, GPUs: 1, Milli: 1000, Models: "G2"},
		{CPU: 1000, GPUs: 1, Milli: 1000},
		{CPU: 1000, GPUs: 1, Milli: 500, DeviceMemory: 10},
		{CPU: 1000, GPUs: 1, Milli: 500, DeviceMemory: 5, Memory: 1},
		{CPU: 1000, GPUs: 1, Milli: 500, DeviceMemory: 5},
	}
	rapid.Check(t, func(t *rapid.T) {
		mix := fragmentation.MixOf(rapid.Permutation(ordered).Draw(t, "order"))
		for i, e := range mix {
			assert.Equal(t, ordered[i], e.Shape)
		}
	})
}

func TestCover(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mix := genMix(genPlainShape).Draw(t, "mix")
		percent := rapid.Int64Range(1, 100).Draw(t, "percent")
		part, err := mix.Cover(float64(percent))
		require.NoError(t, err)
		require.NotEmpty(t, part)
		assert.Equal(t, mix[:len(part)], part, "the leading entries")
		assert.GreaterOrEqual(t, 100*part.Total(), percent*mix.Total(), "enough")
		assert.Less(t, 100*part[:len(part)-1].Total(), percent*mix.Total(), "no more than needed")
		part[0].Count++
		assert.NotEqual(t, part[0].Count, mix[0].Count, "the result is the caller's own")
	})
}

func TestCoverRefuses(t *testing.T) {
	t.Parallel()
	mix := fragmentation.Mix{{plain(1000, 500), 3}, {plain(1000, 0), 2}, {plain(1000, 100), 1}}
	for _, percent := range []float64{0, -1, 100.001, 101, math.Inf(1), math.Inf(-1), math.NaN()} {
		part, err := mix.Cover(percent)
		require.ErrorIs(t, err, fragmentation.ErrBadMix, "%v", percent)
		assert.Nil(t, part)
	}
	_, err := fragmentation.Mix{}.Cover(50)
	require.ErrorIs(t, err, fragmentation.ErrEmptyMix)
}
