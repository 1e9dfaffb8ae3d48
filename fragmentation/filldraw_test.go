package fragmentation_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
)

func TestSplitMix(t *testing.T) {
	t.Parallel()
	// The published numbers of the generator for this seed.
	want := []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821}
	assert.Equal(t, want, fragmentation.SplitMix(1234567, len(want)))
}

// TestFillDrawsShares checks what the sequences promise: at every place the
// shapes have the shares of the mix, those of several GPUs at the start by
// weight.
func TestFillDrawsShares(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mix := genFillMix(t, true)
		options := fragmentation.FillOptions{
			Sequences: rapid.SampledFrom([]int{64, 128, 500}).Draw(t, "sequences"),
			Length:    rapid.IntRange(1, 64).Draw(t, "length"),
			Seed:      rapid.Uint64().Draw(t, "seed"),
		}
		sequences, weights, err := fragmentation.FillSequences(mix, options)
		require.NoError(t, err)
		require.Len(t, sequences, options.Sequences)
		require.Len(t, weights, options.Sequences)
		counts := map[fragmentation.Shape]int64{}
		total, gangs := int64(0), int64(0)
		for _, e := range mix {
			e.Shape.Memory = 0
			if e.Shape.GPUs > 0 && e.Shape.Profile == "" {
				counts[e.Shape] += e.Count
				total += e.Count
				if e.Shape.GPUs > 1 {
					gangs += e.Count
				}
			}
		}
		scale := int64(0)
		for _, w := range weights {
			scale += w
		}
		// The first place: how likely a gang is, by weight.
		first := int64(0)
		for k, sequence := range sequences {
			require.Len(t, sequence, options.Length)
			if sequence[0].GPUs > 1 {
				first += weights[k]
			}
		}
		tolerance := 0.001
		if slices.Min(weights) == slices.Max(weights) {
			tolerance = 2 / float64(options.Sequences) // no strata: gangs are common
		}
		assert.InDelta(t, float64(gangs)/float64(total), float64(first)/float64(scale), tolerance)
		// A place behind the start: each shape as often as its share says, give or
		// take the two strata that it may begin and end in.
		for place := 8; place < options.Length; place++ {
			seen := map[fragmentation.Shape]int{}
			for _, sequence := range sequences {
				seen[sequence[place]]++
			}
			for shape, count := range counts {
				share := float64(count) / float64(total) * float64(options.Sequences)
				assert.InDelta(t, share, float64(seen[shape]), 2, "place %d", place)
			}
		}
	})
}

// TestFillGangsAtStart has the reason for the weights: two tasks in a hundred
// take eight GPUs, and with 64 sequences each of the first eight places has one
// that is the first of its sequence in two sequences.
func TestFillGangsAtStart(t *testing.T) {
	t.Parallel()
	mix := fragmentation.Mix{{Shape: plain(1000, 500), Count: 98}, {Shape: whole(8000, 8, 1000), Count: 2}}
	for seed := range uint64(10) {
		sequences, weights, err := fragmentation.FillSequences(mix, fragmentation.FillOptions{Sequences: 64, Length: 40, Seed: seed})
		require.NoError(t, err)
		var at [9]int
		var weight, scale int64
		for k, sequence := range sequences {
			place := 0
			for place < 8 && sequence[place].GPUs == 1 {
				place++
			}
			at[place]++
			scale += weights[k]
			if place < 8 {
				weight += weights[k]
			}
		}
		assert.Equal(t, [9]int{2, 2, 2, 2, 2, 2, 2, 2, 48}, at)
		assert.InDelta(t, 0.149, float64(weight)/float64(scale), 0.001) // 1 - 0.98^8
	}
}
