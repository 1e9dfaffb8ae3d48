package nvmlfake_test

import (
	"slices"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
)

// A layout that the tables accept can be created in every order; one that they
// reject can be created in none.
func TestFakeAndTablesAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := genModel(t)
		instances := genInstances(t, m)
		order := rapid.Permutation(instances).Draw(t, "order")
		s, d := startGPU(t, m.Key())
		ret := createAll(t, d, m, order)
		require.NoError(t, s.Audit(), "%s", s)
		if err := m.Validate(instances...); err != nil {
			require.Equal(t, nvml.ERROR_INSUFFICIENT_RESOURCES, ret, "the tables say: %v", err)
			return
		}
		require.Equal(t, nvml.SUCCESS, ret)
		want, err := m.Layout(instances...)
		require.NoError(t, err)
		got, err := s.Layout(0)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

// All permutations, for what is small enough.
func TestEveryOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := genModel(t)
		instances := genInstances(t, m)
		instances = instances[:min(len(instances), 4)]
		accepted := m.Validate(instances...) == nil
		s, d := startGPU(t, m.Key())
		for order := range permutations(instances) {
			require.Equal(t, accepted, createAll(t, d, m, order) == nvml.SUCCESS, "%v", order)
			require.NoError(t, s.Reset(0))
		}
	})
}

func permutations(in []mig.Instance) func(func([]mig.Instance) bool) {
	return func(yield func([]mig.Instance) bool) {
		var rec func(done, rest []mig.Instance) bool
		rec = func(done, rest []mig.Instance) bool {
			if len(rest) == 0 {
				return yield(done)
			}
			for i, x := range rest {
				if !rec(append(slices.Clone(done), x), slices.Delete(slices.Clone(rest), i, i+1)) {
					return false
				}
			}
			return true
		}
		rec(nil, in)
	}
}

// Every layout of plain profiles that a model allows exists on the fake, in
// ascending and in descending order of starts.
func TestEveryLayoutExists(t *testing.T) {
	t.Parallel()
	for _, m := range models() {
		t.Run(m.Key(), func(t *testing.T) {
			t.Parallel()
			s, d := startGPU(t, m.Key())
			n := 0
			for layout := range m.Layouts(nil) {
				instances := slices.Collect(layout.Instances())
				for range 2 {
					require.Equal(t, nvml.SUCCESS, createAll(t, d, m, instances), "%s", layout)
					got, err := s.Layout(0)
					require.NoError(t, err)
					require.Equal(t, layout, got)
					require.NoError(t, s.Reset(0))
					slices.Reverse(instances)
				}
				n++
			}
			assert.Positive(t, n)
		})
	}
}

// For every pair of placed instances, media variants included.
func TestEveryPair(t *testing.T) {
	t.Parallel()
	for _, m := range models() {
		t.Run(m.Key(), func(t *testing.T) {
			t.Parallel()
			s, d := startGPU(t, m.Key())
			var all []mig.Instance
			for p := range m.Profiles() {
				for start := range p.Starts.All() {
					all = append(all, mig.Instance{Profile: p.Name, Start: start})
				}
			}
			for _, a := range all {
				for _, b := range all {
					pair := []mig.Instance{a, b}
					accepted := m.Validate(pair...) == nil
					require.Equal(t, accepted, createAll(t, d, m, pair) == nvml.SUCCESS, "%s %s", a, b)
					require.NoError(t, s.Reset(0))
				}
			}
		})
	}
}
