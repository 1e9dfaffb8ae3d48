package placement_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// chooserMachine puts a Chooser for every policy beside a cluster that others
// change.
type chooserMachine struct {
	cluster  *placement.Cluster
	policies []namedPolicy
	choosers []*placement.Chooser
	shapes   []fragmentation.Shape // few, so that answers are remembered
	tasks    []string
	next     int
}

func (m *chooserMachine) job(t *rapid.T) placement.Task {
	m.next++
	return task(fmt.Sprintf("t%d", m.next), rapid.SampledFrom(m.shapes).Draw(t, "shape"))
}

// Choose compares each Chooser with its cluster and with the plain rule.
func (m *chooserMachine) Choose(t *rapid.T) {
	job := m.job(t)
	for i, p := range m.policies {
		n, choice := m.cluster.Choose(p.policy, &job)
		gotNode, gotChoice := m.choosers[i].Choose(&job)
		assert.Same(t, n, gotNode, "%s", p)
		assert.Equal(t, choice, gotChoice, "%s", p)

		wantNode, wantChoice := naiveChoose(m.cluster, p.policy, &job)
		assert.Same(t, wantNode, n, "%s", p)
		assert.Equal(t, wantChoice, choice, "%s", p)
	}
}

// naiveChoose takes the first of the best nodes, or the closest refusal.
func naiveChoose(c *placement.Cluster, p placement.Policy, job *placement.Task) (*placement.Node, placement.Choice) {
	var nodes []*placement.Node
	closest := placement.Refusal{}
	if c.Len() == 0 {
		closest.Kind = placement.NoGPU
	}
	for n := range c.Nodes() {
		if choice := p.Choose(n, job); choice.OK() {
			nodes = append(nodes, n)
		} else {
			closest.Kind = max(closest.Kind, choice.Refusal.Kind)
			closest.Evictable = closest.Evictable || choice.Refusal.Evictable
		}
	}
	if len(nodes) == 0 {
		return nil, placement.Choice{Refusal: closest}
	}
	slices.SortStableFunc(nodes, func(a, b *placement.Node) int {
		x, y := p.Choose(a, job).Score, p.Choose(b, job).Score
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		default:
			return 0
		}
	})
	return nodes[0], p.Choose(nodes[0], job)
}

// Place puts a task where one of the Choosers says.
func (m *chooserMachine) Place(t *rapid.T) {
	job := m.job(t)
	h := m.choosers[rapid.IntRange(0, len(m.choosers)-1).Draw(t, "chooser")]
	n, choice := h.Choose(&job)
	if n == nil {
		t.Skip("fits nowhere")
	}
	choice.Spot.Anywhere = rapid.IntRange(0, 4).Draw(t, "anywhere") == 0
	require.NoError(t, m.cluster.Place(n.Name(), placement.Assignment{Task: job, Spot: choice.Spot}))
	m.tasks = append(m.tasks, job.ID)
}

// Release takes off a task that may be gone with its node.
func (m *chooserMachine) Release(t *rapid.T) {
	if len(m.tasks) == 0 {
		t.Skip("nothing is placed")
	}
	i := rapid.IntRange(0, len(m.tasks)-1).Draw(t, "task")
	at := m.cluster.Locate(m.tasks[i])
	assert.Equal(t, at != nil, m.cluster.Release(m.tasks[i]))
	m.tasks = slices.Delete(m.tasks, i, i+1)
}

// Put adds a node or replaces one, empty.
func (m *chooserMachine) Put(t *rapid.T) {
	wrong, err := m.cluster.Put(genSpec(t, fmt.Sprintf("n%d", rapid.IntRange(0, 4).Draw(t, "name"))), nil)
	require.NoError(t, err)
	assert.Empty(t, wrong)
}

// Remove takes a node out, the last one never.
func (m *chooserMachine) Remove(t *rapid.T) {
	if m.cluster.Len() < 2 {
		t.Skip("one node left")
	}
	name := fmt.Sprintf("n%d", rapid.IntRange(0, 4).Draw(t, "name"))
	found := m.cluster.Node(name) != nil
	length := m.cluster.Len()
	assert.Equal(t, found, m.cluster.Remove(name))
	assert.Nil(t, m.cluster.Node(name))
	if found {
		length--
	}
	assert.Equal(t, length, m.cluster.Len())
}

// Check compares the books of the cluster with its nodes.
func (m *chooserMachine) Check(t *rapid.T) {
	held := 0
	for n := range m.cluster.Nodes() {
		assert.Same(t, n, m.cluster.Node(n.Name()))
		for a := range n.Assignments() {
			held++
			assert.Same(t, n, m.cluster.Locate(a.Task.ID))
		}
	}
	for _, id := range m.tasks {
		if m.cluster.Locate(id) != nil {
			held--
		}
	}
	assert.Zero(t, held, "every task is known by its ID, and no other")
}

func TestChooser(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &chooserMachine{policies: policies(t)}
		var err error
		m.cluster, err = placement.NewCluster(genClusterSpecs(t))
		require.NoError(t, err)
		for _, p := range m.policies {
			m.choosers = append(m.choosers, placement.NewChooser(m.cluster, p.policy))
		}
		for n := range m.cluster.Nodes() {
			m.shapes = append(m.shapes, genShapeFor(t, n.Spec()), genShapeFor(t, n.Spec()))
		}
		t.Repeat(rapid.StateMachineActions(m))
	})
}

// counting counts how often it is asked.
type counting struct {
	placement.Policy
	asked *int
}

func (p counting) Choose(n *placement.Node, t *placement.Task) placement.Choice {
	*p.asked++
	return p.Policy.Choose(n, t)
}

// A Chooser asks once about tasks that differ in their ID alone, and again about a
// node that has changed.
func TestChooserRemembers(t *testing.T) {
	t.Parallel()
	asked := 0
	c := newCluster(t, uncut("a", 1), uncut("b", 1), uncut("c", 1))
	h := placement.NewChooser(c, counting{placement.FirstFit(), &asked})
	choose := func(id string, s fragmentation.Shape) {
		job := task(id, s)
		h.Choose(&job)
	}
	choose("one", fraction(300))
	assert.Equal(t, 3, asked)
	choose("two", fraction(300))
	assert.Equal(t, 3, asked)
	choose("three", fraction(301))
	assert.Equal(t, 6, asked)
	require.NoError(t, c.Place("b", at("placed", fraction(1), 0)))
	choose("four", fraction(300))
	assert.Equal(t, 7, asked)
}

// A joined policy looks at the ID if one of the two does.
func TestSplitMIGPerTask(t *testing.T) {
	t.Parallel()
	first, random := placement.FirstFit(), placement.Random(1)
	for _, tt := range []struct {
		instances, others placement.Policy
		want              bool
	}{{first, first, false}, {random, first, true}, {first, random, true}} {
		per, ok := placement.SplitMIG(tt.instances, tt.others).(interface{ PerTask() bool })
		require.True(t, ok)
		assert.Equal(t, tt.want, per.PerTask())
	}
}

func TestNewClusterRefuses(t *testing.T) {
	t.Parallel()
	_, err := placement.NewCluster([]placement.NodeSpec{uncut("a", 1), uncut("b", 1), uncut("a", 2)})
	require.ErrorIs(t, err, placement.ErrDuplicate)
	require.ErrorContains(t, err, `node "a"`)
	_, _, err = placement.RebuildCluster([]placement.NodeSpec{uncut("a", 1), uncut("a", 1)}, nil)
	require.ErrorIs(t, err, placement.ErrDuplicate)
}

func TestClusterWithoutNodes(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	job := task("job", fraction(1))
	n, choice := c.Choose(placement.FirstFit(), &job)
	assert.Nil(t, n)
	assert.False(t, choice.OK())
	assert.Equal(t, placement.Largest{}, c.Largest())
	// Scores that weigh against an amount of zero are scores all the same.
	for _, p := range []placement.Policy{
		placement.BestFit(c.Largest()), placement.WorstFit(c.Largest()),
		placement.DotProduct(c.Largest()), placement.Clustering(c.Largest()),
	} {
		assert.True(t, p.Choose(newNode(t, uncut("n", 1)), &job).OK())
	}
}

func TestClusterLargest(t *testing.T) {
	t.Parallel()
	small := uncut("small", 8)
	small.CPU = 1000
	assert.Equal(t, placement.Largest{CPU: 64000, GPU: 8000}, newCluster(t, small, uncut("a", 2)).Largest())
}

func TestClusterTies(t *testing.T) {
	t.Parallel()
	c := newCluster(t, uncut("z", 1), uncut("a", 1), uncut("m", 1))
	job := task("job", fraction(300))
	for _, p := range policies(t) {
		if n, _ := c.Choose(p.policy, &job); !p.perTask {
			assert.Equal(t, "z", n.Name(), "%s", p.name)
		}
	}
	for range c.Nodes() {
		break // an iteration may end early
	}
}

func TestPut(t *testing.T) {
	t.Parallel()
	c := newCluster(t, uncut("a", 1), uncut("b", 1))
	require.NoError(t, c.Place("a", at("on a", fraction(100), 0)))

	spec := uncut("b", 2)
	spec.Generation = 7
	wrong, err := c.Put(spec, []placement.Assignment{
		at("on a", fraction(100), 0),
		at("new", fraction(200), 1),
		at("far", fraction(200), 2),
	})
	require.NoError(t, err)
	require.Len(t, wrong, 2)
	require.ErrorIs(t, wrong[0].Err, placement.ErrDuplicate)
	assert.Contains(t, wrong[0].String(), `"a"`)
	require.ErrorIs(t, wrong[1].Err, placement.ErrBadSpot)
	assert.Equal(t, "a", c.Locate("on a").Name())
	assert.Equal(t, "b", c.Locate("new").Name())
	assert.Nil(t, c.Locate("far"))

	same := c.Node("b")
	wrong, err = c.Put(spec, nil)
	require.NoError(t, err)
	assert.Empty(t, wrong)
	assert.Same(t, same, c.Node("b"), "nothing has changed by its generation")

	spec.Generation = 8
	_, err = c.Put(spec, nil)
	require.NoError(t, err)
	assert.Nil(t, c.Locate("new"), "what is not recorded is gone")
	assert.Equal(t, 2, c.Len())

	bad := uncut("a", 1)
	bad.CPU = -1
	_, err = c.Put(bad, nil)
	require.ErrorIs(t, err, placement.ErrBadNode)
	assert.Equal(t, "a", c.Locate("on a").Name(), "nothing is changed")

	assert.True(t, c.Remove("a"))
	assert.False(t, c.Remove("a"))
	assert.Nil(t, c.Locate("on a"))
	require.NoError(t, c.Place("b", at("on a", fraction(100), 0)), "free to go elsewhere")
}

func TestSpecFromAllocatable(t *testing.T) {
	t.Parallel()
	spec, err := placement.SpecFromAllocatable("n", "T4", 16384, map[string]int64{
		"cpu": 63500, "memory": 264<<30 + 5, "nvidia.com/gpu": 2, "pods": -110, "nvidia.com/mig-1g.5gb": 0, "example.com/debt": -1,
	})
	require.NoError(t, err)
	assert.Equal(t, placement.NodeSpec{
		Name: "n", CPU: 63500, Memory: 264 << 10, Model: "T4", GPUs: []placement.GPUSpec{{Memory: 16384}, {Memory: 16384}},
	}, spec)
	newNode(t, spec)
	for _, amounts := range []map[string]int64{
		{"nvidia.com/gpu": 65},
		{"nvidia.com/gpu": 1 << 40},
		{"nvidia.com/gpu": -1},
		{"cpu": -1},
		{"memory": -1},
		{"nvidia.com/mig-1g.5gb": -1},
		{"nvidia.com/gpu.shared": 8},
		{"nvidia.com/mig-3g.20gb": 1, "nvidia.com/gpu": 1},
	} {
		_, err := placement.SpecFromAllocatable("n", "", 0, amounts)
		require.ErrorIs(t, err, placement.ErrBadNode, "%v", amounts)
	}
	_, err = placement.SpecFromAllocatable("n", "", 0, map[string]int64{"memory": -5, "cpu": -1})
	require.ErrorContains(t, err, "cpu=-1, memory=-5", "all of them, in order")
}

func TestZeroCluster(t *testing.T) {
	t.Parallel()
	var c placement.Cluster
	job := task("job", fraction(500))
	n, choice := c.Choose(placement.FirstFit(), &job)
	assert.Nil(t, n)
	assert.Equal(t, placement.NoGPU, choice.Refusal.Kind)
	assert.False(t, c.Release("job"))
	assert.False(t, c.Remove("n"))
	require.ErrorIs(t, c.Place("n", placement.Assignment{Task: job}), placement.ErrUnknownNode)
	wrong, err := c.Put(uncut("n", 1), nil)
	require.NoError(t, err)
	assert.Empty(t, wrong)
	n, choice = c.Choose(placement.FirstFit(), &job)
	require.NotNil(t, n)
	require.NoError(t, c.Place("n", placement.Assignment{Task: job, Spot: choice.Spot}))
}
