package placement_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

func sumOf(t testing.TB, plain, cut fragmentation.Mix) fragmentation.Value {
	t.Helper()
	fgd, err := fragmentation.NewFGD(plain)
	require.NoError(t, err)
	migFGD, err := fragmentation.NewMIGFGD(cut)
	require.NoError(t, err)
	sum, err := fragmentation.Sum(fgd, migFGD)
	require.NoError(t, err)
	return sum
}

func byValue(t testing.TB, v fragmentation.Value, step int64, order placement.Order) *placement.ValuePolicy {
	t.Helper()
	p, err := placement.ByValue(v, step, order)
	require.NoError(t, err)
	return p
}

// scaled is a value of nothing but a scale.
type scaled int64

func (scaled) Of(*fragmentation.State) int64 { return 0 }
func (s scaled) Scale() int64                { return int64(s) }

func TestByValueRefuses(t *testing.T) {
	t.Parallel()
	v := sumOf(t, plainMix(), migMix())
	for _, step := range []int64{0, -1, 64001, -1 << 63} {
		p, err := placement.ByValue(v, step, placement.NodeOrder)
		require.ErrorIs(t, err, placement.ErrBadRule, "%d", step)
		require.ErrorContains(t, err, "milli-GPU")
		assert.Nil(t, p)
	}
	p, err := placement.ByValue(nil, 40, placement.NodeOrder)
	require.ErrorIs(t, err, placement.ErrBadRule)
	assert.Nil(t, p)
	// Values from no constructor once made a policy that divided by zero.
	for _, v := range []fragmentation.Value{&fragmentation.FGD{}, &fragmentation.MIGFGD{}, scaled(-1), scaled(fragmentation.MostScale + 1)} {
		p, err := placement.ByValue(v, 40, placement.NodeOrder)
		require.ErrorIs(t, err, placement.ErrBadRule, "%T", v)
		require.ErrorContains(t, err, "scale")
		assert.Nil(t, p)
	}
	byValue(t, scaled(fragmentation.MostScale), 64000, placement.NodeOrder)
	byValue(t, v, 64000, placement.NodeOrder)
	withoutOrder, withOrder := byValue(t, v, 1, nil), byValue(t, v, 1, placement.NodeOrder)
	n, job := newNode(t, uncut("n", 2)), task("job", fraction(300))
	assert.Equal(t, withOrder.Choose(n, &job), withoutOrder.Choose(n, &job))
}

// Rank lists all free spots and no others, best first, and begins with the
// choice.
func TestRank(t *testing.T) {
	t.Parallel()
	v := sumOf(t, plainMix(), migMix())
	// An order of somebody else's, which tells equal GPUs apart.
	lastGPU := func(_ *placement.Node, _ *placement.Task, spot placement.Spot) int64 {
		return int64(spot.GPUs.First() + 1)
	}
	list := []*placement.ValuePolicy{
		byValue(t, v, 1, placement.NodeOrder), byValue(t, v, 40, placement.SmallestFirst), byValue(t, v, 40, lastGPU),
	}
	rapid.Check(t, func(t *rapid.T) {
		p := list[rapid.IntRange(0, 2).Draw(t, "policy")]
		n := genNode(t, "node")
		job := task("job", genShapeFor(t, n.Spec()))
		choice, ranked := p.Choose(n, &job), p.Rank(n, &job)
		if !choice.OK() {
			assert.Empty(t, ranked)
			return
		}
		require.NotEmpty(t, ranked)
		assert.Equal(t, choice, ranked[0])
		assert.True(t, slices.IsSortedFunc(ranked, func(a, b placement.Choice) int {
			return cmp.Or(
				cmp.Compare(b.Score, a.Score),
				cmp.Compare(a.Spot.GPUs.First(), b.Spot.GPUs.First()),
				cmp.Compare(a.Spot.Start, b.Spot.Start),
			)
		}), "%v", ranked)
		var spots []placement.Spot
		for _, c := range ranked {
			spots = append(spots, c.Spot)
			assert.True(t, c.OK())
		}
		if job.Shape.GPUs > 1 {
			assert.Len(t, spots, 1, "one set for a task of several GPUs")
			return
		}
		assert.ElementsMatch(t, freeSpots(n, job.Shape), spots)
	})
}

// The order of equal scores is that of GPUs and starts.
func TestRankOfEqualGPUs(t *testing.T) {
	t.Parallel()
	p := byValue(t, sumOf(t, plainMix(), migMix()), 1, placement.NodeOrder)
	for _, s := range []fragmentation.Shape{fraction(300), whole(1)} {
		job := task("job", s)
		var first []int
		for _, c := range p.Rank(newNode(t, uncut("n", 4)), &job) {
			first = append(first, c.Spot.GPUs.First())
		}
		assert.Equal(t, []int{0, 1, 2, 3}, first)
	}
}

// A whole GPU need not be like the next: the value decides which one it is.
func TestByValueUnlikeGPUs(t *testing.T) {
	t.Parallel()
	spec := uncut("n", 2)
	spec.GPUs[0].Memory = 81920
	large := fragmentation.Shape{GPUs: 1, Milli: 1000, DeviceMemory: 40960}
	fgd, err := fragmentation.NewFGD(fragmentation.Mix{{Shape: large, Count: 1}})
	require.NoError(t, err)
	job := task("job", whole(1))
	choice := byValue(t, fgd, 1, placement.NodeOrder).Choose(newNode(t, spec), &job)
	assert.Equal(t, placement.GPUs(1), choice.Spot.GPUs, "the large GPU stays for those who need it")
}

func TestOrderRange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := genNode(t, "node")
		job := task("job", genShapeFor(t, n.Spec()))
		for _, spot := range freeSpots(n, job.Shape) {
			for _, order := range []placement.Order{placement.NodeOrder, placement.SmallestFirst} {
				rank := order(n, &job, spot)
				assert.GreaterOrEqual(t, rank, int64(0))
				assert.Less(t, rank, int64(1<<24))
			}
		}
	})
	// The two ends: the smallest node with a full GPU, the largest with an idle one.
	one, most := with(t, newNode(t, uncut("n", 1)), at("a", whole(1), 0)), newNode(t, uncut("n", fragmentation.MostGPUs))
	small := task("job", fraction(1))
	spot := placement.Spot{GPUs: 1}
	assert.Less(t, placement.SmallestFirst(one, &small, spot), int64(1<<24))
	assert.Zero(t, placement.SmallestFirst(most, &small, spot))
}

// SmallestFirst compares the number of GPUs first, then what is left, then the
// pairs that stay free.
func TestSmallestFirst(t *testing.T) {
	t.Parallel()
	share, small, two := task("job", fraction(100)), task("job", instance("1g.5gb")), task("job", whole(2))
	spot := placement.Spot{GPUs: 1}
	rank := placement.SmallestFirst
	one, pair := newNode(t, uncut("n", 1)), newNode(t, uncut("n", 2))
	fuller := with(t, pair, at("a", fraction(900), 0), at("b", whole(1), 1))
	assert.Greater(t, rank(one, &share, spot), rank(fuller, &share, spot))
	assert.Greater(t, rank(with(t, one, at("a", fraction(900), 0)), &share, spot), rank(with(t, one, at("a", fraction(899), 0)), &share, spot))
	empty := newNode(t, cut(t, "n", "a100-40gb", 1))
	used := with(t, empty, instanceAt("a", "3g.20gb", 0, 4))
	assert.Greater(t, rank(used, &small, spot), rank(empty, &small, placement.Spot{GPUs: 1, Start: 6}))
	assert.Greater(t, rank(empty, &small, placement.Spot{GPUs: 1, Start: 6}), rank(empty, &small, spot))
	assert.Equal(t, rank(pair, &two, placement.Spot{GPUs: 3}), rank(with(t, pair, at("a", fraction(1), 0)), &two, placement.Spot{GPUs: 3}))
}

// Random takes every node and every GPU that fits about equally often, and
// another seed is another choice.
func TestRandomIsUniform(t *testing.T) {
	t.Parallel()
	c := newCluster(t, uncut("a", 2), uncut("b", 2), uncut("c", 2), uncut("d", 2))
	nodes, gpus, moved := map[string]int{}, map[int]int{}, 0
	for i := range 2000 {
		job := task(string(rune('0'+i)), fraction(500))
		n, choice := c.Choose(placement.Random(1), &job)
		nodes[n.Name()]++
		gpus[choice.Spot.GPUs.First()]++
		if m, _ := c.Choose(placement.Random(2), &job); m != n {
			moved++
		}
	}
	require.Len(t, nodes, 4)
	for name, times := range nodes {
		assert.InDelta(t, 500, times, 75, "node %s", name)
	}
	require.Len(t, gpus, 2)
	assert.InDelta(t, 1000, gpus[0], 100)
	assert.InDelta(t, 1500, moved, 100)
}

// Packing keeps its three tiers on nodes of any size.
func TestPackingTiers(t *testing.T) {
	t.Parallel()
	p := placement.Packing()
	largest := uncut("n", 64)
	score := func(n *placement.Node, s fragmentation.Shape) int64 {
		job := task("job", s)
		c := p.Choose(n, &job)
		require.True(t, c.OK(), "%s", c.Refusal)
		return c.Score
	}
	emptySmall, emptyLarge := newNode(t, uncut("n", 1)), newNode(t, largest)
	used := with(t, emptyLarge, at("a", whole(1), 0))
	shared := with(t, emptyLarge, at("a", fraction(1), 0))
	fuller := with(t, emptyLarge, at("a", fraction(500), 0))
	scores := []int64{
		score(emptyLarge, fraction(300)),
		score(emptySmall, fraction(300)),
		score(used, whole(63)),
		score(used, fraction(300)),
		score(shared, fraction(300)),
		score(fuller, fraction(300)),
	}
	assert.True(t, slices.IsSorted(scores), "%v", scores)
	assert.Len(t, slices.Compact(scores), 6, "all differ")
}
