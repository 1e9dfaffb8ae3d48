package fleet_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
)

// lookup returns a model that must be known.
func lookup(t testing.TB, key string) *mig.Model {
	t.Helper()
	m, err := mig.Lookup(key)
	require.NoError(t, err)
	return m
}

// layout reads "2g.10gb@0", "3g.20gb@4" into a layout that must be valid.
func layout(t testing.TB, m *mig.Model, instances ...string) mig.Layout {
	t.Helper()
	var list []mig.Instance
	for _, s := range instances {
		in, err := mig.ParseInstance(s)
		require.NoError(t, err)
		list = append(list, in)
	}
	l, err := m.Layout(list...)
	require.NoError(t, err)
	return l
}

// genLayout draws a layout: up to five instances, each at a start that is free.
func genLayout(t *rapid.T, m *mig.Model) mig.Layout {
	l := m.Empty()
	for range rapid.IntRange(0, 5).Draw(t, "instances") {
		p := genProfile(t, m)
		starts := slices.Collect(l.FreeStarts(p).All())
		if len(starts) == 0 {
			continue
		}
		var err error
		l, err = l.With(p, rapid.SampledFrom(starts).Draw(t, "start"))
		require.NoError(t, err)
	}
	return l
}

// holds reports whether all that stands in b stands in a.
func holds(a, b mig.Layout) bool {
	for in := range b.Instances() {
		if got, found := a.At(in.Start); !found || got != in {
			return false
		}
	}
	return true
}

// genProfile draws a profile of the model, media variants included.
func genProfile(t *rapid.T, m *mig.Model) mig.Profile {
	var names []string
	for p := range m.Profiles() {
		names = append(names, p.Name)
	}
	p, err := m.Profile(rapid.SampledFrom(names).Draw(t, "profile"))
	require.NoError(t, err)
	return p
}
