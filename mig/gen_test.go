package mig_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
)

// lookup returns a model that must exist.
func lookup(t testing.TB, key string) *mig.Model {
	t.Helper()
	m, err := mig.Lookup(key)
	require.NoError(t, err)
	return m
}

// profile returns a profile that the model must have.
func profile(t testing.TB, m *mig.Model, name string) mig.Profile {
	t.Helper()
	p, err := m.Profile(name)
	require.NoError(t, err)
	return p
}

// layout reads "2g.10gb@0", "3g.20gb@4" into a layout that must be valid.
func layout(t testing.TB, m *mig.Model, instances ...string) mig.Layout {
	t.Helper()
	l, err := m.Layout(parse(t, instances...)...)
	require.NoError(t, err)
	return l
}

func parse(t testing.TB, instances ...string) []mig.Instance {
	t.Helper()
	var list []mig.Instance
	for _, s := range instances {
		in, err := mig.ParseInstance(s)
		require.NoError(t, err)
		list = append(list, in)
	}
	return list
}

// forEachModel runs a parallel subtest for every model.
func forEachModel(t *testing.T, f func(t *testing.T, m *mig.Model)) {
	t.Helper()
	for m := range mig.Models() {
		t.Run(m.Key(), func(t *testing.T) {
			t.Parallel()
			f(t, m)
		})
	}
}

// forEachGeometry does so for every model whose placements are known, which is
// what the questions about layouts need.
func forEachGeometry(t *testing.T, f func(t *testing.T, m *mig.Model)) {
	t.Helper()
	forEachModel(t, func(t *testing.T, m *mig.Model) {
		if m.HasGeometry() {
			f(t, m)
		}
	})
}

// forEachShape does so for the first model of every geometry: what depends on no
// name and no figure besides is the same for the others.
func forEachShape(t *testing.T, f func(t *testing.T, m *mig.Model)) {
	t.Helper()
	seen := map[string]bool{}
	for m := range mig.Models() {
		if key := geometry(m); m.HasGeometry() && !seen[key] {
			seen[key] = true
			t.Run(m.Key(), func(t *testing.T) {
				t.Parallel()
				f(t, m)
			})
		}
	}
}

// geometry writes all of a table that answers about layouts depend on, names
// aside.
func geometry(m *mig.Model) string {
	s := fmt.Sprint(m.MemorySlices(), m.ComputeSlices())
	for p := range m.Profiles() {
		s += fmt.Sprintf(" %d/%d@%x*%d%s", p.ComputeSlices, p.Size, p.Starts, p.MaxInstances, p.Attrs)
	}
	return s
}

// genModel draws a model whose placements are known.
func genModel(t *rapid.T) *mig.Model {
	var keys []string // what a failure prints
	for m := range mig.Models() {
		if m.HasGeometry() {
			keys = append(keys, m.Key())
		}
	}
	m, err := mig.Lookup(rapid.SampledFrom(keys).Draw(t, "model"))
	require.NoError(t, err)
	return m
}

// genProfile draws from all profiles of the model, media variants included.
func genProfile(t *rapid.T, m *mig.Model) mig.Profile {
	var names []string
	for p := range m.Profiles() {
		names = append(names, p.Name)
	}
	p, err := m.Profile(rapid.SampledFrom(names).Draw(t, "profile"))
	require.NoError(t, err)
	return p
}

// genPlaced draws a legal set of instances, in an order of creation that works.
// It walks over the pairs of the table once, so that every set can come out.
func genPlaced(t *rapid.T, m *mig.Model) []placed {
	var set []placed
	for _, next := range permuted(t, pairs(m, false)) {
		if addable(set, next) && rapid.IntRange(0, 2).Draw(t, "take") > 0 {
			set = append(set, next)
		}
	}
	return set
}

// permuted draws an order, as numbers, which print better than the pairs.
func permuted(t *rapid.T, set []placed) []placed {
	order := make([]int, len(set))
	for i := range order {
		order[i] = i
	}
	var list []placed
	for _, i := range rapid.Permutation(order).Draw(t, "order") {
		list = append(list, set[i])
	}
	return list
}

func genLayout(t *rapid.T, m *mig.Model) mig.Layout {
	l := m.Empty()
	for _, p := range genPlaced(t, m) {
		var err error
		l, err = l.With(p.profile, p.start)
		require.NoError(t, err)
	}
	return l
}

// genDemand draws zero to four instances of each of up to three profiles, so
// that about half of the demands fit on an empty GPU.
func genDemand(t *rapid.T, m *mig.Model) mig.Demand {
	d := mig.Demand{}
	for range rapid.IntRange(0, 3).Draw(t, "profiles") {
		d[genProfile(t, m).Name] = rapid.IntRange(0, 4).Draw(t, "count")
	}
	return d
}

// genInstances draws instances of the model's profiles, at starts that may be
// illegal and may overlap.
func genInstances(t *rapid.T, m *mig.Model) []mig.Instance {
	var list []mig.Instance
	for range rapid.IntRange(0, 5).Draw(t, "instances") {
		p := genProfile(t, m)
		legal := rapid.SampledFrom(slices.Collect(p.Starts.All()))
		wild := rapid.IntRange(-1, mig.MaxUnits)
		start := rapid.OneOf(legal, legal, legal, legal, legal, legal, legal, wild).Draw(t, "start")
		list = append(list, mig.Instance{Profile: p.Name, Start: start})
	}
	return list
}

// genName draws any name that the grammar allows.
func genName(t *rapid.T) mig.Name {
	n := mig.Name{
		GPUSlices: rapid.IntRange(1, 8).Draw(t, "slices"),
		MemoryGB:  rapid.IntRange(0, 9999).Draw(t, "memory"),
	}
	n.ComputeSlices = rapid.IntRange(1, n.GPUSlices).Draw(t, "compute")
	if rapid.Bool().Draw(t, "no media") {
		n.Attrs = mig.NoMedia
	} else {
		n.Attrs = mig.Attrs(rapid.IntRange(0, int(mig.MediaExtensions|mig.AllMedia|mig.Graphics)).Draw(t, "attributes"))
	}
	return n
}
