package placement_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// crowd is a fleet of uncut and cut nodes, some of them short of CPU or memory, and
// shapes that go there.
func crowd(t testing.TB, nodes int) ([]placement.NodeSpec, []fragmentation.Shape) {
	t.Helper()
	var specs []placement.NodeSpec
	for i := range nodes {
		name := fmt.Sprintf("n%04d", i)
		spec := uncut(name, []int{1, 2, 4, 8}[i%4])
		if i%3 == 0 {
			spec = cut(t, name, migKeys[i%len(migKeys)], 1+i%4)
		}
		if i%7 < 3 {
			spec.Model = "G2"
		}
		if i%5 == 0 {
			spec.CPU, spec.Memory = 4000, 3000
		}
		specs = append(specs, spec)
	}
	shapes := []fragmentation.Shape{whole(1), whole(2), whole(8), {CPU: 2000}, {CPU: 500, Memory: 2048}}
	for i := range 12 {
		s := fraction(int64(80 + 70*i))
		s.Memory = int64(i % 3 * 1024)
		s.DeviceMemory = int64(i % 4 / 3 * 4096)
		shapes = append(shapes, s)
	}
	for _, profile := range []string{"1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb", "1g.6gb", "2g.12gb", "1g.10gb", "3g.40gb", "2g.48gb"} {
		s := instance(profile)
		shapes = append(shapes, s)
		s.CPU, s.Memory = 2000, 1024
		shapes = append(shapes, s)
	}
	return specs, shapes
}

// keepBusy places and releases tasks at random.
func keepBusy(t testing.TB, engine *placement.Engine, shapes []fragmentation.Shape, seed uint64, steps int, each func(step int, job *placement.Task)) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	var there []string
	for step := range steps {
		job := task(fmt.Sprintf("t%d", step), shapes[random.IntN(len(shapes))])
		each(step, &job)
		if n, choice := engine.Choose(&job); n != nil {
			require.NoError(t, engine.Place(n.Name(), placement.Assignment{Task: job, Spot: choice.Spot}))
			there = append(there, job.ID)
		}
		for len(there) > 0 && random.IntN(100) < 45 {
			i := random.IntN(len(there))
			require.True(t, engine.Release(there[i]))
			there = slices.Delete(there, i, i+1)
		}
	}
}

// TestEngineCrowd has so many nodes, changes and kinds that every list of the
// engine takes more than one piece.
func TestEngineCrowd(t *testing.T) {
	t.Parallel()
	steps := 1500
	if testing.Short() || raceEnabled {
		steps = 100
	}
	specs, shapes := crowd(t, 300)
	for _, p := range enginePolicies(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			engine := placement.NewEngine(newCluster(t, specs...), p.policy)
			var held []heldView
			keepBusy(t, engine, shapes, 3, steps, func(step int, job *placement.Task) {
				view := engine.View()
				if step%50 == 20 {
					held = append(held, heldView{view, slices.Collect(view.Nodes())})
				}
				if step%7 == 0 {
					assertSameChoice(t, p.policy, view, slices.Collect(view.Nodes()), job)
				}
				if step%31 == 30 && len(held) > 0 {
					h := held[step%len(held)]
					assertSameChoice(t, p.policy, h.view, h.nodes, job)
				}
			})
		})
	}
}

func assertSameChoice(t testing.TB, p placement.Policy, view *placement.View, nodes []*placement.Node, job *placement.Task) {
	t.Helper()
	want, wantChoice := choosePlainly(p, nodes, job)
	got, gotChoice := view.Choose(job)
	if want == nil {
		wantChoice.Spot, wantChoice.Score = placement.Spot{}, 0 // they mean nothing
	}
	assert.Same(t, want, got, "%+v", job.Shape)
	assert.Equal(t, wantChoice, gotChoice, "%+v", job.Shape)
}

// TestEngineReaders lets sixteen goroutines decide while one commits. Each
// decision is that of its view.
func TestEngineReaders(t *testing.T) {
	t.Parallel()
	specs, shapes := crowd(t, 60)
	migFGD, err := fragmentation.NewMIGFGD(migMix())
	require.NoError(t, err)
	fill, err := fragmentation.NewFill(plainMix(), fragmentation.FillOptions{})
	require.NoError(t, err)
	policy := placement.SplitMIG(byValue(t, migFGD, 1, placement.SmallestFirst), byValue(t, fill, 160, placement.NodeOrder))
	for _, most := range []int64{1 << 20, 40, 2} {
		t.Run(fmt.Sprintf("trees=%d", most), func(t *testing.T) {
			t.Parallel()
			engine := placement.NewEngine(newCluster(t, specs...), policy)
			placement.SetMostTrees(engine, most)
			var done atomic.Bool
			var readers sync.WaitGroup
			decided := make([]int, 16)
			for reader := range decided {
				readers.Go(func() {
					random := rand.New(rand.NewPCG(9, uint64(reader)))
					for !done.Load() || decided[reader] == 0 {
						view := engine.View()
						nodes := slices.Collect(view.Nodes())
						for range 4 {
							// A few kinds are asked for by many at once.
							job := task("job", shapes[random.IntN(1+random.IntN(len(shapes)))])
							assertSameChoice(t, policy, view, nodes, &job)
							decided[reader]++
						}
					}
				})
			}
			keepBusy(t, engine, shapes, 5, 400, func(int, *placement.Task) {})
			done.Store(true)
			readers.Wait()
			booked, there := placement.Trees(engine)
			assert.Equal(t, there, booked)
			assert.LessOrEqual(t, int64(there), most)
		})
	}
}

func TestEngineForgets(t *testing.T) {
	t.Parallel()
	fgd, err := fragmentation.NewFGD(plainMix())
	require.NoError(t, err)
	policy := byValue(t, fgd, 40, placement.NodeOrder)
	engine := placement.NewEngine(newCluster(t, uncut("a", 2), uncut("b", 4)), policy)
	nodes := slices.Collect(engine.Nodes())
	ask := func(cpu int) {
		job := task("job", fraction(300))
		job.Shape.CPU = int64(cpu)
		assertSameChoice(t, policy, engine.View(), nodes, &job)
	}
	for cpu := range 3 * placement.MostKinds {
		ask(cpu)
	}
	assert.LessOrEqual(t, placement.Kinds(engine), placement.MostKinds)
	booked, there := placement.Trees(engine)
	assert.Equal(t, there, booked)
	placement.SetMostTrees(engine, 5)
	for cpu := range 100 {
		ask(cpu + 1<<20)
	}
	booked, there = placement.Trees(engine)
	assert.Equal(t, there, booked)
	assert.LessOrEqual(t, there, 5)
}

// TestEngineAllocates: once a kind is known, a decision allocates nothing, though
// nodes have changed since the last one.
//
//nolint:paralleltest // AllocsPerRun counts the allocations of all goroutines.
func TestEngineAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	specs, shapes := crowd(t, 60)
	for _, p := range enginePolicies(t) {
		if p.perTask {
			continue
		}
		engine := placement.NewEngine(newCluster(t, specs...), p.policy)
		var views []*placement.View
		keepBusy(t, engine, shapes, 5, 300, func(int, *placement.Task) { views = append(views, engine.View()) })
		job := task("job", fraction(300))
		i := 0
		choose := func() {
			job.Shape = shapes[i%len(shapes)]
			views[i%len(views)].Choose(&job)
			i++
		}
		for range 2 * len(views) {
			choose()
		}
		assert.Zero(t, testing.AllocsPerRun(2*len(views), choose), p.name)
	}
}

// TestEngineCutsChanges: who has not looked for long keeps no list of what has
// changed since, and is answered all the same.
func TestEngineCutsChanges(t *testing.T) {
	t.Parallel()
	specs, shapes := crowd(t, 300)
	migFGD, err := fragmentation.NewMIGFGD(migMix())
	require.NoError(t, err)
	fgd, err := fragmentation.NewFGD(plainMix())
	require.NoError(t, err)
	policy := placement.SplitMIG(byValue(t, migFGD, 1, placement.SmallestFirst), byValue(t, fgd, 40, placement.NodeOrder))
	engine := placement.NewEngine(newCluster(t, specs...), policy)
	var old []heldView
	keepBusy(t, engine, shapes, 5, 2500, func(step int, _ *placement.Task) {
		if step < 500 && step%100 == 0 {
			old = append(old, heldView{engine.View(), slices.Collect(engine.Nodes())})
		}
	})
	for _, h := range old {
		assert.Equal(t, 1, placement.Changes(h.view))
	}
	for _, i := range []int{0, 1, 2, 4, 3, 2, 0} {
		for _, shape := range shapes {
			job := task("job", shape)
			assertSameChoice(t, policy, old[i].view, old[i].nodes, &job)
		}
	}
}
