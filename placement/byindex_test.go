package placement_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
)

// indexOf returns the default index of a model for a uniform mix.
func indexOf(t require.TestingT, key string, params fragmentation.IndexParams) *fragmentation.Index {
	m, err := mig.Lookup(key)
	require.NoError(t, err)
	s, err := fragmentation.NewStates(m)
	require.NoError(t, err)
	var mix fragmentation.Mix
	for p := range m.PlainProfiles() {
		mix = append(mix, fragmentation.Entry{Shape: instance(p.Name), Count: 1})
	}
	x, err := fragmentation.NewIndex(s, mix, params)
	require.NoError(t, err)
	return x
}

// twoIndexes are those of the first two generated models: nodes of the others have
// none.
var twoIndexes = sync.OnceValue(func() map[string]*fragmentation.Index {
	all := map[string]*fragmentation.Index{}
	for _, key := range []string{"a100-40gb", "a30-24gb"} {
		all[key] = indexOf(panics{}, key, fragmentation.DefaultIndex())
	}
	return all
})

// panics is a TestingT for what is made once for all tests.
type panics struct{}

func (panics) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (panics) FailNow()                          { panic("failed") }

func byIndex(t require.TestingT, indexes ...*fragmentation.Index) *placement.IndexPolicy {
	p, err := placement.ByIndex(indexes...)
	require.NoError(t, err)
	return p
}

// lossAt is what a spot loses by the indexes, false where there is none: of all
// starts of the GPU only that of the index counts.
func lossAt(n *placement.Node, profile string, spot placement.Spot) (loss int64, known, best bool) {
	l := n.GPU(spot.GPUs.First()).Layout
	x := twoIndexes()[l.Model().Key()]
	if x == nil {
		return 0, false, false
	}
	start, loss, ok := x.Loss(x.States().Number(l), x.States().Kind(profile))
	return loss, true, ok && start == spot.Start
}

// The spot chosen loses least of all; ties go to the GPU with least left, and GPUs
// without an index come last.
func TestByIndexLosesLeast(t *testing.T) {
	t.Parallel()
	p := byIndex(t, twoIndexes()["a100-40gb"], twoIndexes()["a30-24gb"])
	rapid.Check(t, func(t *rapid.T) {
		n := genNode(t, "node")
		job := task("job", genShapeFor(t, n.Spec()))
		choice := p.Choose(n, &job)
		if !choice.OK() {
			return
		}
		if job.Shape.Profile == "" {
			assert.Equal(t, placement.FirstFit().Choose(n, &job), choice)
			return
		}
		mine, known, best := lossAt(n, job.Shape.Profile, choice.Spot)
		require.Equal(t, known, best, "the start of the index")
		left := n.GPU(choice.Spot.GPUs.First()).Left()
		for _, other := range freeSpots(n, job.Shape) {
			loss, has, _ := lossAt(n, job.Shape.Profile, other)
			switch {
			case has && !known:
				t.Fatalf("%v has an index and %v has not", other, choice.Spot)
			case has && loss < mine:
				t.Fatalf("%v loses %d, less than %v with %d", other, loss, choice.Spot, mine)
			case has == known && loss == mine:
				require.LessOrEqual(t, left, n.GPU(other.GPUs.First()).Left())
			}
		}
	})
}

// Over a cluster it is the GPU that counts, on whichever node.
func TestByIndexComparesGPUsOfAllNodes(t *testing.T) {
	t.Parallel()
	p := byIndex(t, twoIndexes()["a100-40gb"])
	c := newCluster(t, cut(t, "empty", "a100-40gb", 8), cut(t, "used", "a100-40gb", 2))
	require.NoError(t, c.Place("used", instanceAt("x", "3g.20gb", 1, 4)))
	job := task("job", instance("3g.20gb"))
	n, choice := c.Choose(p, &job)
	require.Equal(t, "used", n.Name())
	assert.Equal(t, placement.Spot{GPUs: placement.GPUs(1), Start: 0}, choice.Spot)
}

// A profile of one name takes a quarter of a GPU of 40 GB and an eighth of one of
// 80 GB. The last quarter takes no 2g and a single 1g, so there it costs the same;
// after that it goes where it takes less.
func TestByIndexMixedModels(t *testing.T) {
	t.Parallel()
	params := fragmentation.IndexParams{Gamma: 2, Alpha: 1}
	p := byIndex(t, indexOf(t, "a100-40gb", params), indexOf(t, "a100-80gb", params))
	c := newCluster(t, cut(t, "small", "a100-40gb", 1), cut(t, "large", "a100-80gb", 1))
	job := task("job", instance("1g.10gb"))
	small, large := p.Choose(c.Node("small"), &job), p.Choose(c.Node("large"), &job)
	assert.Equal(t, 6, small.Spot.Start)
	assert.Equal(t, 6, large.Spot.Start)

	require.NoError(t, c.Place("small", instanceAt("a", "1g.10gb", 0, 6)))
	require.NoError(t, c.Place("large", instanceAt("b", "1g.10gb", 0, 6)))
	n, _ := c.Choose(p, &job)
	assert.Equal(t, "large", n.Name())
}

// The node's CPU is a limit and no more.
func TestByIndexCPU(t *testing.T) {
	t.Parallel()
	p := byIndex(t, twoIndexes()["a100-40gb"])
	poor, rich := cut(t, "poor", "a100-40gb", 1), cut(t, "rich", "a100-40gb", 1)
	poor.CPU = 1500
	c := newCluster(t, poor, rich)
	require.NoError(t, c.Place("poor", instanceAt("a", "3g.20gb", 0, 4)))
	job := task("job", instance("3g.20gb"))
	n, _ := c.Choose(p, &job)
	assert.Equal(t, "rich", n.Name(), "where the better GPU is has no CPU left")
	job.Shape.CPU = 500
	n, _ = c.Choose(p, &job)
	assert.Equal(t, "poor", n.Name())
}

func TestByIndexRefuses(t *testing.T) {
	t.Parallel()
	x := twoIndexes()["a100-40gb"]
	_, err := placement.ByIndex()
	require.ErrorIs(t, err, placement.ErrBadRule)
	_, err = placement.ByIndex(x, nil)
	require.ErrorIs(t, err, placement.ErrBadRule)
	_, err = placement.ByIndex(new(fragmentation.Index))
	require.ErrorIs(t, err, placement.ErrBadRule)
	_, err = placement.ByIndex(x, x)
	require.ErrorIs(t, err, placement.ErrBadRule)
	_, err = placement.ByIndex(x, indexOf(t, "a30-24gb", fragmentation.IndexParams{Gamma: 1, Alpha: 1}))
	require.ErrorIs(t, err, placement.ErrBadRule)
}

//nolint:paralleltest // AllocsPerRun counts the allocations of all goroutines.
func TestByIndexDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	p := byIndex(t, twoIndexes()["a100-40gb"])
	n := with(t, newNode(t, cut(t, "n", "a100-40gb", 8)), instanceAt("a", "2g.10gb", 3, 2), instanceAt("b", "1g.5gb+me", 5, 2))
	job := task("job", instance("2g.10gb"))
	assert.Zero(t, testing.AllocsPerRun(100, func() { p.Choose(n, &job) }))
}

// Used GPUs go first, whatever is lost there: on GPUs with an index and without.
func TestByIndexUsedFirst(t *testing.T) {
	t.Parallel()
	p := byIndex(t, twoIndexes()["a100-40gb"], twoIndexes()["a30-24gb"]).UsedFirst()
	rapid.Check(t, func(t *rapid.T) {
		nodes := []*placement.Node{genNode(t, "a"), genNode(t, "b")}
		job := task("job", genShapeFor(t, nodes[0].Spec()))
		if job.Shape.Profile == "" {
			return
		}
		best, at := placement.Choice{}, -1
		for i, n := range nodes {
			if c := p.Choose(n, &job); c.OK() && (at < 0 || c.Score > best.Score) {
				best, at = c, i
			}
		}
		if at < 0 {
			return
		}
		opens := !inUse(nodes[at].GPU(best.Spot.GPUs.First()))
		mine, known, _ := lossAt(nodes[at], job.Shape.Profile, best.Spot)
		for _, n := range nodes {
			for _, spot := range freeSpots(n, job.Shape) {
				used := inUse(n.GPU(spot.GPUs.First()))
				require.False(t, opens && used, "%v of %s is in use", spot, n.Name())
				if loss, has, start := lossAt(n, job.Shape.Profile, spot); used == !opens && start {
					require.True(t, known, "%v of %s has an index", spot, n.Name())
					require.True(t, has)
					require.GreaterOrEqual(t, loss, mine)
				}
			}
		}
	})
}
