package placement_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// mostFloating bounds the tasks placed anywhere per node, since the model tries
// all their spots.
const mostFloating = 3

// machine drives a cluster and a list of what is placed on it.
type machine struct {
	specs   []placement.NodeSpec
	cluster *placement.Cluster
	placed  []placement.Recorded // the model: what is there, in order of arrival
	views   []snapshot           // handed out before
	next    int                  // number of the next task
}

// snapshot is a view with what it said when it was handed out.
type snapshot struct {
	node  *placement.Node
	state string
	tasks []placement.Assignment
}

func (m *machine) on(node string) []placement.Assignment {
	var list []placement.Assignment
	for _, r := range m.placed {
		if r.Node == node {
			list = append(list, r.Assignment)
		}
	}
	return list
}

func (m *machine) drawSpec(t *rapid.T) placement.NodeSpec {
	return m.specs[rapid.IntRange(0, len(m.specs)-1).Draw(t, "node")]
}

// Place asks for a spot that may be free, taken, out of range or unknown.
func (m *machine) Place(t *rapid.T) {
	spec := m.drawSpec(t)
	shape := genShapeFor(t, spec)
	spot := genSpot(t, len(spec.GPUs), shape)
	if rapid.Bool().Draw(t, "free spot") {
		if free := freeSpots(m.cluster.Node(spec.Name), shape); len(free) > 0 {
			spot = rapid.SampledFrom(free).Draw(t, "which")
		}
	}
	m.place(t, spec, placement.Assignment{Task: task(fmt.Sprintf("t%02d", m.next), shape), Spot: spot})
}

func (m *machine) place(t *rapid.T, spec placement.NodeSpec, a placement.Assignment) {
	have := m.on(spec.Name)
	known, floating := split(append(slices.Clip(have), a))
	if len(floating) > mostFloating {
		return // enough tasks anywhere
	}
	before := m.cluster.Node(spec.Name)
	err := m.cluster.Place(spec.Name, a)
	assert.Equal(t, feasible(spec, known, floating), err == nil, "%v on %v: %v", a, have, err)
	if err != nil {
		assert.Same(t, before, m.cluster.Node(spec.Name), "nothing is changed")
		assert.Nil(t, m.cluster.Locate(a.Task.ID))
		return
	}
	m.next++
	m.placed = append(m.placed, placement.Recorded{Node: spec.Name, Assignment: a})
	m.views = append(m.views, snap(before))

	// Release is the exact inverse, and place again is the same.
	after := m.cluster.Node(spec.Name)
	undone := after.Without(a.Task.ID)
	assertSameNode(t, before, undone)
	again, err := undone.With(a)
	require.NoError(t, err)
	assertSameNode(t, after, again)
}

// PlaceChosen places a task where a policy says.
func (m *machine) PlaceChosen(t *rapid.T) {
	shape := genShapeFor(t, m.drawSpec(t))
	p := rapid.SampledFrom(policies(t)).Draw(t, "policy")
	job := task(fmt.Sprintf("t%02d", m.next), shape)
	n, choice := m.cluster.Choose(p.policy, &job)
	if n == nil {
		return // fits nowhere
	}
	_, floating := split(m.on(n.Name()))
	if len(floating) == 0 { // else the spot may be free by luck of the search
		assert.True(t, sound(n.Spec(), append(bookings(m.on(n.Name())), booking{shape, choice.Spot})))
	}
	require.NoError(t, m.cluster.Place(n.Name(), placement.Assignment{Task: job, Spot: choice.Spot}))
	m.next++
	m.placed = append(m.placed, placement.Recorded{Node: n.Name(), Assignment: placement.Assignment{Task: job, Spot: choice.Spot}})
}

func bookings(all []placement.Assignment) []booking {
	known, _ := split(all)
	return known
}

// Release takes off a task that is there.
func (m *machine) Release(t *rapid.T) {
	if len(m.placed) == 0 {
		return // nothing is placed
	}
	i := rapid.IntRange(0, len(m.placed)-1).Draw(t, "task")
	r := m.placed[i]
	before := m.cluster.Node(r.Node)
	require.Equal(t, before, m.cluster.Locate(r.Assignment.Task.ID))
	assert.True(t, m.cluster.Release(r.Assignment.Task.ID))
	m.placed = slices.Delete(m.placed, i, i+1)
	m.views = append(m.views, snap(before))

	after := m.cluster.Node(r.Node)
	assert.False(t, m.cluster.Release(r.Assignment.Task.ID), "release twice")
	assert.Same(t, after, m.cluster.Node(r.Node))
	back, err := after.With(r.Assignment)
	require.NoError(t, err)
	assertSameNode(t, before, back)
}

// PlaceTwice enters a task that is on a node already.
func (m *machine) PlaceTwice(t *rapid.T) {
	if len(m.placed) == 0 {
		return // nothing is placed
	}
	r := m.placed[rapid.IntRange(0, len(m.placed)-1).Draw(t, "task")]
	node := m.drawSpec(t).Name
	require.ErrorIs(t, m.cluster.Place(node, r.Assignment), placement.ErrDuplicate)
	require.ErrorIs(t, m.cluster.Place("nowhere", r.Assignment), placement.ErrUnknownNode)
}

// Rebuild starts again from the records, in any order.
func (m *machine) Rebuild(t *rapid.T) {
	records := m.placed
	if len(records) > 1 {
		records = rapid.Permutation(records).Draw(t, "order of records")
	}
	c, wrong, err := placement.RebuildCluster(m.specs, records)
	require.NoError(t, err)
	require.Empty(t, wrong)
	for n := range m.cluster.Nodes() {
		assertSameNode(t, n, c.Node(n.Name()))
	}
	m.cluster = c
}

// Restart is Rebuild with records among them that contradict the others.
func (m *machine) Restart(t *rapid.T) {
	if len(m.placed) == 0 {
		return // nothing is placed
	}
	valid := m.placed[rapid.IntRange(0, len(m.placed)-1).Draw(t, "task")]
	twice := valid
	twice.Assignment.Task.Shape = fraction(1)
	stranger := placement.Recorded{Node: "nowhere", Assignment: at("stranger", fraction(1), 0)}
	far := placement.Recorded{Node: m.specs[0].Name, Assignment: at("far", whole(1), 63)}
	negative := placement.Recorded{Node: m.specs[0].Name, Assignment: at("negative", fraction(-5), 0)}
	nameless := placement.Recorded{Node: m.specs[0].Name, Assignment: at("", fraction(1), 0)}
	records := slices.Concat(m.placed, []placement.Recorded{twice, stranger, far, negative, nameless})
	if valid.Assignment.Spot.Anywhere {
		// Tasks at known spots are entered first, so there the fake would win.
		records = slices.Delete(records, len(m.placed), len(m.placed)+1)
	}
	c, wrong, err := placement.RebuildCluster(m.specs, records)
	require.NoError(t, err)
	require.Len(t, wrong, len(records)-len(m.placed), "each is reported by itself")
	for i, w := range wrong {
		bad := records[len(m.placed)+i]
		assert.Equal(t, bad.Node, w.Node)
		assert.Equal(t, bad.Assignment, w.Assignment)
		assert.Contains(t, w.String(), fmt.Sprintf("%q", bad.Assignment.Task.ID))
		assert.Contains(t, w.String(), fmt.Sprintf("%q", bad.Node))
	}
	for n := range m.cluster.Nodes() {
		assertSameNode(t, n, c.Node(n.Name()))
	}
}

// Check compares everything with the model.
func (m *machine) Check(t *rapid.T) {
	var names []string
	for n := range m.cluster.Nodes() {
		names = append(names, n.Name())
	}
	assert.Equal(t, len(m.specs), m.cluster.Len())
	for i, spec := range m.specs {
		assert.Equal(t, spec.Name, names[i], "the order of nodes")
		assert.Equal(t, spec.Generation, m.cluster.Node(spec.Name).Spec().Generation)
		n, want := m.cluster.Node(spec.Name), m.on(spec.Name)
		slices.SortFunc(want, func(a, b placement.Assignment) int { return cmp.Compare(a.Task.ID, b.Task.ID) })
		assert.Equal(t, len(want), n.Len())
		for i, a := range assignments(n) {
			if want[i].Task.Shape.GPUs == 0 {
				want[i].Spot = placement.Spot{} // there is no GPU to be unknown
			}
			assert.Equal(t, want[i], a)
			got, found := n.Assignment(a.Task.ID)
			assert.True(t, found)
			assert.Equal(t, a, got)
			assert.Same(t, n, m.cluster.Locate(a.Task.ID))
		}
		known, floating := split(want)
		assert.True(t, explains(spec, n.State(), known, floating), "%s is not what %v leave", stateText(n), want)
		capacity := stateOf(spec, nil)
		assert.Equal(t, capacity, n.Capacity())
		assert.Same(t, n, n.Without("never placed"))
	}
	assert.False(t, m.cluster.Release("never placed"))
	for _, v := range m.views {
		assert.Equal(t, v, snap(v.node), "a view that was handed out has changed")
	}
}

func snap(n *placement.Node) snapshot { return snapshot{n, stateText(n), assignments(n)} }

// stateText is all that a state says, in a form that failed tests can show.
func stateText(n *placement.Node) string {
	s := n.State()
	return s.String()
}

// assertSameNode compares all that a view says, and what Clustering makes of
// it, which looks at the kinds of its tasks.
func assertSameNode(t *rapid.T, want, got *placement.Node) {
	assert.Equal(t, stateText(want), stateText(got))
	assert.Equal(t, assignments(want), assignments(got))
	clustering := placement.Clustering(placement.Largest{CPU: 64000, GPU: 4000})
	for _, shape := range []fragmentation.Shape{fraction(1), whole(1), whole(2), instance("1g.5gb"), instance("3g.40gb")} {
		job := task("probe", shape)
		assert.Equal(t, clustering.Choose(want, &job), clustering.Choose(got, &job))
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	rapid.Check(t, runMachine)
}

func FuzzCluster(f *testing.F) { f.Fuzz(rapid.MakeFuzz(runMachine)) }

// An action that cannot be done does nothing. It must not skip: a fuzzer's input
// that asks for nothing else would then count as a failure.
func runMachine(t *rapid.T) {
	m := &machine{specs: genClusterSpecs(t)}
	c, err := placement.NewCluster(m.specs)
	require.NoError(t, err)
	m.cluster = c
	t.Repeat(rapid.StateMachineActions(m))
}
