package mig_test

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
)

// create creates instances one by one, each where choose says, and returns the
// starts up to the first that finds no room.
func create(m *mig.Model, order []mig.Profile, choose func(mig.Layout, mig.Profile) (int, bool)) (starts []int, ok bool) {
	l := m.Empty()
	for _, p := range order {
		start, room := choose(l, p)
		if !room {
			return starts, false
		}
		var err error
		if l, err = l.With(p, start); err != nil {
			return starts, false
		}
		starts = append(starts, start)
	}
	return starts, true
}

// TestPublishedCreationSequences replays what the vendor's guide and other
// listings show for creation without placements.
func TestPublishedCreationSequences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		models string
		order  string // compute slices of plain profiles
		starts []int
		fails  bool // after those starts: Insufficient Resources
	}{
		{"a100-40gb h100-80gb-sxm5 h100-80gb-pcie", "2 1 1 1 1 1", []int{4, 6, 0, 1, 2, 3}, false},
		{"a100-40gb h100-80gb-sxm5 h100-80gb-pcie", "3 1 2 1", []int{4, 0, 2, 1}, false},
		{"a100-40gb h100-80gb-sxm5 h100-80gb-pcie", "1 1 2 3", []int{6, 4, 0}, true},
		{"a100-40gb h100-80gb-sxm5 h100-80gb-pcie", "1 1 1 1 1 1 1", []int{6, 4, 5, 0, 1, 2, 3}, false},
		{"a100-40gb h100-80gb-sxm5 h100-80gb-pcie", "3 1 1 1", []int{4, 0, 1, 2}, false},
		{"a100-40gb h100-80gb-sxm5 h100-80gb-pcie", "3 2 1 1", []int{4, 0, 2, 3}, false},
		{"a100-40gb h100-80gb-sxm5 h100-80gb-pcie", "4 2 1", []int{0, 4, 6}, false},
		{"rtx-pro-6000-96gb", "2 1 1", []int{0, 6, 9}, false},
		{"rtx-pro-6000-96gb", "1 1 1 1", []int{0, 3, 6, 9}, false},
		// The one published sequence that contradicts the derived rule: the
		// guide shows 0, then 4.
		{"a100-40gb", "3 3", []int{4, 0}, false},
	} {
		for key := range strings.FieldsSeq(c.models) {
			t.Run(key+" "+c.order, func(t *testing.T) {
				t.Parallel()
				m := lookup(t, key)
				var order []mig.Profile
				for g := range strings.FieldsSeq(c.order) {
					i := slices.IndexFunc(m.Spec().Profiles, func(p mig.Profile) bool { return strings.HasPrefix(p.Name, g+"g.") })
					order = append(order, m.Spec().Profiles[i])
				}
				starts, ok := create(m, order, mig.Layout.DefaultStart)
				assert.Equal(t, c.starts, starts)
				assert.Equal(t, !c.fails, ok)
			})
		}
	}
}

// TestDefaultStartRule compares with the rule as it is stated, on every layout:
// most free pairs left, then the lowest start.
func TestDefaultStartRule(t *testing.T) {
	t.Parallel()
	forEachShape(t, func(t *testing.T, m *mig.Model) {
		for _, l := range newUniverse(m, m.MemorySlices() == 8).layouts {
			for p := range m.Profiles() {
				want, most := -1, -1
				for _, next := range pairs(m, false) {
					if next.profile.Name != p.Name || !addable(placedOf(l), next) {
						continue
					}
					after, err := l.With(p, next.start)
					require.NoError(t, err)
					if free := freePairs(after); free > most {
						want, most = next.start, free
					}
				}
				got, ok := l.DefaultStart(p)
				require.Equal(t, want >= 0, ok, "%s beside %s", p.Name, l)
				if ok {
					require.Equal(t, want, got, "%s beside %s", p.Name, l)
				}
			}
		}
	})
}

// profilesOf returns the instances of a demand as profiles, largest first: more
// compute slices, then more memory.
func profilesOf(t testing.TB, m *mig.Model, d mig.Demand) []mig.Profile {
	t.Helper()
	var list []mig.Profile
	for name, n := range d {
		for range n {
			list = append(list, profile(t, m, name))
		}
	}
	slices.SortFunc(list, func(a, b mig.Profile) int {
		return cmp.Or(b.ComputeSlices-a.ComputeSlices, b.Size-a.Size, strings.Compare(a.Name, b.Name))
	})
	return list
}

// TestLargestFirstNeverFails creates every demand that some layout holds,
// largest profile first, where the driver would put it.
func TestLargestFirstNeverFails(t *testing.T) {
	t.Parallel()
	forEachShape(t, func(t *testing.T, m *mig.Model) {
		for _, d := range newUniverse(m, true).demands {
			starts, ok := create(m, profilesOf(t, m, d), mig.Layout.DefaultStart)
			require.True(t, ok, "%s stops after starts %v", d, starts)
		}
	})
}

// permutations calls yield with every different order of the profiles.
func permutations(list []mig.Profile, yield func([]mig.Profile)) {
	var rec func(done, left []mig.Profile)
	rec = func(done, left []mig.Profile) {
		if len(left) == 0 {
			yield(done)
		}
		seen := map[string]bool{}
		for i, p := range left {
			if !seen[p.Name] {
				seen[p.Name] = true
				rec(append(slices.Clone(done), p), slices.Delete(slices.Clone(left), i, i+1))
			}
		}
	}
	rec(nil, list)
}

// TestCreationOrdersThatFail counts, for every demand of the five plain
// profiles, the orders of creation in which the driver's choices leave no room.
func TestCreationOrdersThatFail(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	got := map[string]string{}
	for _, d := range newUniverse(m, true).demands {
		if d["1g.10gb"] > 0 {
			continue
		}
		failed, all := 0, 0
		permutations(profilesOf(t, m, d), func(order []mig.Profile) {
			all++
			if _, ok := create(m, order, mig.Layout.DefaultStart); !ok {
				failed++
			}
		})
		if failed > 0 {
			got[d.String()] = strconv.Itoa(failed) + " of " + strconv.Itoa(all)
		}
	}
	assert.Equal(t, map[string]string{
		"1g.5gb=4,3g.20gb=1":           "4 of 5",
		"1g.5gb=2,2g.10gb=1,3g.20gb=1": "9 of 12",
		"2g.10gb=2,3g.20gb=1":          "2 of 3",
	}, got)
}

// TestSmallBeforeDouble: largest first, but for plain 1g before 1g of double
// memory, fails for seven demands.
func TestSmallBeforeDouble(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	var failed []string
	for _, d := range newUniverse(m, true).demands {
		order := profilesOf(t, m, d)
		slices.SortStableFunc(order, func(a, b mig.Profile) int {
			return cmp.Or(b.ComputeSlices-a.ComputeSlices, a.Size-b.Size)
		})
		if _, ok := create(m, order, mig.Layout.DefaultStart); !ok {
			failed = append(failed, d.String())
		}
	}
	assert.Len(t, failed, 7)
	assert.Contains(t, failed, "1g.10gb=1,1g.5gb=2,4g.20gb=1")
}

// TestLowestStartIsNotTheRule: a driver that took the lowest free start would
// fail three demands even largest first.
func TestLowestStartIsNotTheRule(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	lowest := func(l mig.Layout, p mig.Profile) (int, bool) {
		start := l.FreeStarts(p).Lowest()
		return start, start >= 0
	}
	var failed []string
	for _, d := range newUniverse(m, true).demands {
		if _, ok := create(m, profilesOf(t, m, d), lowest); !ok && d["1g.10gb"] == 0 {
			failed = append(failed, d.String())
		}
	}
	assert.ElementsMatch(t, []string{
		"1g.5gb=4,3g.20gb=1", "1g.5gb=2,2g.10gb=1,3g.20gb=1", "2g.10gb=2,3g.20gb=1",
	}, failed)
}

func TestDefaultStartOfNothing(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	_, ok := mig.Layout{}.DefaultStart(profile(t, m, "1g.5gb"))
	assert.False(t, ok, "a GPU that is not cut")
	_, ok = m.Empty().DefaultStart(mig.Profile{Name: "1g.6gb", Size: 1, Starts: 1, MaxInstances: 1})
	assert.False(t, ok, "a profile of another model")
}
