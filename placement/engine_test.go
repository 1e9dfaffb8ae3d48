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

// choosePlainly is the decision without a memory: every node is asked.
func choosePlainly(p placement.Policy, nodes []*placement.Node, job *placement.Task) (*placement.Node, placement.Choice) {
	var best placement.Choice
	var at *placement.Node
	refused := placement.Refusal{}
	for _, n := range nodes {
		c := p.Choose(n, job)
		switch {
		case !c.OK():
			refused.Kind = max(refused.Kind, c.Refusal.Kind)
			refused.Evictable = refused.Evictable || c.Refusal.Evictable
		case at == nil || c.Score > best.Score:
			at, best = n, c
		}
	}
	switch {
	case at != nil:
		return at, best
	case len(nodes) == 0:
		return nil, placement.Choice{Refusal: placement.Refusal{Kind: placement.NoGPU}}
	default:
		return nil, placement.Choice{Refusal: refused}
	}
}

// engineMachine drives an engine and a cluster alike.
type engineMachine struct {
	policy  namedPolicy
	engine  *placement.Engine
	cluster *placement.Cluster
	kinds   []fragmentation.Shape
	views   []heldView
	tasks   []string
	next    int
}

// heldView is a view with the nodes it had when it was handed out.
type heldView struct {
	view  *placement.View
	nodes []*placement.Node
}

func enginePolicies(t require.TestingT) []namedPolicy {
	list := policies(t)
	fgd, err := fragmentation.NewFGD(plainMix())
	require.NoError(t, err)
	byName, err := placement.ByValue(fgd, 40, func(n *placement.Node, _ *placement.Task, _ placement.Spot) int64 {
		return int64(n.Name()[len(n.Name())-1])
	})
	require.NoError(t, err)
	picky := fragmentation.Shape{CPU: 1000, GPUs: 1, Milli: 250, Models: "G2"}
	fill, err := fragmentation.NewFill(append(plainMix(), fragmentation.Entry{Shape: picky, Count: 9}), fragmentation.FillOptions{})
	require.NoError(t, err)
	migFGD, err := fragmentation.NewMIGFGD(migMix())
	require.NoError(t, err)
	by := func(v fragmentation.Value, step int64, order placement.Order) *placement.ValuePolicy {
		p, err := placement.ByValue(v, step, order)
		require.NoError(t, err)
		return p
	}
	instances := by(migFGD, 1, placement.SmallestFirst)
	return append(
		list,
		namedPolicy{name: "odd answers", policy: odd{}},
		namedPolicy{name: "an order that looks at names", policy: byName},
		namedPolicy{name: "fill", policy: by(fill, 160, placement.NodeOrder)},
		namedPolicy{name: "used first by position", policy: usedFirst(t, migFGD, 1, placement.SmallestFirst)},
		namedPolicy{name: "index, used first", policy: byIndex(t, twoIndexes()["a100-40gb"]).UsedFirst()},
		namedPolicy{name: "split", policy: placement.SplitMIG(instances, by(fill, 1, placement.SmallestFirst))},
	)
}

// odd is a policy from elsewhere, whose answers are of kinds and at starts that no
// other one gives.
type odd struct{}

func (odd) Choose(n *placement.Node, job *placement.Task) placement.Choice {
	c := placement.FirstFit().Choose(n, job)
	c.Score = int64(n.Len())
	switch {
	case c.Refusal.Kind == placement.LackCPU:
		c.Refusal.Kind = 200
	case c.OK() && job.Shape.GPUs == 1:
		c.Spot.Anywhere, c.Spot.Start = true, 1000
	case c.OK():
		c.Refusal.Evictable = true
	}
	return c
}

// same asks both about a few tasks.
func (m *engineMachine) same(t *rapid.T, view *placement.View, nodes []*placement.Node) {
	for range 3 {
		job := task("probe", rapid.SampledFrom(m.kinds).Draw(t, "kind"))
		want, wantChoice := choosePlainly(m.policy.policy, nodes, &job)
		got, gotChoice := view.Choose(&job)
		assert.Same(t, want, got, "%s: %+v", m.policy.name, job.Shape)
		if want == nil {
			wantChoice.Spot, wantChoice.Score = placement.Spot{}, 0 // they mean nothing
		}
		assert.Equal(t, wantChoice, gotChoice, "%s: %+v", m.policy.name, job.Shape)
	}
}

func (m *engineMachine) Place(t *rapid.T) {
	shape := rapid.SampledFrom(m.kinds).Draw(t, "kind")
	job := task(fmt.Sprintf("t%d", m.next), shape)
	m.next++
	n, choice := m.engine.Choose(&job)
	if n == nil {
		return
	}
	spot := choice.Spot
	spot.Anywhere = spot.Anywhere || rapid.IntRange(0, 5).Draw(t, "anywhere") == 0
	a := placement.Assignment{Task: job, Spot: spot}
	m.keep(t)
	assert.Equal(t, m.cluster.Place(n.Name(), a) == nil, m.engine.Place(n.Name(), a) == nil)
	require.ErrorIs(t, m.engine.Place(n.Name(), a), placement.ErrDuplicate)
	m.tasks = append(m.tasks, job.ID)
}

func (m *engineMachine) Release(t *rapid.T) {
	if len(m.tasks) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.tasks)-1).Draw(t, "task")
	m.keep(t)
	assert.Equal(t, m.cluster.Release(m.tasks[i]), m.engine.Release(m.tasks[i]))
	assert.False(t, m.engine.Release(m.tasks[i]))
	m.tasks = slices.Delete(m.tasks, i, i+1)
}

func (m *engineMachine) Put(t *rapid.T) {
	spec := genSpec(t, fmt.Sprintf("n%d", rapid.IntRange(0, 12).Draw(t, "name")))
	spec.Generation = rapid.Int64Range(0, 2).Draw(t, "generation")
	m.keep(t)
	_, err := m.cluster.Put(spec, nil)
	require.NoError(t, err)
	_, err = m.engine.Put(spec, nil)
	require.NoError(t, err)
}

func (m *engineMachine) Remove(t *rapid.T) {
	name := fmt.Sprintf("n%d", rapid.IntRange(0, 12).Draw(t, "name"))
	m.keep(t)
	assert.Equal(t, m.cluster.Remove(name), m.engine.Remove(name))
}

func (m *engineMachine) SetPolicy(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "really") > 0 {
		return
	}
	m.policy = drawPolicy(t)
	m.engine.SetPolicy(m.policy.policy)
	m.views = nil // they decide by the policy of their time
}

func (m *engineMachine) keep(t *rapid.T) {
	if rapid.Bool().Draw(t, "keep the view") {
		v := m.engine.View()
		m.views = append(m.views, heldView{v, slices.Collect(v.Nodes())})
	}
}

// Back asks an old view, which makes what is remembered go back in time.
func (m *engineMachine) Back(t *rapid.T) {
	if len(m.views) == 0 {
		return
	}
	h := m.views[rapid.IntRange(0, len(m.views)-1).Draw(t, "view")]
	require.Equal(t, h.nodes, slices.Collect(h.view.Nodes()))
	assert.Equal(t, len(h.nodes), h.view.Len())
	m.same(t, h.view, h.nodes)
}

func (m *engineMachine) Check(t *rapid.T) {
	want := slices.Collect(m.cluster.Nodes())
	got := slices.Collect(m.engine.View().Nodes())
	require.Len(t, got, len(want))
	assert.Equal(t, len(want), m.engine.Len())
	assert.Equal(t, m.cluster.Largest(), m.engine.Largest())
	for i, n := range got {
		assert.Equal(t, want[i].Name(), n.Name())
		assert.Equal(t, stateText(want[i]), stateText(n))
		assert.Same(t, n, m.engine.Node(n.Name()))
	}
	m.same(t, m.engine.View(), got)
}

func TestEngine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, runEngine)
}

func FuzzEngine(f *testing.F) { f.Fuzz(rapid.MakeFuzz(runEngine)) }

func runEngine(t *rapid.T) {
	specs := genClusterSpecs(t)
	m := &engineMachine{policy: drawPolicy(t)}
	if rapid.Bool().Draw(t, "clones") {
		for i := range 6 {
			clone := specs[0]
			clone.Name = fmt.Sprintf("n%d", 5+i)
			specs = append(specs, clone)
		}
	}
	var err error
	m.cluster, err = placement.NewCluster(specs)
	require.NoError(t, err)
	owned, err := placement.NewCluster(specs)
	require.NoError(t, err)
	m.engine = placement.NewEngine(owned, m.policy.policy)
	for range rapid.IntRange(1, 6).Draw(t, "kinds") {
		m.kinds = append(m.kinds, genShapeFor(t, specs[rapid.IntRange(0, len(specs)-1).Draw(t, "for")]))
	}
	if rapid.IntRange(0, 3).Draw(t, "a bad kind") == 0 {
		m.kinds = append(m.kinds, fragmentation.Shape{CPU: -1}, fragmentation.Shape{GPUs: 1, Profile: "nonsense"})
	}
	t.Repeat(rapid.StateMachineActions(m))
}

// A kind that asks for no main memory stands for those that do, but not in what
// they are refused for.
func TestEngineRefusals(t *testing.T) {
	t.Parallel()
	full, small := uncut("full", 2), uncut("small", 2)
	full.Memory, small.CPU = 100, 500
	needy := fraction(300)
	needy.Memory = 200
	engine := placement.NewEngine(newCluster(t, full, small), placement.FirstFit())
	choose := func(s fragmentation.Shape) (string, placement.Choice) {
		job := task("job", s)
		n, choice := engine.Choose(&job)
		if n == nil {
			return "", choice
		}
		return n.Name(), choice
	}
	refused := func(s fragmentation.Shape, kind placement.Kind, evictable bool) {
		t.Helper()
		name, choice := choose(s)
		assert.Empty(t, name)
		assert.Equal(t, placement.Refusal{Kind: kind, Evictable: evictable}, choice.Refusal)
	}
	refused(needy, placement.LackMemory, false)
	name, _ := choose(fraction(300))
	assert.Equal(t, "full", name)

	require.NoError(t, engine.Place("full", at("all", whole(2), 0, 1)))
	refused(fraction(300), placement.LackGPU, true)
	refused(needy, placement.LackMemory, false)
	needy.Memory = 50
	refused(needy, placement.LackGPU, true)

	_, err := engine.Put(uncut("wide", 1), []placement.Assignment{at("some", fraction(900), 0)})
	require.NoError(t, err)
	needy.Memory = 200
	refused(needy, placement.LackGPU, true)
	require.True(t, engine.Release("some"))
	name, _ = choose(needy)
	assert.Equal(t, "wide", name)
	for range 3 {
		for n := range engine.View().Nodes() {
			require.True(t, engine.Remove(n.Name()))
			break
		}
	}
	refused(needy, placement.NoGPU, false)
	n, choice := new(placement.View).Choose(&placement.Task{Shape: needy})
	assert.Nil(t, n)
	assert.Equal(t, placement.Refusal{Kind: placement.NoGPU}, choice.Refusal)
}

// The best GPUs are on nodes without the CPU.
func TestEngineLacksCPU(t *testing.T) {
	t.Parallel()
	value, err := fragmentation.NewMIGFGD(migMix())
	require.NoError(t, err)
	policy := byValue(t, value, 1, placement.SmallestFirst)
	for _, short := range []int{1, 10, 100} { // more than are tried one by one
		var specs []placement.NodeSpec
		for i := range short + 2 {
			spec := cut(t, fmt.Sprintf("n%03d", i), "a100-40gb", 2)
			if i < short {
				spec.CPU = 1500
			}
			specs = append(specs, spec)
		}
		engine := placement.NewEngine(newCluster(t, specs...), policy)
		for i := range short {
			require.NoError(t, engine.Place(specs[i].Name, instanceAt(fmt.Sprintf("t%d", i), "3g.20gb", 0, 4)))
		}
		job := task("job", instance("1g.5gb"))
		assertSameChoice(t, policy, engine.View(), slices.Collect(engine.Nodes()), &job)
		n, _ := engine.Choose(&job)
		require.NotNil(t, n)
		assert.Equal(t, specs[short].Name, n.Name())
		require.NoError(t, engine.Place(specs[short].Name, instanceAt("u", "3g.20gb", 1, 4)))
		assertSameChoice(t, policy, engine.View(), slices.Collect(engine.Nodes()), &job)
	}
}

func drawPolicy(t *rapid.T) namedPolicy {
	all := enginePolicies(t)
	return all[rapid.IntRange(0, len(all)-1).Draw(t, "policy")]
}

// More kinds of cut GPU than lists are kept for.
func TestEngineManyClasses(t *testing.T) {
	t.Parallel()
	var specs []placement.NodeSpec
	for i := range 8300 {
		spec := cut(t, fmt.Sprintf("n%04d", i), "a100-40gb", 1)
		spec.Model = fmt.Sprintf("G%04d", i)
		specs = append(specs, spec)
	}
	engine := placement.NewEngine(newCluster(t, specs...), placement.FirstFit())
	shape := instance("4g.20gb")
	for _, models := range []fragmentation.Models{"", "G8299", "G0007|G8250"} {
		shape.Models = models
		job := task("job "+string(models), shape)
		nodes := slices.Collect(engine.Nodes())
		assertSameChoice(t, placement.FirstFit(), engine.View(), nodes, &job)
		n, choice := engine.Choose(&job)
		require.NotNil(t, n)
		require.NoError(t, engine.Place(n.Name(), placement.Assignment{Task: job, Spot: choice.Spot}))
		assertSameChoice(t, placement.FirstFit(), engine.View(), slices.Collect(engine.Nodes()), &job)
	}
	for i, spec := range specs { // until there are few
		spec.Model = fmt.Sprintf("G%d", i%3)
		_, err := engine.Put(spec, nil)
		require.NoError(t, err)
	}
	shape.Models = "G2"
	job := task("job", shape)
	require.NoError(t, engine.Place("n0002", instanceAt("t", "4g.20gb", 0, 0)))
	assertSameChoice(t, placement.FirstFit(), engine.View(), slices.Collect(engine.Nodes()), &job)
}

// More shapes than GPUs are ranked for.
func TestEngineManyRankings(t *testing.T) {
	t.Parallel()
	policy := byIndex(t, twoIndexes()["a100-40gb"])
	engine := placement.NewEngine(newCluster(t, cut(t, "a", "a100-40gb", 2), cut(t, "b", "a100-40gb", 2)), policy)
	for round := range 3 {
		for i := range 90 {
			shape := instance("2g.10gb")
			shape.Models = fragmentation.Models(fmt.Sprintf("a100-40gb|G%d", i))
			job := task("job", shape)
			assertSameChoice(t, policy, engine.View(), slices.Collect(engine.Nodes()), &job)
			if i == 45 {
				require.NoError(t, engine.Place("a", instanceAt(fmt.Sprintf("t%d", round), "2g.10gb", 0, 2*round)))
			}
		}
	}
}
