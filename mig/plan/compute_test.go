package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// TestFullSizeNotSpelledOut: nil says one compute instance of full size, in a state
// as in a goal; an empty list says none.
func TestFullSizeNotSpelledOut(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	want := mig.Demand{"3g.20gb": 1}
	short := plan.State{Model: m, Instances: []plan.Instance{{Instance: mig.Instance{Profile: "3g.20gb", Start: 0}}}}
	assert.Equal(t, "3g.20gb@0", short.String())
	spelled := state(t, m, "3g.20gb@0")
	assert.Equal(t, plan.Fingerprint(spelled), plan.Fingerprint(short))
	p, err := plan.Repartition(short, want)
	require.NoError(t, err)
	assert.Empty(t, p.Steps)
	assert.Equal(t, spelled.Instances[0].Compute, p.Kept[0].Compute)
	p.Kept[0].Compute, p.Goal[0].Compute = nil, nil
	require.NoError(t, p.Check(short))
	require.NoError(t, p.Check(spelled))

	short.GPU, short.Instances[0].UUIDs = "GPU-1", []string{"MIG-1"}
	p, err = plan.Repartition(short, nil)
	require.NoError(t, err)
	require.Len(t, p.Steps, 1)
	assert.Equal(t, []string{"MIG-1"}, p.Steps[0].UUIDs)
	p.Steps[0].Compute = nil
	require.NoError(t, p.Check(short))

	short.Instances[0].Compute, short.Instances[0].UUIDs = []mig.ComputeInstance{}, nil
	p, err = plan.Repartition(short, want)
	require.NoError(t, err)
	assert.Equal(t, "create 3g.20gb@4, destroy 3g.20gb@0", p.String())
}

// TestFullSize: what StateOf puts into a GPU instance is what package mig says.
func TestFullSize(t *testing.T) {
	t.Parallel()
	forEachModel(t, func(t *testing.T, m *mig.Model) {
		t.Helper()
		for p := range m.Profiles() {
			l, err := m.Empty().With(p, p.Starts.Lowest())
			require.NoError(t, err)
			want, err := m.ComputeLayout(p.Name)
			require.NoError(t, err)
			assert.Equal(t, want, plan.StateOf(l).Instances[0].Compute)
		}
	})
}

// TestProfilesOfOneName: two compute profiles of a GPU instance can share a name.
// The smaller one is not of full size, and one of few is not the ordinary one.
func TestProfilesOfOneName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, gi, compute string
		index             int // that stands there
		want              string
		created           int // index that is created; -1: nothing to do
	}{
		{"full size", "1g.20gb", "1g.20gb", 7, "1g.20gb=1", -1},
		{"fewer multiprocessors", "1g.20gb", "1g.20gb", 0, "1g.20gb=1", 7},
		{"the ordinary single slice", "2g.20gb", "1c.2g.20gb", 0, "1c.2g.20gb=1", -1},
		{"one that stands alone", "2g.20gb", "1c.2g.20gb", 7, "1c.2g.20gb=1", 0},
		{"an index that is not given", "3g.40gb", "3g.40gb", 0, "3g.40gb=1", -1},
		{"an index that no profile has", "3g.40gb", "3g.40gb", 5, "3g.40gb=1", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := lookup(t, "h100-80gb-sxm5")
			l, err := m.Empty().Fit(mig.Demand{c.gi: 1})
			require.NoError(t, err)
			from := plan.StateOf(l)
			from.Instances[0].Compute = []mig.ComputeInstance{{Profile: c.compute, Index: c.index}}
			p, err := plan.Repartition(from, demand(t, c.want))
			require.NoError(t, err)
			require.NoError(t, p.Check(from))
			if c.created < 0 {
				assert.Empty(t, p.Steps)
				return
			}
			require.Len(t, creations(p), 1)
			assert.Equal(t, c.created, creations(p)[0].Compute[0].Index)
		})
	}
}
