package mig_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
)

// TestCensus holds the counts of the literature and of the reference
// enumeration. Media variants are left out of all of them.
func TestCensus(t *testing.T) {
	t.Parallel()
	four := mig.Census{PlacedSets: 25, MaximalSets: 5, MaximalMultisets: 4, UndominatedMultisets: 4, Multisets: 9}
	six := mig.Census{PlacedSets: 722, MaximalSets: 78, MaximalMultisets: 38, UndominatedMultisets: 28, Multisets: 77}
	five := mig.Census{PlacedSets: 297, MaximalSets: 19, MaximalMultisets: 14, UndominatedMultisets: 12, Multisets: 37}
	forEachModel(t, func(t *testing.T, m *mig.Model) {
		double := len(fivePlain(m)) < len(slices.Collect(m.PlainProfiles()))
		switch m.MemorySlices() {
		case 0:
			assert.Zero(t, m.Census(nil), "the geometry is unknown")
		case 4, 12:
			assert.Equal(t, four, m.Census(nil))
		default:
			assert.Equal(t, five, m.Census(fivePlain(m)))
			if double {
				assert.Equal(t, six, m.Census(nil))
			}
		}
	})
}

// fivePlain returns the plain profiles without the 1g of double memory.
func fivePlain(m *mig.Model) []mig.Profile {
	return slices.DeleteFunc(slices.Collect(m.PlainProfiles()), func(p mig.Profile) bool {
		return p.ComputeSlices == 1 && p.Size == 2
	})
}

// TestMaximalLayoutsOfA100 spells out the 19 maximal layouts of the five plain
// profiles: the compute slices of the instances, by start.
func TestMaximalLayoutsOfA100(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	want := [][]int{
		{7},
		{4, 3},
		{4, 2, 1},
		{4, 1, 1, 1},
		{3, 3},
		{3, 2, 1},
		{3, 1, 1, 1},
		{2, 2, 3},
		{2, 1, 1, 3},
		{1, 1, 2, 3},
		{1, 1, 1, 1, 3},
		{2, 2, 2, 1},
		{2, 1, 1, 2, 1},
		{1, 1, 2, 2, 1},
		{2, 2, 1, 1, 1},
		{2, 1, 1, 1, 1, 1},
		{1, 1, 2, 1, 1, 1},
		{1, 1, 1, 1, 2, 1},
		{1, 1, 1, 1, 1, 1, 1},
	}
	var got [][]int
	profiles := fivePlain(m)
	for l := range m.Layouts(profiles) {
		if l.Maximal(profiles) {
			var row []int
			for _, p := range placedOf(l) {
				row = append(row, p.profile.ComputeSlices)
			}
			got = append(got, row)
		}
	}
	assert.ElementsMatch(t, want, got)
}

// TestLayoutsAreAllLegalSets compares the enumeration with all legal subsets of
// the (profile, start) pairs: every one once, none besides, media variants
// included.
func TestLayoutsAreAllLegalSets(t *testing.T) {
	t.Parallel()
	forEachShape(t, func(t *testing.T, m *mig.Model) {
		for _, plain := range []bool{true, false} {
			var profiles []mig.Profile
			if !plain {
				profiles = slices.Collect(m.Profiles())
			}
			want := map[mig.Layout]bool{}
			for _, l := range newUniverse(m, plain).layouts {
				require.False(t, want[l], "%s twice in the oracle", l)
				want[l] = true
			}
			delete(want, m.Empty())
			seen := map[mig.Layout]bool{}
			for l := range m.Layouts(profiles) {
				require.True(t, want[l], "%s is not legal", l)
				require.False(t, seen[l], "%s comes twice", l)
				seen[l] = true
			}
			assert.Len(t, seen, len(want))
		}
	})
}

func TestLayoutsOrderAndStop(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a30-24gb")
	first, second := slices.Collect(m.Layouts(nil)), slices.Collect(m.Layouts(nil))
	assert.Equal(t, first, second, "the order is fixed")
	n := 0
	for range m.Layouts(nil) {
		if n++; n == 3 {
			break
		}
	}
	assert.Equal(t, 3, n, "a loop may stop early")

	foreign := profile(t, lookup(t, "a100-40gb"), "3g.20gb")
	assert.Empty(t, slices.Collect(m.Layouts([]mig.Profile{foreign})), "a profile of another model builds nothing")
}

// TestMaximal compares Maximal with the definition, for all plain profiles and
// for one alone.
func TestMaximal(t *testing.T) {
	t.Parallel()
	forEachShape(t, func(t *testing.T, m *mig.Model) {
		u := newUniverse(m, true)
		for _, selected := range [][]mig.Profile{slices.Collect(m.PlainProfiles()), {slices.Collect(m.PlainProfiles())[1]}} {
			for _, l := range u.layouts {
				room := slices.ContainsFunc(pairs(m, true), func(next placed) bool {
					return slices.Contains(selected, next.profile) && addable(placedOf(l), next)
				})
				require.Equal(t, !room, l.Maximal(selected), "%s", l)
			}
		}
	})
	assert.False(t, mig.Layout{}.Maximal(nil), "a GPU that is not cut")
}

// TestUnusedAndStranded holds the worked examples of the B200.
func TestUnusedAndStranded(t *testing.T) {
	t.Parallel()
	m := lookup(t, "b200-180gb")
	for _, c := range []struct {
		want             mig.Demand
		unused, stranded mig.SliceCount
	}{
		{mig.Demand{"2g.45gb": 3}, mig.SliceCount{Memory: 2, Compute: 1}, mig.SliceCount{}},
		{mig.Demand{"1g.23gb": 7}, mig.SliceCount{Memory: 1}, mig.SliceCount{Memory: 1}},
		{mig.Demand{"1g.45gb": 4}, mig.SliceCount{Compute: 3}, mig.SliceCount{Compute: 3}},
		{mig.Demand{"3g.90gb": 2}, mig.SliceCount{Compute: 1}, mig.SliceCount{Compute: 1}},
		{mig.Demand{"7g.180gb": 1}, mig.SliceCount{}, mig.SliceCount{}},
		{mig.Demand{}, mig.SliceCount{Memory: 8, Compute: 7}, mig.SliceCount{}},
	} {
		t.Run(c.want.String(), func(t *testing.T) {
			t.Parallel()
			l, err := m.Empty().Fit(c.want)
			require.NoError(t, err)
			assert.Equal(t, c.unused, l.Unused())
			assert.Equal(t, c.stranded, l.Stranded())
		})
	}
	assert.Zero(t, mig.Layout{}.Unused())
	assert.Zero(t, mig.Layout{}.Stranded())
	assert.Equal(t, "2 memory slices, 1 compute slice", mig.SliceCount{Memory: 2, Compute: 1}.String())
}

// TestStrandedIsWhatNoCompletionTakes compares Unused and Stranded of every
// layout with all layouts that contain it.
func TestStrandedIsWhatNoCompletionTakes(t *testing.T) {
	t.Parallel()
	forEachShape(t, func(t *testing.T, m *mig.Model) {
		u := newUniverse(m, m.MemorySlices() == 8) // variants take the slices of their plain profile
		for _, l := range u.layouts {
			unused := mig.SliceCount{Memory: m.MemorySlices(), Compute: m.ComputeSlices()}
			for _, p := range placedOf(l) {
				unused.Memory -= p.profile.Size
				unused.Compute -= p.profile.ComputeSlices
			}
			require.Equal(t, unused, l.Unused(), "%s", l)
			stranded := unused
			for _, larger := range u.layouts {
				if holds(larger, l) {
					left := larger.Unused()
					stranded.Memory = min(stranded.Memory, left.Memory)
					stranded.Compute = min(stranded.Compute, left.Compute)
				}
			}
			require.Equal(t, stranded, l.Stranded(), "%s", l)
		}
	})
}
