package mig_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
)

func furnished(list []mig.Furnished) []string {
	var all []string
	for _, f := range list {
		all = append(all, f.Profile+": "+texts(f.Compute))
	}
	return all
}

func TestFurnish(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model, want string
		all         []string
	}{
		{"a100-40gb", "3g.20gb=2", []string{"3g.20gb: 3g.20gb@0", "3g.20gb: 3g.20gb@0"}},
		{"a100-40gb", "1g.5gb=1,2g.10gb=1,3g.20gb=1", []string{"3g.20gb: 3g.20gb@0", "2g.10gb: 2g.10gb@0", "1g.5gb: 1g.5gb@0"}},
		{
			"a100-40gb", "1c.3g.20gb=4",
			[]string{"3g.20gb: 1c.3g.20gb@0 1c.3g.20gb@1 1c.3g.20gb@2", "3g.20gb: 1c.3g.20gb@0"},
		},
		{"a100-40gb", "1c.4g.20gb=2,2c.4g.20gb=1", []string{"4g.20gb: 2c.4g.20gb@0 1c.4g.20gb@2 1c.4g.20gb@3"}},
		{
			"a100-40gb", "1c.3g.20gb=1,3g.20gb=1,1g.5gb=1",
			[]string{"3g.20gb: 3g.20gb@0", "3g.20gb: 1c.3g.20gb@0", "1g.5gb: 1g.5gb@0"},
		},
		{
			"a100-40gb", "1c.3g.20gb=2,2c.3g.20gb=2",
			[]string{"3g.20gb: 2c.3g.20gb@0 1c.3g.20gb@2", "3g.20gb: 2c.3g.20gb@0 1c.3g.20gb@2"},
		},
		{"a100-40gb", "1c.2g.10gb=5", []string{
			"2g.10gb: 1c.2g.10gb@0 1c.2g.10gb@1", "2g.10gb: 1c.2g.10gb@0 1c.2g.10gb@1", "2g.10gb: 1c.2g.10gb@0",
		}},
		{"a100-40gb", "2c.7g.40gb=2,3c.7g.40gb=1", []string{"7g.40gb: 2c.7g.40gb@0 2c.7g.40gb@2 3c.7g.40gb@4"}},
		{"a100-40gb", "1g.5gb=0,1c.3g.20gb=0", nil},
		{"h100-80gb-sxm5", "1g.20gb=1,1c.2g.20gb=2", []string{"2g.20gb: 1c.2g.20gb@0 1c.2g.20gb@1", "1g.20gb: 1g.20gb@0"}},
	} {
		t.Run(c.model+" "+c.want, func(t *testing.T) {
			t.Parallel()
			want, err := mig.ParseDemand(c.want)
			require.NoError(t, err)
			got, err := lookup(t, c.model).Furnish(want)
			require.NoError(t, err)
			assert.Equal(t, c.all, furnished(got))
		})
	}
}

// TestFurnishSums: two spellings of one name are one demand, and the index is that
// of the row that takes most.
func TestFurnishSums(t *testing.T) {
	t.Parallel()
	got, err := lookup(t, "h100-80gb-sxm5").Furnish(mig.Demand{"1g.20gb": 1, "1c.1g.20gb": 2})
	require.NoError(t, err)
	require.Len(t, got, 3)
	for _, f := range got {
		assert.Equal(t, mig.Furnished{
			Profile: "1g.20gb",
			Compute: []mig.ComputeInstance{{Profile: "1g.20gb", Start: 0, Size: 1, Index: 7}},
		}, f)
	}
}

func TestFurnishRefuses(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	for _, c := range []struct {
		want mig.Demand
		is   error
		says string
	}{
		{mig.Demand{"3c.4g.20gb": 1}, mig.ErrUnknownProfile, `a 4g.20gb has no compute profile "3c.4g.20gb"`},
		{mig.Demand{"3c.4g.20gb": 0}, mig.ErrUnknownProfile, `"3c.4g.20gb"`},
		{mig.Demand{"1c.3g.40gb": 1}, mig.ErrUnknownProfile, `has no profile "1c.3g.40gb"`},
		{mig.Demand{"1c.3g": 1}, mig.ErrBadName, `"1c.3g"`},
		{mig.Demand{"1c.3g.20gb": -1}, mig.ErrBadDemand, "1c.3g.20gb=-1"},
		{mig.Demand{"2c.4g.20gb": 3}, mig.ErrNoFit, "2c.4g.20gb=3"},
		{mig.Demand{"2c.3g.20gb": 3}, mig.ErrNoFit, "2c.3g.20gb=3"},
		{mig.Demand{"1g.5gb": 8}, mig.ErrNoFit, "1g.5gb=8"},
		{mig.Demand{"1c.7g.40gb": 1 << 62}, mig.ErrNoFit, "1c.7g.40gb"},
		{mig.Demand{"1g.5gb": 1 << 62}, mig.ErrNoFit, "1g.5gb"},
		{mig.Demand{"1g.5gb": 1 << 62, "1c.1g.5gb": 1 << 62}, mig.ErrNoFit, "1g.5gb"},
	} {
		got, err := m.Furnish(c.want)
		require.ErrorIs(t, err, c.is, "%v", c.want)
		require.ErrorContains(t, err, c.says)
		assert.Nil(t, got)
	}
	_, err := m.Furnish(mig.Demand{"2c.3g.20gb": 3})
	var no *mig.FitError
	require.ErrorAs(t, err, &no)
	assert.Equal(t, mig.Demand{"2c.3g.20gb": 3}, no.Want)
}

// fewest is the number of GPU instances that a list of compute profiles needs,
// found by trying every set of those that can stand together first.
func fewest(left map[string]int, fits []map[string]int, memo map[string]int) int {
	empty := true
	var id strings.Builder
	for _, n := range slices.Sorted(keysOf(left)) {
		empty = empty && left[n] == 0
		id.WriteString(n + "=" + strconv.Itoa(left[n]) + " ")
	}
	if empty {
		return 0
	}
	if n, done := memo[id.String()]; done {
		return n
	}
	best := 1 << 30
	for _, set := range fits {
		rest, ok := map[string]int{}, true
		for n, c := range left {
			rest[n] = c - set[n]
			ok = ok && rest[n] >= 0
		}
		for n := range set {
			_, wanted := left[n]
			ok = ok && wanted
		}
		if ok {
			best = min(best, 1+fewest(rest, fits, memo))
		}
	}
	memo[id.String()] = best
	return best
}

func keysOf(m map[string]int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// TestFurnishIsExact: what comes out holds exactly what was asked, every GPU
// instance is valid, and their number is the smallest there is, or larger than the
// driver allows where the answer is no.
func TestFurnishIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := genModel(t)
		p := genProfile(t, m)
		rows := slices.Collect(m.ComputeProfiles(p.Name))
		if len(rows) == 0 {
			t.Skip("compute profiles unknown")
		}
		want := mig.Demand{}
		for _, r := range rows {
			most := 4
			if r.Default {
				most = 1
			}
			want[r.Name] = rapid.IntRange(0, most).Draw(t, r.Name)
		}
		var fits []map[string]int
		seen := map[string]bool{}
		for _, set := range computeSets(rows) {
			if len(set) == 0 || seen[names(set)] {
				continue
			}
			seen[names(set)] = true
			counts := map[string]int{}
			for _, ci := range set {
				counts[ci.Profile]++
			}
			fits = append(fits, counts)
		}
		least := fewest(want, fits, map[string]int{})

		got, err := m.Furnish(want)
		if least > p.MaxInstances {
			require.ErrorIs(t, err, mig.ErrNoFit)
			return
		}
		require.NoError(t, err)
		require.Len(t, got, least)
		held := mig.Demand{}
		for _, f := range got {
			require.Equal(t, p.Name, f.Profile)
			require.NotEmpty(t, f.Compute)
			require.NoError(t, m.ValidateCompute(f.Profile, f.Compute...))
			require.True(t, slices.IsSortedFunc(f.Compute, func(a, b mig.ComputeInstance) int { return a.Start - b.Start }))
			for _, ci := range f.Compute {
				held[ci.Profile]++
			}
		}
		assert.Equal(t, want.String(), held.String())
		again, err := m.Furnish(want)
		require.NoError(t, err)
		assert.Equal(t, got, again)
	})
}

// TestFurnishPlain: for demands of plain names it is one GPU instance each, or the
// answer of Fit.
func TestFurnishPlain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := genModel(t)
		want := genDemand(t, m)
		got, err := m.Furnish(want)
		if err != nil {
			_, fit := m.Empty().Fit(want)
			require.ErrorIs(t, err, mig.ErrNoFit)
			require.ErrorIs(t, fit, mig.ErrNoFit)
			return
		}
		count := mig.Demand{}
		for _, f := range got {
			count[f.Profile]++
			require.Len(t, f.Compute, 1)
			index := mig.NotKnown
			if full, found := mig.FullSize(slices.Collect(m.ComputeProfiles(f.Profile))); found {
				index = full.Index
			}
			assert.Equal(t, index, f.Compute[0].Index)
		}
		assert.Equal(t, want.String(), count.String())
	})
}

// TestFurnishOfAForeignTable: what no known model has, but a table may say.
func TestFurnishOfAForeignTable(t *testing.T) {
	t.Parallel()
	// Fewer of a compute profile than there are starts, one whose compute profiles
	// are not known, and placements that are not known.
	spec := mig.Spec{
		Key: "other", ComputeSlices: 4,
		Profiles: []mig.Profile{
			{Name: "1g.9gb", Index: 0, ID: 1, ComputeSlices: 1, MaxInstances: 4},
			{Name: "4g.36gb", Index: 3, ID: 0, ComputeSlices: 4, MaxInstances: 1},
		},
		ComputeProfiles: []mig.ComputeProfile{
			{GPUInstance: "4g.36gb", Name: "1c.4g.36gb", Index: 0, Slices: 1, Size: 1, Starts: 0b1111, MaxInstances: 2},
			{GPUInstance: "4g.36gb", Name: "4g.36gb", Index: 3, Slices: 4, Size: 4, Starts: 1, MaxInstances: 1, Default: true},
		},
	}
	m, err := mig.NewModel(spec)
	require.NoError(t, err)

	got, err := m.Furnish(mig.Demand{"1c.4g.36gb": 2})
	require.NoError(t, err)
	assert.Equal(t, []string{"4g.36gb: 1c.4g.36gb@0 1c.4g.36gb@1"}, furnished(got))

	var no *mig.FitError
	_, err = m.Furnish(mig.Demand{"1c.4g.36gb": 3})
	require.ErrorAs(t, err, &no)
	assert.Equal(t, mig.LimitCount, no.Limit)
	require.ErrorContains(t, err, "at least 2 of 4g.36gb needed in all, the driver allows 1")

	got, err = m.Furnish(mig.Demand{"1g.9gb": 1})
	require.NoError(t, err)
	assert.Equal(t, []string{"1g.9gb: 1g.9gb@0"}, furnished(got))

	set := []mig.ComputeInstance{{Profile: "1c.4g.36gb", Start: 0}, {Profile: "1c.4g.36gb", Start: 3}}
	require.NoError(t, m.ValidateCompute("4g.36gb", set...))
	free, err := m.ComputeFreeStarts("4g.36gb", spec.ComputeProfiles[0], set...)
	require.NoError(t, err)
	assert.Zero(t, free)
	err = m.ValidateCompute("4g.36gb", append(set, mig.ComputeInstance{Profile: "1c.4g.36gb", Start: 1})...)
	var clash *mig.ComputeConflictError
	require.ErrorAs(t, err, &clash)
	assert.Equal(t, mig.LimitCount, clash.Limit)
	require.ErrorContains(t, err, "1c.4g.36gb@3 and 1c.4g.36gb@1 in one 4g.36gb exceed the compute instances allowed")
}
