package plan_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// TestEveryLayout reaches every layout of every model: from an empty GPU, from one
// where the largest profile stands, and back.
func TestEveryLayout(t *testing.T) {
	t.Parallel()
	forEachModel(t, func(t *testing.T, m *mig.Model) {
		largest := m.Empty()
		for p := range m.PlainProfiles() {
			if l, err := m.Empty().With(p, p.Starts.Lowest()); err == nil && p.Size >= largest.Used().Len() {
				largest = l
			}
		}
		n := 0
		for l := range m.Layouts(nil) {
			if n++; raceEnabled && n%8 != 0 {
				continue
			}
			goal := plan.StateOf(l)
			for _, from := range []plan.State{plan.StateOf(m.Empty()), plan.StateOf(largest)} {
				there, err := plan.Restore(from, goal.Instances)
				require.NoError(t, err)
				require.NoError(t, there.Check(from))
				assert.Equal(t, goal.Instances, there.Goal)
				back, err := plan.Restore(goal, from.Instances)
				require.NoError(t, err)
				require.NoError(t, back.Check(goal))
				assert.Len(t, back.Steps, len(there.Steps))

				least, err := plan.Repartition(from, l.Demand())
				require.NoError(t, err)
				require.NoError(t, least.Check(from))
				assert.LessOrEqual(t, len(least.Steps), len(there.Steps))
			}
		}
	})
}

// TestUnknownCompute: where nobody has published what a GPU instance offers, one
// of full size is planned for, its index left open; whatever index a device reports
// for it is the same.
func TestUnknownCompute(t *testing.T) {
	t.Parallel()
	for m := range mig.Models() {
		for p := range m.PlainProfiles() {
			full, err := m.ComputeLayout(p.Name)
			if err != nil || full[0].Index != mig.NotKnown || !p.HasGeometry() {
				continue
			}
			empty := plan.StateOf(m.Empty())
			there, err := plan.Repartition(empty, mig.Demand{p.Name: 1})
			require.NoError(t, err)
			require.NoError(t, there.Check(empty))
			assert.Equal(t, full, there.Goal[0].Compute)

			live := plan.State{Model: m, Instances: slices.Clone(there.Goal)}
			live.Instances[0].Compute = slices.Clone(full)
			live.Instances[0].Compute[0].Index = 2
			for _, do := range []func() (plan.Plan, error){
				func() (plan.Plan, error) { return plan.Repartition(live, mig.Demand{p.Name: 1}) },
				func() (plan.Plan, error) { return plan.Restore(live, there.Goal) },
			} {
				nothing, err := do()
				require.NoError(t, err)
				assert.Empty(t, nothing.Steps)
			}
			assert.Equal(t, plan.Fingerprint(plan.State{Model: m, Instances: there.Goal}), plan.Fingerprint(live))
			back, err := plan.Restore(empty, live.Instances)
			require.NoError(t, err)
			require.NoError(t, back.Check(empty))
			assert.Equal(t, 2, back.Goal[0].Compute[0].Index, "as the device had it")
		}
	}
}

// TestUnknownGeometry: a model whose placements nobody has published answers so.
func TestUnknownGeometry(t *testing.T) {
	t.Parallel()
	for m := range mig.Models() {
		if m.MemorySlices() > 0 {
			continue
		}
		from := plan.State{Model: m}
		_, err := plan.Repartition(from, mig.Demand{})
		require.ErrorIs(t, err, mig.ErrUnknownGeometry, m.Key())
		_, err = plan.Admit(from, mig.Demand{})
		require.ErrorIs(t, err, mig.ErrUnknownGeometry, m.Key())
		_, err = plan.Restore(from, nil)
		require.ErrorIs(t, err, mig.ErrUnknownGeometry, m.Key())
		require.ErrorIs(t, plan.Plan{}.Check(from), mig.ErrUnknownGeometry, m.Key())
	}
}
