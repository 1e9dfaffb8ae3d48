package mps_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mps"
)

func TestSplitMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		total int64
		n     int
		want  int64
	}{
		{40960, 3, 13653},
		{40960, 4, 10240},
		{40960, 7, 5851},
		{81920, 3, 27306},
		{81920, 4, 20480},
		{81920, 7, 11702},
		{81559, 3, 27186},
		{5, 5, 1},
	} {
		t.Run(fmt.Sprintf("%d MiB for %d", c.total, c.n), func(t *testing.T) {
			t.Parallel()
			got, err := mps.SplitMemory(c.total, c.n)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
	for _, c := range []struct {
		total int64
		n     int
	}{{0, 1}, {-1, 1}, {math.MaxInt64, 1}, {40960, 0}, {40960, -1}, {40960, 129}, {4, 5}} {
		_, err := mps.SplitMemory(c.total, c.n)
		require.ErrorIs(t, err, mps.ErrInput, "%v", c)
	}
}

// TestSplitMemoryAsBytes: whole MiB of a whole MiB total are what the device plugin
// gets from bytes.
func TestSplitMemoryAsBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.Int64Range(1<<30, 1<<40).Draw(t, "bytes")
		n := rapid.IntRange(1, 60).Draw(t, "clients")
		got, err := mps.SplitMemory(bytes>>20, n)
		require.NoError(t, err)
		require.Equal(t, bytes/int64(n)>>20, got)
	})
}

// TestSplitWeightedMemory: each part is the exact one rounded down or up.
func TestSplitWeightedMemory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := mps.Capacity{SMs: 132, MemoryMiB: rapid.Int64Range(1000, 200000).Draw(t, "memory")}
		weights := genWeights(t, 20, 50)
		s, err := mps.SplitWeighted(c, weights, mps.SplitOptions{})
		require.NoError(t, err)
		var sum, used int64
		for _, w := range weights {
			sum += int64(w)
		}
		for i, share := range s.Clients {
			down := c.MemoryMiB * int64(weights[i]) / sum
			exact := down*sum == c.MemoryMiB*int64(weights[i])
			require.GreaterOrEqual(t, share.MemoryMiB, down)
			require.LessOrEqual(t, share.MemoryMiB, down+1)
			require.False(t, exact && share.MemoryMiB != down)
			used += share.MemoryMiB
		}
		require.Equal(t, c.MemoryMiB, used)
	})
}

func TestReachableMiB(t *testing.T) {
	t.Parallel()
	got, err := mps.ReachableMiB(10240, 0)
	require.NoError(t, err)
	assert.Zero(t, got)
	for _, c := range []struct {
		limit     int64
		processes int
	}{{0, 1}, {-1, 1}, {math.MaxInt64, 2}, {1, -1}, {1, math.MaxInt32}} {
		_, err := mps.ReachableMiB(c.limit, c.processes)
		require.ErrorIs(t, err, mps.ErrInput, "%v", c)
	}
}
