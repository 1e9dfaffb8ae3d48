package placement_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
)

func learner(t require.TestingT, every int, keys ...string) *placement.IndexLearner {
	var models []*mig.Model
	for _, key := range keys {
		m, err := mig.Lookup(key)
		require.NoError(t, err)
		models = append(models, m)
	}
	l, err := placement.NewIndexLearner(models, fragmentation.DefaultIndex(), every)
	require.NoError(t, err)
	return l
}

// The policy is that of an index made of what was learned, whenever it is new.
func TestIndexLearnerIsByIndexOfItsMix(t *testing.T) {
	t.Parallel()
	a30 := lookup(t, "a30-24gb")
	states, err := fragmentation.NewStates(a30)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		l := learner(t, rapid.IntRange(1, 300).Draw(t, "every"), "a30-24gb")
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"1g.6gb", "1g.6gb+me", "2g.12gb", "4g.24gb"}), 1, 3).Draw(t, "profiles")
		news := 0
		for i := range rapid.IntRange(1, 700).Draw(t, "arrivals") {
			job := task("", instance(names[i%len(names)]))
			if !l.Observe(&job) {
				continue
			}
			news++
			x, err := fragmentation.NewIndex(states, l.Mix(), fragmentation.DefaultIndex())
			require.NoError(t, err)
			assert.Equal(t, byIndex(t, x).UsedFirst(), l.Policy())
		}
		t.Logf("%d policies", news)
	})
}

// New policies come at 64, 128, 256 and so on, then in equal distances.
func TestIndexLearnerDistances(t *testing.T) {
	t.Parallel()
	l := learner(t, 256, "a30-24gb")
	var at []int
	for i := range 1100 {
		job := task("", instance("1g.6gb"))
		if l.Observe(&job) {
			at = append(at, i+1)
		}
	}
	assert.Equal(t, []int{64, 128, 256, 512, 768, 1024}, at)
}

// What is handed out stays; what was never asked for, of another model, or no
// request for an instance at all does not count.
func TestIndexLearnerPoliciesStay(t *testing.T) {
	t.Parallel()
	l := learner(t, 0, "a100-40gb", "a30-24gb")
	first := l.Policy()
	n := with(t, newNode(t, cut(t, "n", "a100-40gb", 2)), instanceAt("x", "1g.5gb", 0, 6))
	job := task("job", instance("2g.10gb"))
	before := first.Choose(n, &job)
	for range 10_000 {
		for _, s := range []fragmentation.Shape{fraction(500), whole(1), {}, instance("1g.10gb+gfx"), instance("7g.80gb")} {
			require.False(t, l.Observe(&placement.Task{Shape: s}))
		}
	}
	assert.Empty(t, l.Mix())
	for range 64 {
		one := task("", instance("1g.5gb"))
		l.Observe(&one)
	}
	assert.NotSame(t, first, l.Policy())
	assert.Equal(t, before, first.Choose(n, &job))
	assert.Equal(t, fragmentation.Mix{{Shape: fragmentation.Shape{GPUs: 1, Profile: "1g.5gb"}, Count: 64 * 1024}}, l.Mix())
}

// Old requests fade: after a change the new profile soon outweighs the old one.
func TestIndexLearnerForgets(t *testing.T) {
	t.Parallel()
	l := learner(t, 1<<20, "a30-24gb")
	for _, profile := range []string{"4g.24gb", "1g.6gb"} {
		for range 10_000 {
			job := task("", instance(profile))
			l.Observe(&job)
		}
	}
	mix := l.Mix()
	require.Len(t, mix, 2)
	assert.Less(t, mix[1].Count*5, mix[0].Count, "%v", mix)
	require.NoError(t, mix.Validate())
}

func TestIndexLearnerRefuses(t *testing.T) {
	t.Parallel()
	a30 := lookup(t, "a30-24gb")
	_, err := placement.NewIndexLearner(nil, fragmentation.DefaultIndex(), 0)
	require.ErrorIs(t, err, placement.ErrBadRule)
	_, err = placement.NewIndexLearner([]*mig.Model{a30, a30}, fragmentation.DefaultIndex(), 0)
	require.ErrorIs(t, err, placement.ErrBadRule)
	_, err = placement.NewIndexLearner([]*mig.Model{a30}, fragmentation.DefaultIndex(), -1)
	require.ErrorIs(t, err, placement.ErrBadRule)
	_, err = placement.NewIndexLearner([]*mig.Model{nil}, fragmentation.DefaultIndex(), 0)
	require.ErrorIs(t, err, mig.ErrUnknownModel)
	_, err = placement.NewIndexLearner([]*mig.Model{lookup(t, "thor-igpu")}, fragmentation.DefaultIndex(), 0)
	require.ErrorIs(t, err, mig.ErrUnknownGeometry)
	for _, p := range []fragmentation.IndexParams{{}, {Gamma: 1, Alpha: 1, Uniform: 2}, {Gamma: 1, Alpha: 1, Whole: -1}} {
		_, err = placement.NewIndexLearner([]*mig.Model{a30}, p, 0)
		require.ErrorIs(t, err, fragmentation.ErrBadIndex, "%+v", p)
	}
}
