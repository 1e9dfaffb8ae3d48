package placement_test

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// Every policy of the package passes this suite; a new one is added to
// policies.

func forEachPolicy(t *testing.T, f func(t *testing.T, p namedPolicy)) {
	t.Helper()
	for _, p := range policies(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			f(t, p)
		})
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	forEachPolicy(t, func(t *testing.T, p namedPolicy) {
		rapid.Check(t, func(t *rapid.T) {
			n := genNode(t, "node")
			job := task("job", genShapeFor(t, n.Spec()))
			before := stateText(n)
			choice := p.policy.Choose(n, &job)
			assert.Equal(t, before, stateText(n), "the view is not changed")

			assert.Equal(t, n.Fits(&job), choice.Refusal, "refuses what Fits refuses")
			free := freeSpots(n, job.Shape)
			require.Equal(t, len(free) > 0, choice.OK(), "%s", choice.Refusal)
			if choice.OK() {
				assert.Contains(t, free, choice.Spot)
				after, err := n.With(placement.Assignment{Task: job, Spot: choice.Spot})
				require.NoError(t, err)
				assert.Equal(t, n.Len()+1, after.Len())
			}
			if want, ok := p.score(n, &job, choice.Spot); ok && choice.OK() {
				assert.Equal(t, want, choice.Score, "the score is that of the spot returned")
			}
			if p.better != nil && choice.OK() {
				assert.Equal(t, p.preferred(n, &job, free), choice.Spot, "of %v", free)
			}
		})
	})
}

// A choice depends on what the node is and holds, and on the shape: not on
// earlier calls, on other nodes, on the way the node came about, nor, but for a
// policy that says so, on the task's ID.
func TestConformanceDeterministic(t *testing.T) {
	t.Parallel()
	forEachPolicy(t, func(t *testing.T, p namedPolicy) {
		rapid.Check(t, func(t *rapid.T) {
			n, other := genNode(t, "node"), genNode(t, "other")
			job := task("job", genShapeFor(t, n.Spec()))
			want := p.policy.Choose(n, &job)
			p.policy.Choose(other, &job)
			assert.Equal(t, want, p.policy.Choose(n, &job), "asked again")

			again, wrong, err := placement.Rebuild(n.Spec(), assignments(n))
			require.NoError(t, err)
			require.Empty(t, wrong)
			assert.Equal(t, want, p.policy.Choose(again, &job), "asked about an equal node")

			per, ok := p.policy.(interface{ PerTask() bool })
			require.Equal(t, p.perTask, ok && per.PerTask())
			renamed := task("another", job.Shape)
			if !p.perTask {
				assert.Equal(t, want, p.policy.Choose(n, &renamed), "asked for another task of the shape")
			}
			assert.Equal(t, want.Refusal, p.policy.Choose(n, &renamed).Refusal)
		})
	})
}

// No shape makes a policy panic, and none that Shape.Validate refuses fits.
func TestConformanceBadShapes(t *testing.T) {
	t.Parallel()
	forEachPolicy(t, func(t *testing.T, p namedPolicy) {
		rapid.Check(t, func(t *rapid.T) {
			n := genNode(t, "node")
			amount := rapid.SampledFrom([]int64{-1 << 63, -1000, -1, 0, 1, 500, 1000, 1001, 1<<63 - 1})
			job := task("job", fragmentation.Shape{
				CPU:          rapid.SampledFrom([]int64{0, 0, -1}).Draw(t, "CPU"),
				Memory:       rapid.SampledFrom([]int64{0, 0, -1}).Draw(t, "memory"),
				GPUs:         rapid.SampledFrom([]int{-1, 0, 1, 2, 64, 65, math.MaxInt}).Draw(t, "GPUs"),
				Milli:        amount.Draw(t, "milli"),
				DeviceMemory: amount.Draw(t, "device memory"),
				Profile:      rapid.SampledFrom([]string{"", "1g.5gb", "1g.6gb", "1c.2g.10gb", "5gb", "+me"}).Draw(t, "profile"),
			})
			choice := p.policy.Choose(n, &job)
			assert.Equal(t, n.Fits(&job), choice.Refusal)
			if job.Shape.Validate() != nil {
				assert.False(t, choice.OK(), "%+v", job.Shape)
				assert.False(t, choice.Refusal.Evictable, "%+v", job.Shape)
			}
		})
	})
}

// Without tasks placed anywhere, Fits says of a node what With does; with some,
// what Fits takes With takes.
func TestFitsAgreesWithWith(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := genNode(t, "node")
		job := task("job", genShapeFor(t, n.Spec()))
		fit := n.Fits(&job)
		_, err := n.With(placement.Assignment{Task: job, Spot: placement.Spot{Anywhere: true}})
		if fit.Kind == placement.None {
			require.NoError(t, err)
		}
		if floats(n) {
			return
		}
		if fit.Kind != placement.None {
			var refused *placement.RefusedError
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, fit.Kind, refused.Kind)
		}
		taken := false
		for _, spot := range allSpots(n.NumGPUs(), job.Shape) {
			_, err := n.With(placement.Assignment{Task: job, Spot: spot})
			taken = taken || err == nil
		}
		assert.Equal(t, fit.Kind == placement.None, taken)
	})
}

// conformanceNodes are nodes in use, of every kind, with a task of each kind
// that fits on one of them.
func conformanceNodes(t testing.TB) ([]*placement.Node, []placement.Task) {
	t.Helper()
	nodes := []*placement.Node{
		with(t, newNode(t, uncut("shared", 8)), at("a", fraction(600), 0), at("b", fraction(300), 1), at("c", whole(2), 6, 7)),
		with(t, newNode(t, cut(t, "cut", "a100-40gb", 4)), instanceAt("a", "1g.5gb", 0, 6), instanceAt("b", "3g.20gb", 1, 4)),
		with(t, newNode(t, uncut("floating", 2)), somewhere("a", fraction(600))),
	}
	withMemory := fraction(250)
	withMemory.DeviceMemory = 4096
	tasks := []placement.Task{
		task("none", fragmentation.Shape{CPU: 500}),
		task("fraction", fraction(400)),
		task("memory", withMemory),
		task("one", whole(1)),
		task("two", whole(2)),
		task("small", instance("1g.5gb")),
		task("large", instance("3g.20gb")),
	}
	return nodes, tasks
}

//nolint:paralleltest // AllocsPerRun counts the allocations of all goroutines.
func TestConformanceAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("under the race detector pools drop what they hold")
	}
	nodes, tasks := conformanceNodes(t)
	for _, p := range policies(t) {
		fitting := 0
		for _, n := range nodes {
			for i := range tasks {
				if !p.policy.Choose(n, &tasks[i]).OK() {
					continue
				}
				fitting++
				assert.Zero(t, testing.AllocsPerRun(20, func() { p.policy.Choose(n, &tasks[i]) }), "%s: %s on %s", p.name, tasks[i].ID, n.Name())
				assert.Zero(t, testing.AllocsPerRun(20, func() { n.Fits(&tasks[i]) }), "Fits: %s on %s", tasks[i].ID, n.Name())
			}
		}
		assert.GreaterOrEqual(t, fitting, 2*len(tasks)-2)
	}
}

func TestConformanceConcurrent(t *testing.T) {
	t.Parallel()
	nodes, tasks := conformanceNodes(t)
	forEachPolicy(t, func(t *testing.T, p namedPolicy) {
		var want []placement.Choice
		each := func(f func(placement.Choice)) {
			for _, n := range nodes {
				for i := range tasks {
					f(p.policy.Choose(n, &tasks[i]))
				}
			}
		}
		each(func(c placement.Choice) { want = append(want, c) })
		start := make(chan struct{})
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				<-start
				for range 20 {
					var got []placement.Choice
					each(func(c placement.Choice) { got = append(got, c) })
					if !slices.Equal(want, got) {
						assert.Equal(t, want, got)
						return
					}
				}
			})
		}
		close(start)
		group.Wait()
	})
}

// Over a whole cluster every policy takes every task that fits somewhere, until
// nothing fits any more.
func TestConformanceFillsCluster(t *testing.T) {
	t.Parallel()
	forEachPolicy(t, func(t *testing.T, p namedPolicy) {
		c := newCluster(t, uncut("a", 2), cut(t, "b", "a100-40gb", 1), uncut("c", 1))
		for i := range 6 {
			job := task(fmt.Sprintf("f%d", i), fraction(500))
			n, choice := c.Choose(p.policy, &job)
			require.NotNil(t, n, "fraction %d: %s", i, choice.Refusal)
			require.NoError(t, c.Place(n.Name(), placement.Assignment{Task: job, Spot: choice.Spot}))
		}
		for i := range 7 {
			job := task(fmt.Sprintf("m%d", i), instance("1g.5gb"))
			n, choice := c.Choose(p.policy, &job)
			require.NotNil(t, n, "instance %d: %s", i, choice.Refusal)
			require.NoError(t, c.Place(n.Name(), placement.Assignment{Task: job, Spot: choice.Spot}))
		}
		for _, s := range []fragmentation.Shape{fraction(1), instance("1g.5gb"), whole(1)} {
			job := task("late", s)
			n, choice := c.Choose(p.policy, &job)
			assert.Nil(t, n)
			assert.True(t, choice.Refusal.Evictable)
		}
	})
}
