package placement_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
)

// Tasks placed anywhere make way for a task at a spot, and come back.
func TestAnywhereMakesWay(t *testing.T) {
	t.Parallel()
	n := with(t, newNode(t, uncut("n", 2)), somewhere("a", fraction(600)), somewhere("b", fraction(300)))
	milli := func(n *placement.Node) (list []int64) {
		for _, g := range n.State().GPUs {
			list = append(list, g.Milli)
		}
		return list
	}
	assert.Equal(t, []int64{100, 1000}, milli(n))
	moved := with(t, n, at("c", whole(1), 0))
	assert.Equal(t, []int64{0, 100}, milli(moved))
	assert.Equal(t, []int64{100, 1000}, milli(moved.Without("c")), "release is the inverse")
	assert.Equal(t, []int64{700, 0}, milli(with(t, n, at("c", fraction(400), 1))), "the larger one takes the tighter GPU")
	_, err := moved.With(at("d", fraction(200), 1))
	require.ErrorIs(t, err, placement.ErrRefused)
}

// Four tasks placed anywhere fill two GPUs in one way alone, which taking them
// in the order of their IDs would miss.
func TestAnywhereIsPackedExactly(t *testing.T) {
	t.Parallel()
	recorded := []placement.Assignment{
		somewhere("a", fraction(400)), somewhere("b", fraction(400)),
		somewhere("c", fraction(600)), somewhere("d", fraction(600)),
	}
	n, wrong, err := placement.Rebuild(uncut("n", 2), recorded)
	require.NoError(t, err)
	assert.Empty(t, wrong)
	s := n.State()
	assert.Zero(t, s.Left())
	// The largest does not go to the tightest GPU that takes it: 600 and 400
	// fill the idle GPU, 500 and 300 the other.
	n, wrong, err = placement.Rebuild(uncut("n", 2), []placement.Assignment{
		at("known", fraction(200), 1), somewhere("a", fraction(600)), somewhere("b", fraction(500)),
		somewhere("c", fraction(400)), somewhere("d", fraction(300)),
	})
	require.NoError(t, err)
	assert.Empty(t, wrong)
	s = n.State()
	assert.Zero(t, s.Left())
	// Sixteen tasks on eight GPUs, where trying all ways would take too long.
	recorded = nil
	for i := range 8 {
		recorded = append(recorded,
			somewhere(fmt.Sprintf("a%d", i), fraction(400)), somewhere(fmt.Sprintf("b%d", i), fraction(600)))
	}
	n, wrong, err = placement.Rebuild(uncut("n", 8), recorded)
	require.NoError(t, err)
	assert.Empty(t, wrong)
	s = n.State()
	assert.Zero(t, s.Left())
	// One instance stands where the driver would create it.
	n = with(t, newNode(t, cut(t, "n", "a100-40gb", 1)), somewhere("a", instance("1g.5gb")))
	assert.Equal(t, "1g.5gb@6", n.State().GPUs[0].Layout.String())
	// A full node of instances whose positions are not known: 4g has one start
	// and 3g two, so 3g before 4g must not take it.
	n, wrong, err = placement.Rebuild(cut(t, "n", "a100-40gb", 1), []placement.Assignment{
		somewhere("a", instance("3g.20gb")), somewhere("b", instance("4g.20gb")),
	})
	require.NoError(t, err)
	assert.Empty(t, wrong)
	assert.Equal(t, "4g.20gb@0 3g.20gb@4", n.State().GPUs[0].Layout.String())
}

// Many tasks placed anywhere stay within the bound of the search: it gives up
// where it must and never loses a task that is there.
func TestAnywhereBounded(t *testing.T) {
	t.Parallel()
	n := newNode(t, cut(t, "n", "a100-40gb", 8))
	for i := range 56 {
		n = with(t, n, somewhere(string(rune('A'+i)), instance("1g.5gb")))
	}
	_, err := n.With(somewhere("one more", instance("1g.5gb")))
	require.ErrorIs(t, err, placement.ErrRefused, "proven, not given up")
	_, err = n.With(instanceAt("at a spot", "1g.5gb", 0, 0))
	require.ErrorIs(t, err, placement.ErrRefused)
	require.ErrorIs(t, err, mig.ErrConflict)
	for _, a := range assignments(n) {
		n = n.Without(a.Task.ID)
		n = with(t, n, a).Without(a.Task.ID)
	}
	s, capacity := n.State(), n.Capacity()
	assert.True(t, capacity.Equal(&s))
}

// Where the search for spots gives up, now and then or always, tasks stay where
// they are, and nothing is taken twice or lost.
func TestAnywhereGivesUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spec := genSpec(t, "n")
		n, err := placement.NewNode(spec)
		require.NoError(t, err)
		for i := range rapid.IntRange(0, 20).Draw(t, "steps") {
			bound := rapid.SampledFrom([]int{placement.Tired, placement.Tired, placement.Tireless}).Draw(t, "bound")
			have := assignments(n)
			if len(have) > 0 && rapid.IntRange(0, 2).Draw(t, "release") == 0 {
				n = placement.WithoutBound(n, rapid.SampledFrom(have).Draw(t, "task").Task.ID, bound)
			} else {
				shape := genShapeFor(t, spec)
				a := placement.Assignment{Task: task(fmt.Sprintf("t%02d", i), shape), Spot: genSpot(t, n.NumGPUs(), shape)}
				known, floating := split(append(have, a))
				if len(floating) > mostFloating {
					continue
				}
				fits := len(freeSpots(n, shape)) > 0
				next, err := placement.WithBound(n, a, bound)
				if err != nil && !errors.Is(err, placement.ErrGaveUp) {
					assert.False(t, feasible(spec, known, floating), "a no is proven: %v", err)
				}
				if bound == placement.Tireless {
					require.NotErrorIs(t, err, placement.ErrGaveUp)
				}
				switch {
				case err == nil:
					assert.True(t, feasible(spec, known, floating))
					n = next
				case a.Spot.Anywhere:
					assert.False(t, fits, "room beside the others is found without a search: %v", err)
				}
			}
			known, floating := split(assignments(n))
			assert.True(t, explains(spec, n.State(), known, floating), "%s is not what %v leave", stateText(n), assignments(n))
		}
		for _, a := range assignments(n) {
			n = placement.WithoutBound(n, a.Task.ID, placement.Tired)
		}
		s, capacity := n.State(), n.Capacity()
		assert.True(t, capacity.Equal(&s))
	})
}

func TestAnywhereWithoutGPU(t *testing.T) {
	t.Parallel()
	a := somewhere("a", fragmentation.Shape{CPU: 1000})
	a.Spot.GPUs = placement.GPUs(7) // not looked at
	n := with(t, newNode(t, uncut("n", 1)), a)
	got, found := n.Assignment("a")
	assert.True(t, found)
	assert.Equal(t, placement.Spot{}, got.Spot, "there is no GPU to be unknown")
}
