package placement_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// repairer returns a first-fit Repairer that has earned so many moves.
func repairer(t testing.TB, c *placement.Cluster, rule placement.Repair, earned int) *placement.Repairer {
	t.Helper()
	rule.Every = 1
	r, err := placement.NewRepairer(c, placement.FirstFit(), rule)
	require.NoError(t, err)
	for range earned {
		r.Admitted()
	}
	require.Equal(t, earned, r.Spare())
	return r
}

func place(t testing.TB, c *placement.Cluster, node string, all ...placement.Assignment) {
	t.Helper()
	for _, a := range all {
		require.NoError(t, c.Place(node, a))
	}
}

func site(node string, start int, gpus ...int) placement.Site {
	return placement.Site{Node: node, Spot: placement.Spot{GPUs: placement.GPUs(gpus...), Start: start}}
}

// rescue wants a rescue, carries it out and places the task.
func rescue(t testing.TB, c *placement.Cluster, r *placement.Repairer, job placement.Task) placement.Rescue {
	t.Helper()
	found, ok := r.Admit(&job)
	require.True(t, ok, "%v", job)
	require.NoError(t, r.Apply(found.Moves))
	require.NoError(t, c.Place(found.Node, placement.Assignment{Task: job, Spot: found.Spot}))
	return found
}

func TestRepairMovesOneTask(t *testing.T) {
	t.Parallel()
	c := newCluster(t, uncut("a", 2), uncut("b", 1))
	place(t, c, "a", at("small", fraction(300), 0))
	r := repairer(t, c, placement.Repair{}, 1)
	found := rescue(t, c, r, task("large", whole(2)))
	assert.Equal(t, []placement.Move{{Task: "small", From: site("a", 0, 0), To: site("b", 0, 0)}}, found.Moves)
	assert.Equal(t, site("a", 0, 0, 1), found.Site)
	assert.Equal(t, "b", c.Locate("small").Name())
	assert.Zero(t, r.Spare())
}

func TestRepairFitsAsItIs(t *testing.T) {
	t.Parallel()
	c := newCluster(t, uncut("a", 1))
	r := repairer(t, c, placement.Repair{}, 0)
	job := task("job", whole(1))
	found, ok := r.Admit(&job)
	require.True(t, ok, "no budget is needed")
	assert.Equal(t, placement.Rescue{Site: site("a", 0, 0)}, found)
}

// TestRepairExchanges: node a has an idle GPU and no CPU for it; node b has CPU
// and no GPU. Two halves of unlike CPU change places.
func TestRepairExchanges(t *testing.T) {
	t.Parallel()
	cluster := func(t *testing.T) *placement.Cluster {
		t.Helper()
		a, b := uncut("a", 2), uncut("b", 1)
		a.CPU, b.CPU = 10_000, 20_000
		c := newCluster(t, a, b)
		hungry, modest := fraction(600), fraction(600)
		hungry.CPU, modest.CPU = 9_000, 2_000
		place(t, c, "a", at("hungry", hungry, 0))
		place(t, c, "b", at("modest", modest, 0))
		return c
	}
	wanted := whole(1)
	wanted.CPU = 5_000
	job := task("job", wanted)

	c := cluster(t)
	found := rescue(t, c, repairer(t, c, placement.Repair{}, 2), job)
	assert.Equal(t, []placement.Move{
		{Task: "hungry", From: site("a", 0, 0)},
		{Task: "modest", From: site("b", 0, 0), To: site("a", 0, 0)},
		{Task: "hungry", To: site("b", 0, 0)},
	}, found.Moves)
	assert.Equal(t, 2, placement.Moved(found.Moves))
	assert.Equal(t, site("a", 0, 1), found.Site)

	for name, rule := range map[string]placement.Repair{
		"one move at most":   {Moves: 1},
		"too dear":           {Least: 501},
		"hungry is pinned":   {Pinned: func(t *placement.Task) bool { return t.ID == "hungry" }},
		"modest is pinned":   {Pinned: func(t *placement.Task) bool { return t.ID == "modest" }},
		"worth must be kept": {Keep: true, Worth: func(s *fragmentation.State) int64 { return s.Left() }},
	} {
		c := cluster(t)
		r := repairer(t, c, rule, 2)
		_, ok := r.Admit(&job)
		assert.False(t, ok, name)
	}
	c = cluster(t)
	_, ok := repairer(t, c, placement.Repair{}, 1).Admit(&job)
	assert.False(t, ok, "the budget pays for one move")
}

// TestRepairTakesWhatLeavesMost: two tasks could make way; without a worth the
// smaller one does, with a worth that one whose place is worth more.
func TestRepairTakesWhatLeavesMost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		worth func(*fragmentation.State) int64
		moved string
	}{
		{nil, "small"},
		{func(s *fragmentation.State) int64 { return -s.GPUs[0].Left() * s.GPUs[0].Left() }, "small"},
		{func(s *fragmentation.State) int64 { return s.GPUs[0].Left() * s.GPUs[0].Left() }, "middle"},
	} {
		cluster := newCluster(t, uncut("a", 1), uncut("b", 1), uncut("c", 1))
		place(t, cluster, "a", at("small", fraction(300), 0), at("other", fraction(500), 0))
		place(t, cluster, "b", at("middle", fraction(400), 0), at("another", fraction(500), 0))
		place(t, cluster, "c", at("big", fraction(600), 0))
		job := task("job", fraction(480))
		found, ok := repairer(t, cluster, placement.Repair{Worth: c.worth}, 1).Admit(&job)
		require.True(t, ok)
		require.Len(t, found.Moves, 1)
		assert.Equal(t, c.moved, found.Moves[0].Task)
	}
}

// TestRepairMovesInstances: a 3g finds no start on two GPUs with 1g in the middle
// of each, though five memory slices are free on each. The plans for the devices
// destroy and create exactly what moves.
func TestRepairMovesInstances(t *testing.T) {
	t.Parallel()
	c := newCluster(t, cut(t, "a", "a100-40gb", 1), cut(t, "b", "a100-40gb", 1))
	place(t, c, "a", instanceAt("a0", "1g.5gb", 0, 0), instanceAt("a4", "1g.5gb", 0, 4), instanceAt("a5", "1g.5gb", 0, 5))
	place(t, c, "b", instanceAt("b0", "2g.10gb", 0, 0), instanceAt("b4", "1g.5gb", 0, 4))
	r := repairer(t, c, placement.Repair{}, 2)
	job := task("job", instance("3g.20gb"))
	found, ok := r.Admit(&job)
	require.True(t, ok)
	assert.Equal(t, site("a", 0, 0), found.Site)
	assert.Equal(t, []placement.Move{{Task: "a0", From: site("a", 0, 0), To: site("a", 6, 0)}}, found.Moves)

	plans, err := c.Plans(found.Moves)
	require.NoError(t, err)
	require.Len(t, plans, 1)
	assert.Equal(t, "a", plans[0].Node)
	assert.Equal(t, "create 1g.5gb@6, destroy 1g.5gb@0", plans[0].Plan.String())
	assert.Len(t, plans[0].Plan.Kept, 2)

	pinned := placement.Repair{Pinned: func(t *placement.Task) bool { return t.ID != "b4" }}
	found, ok = repairer(t, c, pinned, 2).Admit(&job)
	require.True(t, ok)
	assert.Equal(t, site("b", 4, 0), found.Site, "where the only one that may be moved stands")
	require.Len(t, found.Moves, 1)
	assert.Equal(t, "b4", found.Moves[0].Task)
	plans, err = c.Plans(found.Moves)
	require.NoError(t, err)
	engine := placement.NewEngine(c, placement.FirstFit())
	same, err := engine.Plans(found.Moves)
	require.NoError(t, err)
	assert.Equal(t, plans, same)
}

// TestRepairInstancesOnlySmallerOnes: a 2g does not push out a 2g or a 3g.
func TestRepairInstancesOnlySmallerOnes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, cut(t, "a", "a100-40gb", 1))
	place(t, c, "a", instanceAt("3g", "3g.20gb", 0, 0), instanceAt("2g", "2g.10gb", 0, 4))
	job := task("job", instance("3g.20gb"))
	_, ok := repairer(t, c, placement.Repair{}, 9).Admit(&job)
	assert.False(t, ok, "the 2g has nowhere to go")
}

func TestImprove(t *testing.T) {
	t.Parallel()
	fgd, err := fragmentation.NewFGD(fragmentation.Mix{{Shape: whole(1), Count: 1}})
	require.NoError(t, err)
	c := newCluster(t, uncut("a", 1), uncut("b", 1), uncut("c", 1))
	place(t, c, "b", at("x", fraction(400), 0))
	place(t, c, "a", at("y", fraction(400), 0))
	r := repairer(t, c, placement.Repair{Worth: fgd.Of}, 5)
	moves := r.Improve()
	assert.Equal(t, []placement.Move{{Task: "x", From: site("b", 0, 0), To: site("a", 0, 0)}}, moves)
	require.NoError(t, r.Apply(moves))
	for range 10 {
		assert.Empty(t, r.Improve(), "two halves on one GPU: nothing is left to gain")
	}
	assert.Equal(t, 4, r.Spare())

	place(t, c, "c", at("z", fraction(100), 0))
	dear := repairer(t, c, placement.Repair{Worth: fgd.Of, Gain: 1_000_000}, 5)
	assert.Empty(t, dear.Improve())
	poor := repairer(t, c, placement.Repair{Worth: fgd.Of}, 0)
	assert.Empty(t, poor.Improve())
	assert.NotEmpty(t, repairer(t, c, placement.Repair{Worth: fgd.Of}, 1).Improve())
}

// TestRepairThroughEngine: what an engine remembers follows the moves.
func TestRepairThroughEngine(t *testing.T) {
	t.Parallel()
	specs := []placement.NodeSpec{uncut("a", 2), uncut("b", 1), uncut("c", 1)}
	engine := placement.NewEngine(newCluster(t, specs...), placement.FirstFit())
	require.NoError(t, engine.Place("a", at("small", fraction(300), 0)))
	require.NoError(t, engine.Place("b", at("other", fraction(500), 0)))
	kinds := []fragmentation.Shape{fraction(200), fraction(600), fraction(700), whole(1), whole(2)}
	agree := func() {
		var books []placement.Recorded
		for n := range engine.Nodes() {
			for a := range n.Assignments() {
				books = append(books, placement.Recorded{Node: n.Name(), Assignment: a})
			}
		}
		plain, wrong, err := placement.RebuildCluster(specs, books)
		require.NoError(t, err)
		require.Empty(t, wrong)
		for _, kind := range kinds {
			job := task("ask", kind)
			wantNode, want := plain.Choose(placement.FirstFit(), &job)
			node, got := engine.Choose(&job)
			require.Equal(t, want, got, "%v", kind)
			require.Equal(t, wantNode == nil, node == nil)
			if node != nil {
				require.Equal(t, wantNode.Name(), node.Name())
			}
		}
	}
	agree()
	r, err := engine.Repairer(placement.Repair{Every: 1})
	require.NoError(t, err)
	r.Admitted()
	job := task("large", whole(2))
	found, ok := r.Admit(&job)
	require.True(t, ok)
	require.NoError(t, r.Apply(found.Moves))
	agree()
	assert.Equal(t, "b", engine.Locate("small").Name())
	require.NoError(t, engine.Place(found.Node, placement.Assignment{Task: job, Spot: found.Spot}))
	agree()
	require.ErrorIs(t, engine.Apply(found.Moves), placement.ErrBadMove)
	agree()
	_, err = engine.Repairer(placement.Repair{})
	require.ErrorIs(t, err, placement.ErrBadRepair)
}

func TestNewRepairerErrors(t *testing.T) {
	t.Parallel()
	c := newCluster(t, uncut("a", 1))
	for field, rule := range map[string]placement.Repair{
		"every 0":   {},
		"moves -1":  {Every: 1, Moves: -1},
		"moves 65":  {Every: 1, Moves: 65},
		"looks -2":  {Every: 1, Looks: -2},
		"least -1":  {Every: 1, Least: -1},
		"gain -100": {Every: 1, Gain: -100},
	} {
		_, err := placement.NewRepairer(c, placement.FirstFit(), rule)
		require.ErrorIs(t, err, placement.ErrBadRepair)
		require.ErrorContains(t, err, field)
	}
	_, err := placement.NewRepairer(nil, placement.FirstFit(), placement.Repair{Every: 1})
	require.ErrorIs(t, err, placement.ErrBadRepair)
	_, err = placement.NewRepairer(c, nil, placement.Repair{Every: 1})
	require.ErrorIs(t, err, placement.ErrBadRepair)
}

// TestApplyErrors: a list that cannot be carried out changes nothing.
func TestApplyErrors(t *testing.T) {
	t.Parallel()
	c := newCluster(t, uncut("a", 1), uncut("b", 1))
	place(t, c, "a", at("x", fraction(400), 0))
	place(t, c, "b", at("y", fraction(700), 0))
	good := placement.Move{Task: "y", From: site("b", 0, 0)}
	for name, bad := range map[string]struct {
		moves []placement.Move
		want  error
	}{
		"unknown task":        {[]placement.Move{good, {Task: "z", From: site("a", 0, 0), To: site("b", 0, 0)}}, placement.ErrBadMove},
		"other node":          {[]placement.Move{good, {Task: "x", From: site("b", 0, 0), To: site("b", 0, 0)}}, placement.ErrBadMove},
		"other GPU":           {[]placement.Move{good, {Task: "x", From: site("a", 0, 1), To: site("b", 0, 0)}}, placement.ErrBadMove},
		"from nowhere":        {[]placement.Move{good, {Task: "x", To: site("b", 0, 0)}}, placement.ErrBadMove},
		"lost":                {[]placement.Move{good}, placement.ErrBadMove},
		"stopped twice":       {[]placement.Move{good, good}, placement.ErrBadMove},
		"no room":             {[]placement.Move{good, {Task: "y", To: site("a", 0, 0)}}, placement.ErrRefused},
		"unknown node":        {[]placement.Move{good, {Task: "y", To: site("c", 0, 0)}}, placement.ErrUnknownNode},
		"no such GPU":         {[]placement.Move{good, {Task: "y", To: site("b", 0, 7)}}, placement.ErrBadSpot},
		"taken, then no room": {[]placement.Move{{Task: "x", From: site("a", 0, 0), To: site("b", 0, 0)}}, placement.ErrRefused},
	} {
		a, b := c.Node("a"), c.Node("b")
		require.ErrorIs(t, c.Apply(bad.moves), bad.want, name)
		assert.Same(t, a, c.Node("a"), name)
		assert.Same(t, b, c.Node("b"), name)
		assert.Same(t, a, c.Locate("x"), name)
		assert.Same(t, b, c.Locate("y"), name)
	}
	r := repairer(t, c, placement.Repair{}, 0)
	move := []placement.Move{{Task: "x", From: site("a", 0, 0), To: site("a", 0, 0)}}
	require.ErrorIs(t, r.Apply(move), placement.ErrNoBudget)
	require.NoError(t, c.Apply(move))
	require.NoError(t, c.Apply(nil))
}

// Moving two halves together makes room for a whole GPU.
func ExampleRepairer() {
	c, err := placement.NewCluster([]placement.NodeSpec{
		{Name: "a", CPU: 64_000, GPUs: make([]placement.GPUSpec, 1)},
		{Name: "b", CPU: 64_000, GPUs: make([]placement.GPUSpec, 1)},
	})
	if err != nil {
		panic(err)
	}
	repair, err := placement.NewRepairer(c, placement.FirstFit(), placement.Repair{Every: 2})
	if err != nil {
		panic(err)
	}
	for _, node := range []string{"a", "b"} {
		half := placement.Task{ID: "half on " + node, Shape: fragmentation.Shape{GPUs: 1, Milli: 500}}
		if err := c.Place(node, placement.Assignment{Task: half, Spot: placement.Spot{GPUs: placement.GPUs(0)}}); err != nil {
			panic(err)
		}
		repair.Admitted()
	}
	whole := placement.Task{ID: "whole", Shape: fragmentation.Shape{GPUs: 1, Milli: 1000}}
	rescue, ok := repair.Admit(&whole)
	fmt.Println(ok)
	for _, m := range rescue.Moves {
		fmt.Printf("%s: from %s to %s\n", m.Task, m.From.Node, m.To.Node)
	}
	fmt.Println("then whole to", rescue.Node)
	// Output:
	// true
	// half on a: from a to b
	// then whole to a
}
