package mps_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mps"
)

// TestBoundChunks: the bound, and where a device was seen to have fewer, those.
func TestBoundChunks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sms, size, bound, stranded int
		seen, seenStranded         int // 0: none published
	}{
		{108, 4, 27, 0, 0, 0},
		{108, 2, 54, 0, 0, 0},
		{132, 8, 16, 4, 15, 12},
		{148, 8, 18, 4, 0, 0},
		{92, 8, 11, 4, 10, 12},
	} {
		t.Run(fmt.Sprintf("%d SMs in chunks of %d", c.sms, c.size), func(t *testing.T) {
			t.Parallel()
			chunks, err := mps.BoundChunks(c.sms, c.size)
			require.NoError(t, err)
			assert.Equal(t, mps.Chunks{SMs: c.sms, Size: c.size, Count: c.bound, Bound: true}, chunks)
			s, err := chunks.Divide()
			require.NoError(t, err)
			assert.Equal(t, c.stranded, s.StrandedSMs)
			assert.True(t, s.Bound)
			if c.seen == 0 {
				return
			}
			s, err = mps.Chunks{SMs: c.sms, Size: c.size, Count: c.seen}.Divide(7, 1)
			require.NoError(t, err)
			assert.Equal(t, mps.PartitionSplit{
				Partitions: []mps.PartitionShare{{Chunks: 7, SMs: 56}, {Chunks: 1, SMs: 8}}, FreeChunks: c.seen - 8,
				UsableSMs: 8 * c.seen, StrandedSMs: c.seenStranded,
			}, s)
		})
	}
}

func TestChunksRefuse(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]int{{0, 8}, {132, 0}, {132, -8}, {4, 8}, {4096, 8}} {
		_, err := mps.BoundChunks(c[0], c[1])
		require.ErrorIs(t, err, mps.ErrInput, "%v", c)
	}
	for _, c := range []mps.Chunks{
		{}, {SMs: 132, Size: 8, Count: 17}, {SMs: 132, Size: 8}, {SMs: 132, Size: 0, Count: 1}, {SMs: 132, Size: 8, Count: -1},
	} {
		_, err := c.Divide(1)
		require.ErrorIs(t, err, mps.ErrInput, "%+v", c)
		_, err = c.DivideByWeight([]int{1})
		require.ErrorIs(t, err, mps.ErrInput, "%+v", c)
		_, err = c.Holding(1)
		require.ErrorIs(t, err, mps.ErrInput, "%+v", c)
	}
	h100 := mps.Chunks{SMs: 132, Size: 8, Count: 15}
	for _, chunks := range [][]int{{0}, {-1}, {16}, {8, 8}, {15, 1}} {
		s, err := h100.Divide(chunks...)
		require.ErrorIs(t, err, mps.ErrInput, "%v", chunks)
		assert.Zero(t, s)
	}
	for _, sms := range []int{0, -8, 1 << 20} {
		_, err := h100.Holding(sms)
		require.ErrorIs(t, err, mps.ErrInput)
	}
	_, err := h100.DivideByWeight([]int{100, 1})
	require.ErrorIs(t, err, mps.ErrNoSMs)
	_, err = h100.DivideByWeight(nil)
	require.ErrorIs(t, err, mps.ErrInput)
}

// TestDivideHolds: chunks and SMs add up, and weights give what is nearest to
// proportional.
func TestDivideHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{2, 4, 8}).Draw(t, "size")
		sms := rapid.IntRange(size, 200).Draw(t, "SMs")
		c := mps.Chunks{SMs: sms, Size: size, Count: rapid.IntRange(1, sms/size).Draw(t, "count")}
		weights := genWeights(t, 8, 9)
		sum := 0
		for _, w := range weights {
			sum += w
		}
		s, err := c.DivideByWeight(weights)
		if err != nil {
			require.ErrorIs(t, err, mps.ErrNoSMs)
			return
		}
		require.Zero(t, s.FreeChunks)
		require.Equal(t, sms, s.UsableSMs+s.StrandedSMs)
		used := 0
		for i, p := range s.Partitions {
			require.Equal(t, p.Chunks*size, p.SMs)
			require.LessOrEqual(t, c.Count*weights[i]/sum, p.Chunks)
			require.LessOrEqual(t, p.Chunks, (c.Count*weights[i]+sum-1)/sum)
			used += p.Chunks
			n, err := c.Holding(p.SMs)
			require.NoError(t, err)
			require.Equal(t, p.Chunks, n)
			n, err = c.Holding(p.SMs - 1)
			require.NoError(t, err)
			require.Equal(t, p.Chunks, n)
		}
		require.Equal(t, c.Count, used)
	})
}
