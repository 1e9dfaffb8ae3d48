package placement_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// brimful returns tasks placed anywhere that fill GPUs to the last milli: about
// the hardest search there is.
func brimful(gpus int, seed uint64) []placement.Assignment {
	rng := rand.New(rand.NewPCG(seed, 0))
	var all []placement.Assignment
	for g := range gpus {
		for left := int64(1000); left > 0; {
			s := fraction(min(left, 1+rng.Int64N(600)))
			s.CPU = 0
			left -= s.Milli
			all = append(all, somewhere(fmt.Sprintf("t%d-%d", g, left), s))
		}
	}
	return all
}

// A task that runs is not lost because a search gave up: it was once reported as
// a contradiction and left out.
func TestRebuildLosesNoTask(t *testing.T) {
	t.Parallel()
	spec := uncut("n", 8)
	unsettled := 0
	for seed := range uint64(40) {
		recorded := brimful(8, seed)
		for _, bound := range []int{placement.Tired, 0, placement.Tireless} {
			n, wrong, err := placement.RebuildBound(spec, recorded, bound)
			require.NoError(t, err)
			require.Empty(t, wrong)
			assert.Equal(t, len(recorded), n.Len())
			s := n.State()
			assert.Zero(t, s.Left())
			if bound == placement.Tired {
				assert.False(t, n.Settled())
			}
			if !n.Settled() {
				unsettled++
			}
		}
	}
	assert.Greater(t, unsettled, 40, "some are too hard for all bounds")
}

// Where it is proven that the tasks do not fit together, those are judged one by
// one, and a search that gives up about one of them still loses nothing.
func TestRebuildGivesUpOneByOne(t *testing.T) {
	t.Parallel()
	all := []placement.Assignment{
		somewhere("a", fraction(400)), somewhere("b", fraction(400)),
		somewhere("c", fraction(600)), somewhere("d", fraction(600)),
	}
	for _, tt := range []struct {
		name    string
		tasks   int // the first of all
		settled bool
	}{{"beside the others", 3, true}, {"nowhere beside the others", 4, false}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			recorded := append(slices.Clone(all[:tt.tasks]), somewhere("too much", fraction(999)))
			n, wrong, err := placement.RebuildBound(uncut("n", 2), recorded, placement.Tired)
			require.NoError(t, err)
			require.Len(t, wrong, 1)
			require.ErrorIs(t, wrong[0].Err, placement.ErrRefused)
			assert.Equal(t, "too much", wrong[0].Assignment.Task.ID)
			assert.Equal(t, tt.tasks, n.Len())
			assert.Equal(t, tt.settled, n.Settled())
		})
	}
}

// A node that is not settled keeps its books of CPU and memory, offers no GPU, and
// comes back as soon as spots are found.
func TestUnsettled(t *testing.T) {
	t.Parallel()
	spec := uncut("n", 2)
	spec.GPUs = append(spec.GPUs, cut(t, "", "a100-40gb", 1).GPUs...)
	recorded := []placement.Assignment{
		somewhere("a", fraction(400)), somewhere("b", fraction(400)), somewhere("c", instance("1g.5gb")),
		at("known", fraction(100), 1),
	}
	n, wrong, err := placement.RebuildBound(spec, recorded, placement.Tired)
	require.NoError(t, err)
	require.Empty(t, wrong)
	require.False(t, n.Settled())
	assert.EqualValues(t, 60000, n.State().CPU)
	for _, s := range []fragmentation.Shape{fraction(1), whole(1), instance("1g.5gb")} {
		assert.True(t, fits(n, s).Evictable)
		assert.NotEqual(t, placement.None, fits(n, s).Kind, "%+v", s)
		_, err := placement.WithBound(n, somewhere("x", s), placement.Tired)
		require.ErrorIs(t, err, placement.ErrGaveUp)
		require.NotErrorIs(t, err, placement.ErrRefused)
	}
	_, err = n.With(at("x", fraction(901), 1))
	require.ErrorIs(t, err, placement.ErrRefused, "taken by the task at a known spot")
	_, err = n.With(somewhere("x", whole(3)))
	require.ErrorIs(t, err, placement.ErrRefused, "impossible by itself")

	// Tasks without GPU come and go.
	plain := with(t, n, at("cpu", fragmentation.Shape{CPU: 1000}))
	assert.False(t, plain.Settled())
	assert.EqualValues(t, 59000, plain.State().CPU)
	assert.Equal(t, n, plain.Without("cpu"))

	still := placement.WithoutBound(n, "known", placement.Tired)
	assert.False(t, still.Settled())
	assert.EqualValues(t, 61000, still.State().CPU)
	left := still.State()
	assert.Zero(t, left.Left())

	// A search with the usual bound finds spots.
	want, _, err := placement.Rebuild(spec, recorded)
	require.NoError(t, err)
	require.True(t, want.Settled())
	back := with(t, n, somewhere("x", fraction(1))).Without("x")
	assert.Equal(t, want, back)
	assert.Equal(t, want.Without("a"), n.Without("a"))
	gone := n.Without("c").Without("b").Without("a").Without("known")
	assert.Equal(t, n.Capacity(), gone.State())
}

// Rebuild finds spots for tasks placed anywhere exactly where there are some, beside
// tasks at known spots, on nodes whose GPUs differ too, and whatever the order of
// the records and the IDs. What it says of the node depends on the tasks alone.
func TestRebuildIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spec := genSpec(t, "n")
		spec.CPU, spec.Memory = 64000, 262144
		spec.GPUs = spec.GPUs[:min(3, len(spec.GPUs))]
		shapes := []fragmentation.Shape{genShapeFor(t, spec), genShapeFor(t, spec)} // few, so that tasks are alike
		n, err := placement.NewNode(spec)
		require.NoError(t, err)
		for i := range rapid.IntRange(0, 5).Draw(t, "tasks at known spots") {
			s := genShapeFor(t, spec)
			if free := freeSpots(n, s); len(free) > 0 {
				a := placement.Assignment{Task: task(fmt.Sprintf("k%d", i), s), Spot: rapid.SampledFrom(free).Draw(t, "spot")}
				n, err = n.With(a)
				require.NoError(t, err)
			}
		}
		all := assignments(n)
		for i := range rapid.IntRange(0, 5).Draw(t, "tasks anywhere") {
			s := rapid.SampledFrom(shapes).Draw(t, "shape")
			if s.Profile != "" && i > 3 {
				continue // the oracle tries all starts
			}
			all = append(all, somewhere(fmt.Sprintf("t%d", i), s))
		}
		known, floating := split(all)
		n, wrong, err := placement.Rebuild(spec, all)
		require.NoError(t, err)
		require.Equal(t, feasible(spec, known, floating), len(wrong) == 0, "%v", wrong)
		for _, w := range wrong {
			require.ErrorIs(t, w.Err, placement.ErrRefused)
		}
		if len(wrong) > 0 {
			return
		}
		order := all
		if len(all) > 1 {
			order = rapid.Permutation(all).Draw(t, "order")
		}
		m, err := placement.NewNode(spec)
		require.NoError(t, err)
		renamed := make([]placement.Assignment, len(order))
		for i, a := range order {
			if m, err = m.With(a); err != nil {
				require.NotErrorIs(t, err, placement.ErrGaveUp)
			}
			require.NoError(t, err, "tasks that are placed anywhere make way")
			renamed[i] = a
			renamed[i].Task.ID = fmt.Sprintf("r%d", i)
		}
		assert.Equal(t, stateText(n), stateText(m), "one by one")
		m, wrong, err = placement.Rebuild(spec, renamed)
		require.NoError(t, err)
		require.Empty(t, wrong)
		assert.Equal(t, stateText(n), stateText(m), "other IDs")
	})
}

// A no is proven, not given up on, where a sum tells: here one task alone has no
// room, and those before it can stand in very many ways.
func TestNoIsProven(t *testing.T) {
	t.Parallel()
	spec := uncut("n", 8)
	spec.GPUs = append(spec.GPUs, cut(t, "", "a100-40gb", 1).GPUs...)
	n := newNode(t, spec)
	for i := range 20 {
		n = with(t, n, somewhere(fmt.Sprintf("f%02d", i), fraction(200+int64(i))))
	}
	for i := range 7 {
		n = with(t, n, somewhere(fmt.Sprintf("i%d", i), instance("1g.5gb")))
	}
	_, err := n.With(somewhere("x", instance("1g.5gb")))
	require.ErrorIs(t, err, placement.ErrRefused, "seven at most on a GPU")
	_, err = n.With(somewhere("x", instance("1g.10gb")))
	require.ErrorIs(t, err, placement.ErrRefused, "seven compute slices")
	for i := range 8 {
		n = with(t, n, somewhere(fmt.Sprintf("w%d", i), fraction(250)))
	}
	_, err = n.With(somewhere("x", whole(2)))
	require.ErrorIs(t, err, placement.ErrRefused, "the sum of shares")

	// The profile takes two slices of eight on one GPU and one of eight on the other.
	spec = cut(t, "n", "a100-40gb", 1)
	spec.GPUs = append(spec.GPUs, cut(t, "", "h100-80gb-sxm5", 1).GPUs...)
	n = newNode(t, spec)
	for i := range 11 {
		n = with(t, n, somewhere(fmt.Sprintf("t%02d", i), instance("1g.10gb")))
	}
	_, err = n.With(somewhere("x", instance("1g.10gb")))
	require.ErrorIs(t, err, placement.ErrRefused)
}

// The first start tried for a 1g.20gb is wrong on a GPU on which others are right.
func TestSearchTriesOtherStarts(t *testing.T) {
	t.Parallel()
	spec := cut(t, "n", "h100-80gb-sxm5", 1)
	spec.GPUs = append(spec.GPUs, cut(t, "", "a100-40gb", 1).GPUs...)
	recorded := []placement.Assignment{instanceAt("a", "3g.20gb", 1, 0), instanceAt("b", "1g.10gb", 1, 6)}
	for i := range 3 {
		recorded = append(recorded, somewhere(fmt.Sprintf("c%d", i), instance("1g.20gb")), somewhere(fmt.Sprintf("d%d", i), instance("1g.10gb")))
	}
	n, wrong, err := placement.Rebuild(spec, recorded)
	require.NoError(t, err)
	assert.Empty(t, wrong)
	assert.Equal(t, 8, n.Len())
}

// Tasks of one size are told apart by what else they take, not by their IDs.
func TestSpotsDoNotDependOnIDs(t *testing.T) {
	t.Parallel()
	memory := func(milli, need int64) fragmentation.Shape {
		s := fraction(milli)
		s.DeviceMemory = need
		return s
	}
	differ := uncut("n", 2)
	differ.GPUs[1].Memory = 8192
	for _, tt := range []struct {
		name string
		spec placement.NodeSpec
		a, b fragmentation.Shape
		want string
	}{
		{"device memory", uncut("n", 2), memory(600, 100), memory(600, 200), "[400m 16184 MiB; 400m 16284 MiB]"},
		{"least device memory that serves", differ, memory(600, 0), memory(600, 200), "[400m 16384 MiB; 400m 7992 MiB]"},
		{"profile", cut(t, "n", "a100-40gb", 2), instance("3g.20gb"), instance("4g.20gb"), "[a100-40gb: 4g.20gb@0 3g.20gb@4; a100-40gb: empty]"},
		{"profile of the same slices", cut(t, "n", "a100-40gb", 2), instance("1g.5gb+me"), instance("1g.5gb"), "[a100-40gb: 1g.5gb+me@4 1g.5gb@6; a100-40gb: empty]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, all := range [][]placement.Assignment{
				{somewhere("1", tt.a), somewhere("2", tt.b)},
				{somewhere("2", tt.a), somewhere("1", tt.b)},
			} {
				n := with(t, newNode(t, tt.spec), all...)
				assert.Contains(t, stateText(n), tt.want)
			}
		})
	}
}

// GPUs of less device memory go first to tasks that need whole ones: two of three
// once took the only one that serves the other task.
func TestWholeGPUsOfUnlikeMemory(t *testing.T) {
	t.Parallel()
	spec := uncut("n", 3)
	spec.GPUs[0].Memory = 81920
	large := fraction(100)
	large.DeviceMemory = 40960
	n, wrong, err := placement.Rebuild(spec, []placement.Assignment{somewhere("two", whole(2)), somewhere("large", large)})
	require.NoError(t, err)
	assert.Empty(t, wrong)
	assert.EqualValues(t, 900, n.GPU(0).Milli)
	two := task("two", whole(2))
	for _, p := range policies(t) {
		assert.Equal(t, placement.GPUs(1, 2), p.policy.Choose(newNode(t, spec), &two).Spot.GPUs, "%s", p)
	}
}

// Of tasks that do not fit together those that find no room beside the ones given
// before them are wrong; the others stand, and so does a second record of a task
// whose first one is wrong.
func TestRebuildClusterReports(t *testing.T) {
	t.Parallel()
	specs := []placement.NodeSpec{uncut("a", 1), uncut("b", 1)}
	record := func(node string, a placement.Assignment) placement.Recorded {
		return placement.Recorded{Node: node, Assignment: a}
	}
	c, wrong, err := placement.RebuildCluster(specs, []placement.Recorded{
		record("a", somewhere("first", fraction(600))),
		record("a", somewhere("second", fraction(600))),
		record("a", somewhere("third", fraction(300))),
		record("nowhere", somewhere("stranger", fraction(1))),
		record("b", somewhere("second", fraction(700))),
		record("a", somewhere("second", fraction(800))),
		record("b", at("known", fraction(200), 0)),
		record("b", somewhere("known", fraction(200))),
	})
	require.NoError(t, err)
	type pair struct{ id, node string }
	var got []pair
	for _, w := range wrong {
		got = append(got, pair{w.Assignment.Task.ID, w.Node})
	}
	assert.Equal(t, []pair{{"second", "a"}, {"stranger", "nowhere"}, {"second", "a"}, {"known", "b"}}, got, "in the order given")
	require.ErrorIs(t, wrong[0].Err, placement.ErrRefused)
	require.ErrorIs(t, wrong[1].Err, placement.ErrUnknownNode)
	require.ErrorIs(t, wrong[2].Err, placement.ErrDuplicate)
	require.ErrorIs(t, wrong[3].Err, placement.ErrDuplicate)
	for id, node := range map[string]string{"first": "a", "third": "a", "second": "b", "known": "b"} {
		require.NotNil(t, c.Locate(id), id)
		assert.Equal(t, node, c.Locate(id).Name(), id)
	}
	assert.Nil(t, c.Locate("stranger"))
}
