package fragmentation_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
)

// genCoarseMix draws a mix whose shares are multiples of a unit, which Fill then
// counts in.
func genCoarseMix(t *rapid.T) fragmentation.Mix {
	mix := genFillMix(t, false)
	unit := rapid.SampledFrom([]int64{8, 10, 50, 125, 200, 500}).Draw(t, "unit")
	for i := range mix {
		s := &mix[i].Shape
		if s.Milli > 0 && s.Milli < fragmentation.Whole {
			s.Milli = max(s.Milli/unit, 1) * unit
		} else if s.GPUs > 1 {
			s.GPUs += rapid.IntRange(0, 4).Draw(t, "more whole GPUs")
		}
		// Requests for CPU that are close to one another share a step of a table.
		s.CPU += rapid.Int64Range(0, 9).Draw(t, "more CPU")
	}
	return mix
}

// genNode draws a state of up to ten GPUs, in a third of all cases idle.
func genNode(t *rapid.T) *fragmentation.State {
	s := genState(t)
	if rapid.IntRange(0, 2).Draw(t, "idle") == 0 {
		s.GPUs = nil
		for range rapid.IntRange(1, 10).Draw(t, "idle GPUs") {
			s.GPUs = append(s.GPUs, fragmentation.GPU{Milli: fragmentation.Whole})
		}
	}
	gpus := rapid.SliceOfN(rapid.SampledFrom([]int64{20, 190, 250, 530, 810, 1000, 1000, 1000}), 0, 10).Draw(t, "more GPUs")
	for _, milli := range gpus[:min(len(gpus), 10-len(s.GPUs))] {
		s.GPUs = append(s.GPUs, fragmentation.GPU{Milli: milli})
	}
	s.CPU = s.CPU*rapid.SampledFrom([]int64{1, 2, 4, 16}).Draw(t, "times CPU") + rapid.Int64Range(0, 40).Draw(t, "more CPU")
	return s
}

func genFillOptions(t *rapid.T) fragmentation.FillOptions {
	return fragmentation.FillOptions{
		Sequences: rapid.SampledFrom([]int{1, 9, 63, 64, 65, 130}).Draw(t, "sequences"),
		Length:    rapid.SampledFrom([]int{1, 7, 40, 64}).Draw(t, "length"),
		Seed:      rapid.Uint64().Draw(t, "seed"),
		Keep:      rapid.Int64Range(1, 1000).Draw(t, "keep"),
	}
}

// TestFillInUnits compares with the definition where shares have a common unit.
func TestFillInUnits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mix := genCoarseMix(t)
		options := genFillOptions(t)
		v := fillOf(t, mix, options)
		for range 5 {
			s := genNode(t)
			require.Equal(t, naiveFillOf(t, mix, options, s), v.Of(s), s)
		}
	})
}

// TestFillPlateau checks that all states of a plateau are worth the same.
func TestFillPlateau(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mix := genCoarseMix(t)
		if rapid.IntRange(0, 3).Draw(t, "device memory") == 0 {
			i := rapid.IntRange(0, len(mix)-1).Draw(t, "whose")
			if mix[i].Shape.GPUs > 0 && mix[i].Shape.Profile == "" {
				mix[i].Shape.DeviceMemory = rapid.Int64Range(1, 3000).Draw(t, "MiB")
			}
		}
		v := fillOf(t, mix, genFillOptions(t))
		s := genNode(t)
		for i := range s.GPUs {
			if !s.GPUs[i].Cut() {
				s.GPUs[i].Memory = rapid.SampledFrom([]int64{0, 2000, 80000, 80000, 80000}).Draw(t, "MiB")
			}
		}
		worth, low, high := v.Plateau(s)
		require.Equal(t, v.Of(s), worth)
		require.LessOrEqual(t, low, s.CPU)
		require.Less(t, s.CPU, high)
		key, ok := v.Key(s)
		if !ok {
			assert.Equal(t, []int64{s.CPU, s.CPU + 1}, []int64{low, high}, "without a key there is none")
			return
		}
		like := shuffled(t, s)
		for i := range like.GPUs {
			// What is beyond a multiple of the unit is of no use. An idle GPU is a
			// multiple for units that divide a GPU.
			g := &like.GPUs[i]
			if g.Milli < fragmentation.Whole {
				g.Milli -= g.Milli % unitOf(mix)
			}
			// So is device memory beyond what goes with the milli-GPU.
			enough := g.Memory
			g.Memory = rapid.Int64Range(0, enough).Draw(t, "MiB left")
			if _, ok := v.Key(like); !ok {
				g.Memory = enough
			}
		}
		full := *like
		full.GPUs = append(slices.Clone(like.GPUs), fragmentation.GPU{})
		if same, ok := v.Key(&full); ok && same == key {
			require.Equal(t, worth, v.Of(&full), &full)
		}
		for _, cpu := range []int64{low, s.CPU, min(high-1, 1<<40), rapid.Int64Range(low, min(high-1, s.CPU*2+1)).Draw(t, "CPU")} {
			like.CPU = max(cpu, low)
			same, ok := v.Key(like)
			require.True(t, ok)
			require.Equal(t, key, same)
			require.Equal(t, worth, v.Of(like), like)
		}
	})
}

// unitOf returns the largest unit of which the shares of a mix are multiples.
func unitOf(mix fragmentation.Mix) int64 {
	for largest := int64(fragmentation.Whole); ; largest-- {
		all := fragmentation.Whole%largest == 0
		for _, e := range mix {
			all = all && e.Shape.Milli%largest == 0
		}
		if all || largest == 1 {
			return largest
		}
	}
}
