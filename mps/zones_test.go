package mps_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mps"
)

func TestAllocate(t *testing.T) {
	t.Parallel()
	// 1000 MiB, 100 of them free.
	clients := []mps.MemoryPartition{
		{Name: "protected", UsedMiB: 200, SoftMiB: 400, HardMiB: 600},
		{Name: "a little over", UsedMiB: 250, SoftMiB: 200},
		{Name: "far over", UsedMiB: 300, SoftMiB: 100, HardMiB: 500},
		{Name: "unprotected", UsedMiB: 150},
	}
	for _, c := range []struct {
		name string
		who  int
		mib  int64
		want mps.Allocation
	}{
		{"there is room", 0, 100, mps.Allocation{Outcome: mps.AllocationGranted}},
		{"room over the soft limit too", 1, 100, mps.Allocation{Outcome: mps.AllocationGranted}},
		{"within the soft limit the farthest over goes", 0, 101, mps.Allocation{mps.AllocationEvicts, []int{2, 3, 1}, 1}},
		{"up to the soft limit", 0, 200, mps.Allocation{mps.AllocationEvicts, []int{2, 3, 1}, 1}},
		{"over the soft limit nobody goes", 0, 201, mps.Allocation{Outcome: mps.AllocationExhausted}},
		{"up to the hard limit", 0, 400, mps.Allocation{Outcome: mps.AllocationExhausted}},
		{"over the hard limit", 0, 401, mps.Allocation{Outcome: mps.AllocationOverHard}},
		{"already over the soft limit", 2, 150, mps.Allocation{Outcome: mps.AllocationExhausted}},
		{"no hard limit", 3, 5000, mps.Allocation{Outcome: mps.AllocationExhausted}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := mps.Allocate(1000, clients, c.who, c.mib)
			require.NoError(t, err)
			assert.Equal(t, c.want, got, got.Outcome.String())
		})
	}
	got, err := mps.Allocate(1000, []mps.MemoryPartition{{UsedMiB: 600, SoftMiB: 2000}, {UsedMiB: 300, SoftMiB: 200}}, 0, 500)
	require.NoError(t, err)
	assert.Equal(t, mps.Allocation{Outcome: mps.AllocationExhausted}, got, "all that may go is not enough")

	for _, c := range []struct {
		total int64
		list  []mps.MemoryPartition
		who   int
		mib   int64
	}{
		{0, clients, 0, 1},
		{math.MaxInt64, clients, 0, 1},
		{899, clients, 0, 1},
		{1000, clients, -1, 1},
		{1000, clients, 4, 1},
		{1000, nil, 0, 1},
		{1000, clients, 0, 0},
		{1000, clients, 0, math.MaxInt64},
		{1000, []mps.MemoryPartition{{UsedMiB: -1}}, 0, 1},
		{1000, []mps.MemoryPartition{{SoftMiB: -1}}, 0, 1},
		{1000, []mps.MemoryPartition{{HardMiB: -1}}, 0, 1},
		{1000, []mps.MemoryPartition{{HardMiB: math.MaxInt64}}, 0, 1},
	} {
		got, err := mps.Allocate(c.total, c.list, c.who, c.mib)
		require.ErrorIs(t, err, mps.ErrInput, "%+v", c)
		assert.Zero(t, got)
	}
}

// TestAllocateHolds compares with the sentences of the documentation.
func TestAllocateHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const total = 100
		free := int64(total)
		clients := make([]mps.MemoryPartition, rapid.IntRange(1, 5).Draw(t, "clients"))
		for i := range clients {
			p := &clients[i]
			p.SoftMiB = rapid.Int64Range(0, 60).Draw(t, "soft")
			p.HardMiB = rapid.Int64Range(0, 80).Draw(t, "hard")
			most := free
			if p.HardMiB > 0 {
				most = min(most, p.HardMiB)
			}
			p.UsedMiB = rapid.Int64Range(0, most).Draw(t, "used")
			free -= p.UsedMiB
		}
		who := rapid.IntRange(0, len(clients)-1).Draw(t, "who")
		mib := rapid.Int64Range(1, 120).Draw(t, "MiB")
		got, err := mps.Allocate(total, clients, who, mib)
		require.NoError(t, err)

		after, evictable := clients[who].UsedMiB+mib, int64(0)
		for _, p := range clients {
			if p.UsedMiB > p.SoftMiB {
				evictable += p.UsedMiB
			}
		}
		hard := clients[who].HardMiB
		switch {
		case hard > 0 && after > hard:
			require.Equal(t, mps.AllocationOverHard, got.Outcome)
		case mib <= free:
			require.Equal(t, mps.AllocationGranted, got.Outcome)
		case after <= clients[who].SoftMiB && mib <= free+evictable:
			require.Equal(t, mps.AllocationEvicts, got.Outcome)
			require.NotContains(t, got.Candidates, who)
			for i, p := range clients {
				require.Equal(t, p.UsedMiB > p.SoftMiB, slices.Contains(got.Candidates, i))
			}
			sum := free
			for i, c := range got.Candidates[:got.Enough] {
				require.Less(t, sum, mib, "%d are enough", i)
				sum += clients[c].UsedMiB
			}
			require.GreaterOrEqual(t, sum, mib)
		default:
			require.Equal(t, mps.AllocationExhausted, got.Outcome)
		}
		if got.Outcome != mps.AllocationEvicts {
			require.Empty(t, got.Candidates)
		}
	})
}

func TestZones(t *testing.T) {
	t.Parallel()
	p := mps.MemoryPartition{SoftMiB: 10, HardMiB: 20}
	assert.Equal(t, mps.WithinSoft, p.Zone(10))
	assert.Equal(t, mps.OverSoft, p.Zone(11))
	assert.Equal(t, mps.OverSoft, p.Zone(20))
	assert.Equal(t, mps.OverHard, p.Zone(21))
	assert.Equal(t, "over soft limit", mps.OverSoft.String())
	assert.Equal(t, "MemoryZone(9)", mps.MemoryZone(9).String())
	assert.Equal(t, "AllocationOutcome(9)", mps.AllocationOutcome(9).String())
}
