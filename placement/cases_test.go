package placement_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// Reports that people met in public, with the right answers.

// fill places tasks of the shapes where the policy says and returns how many
// went where, by node and GPU, and how many did not fit.
func fill(t *testing.T, c *placement.Cluster, p placement.Policy, shapes ...fragmentation.Shape) (at map[string]int, refused int) {
	t.Helper()
	at = map[string]int{}
	for i, s := range shapes {
		job := task(fmt.Sprintf("fill%d", i), s)
		n, choice := c.Choose(p, &job)
		if n == nil {
			refused++
			continue
		}
		require.NoError(t, c.Place(n.Name(), placement.Assignment{Task: job, Spot: choice.Spot}))
		at[n.Name()+"/"+choice.Spot.GPUs.String()]++
	}
	return at, refused
}

func repeat(n int, s fragmentation.Shape) []fragmentation.Shape {
	list := make([]fragmentation.Shape, n)
	for i := range list {
		list[i] = s
	}
	return list
}

// 91 and 92: device memory is in MiB throughout, and a need that is stated
// binds.
func TestCase91And92DeviceMemory(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                           string
		gpu, need                      int64
		requests, placed, stillPending int
	}{
		{"91: MiB are not MB", 46068, 2000, 24, 23, 1},
		{"92: the third does not fit", 16384, 8000, 3, 2, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, placement.NodeSpec{Name: "n", GPUs: []placement.GPUSpec{{Memory: tt.gpu}}})
			request := fragmentation.Shape{GPUs: 1, Milli: 10, DeviceMemory: tt.need}
			at, refused := fill(t, c, placement.BestFit(c.Largest()), repeat(tt.requests, request)...)
			assert.Equal(t, map[string]int{"n/0": tt.placed}, at)
			assert.Equal(t, tt.stillPending, refused)
			assert.Equal(t, placement.Refusal{Kind: placement.LackDevice, Evictable: true}, fits(c.Node("n"), request))
		})
	}
	// 92 came about by a request that nothing read. A request for a GPU without
	// a share of it is no request of zero.
	unread := fragmentation.Shape{GPUs: 1}
	require.ErrorIs(t, unread.Validate(), fragmentation.ErrBadShape)
}

// 93: ten tasks of 0.6 take ten of sixteen GPUs, sixteen take all, and the
// seventeenth is refused though 6.4 GPUs are left in sum.
func TestCase93SixTenths(t *testing.T) {
	t.Parallel()
	for _, p := range policies(t) {
		c := newCluster(t, uncut("a", 8), uncut("b", 8))
		shape := fragmentation.Shape{GPUs: 1, Milli: 600}
		at, refused := fill(t, c, p.policy, repeat(17, shape)...)
		assert.Len(t, at, 16, "%s", p.name)
		assert.Equal(t, 1, refused, "%s", p.name)
		left := int64(0)
		for n := range c.Nodes() {
			s := n.State()
			left += s.Left()
		}
		assert.EqualValues(t, 6400, left, "%s", p.name)
	}
}

// 95: half a GPU, one and two are requests, none is a request without GPU; one
// and a half or less than nothing are not.
func TestCase95Fractions(t *testing.T) {
	t.Parallel()
	n := newNode(t, uncut("n", 2))
	for _, tt := range []struct {
		shape fragmentation.Shape
		kind  placement.Kind
	}{
		{fragmentation.Shape{GPUs: 1, Milli: 500}, placement.None},
		{fragmentation.Shape{GPUs: 1, Milli: 1000}, placement.None},
		{fragmentation.Shape{GPUs: 2, Milli: 1000}, placement.None},
		{fragmentation.Shape{}, placement.None},
		{fragmentation.Shape{GPUs: 1, Milli: 1500}, placement.BadShape},
		{fragmentation.Shape{GPUs: 65, Milli: 1000}, placement.BadShape},
		{fragmentation.Shape{GPUs: 2, Milli: 750}, placement.BadShape},
		{fragmentation.Shape{GPUs: 1, Milli: -500}, placement.BadShape},
	} {
		assert.Equal(t, tt.kind, fits(n, tt.shape).Kind, "%+v", tt.shape)
		assert.Equal(t, tt.kind == placement.None, tt.shape.Validate() == nil, "%+v", tt.shape)
	}
}

// 96: nothing wraps around. A record that takes more than the card has cannot
// be true: it is reported, and what is left stays at what the others leave. The
// report asks for a card with nothing left; here the caller decides, with the
// contradiction in hand.
func TestCase96FullCard(t *testing.T) {
	t.Parallel()
	memory := func(need int64) fragmentation.Shape {
		return fragmentation.Shape{GPUs: 1, Milli: 10, DeviceMemory: need}
	}
	spec := placement.NodeSpec{Name: "n", GPUs: []placement.GPUSpec{{Memory: 1000}}}
	n, wrong, err := placement.Rebuild(spec, []placement.Assignment{at("all", memory(1000), 0), at("over", memory(3000), 0)})
	require.NoError(t, err)
	require.Len(t, wrong, 1)
	require.ErrorIs(t, wrong[0].Err, placement.ErrRefused)
	assert.Zero(t, n.State().GPUs[0].Memory)
	more := memory(500)
	assert.Equal(t, placement.Refusal{Kind: placement.LackDevice, Evictable: true}, fits(n, more))
}

// 99: of five records the first is good; the others are reported one by one.
func TestCase99BadRecords(t *testing.T) {
	t.Parallel()
	memory := func(need int64) fragmentation.Shape {
		return fragmentation.Shape{GPUs: 1, Milli: 300, DeviceMemory: need}
	}
	spec := uncut("n", 1)
	spec.GPUs = append(spec.GPUs, cut(t, "", "a100-40gb", 1).GPUs...)
	n, wrong, err := placement.Rebuild(spec, []placement.Assignment{
		at("good", memory(4096), 0),
		at("negative memory", memory(-5), 0),
		{Task: task("nothing readable", fragmentation.Shape{GPUs: 1})},
		at("no device", memory(4096)),
		instanceAt("stale index", "1g.5gb", 1, 99),
		at("neighbour", memory(4096), 0),
	})
	require.NoError(t, err)
	assert.Equal(t, 2, n.Len())
	require.Len(t, wrong, 4)
	for i, id := range []string{"negative memory", "nothing readable", "no device", "stale index"} {
		assert.Equal(t, id, wrong[i].Assignment.Task.ID)
		assert.Contains(t, wrong[i].String(), id)
	}
	assert.EqualValues(t, 400, n.State().GPUs[0].Milli)
}

// 100: a node or a GPU without anything has a score that is a number, and does
// not disturb the order of the others.
func TestCase100NothingThere(t *testing.T) {
	t.Parallel()
	empty := placement.NodeSpec{Name: "empty"}
	noMemory := placement.NodeSpec{Name: "no memory", GPUs: []placement.GPUSpec{{}}}
	good := placement.NodeSpec{Name: "good", GPUs: []placement.GPUSpec{{Memory: 4096}}}
	shape := fragmentation.Shape{GPUs: 1, Milli: 100, DeviceMemory: 100}
	for _, p := range policies(t) {
		c := newCluster(t, empty, noMemory, good)
		job, nothing := task("job", shape), task("nothing", fragmentation.Shape{})
		n, choice := c.Choose(p.policy, &job)
		require.NotNil(t, n, "%s", p.name)
		assert.Equal(t, "good", n.Name(), "%s: %+v", p.name, choice)
		assert.True(t, p.policy.Choose(c.Node("empty"), &nothing).OK(), "%s", p.name)
	}
	for _, scale := range []placement.Largest{{}, {CPU: -1, GPU: -1}} {
		job := task("job", shape)
		for _, p := range []placement.Policy{placement.BestFit(scale), placement.DotProduct(scale), placement.Clustering(scale)} {
			assert.True(t, p.Choose(newNode(t, good), &job).OK())
		}
	}
}

// scored is a policy that gives nodes scores by name.
type scored map[string]int64

func (p scored) Choose(n *placement.Node, _ *placement.Task) placement.Choice {
	score, found := p[n.Name()]
	if !found {
		return placement.Choice{Refusal: placement.Refusal{Kind: placement.LackCPU}}
	}
	return placement.Choice{Score: score}
}

// 101: no score is taken for "none yet".
func TestCase101ScoresOfZeroAndLess(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		scores scored
		best   string
	}{
		{"all zero: the first", scored{"4": 0, "7": 0}, "4"},
		{"the largest, not the last", scored{"5": 10, "6": 20, "7": 60}, "7"},
		{"the largest, not the first", scored{"2": 1, "5": 60, "7": 20}, "5"},
		{"below zero", scored{"0": -5, "1": -3}, "1"},
		{"the smallest number there is", scored{"6": -1 << 63}, "6"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var specs []placement.NodeSpec
			for i := range 8 {
				specs = append(specs, placement.NodeSpec{Name: fmt.Sprint(i)})
			}
			c := newCluster(t, specs...)
			job := task("job", fragmentation.Shape{})
			n, choice := c.Choose(tt.scores, &job)
			require.NotNil(t, n)
			assert.Equal(t, tt.best, n.Name())
			assert.Equal(t, tt.scores[tt.best], choice.Score)
		})
	}
}

// 107: four GPUs are free on three nodes, no node has four. Evicting helps, and
// two moves make room.
func TestCase107FourOfThreeNodes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, uncut("1", 8), uncut("2", 8), uncut("3", 8))
	for node, jobs := range map[string][]int{"1": {4, 2, 1}, "2": {4, 2}, "3": {4, 2, 1}} {
		for _, gpus := range jobs {
			job := task(fmt.Sprintf("%s/%d", node, gpus), whole(gpus))
			choice := placement.FirstFit().Choose(c.Node(node), &job)
			require.NoError(t, c.Place(node, placement.Assignment{Task: job, Spot: choice.Spot}))
		}
	}
	job := task("four", whole(4))
	for _, p := range policies(t) {
		n, choice := c.Choose(p.policy, &job)
		assert.Nil(t, n, "%s", p.name)
		assert.Equal(t, placement.Refusal{Kind: placement.LackGPU, Evictable: true}, choice.Refusal, "%s", p.name)
	}
	for _, move := range []struct{ id, to string }{{"3/1", "1"}, {"2/2", "3"}} {
		a, found := c.Locate(move.id).Assignment(move.id)
		require.True(t, found)
		require.True(t, c.Release(move.id))
		choice := placement.FirstFit().Choose(c.Node(move.to), &a.Task)
		require.NoError(t, c.Place(move.to, placement.Assignment{Task: a.Task, Spot: choice.Spot}))
	}
	n, choice := c.Choose(placement.FirstFit(), &job)
	require.NotNil(t, n)
	assert.Equal(t, "2", n.Name())
	assert.Equal(t, 4, choice.Spot.GPUs.Len())
}

// 117: the exact gains are 0 and 5 milli-GPU. In steps of 1 the better GPU is
// taken; steps of 40 do not see the difference and take the first, as the
// published score does. Which of the two is wanted is the caller's choice.
func TestCase117Step(t *testing.T) {
	t.Parallel()
	mix := fragmentation.Mix{
		{Shape: fragmentation.Shape{CPU: 1000, GPUs: 1, Milli: 400}, Count: 5},
		{Shape: fragmentation.Shape{CPU: 1000, GPUs: 1, Milli: 100}, Count: 95},
	}
	v, err := fragmentation.NewFGD(mix)
	require.NoError(t, err)
	n := with(t, newNode(t, uncut("n", 2)), at("a", fragmentation.Shape{GPUs: 1, Milli: 700}, 1))
	job := task("job", mix[1].Shape)
	assert.Equal(t, placement.GPUs(1), byValue(t, v, 1, placement.NodeOrder).Choose(n, &job).Spot.GPUs)
	assert.Equal(t, placement.GPUs(0), byValue(t, v, 40, placement.NodeOrder).Choose(n, &job).Spot.GPUs)
}

// 120: two halves of two GPUs are refused as a request. Two whole GPUs where one
// is free are refused without a part of them being taken.
func TestCase120NothingHalfTaken(t *testing.T) {
	t.Parallel()
	n := with(t, newNode(t, uncut("n", 3)), at("a", fraction(400), 1), at("b", fraction(600), 2))
	halves, two := fragmentation.Shape{CPU: 1000, GPUs: 2, Milli: 500}, whole(2)
	assert.Equal(t, placement.BadShape, fits(n, halves).Kind)
	assert.Equal(t, placement.LackGPU, fits(n, two).Kind)
	before := stateText(n)
	_, err := n.With(at("x", two, 0, 1))
	require.ErrorIs(t, err, placement.ErrRefused)
	assert.Equal(t, before, stateText(n))
	freed := n.Without("a")
	job := task("x", two)
	choice := placement.FirstFit().Choose(freed, &job)
	require.True(t, choice.OK())
	assert.Equal(t, placement.GPUs(0, 1), choice.Spot.GPUs)
	s := with(t, freed, placement.Assignment{Task: job, Spot: choice.Spot}).State()
	assert.EqualValues(t, 400, s.Left())
}
