package placement_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
	"github.com/gpushare/gpushare/placement"
)

// mender drives a cluster with a Repairer: tasks come, go, are rescued, and moved
// in the background.
type mender struct {
	specs    []placement.NodeSpec
	cluster  *placement.Cluster
	policy   placement.Policy
	repair   *placement.Repairer
	every    int
	worth    func(*fragmentation.State) int64
	admitted int
	moved    int
	ids      []string
	next     int
}

func pinned(t *placement.Task) bool { return strings.HasSuffix(t.ID, "pinned") }

func (m *mender) books() []placement.Recorded {
	var all []placement.Recorded
	for n := range m.cluster.Nodes() {
		for a := range n.Assignments() {
			all = append(all, placement.Recorded{Node: n.Name(), Assignment: a})
		}
	}
	return all
}

// step carries out moves one by one on a copy of the books, which must be legal
// after each, and then all together on the cluster.
func (m *mender) step(t *rapid.T, moves []placement.Move) {
	books := m.books()
	off := map[string]placement.Task{}
	for _, move := range moves {
		task := off[move.Task]
		at := slices.IndexFunc(books, func(r placement.Recorded) bool { return r.Assignment.Task.ID == move.Task })
		if move.From.Node == "" {
			require.Negative(t, at)
			require.NotEmpty(t, task.ID, "%s comes from nowhere and was not stopped", move.Task)
		} else {
			require.GreaterOrEqual(t, at, 0)
			require.Equal(t, placement.Site{Node: books[at].Node, Spot: books[at].Assignment.Spot}, move.From)
			task = books[at].Assignment.Task
			books = slices.Delete(books, at, at+1)
		}
		require.False(t, pinned(&task), "%s is pinned", move.Task)
		if move.To.Node == "" {
			off[move.Task] = task
		} else {
			delete(off, move.Task)
			books = append(books, placement.Recorded{Node: move.To.Node, Assignment: placement.Assignment{Task: task, Spot: move.To.Spot}})
		}
		_, wrong, err := placement.RebuildCluster(m.specs, books)
		require.NoError(t, err)
		require.Empty(t, wrong, "after %v", move)
	}
	require.Empty(t, off)
	require.NoError(t, m.repair.Apply(moves))
	m.moved += placement.Moved(moves)
	require.LessOrEqual(t, m.moved, m.admitted/m.every, "the budget holds")
	require.Equal(t, m.admitted/m.every-m.moved, m.repair.Spare())
	got := m.books()
	require.ElementsMatch(t, books, got)
}

func (m *mender) place(t *rapid.T, job placement.Task, at placement.Site) {
	require.NoError(t, m.cluster.Place(at.Node, placement.Assignment{Task: job, Spot: at.Spot}))
	m.ids = append(m.ids, job.ID)
	m.admitted++
	m.repair.Admitted()
}

// Arrive offers a task, and asks for a rescue if it is refused.
func (m *mender) Arrive(t *rapid.T) {
	spec := m.specs[rapid.IntRange(0, len(m.specs)-1).Draw(t, "for node")]
	job := task(fmt.Sprintf("t%03d", m.next), genShapeFor(t, spec))
	if rapid.IntRange(0, 4).Draw(t, "pinned") == 0 {
		job.ID += "-pinned"
	}
	m.next++
	node, choice := m.cluster.Choose(m.policy, &job)
	views := slices.Collect(m.cluster.Nodes())
	found, ok := m.repair.Admit(&job)
	require.Equal(t, views, slices.Collect(m.cluster.Nodes()), "a search changes nothing")
	if node != nil {
		require.True(t, ok)
		require.Equal(t, placement.Rescue{Site: placement.Site{Node: node.Name(), Spot: choice.Spot}}, found)
	}
	if !ok {
		return
	}
	if len(found.Moves) == 1 { // it goes where the policy says once the rescued task is there
		move := found.Moves[0]
		after, _, err := placement.RebuildCluster(m.specs, m.books())
		require.NoError(t, err)
		a, _ := after.Locate(move.Task).Assignment(move.Task)
		after.Release(move.Task)
		require.NoError(t, after.Place(found.Node, placement.Assignment{Task: job, Spot: found.Spot}))
		n, choice := after.Choose(m.policy, &a.Task)
		require.Equal(t, placement.Site{Node: n.Name(), Spot: choice.Spot}, move.To)
	}
	m.step(t, found.Moves)
	m.place(t, job, found.Site)
}

// Leave releases a task, and lets the background have a move.
func (m *mender) Leave(t *rapid.T) {
	if len(m.ids) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.ids)-1).Draw(t, "task")
	require.True(t, m.cluster.Release(m.ids[i]))
	m.ids = slices.Delete(m.ids, i, i+1)
	before := m.total()
	moves := m.repair.Improve()
	m.step(t, moves)
	if len(moves) > 0 {
		assert.Greater(t, m.total(), before, "every move raises the worth")
	}
}

func (m *mender) total() int64 {
	sum := int64(0)
	for n := range m.cluster.Nodes() {
		s := n.State()
		sum += m.worth(&s)
	}
	return sum
}

func (m *mender) Check(t *rapid.T) {
	for n := range m.cluster.Nodes() {
		assert.True(t, sound(n.Spec(), bookings(slices.Collect(n.Assignments()))), n.Name())
	}
}

func TestRepairStateMachine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &mender{specs: genClusterSpecs(t), every: rapid.IntRange(1, 3).Draw(t, "every")}
		m.worth = func(s *fragmentation.State) int64 { // whatever: full GPUs are worth a lot
			sum := int64(0)
			for _, g := range s.GPUs {
				sum += g.Left() * g.Left()
			}
			return sum
		}
		var err error
		m.cluster, err = placement.NewCluster(m.specs)
		require.NoError(t, err)
		rule := placement.Repair{Every: m.every, Moves: rapid.IntRange(0, 4).Draw(t, "moves"), Pinned: pinned}
		if rapid.Bool().Draw(t, "worth") {
			rule.Worth = m.worth
			rule.Keep = rapid.Bool().Draw(t, "keep")
		}
		m.policy = rapid.SampledFrom([]placement.Policy{
			placement.FirstFit(), placement.WorstFit(m.cluster.Largest()), placement.BestFit(m.cluster.Largest()), placement.Random(3),
		}).Draw(t, "policy")
		m.repair, err = placement.NewRepairer(m.cluster, m.policy, rule)
		require.NoError(t, err)
		t.Repeat(rapid.StateMachineActions(m))
	})
}

// TestRepairFindsEverySingleMove compares with a search that tries every task on
// every node.
func TestRepairFindsEverySingleMove(t *testing.T) {
	t.Parallel()
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		specs := []placement.NodeSpec{uncut("a", 2), uncut("b", 1), uncut("c", 2)}
		for i := range specs {
			specs[i].CPU = rapid.SampledFrom([]int64{6000, 10_000}).Draw(t, "CPU")
		}
		c, err := placement.NewCluster(specs)
		require.NoError(t, err)
		r, err := placement.NewRepairer(c, placement.FirstFit(), placement.Repair{Every: 1, Moves: 1, Looks: 1000})
		require.NoError(t, err)
		kinds := []string{"no GPU", "fraction", "fraction"}
		for i := range rapid.IntRange(4, 20).Draw(t, "tasks") {
			job := task(fmt.Sprintf("t%d", i), genShapeOf(t, kinds, nil))
			if n, choice := c.Choose(placement.WorstFit(c.Largest()), &job); n != nil {
				require.NoError(t, c.Place(n.Name(), placement.Assignment{Task: job, Spot: choice.Spot}))
				r.Admitted()
			}
		}
		job := task("wanted", genShapeOf(t, []string{"no GPU", "fraction", "whole", "whole"}, nil))
		if n, _ := c.Choose(placement.FirstFit(), &job); n != nil || r.Spare() == 0 {
			return
		}
		_, ok := r.Admit(&job)
		require.Equal(t, singleMove(t, c, &job), ok)
		if ok {
			found++
		}
	})
	if !t.Failed() {
		assert.Positive(t, found, "no case had a rescue")
	}
}

// singleMove reports whether one task can make way for another.
func singleMove(t *rapid.T, c *placement.Cluster, job *placement.Task) bool {
	for n := range c.Nodes() {
		for x := range n.Assignments() {
			without := n.Without(x.Task.ID)
			choice := placement.FirstFit().Choose(without, job)
			if !choice.OK() {
				continue
			}
			with, err := without.With(placement.Assignment{Task: *job, Spot: choice.Spot})
			require.NoError(t, err)
			if with.Fits(&x.Task).Kind == placement.None {
				return true
			}
			for m := range c.Nodes() {
				if m != n && m.Fits(&x.Task).Kind == placement.None {
					return true
				}
			}
		}
	}
	return false
}

// TestRepairEvictsAsFewAsPlanning compares with package plan: beside an empty GPU
// that the refused instance does not accept, no repair moves more than a plan for
// the one GPU destroys.
func TestRepairEvictsAsFewAsPlanning(t *testing.T) {
	t.Parallel()
	compared := 0
	m := lookup(t, "a100-40gb")
	specs := []placement.NodeSpec{cut(t, "full", "a100-40gb", 1), cut(t, "empty", "a100-40gb", 1)}
	rapid.Check(t, func(t *rapid.T) {
		c, err := placement.NewCluster(specs)
		require.NoError(t, err)
		profiles := []string{"1g.5gb", "1g.5gb", "1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb"}
		state := plan.State{Model: m}
		for i := range rapid.IntRange(2, 7).Draw(t, "instances") {
			n := c.Node("full")
			shape := instance(rapid.SampledFrom(profiles).Draw(t, "profile"))
			free := freeSpots(n, shape)
			if len(free) == 0 {
				continue
			}
			a := placement.Assignment{Task: task(fmt.Sprintf("t%d", i), shape), Spot: rapid.SampledFrom(free).Draw(t, "spot")}
			busy := rapid.IntRange(0, 3).Draw(t, "pinned") == 0
			if busy {
				a.Task.ID += "-pinned"
			}
			require.NoError(t, c.Place("full", a))
			state.Instances = append(state.Instances, plan.Instance{
				Instance: mig.Instance{Profile: shape.Profile, Start: a.Spot.Start}, Busy: busy,
			})
		}
		job := task("wanted", instance(rapid.SampledFrom([]string{"2g.10gb", "3g.20gb", "4g.20gb"}).Draw(t, "wanted")))
		job.Shape.Models = "only-full"
		full := c.Node("full")
		spec := full.Spec()
		spec.Model = "only-full"
		_, err = c.Put(spec, assignments(full))
		require.NoError(t, err)
		if fits(c.Node("full"), job.Shape).Kind == placement.None {
			return
		}
		r, err := placement.NewRepairer(c, placement.FirstFit(), placement.Repair{Every: 1, Moves: 8, Looks: 1000, Pinned: pinned})
		require.NoError(t, err)
		for range 8 {
			r.Admitted()
		}
		found, ok := r.Admit(&job)
		occupied := state
		occupied.Instances = nil
		for _, in := range state.Instances { // idle ones of the wanted profile are in use too
			if in.Profile == job.Shape.Profile {
				in.Busy = true
			}
			occupied.Instances = append(occupied.Instances, in)
		}
		planned, planErr := plan.Admit(occupied, mig.Demand{job.Shape.Profile: 1})
		if !ok {
			return // a larger one is in the way, or there is no way
		}
		require.NoError(t, planErr, "what is moved could be planned")
		destroyed, _ := planned.Count()
		wanted, err := m.Profile(job.Shape.Profile)
		require.NoError(t, err)
		for _, step := range planned.Steps {
			p, err := m.Profile(step.Profile)
			require.NoError(t, err)
			if step.Op == plan.Destroy && p.Size >= wanted.Size {
				return
			}
		}
		require.Equal(t, destroyed, placement.Moved(found.Moves))
		compared++
	})
	if !t.Failed() {
		assert.Positive(t, compared)
	}
}
