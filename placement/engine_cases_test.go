package placement_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// A node becomes another one, more than once, and what is remembered catches up
// with all of it at once, and goes back.
func TestEngineAnotherNode(t *testing.T) {
	t.Parallel()
	policy := placement.FirstFit()
	spec := cut(t, "n00", "a100-40gb", 2)
	spec.Model = "old"
	uncut := spec
	uncut.GPUs = []placement.GPUSpec{{}, {}}
	other := spec
	other.Model = "new"
	for name, become := range map[string][]placement.NodeSpec{
		"another model":                  {other},
		"another model and back":         {other, spec},
		"as many GPUs, but uncut":        {uncut},
		"more GPUs, and then uncut ones": {cut(t, "n00", "a100-40gb", 3), uncut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			specs := []placement.NodeSpec{spec}
			for i := range 20 {
				specs = append(specs, cut(t, fmt.Sprintf("n%02d", i+1), "a100-40gb", 1))
			}
			engine := placement.NewEngine(newCluster(t, specs...), policy)
			views := []*placement.View{engine.View()}
			ask := func() {
				for _, v := range []*placement.View{views[0], views[len(views)-1], views[0]} {
					for _, models := range []fragmentation.Models{"", "old", "new"} {
						shape := instance("3g.20gb")
						shape.Models = models
						job := task("job "+string(models), shape)
						assertSameChoice(t, policy, v, slices.Collect(v.Nodes()), &job)
					}
				}
			}
			ask()
			require.NoError(t, engine.Place("n00", instanceAt("t", "3g.20gb", 0, 4)))
			views = append(views, engine.View())
			ask()
			require.True(t, engine.Release("t"))
			for _, s := range become {
				_, err := engine.Put(s, nil)
				require.NoError(t, err)
			}
			views = append(views, engine.View())
			ask()
			require.True(t, engine.Remove("n00"))
			views = append(views, engine.View())
			ask()
		})
	}
}

// wide is a value of its own that has the methods of another one.
type wide struct{ *fragmentation.Fill }

func (wide) Of(s *fragmentation.State) int64 { return s.CPU }

// emptiest is a policy of its own that has the methods of another one.
type emptiest struct{ *placement.IndexPolicy }

func (emptiest) Choose(n *placement.Node, t *placement.Task) placement.Choice {
	c := placement.FirstFit().Choose(n, t)
	c.Score = int64(-n.Len())
	return c
}

// What a caller makes of a value or a policy of the library, and changes, is not
// taken for it.
func TestEngineEmbedding(t *testing.T) {
	t.Parallel()
	fill, err := fragmentation.NewFill(plainMix(), fragmentation.FillOptions{})
	require.NoError(t, err)
	uncut := placement.NodeSpec{Name: "a", CPU: 64000, Memory: 262144, GPUs: []placement.GPUSpec{{Memory: 81920}, {Memory: 81920}}}
	engine := placement.NewEngine(newCluster(t, uncut), byValue(t, wide{fill}, 1, placement.NodeOrder))
	job := task("job", fraction(500))
	assertSameChoice(t, byValue(t, wide{fill}, 1, placement.NodeOrder), engine.View(), slices.Collect(engine.Nodes()), &job)

	policy := emptiest{byIndex(t, twoIndexes()["a100-40gb"])}
	engine = placement.NewEngine(newCluster(t, cut(t, "a", "a100-40gb", 2), cut(t, "b", "a100-40gb", 2)), policy)
	require.NoError(t, engine.Place("a", instanceAt("t", "3g.20gb", 0, 4)))
	job = task("job", instance("1g.5gb"))
	assertSameChoice(t, policy, engine.View(), slices.Collect(engine.Nodes()), &job)
}

// More models than have a number, of which one is worth more.
func TestEngineManyModels(t *testing.T) {
	t.Parallel()
	picky := fraction(500)
	picky.Models = "G1059"
	fill, err := fragmentation.NewFill(fragmentation.Mix{{Shape: picky, Count: 9}, {Shape: fraction(300), Count: 1}}, fragmentation.FillOptions{Length: 5})
	require.NoError(t, err)
	policy := byValue(t, fill, 1, placement.NodeOrder)
	var specs []placement.NodeSpec
	for i := range 1060 {
		specs = append(specs, placement.NodeSpec{
			Name: fmt.Sprintf("n%04d", i), CPU: 64000, Memory: 262144, Model: fmt.Sprintf("G%04d", i),
			GPUs: []placement.GPUSpec{{Memory: 81920}},
		})
	}
	engine := placement.NewEngine(newCluster(t, specs...), policy)
	for range 2 {
		for _, shape := range []fragmentation.Shape{fraction(300), picky} {
			job := task("job", shape)
			assertSameChoice(t, policy, engine.View(), slices.Collect(engine.Nodes()), &job)
		}
		require.NoError(t, engine.Place("n1059", placement.Assignment{Task: task("t", picky), Spot: placement.Spot{GPUs: 1}}))
		require.True(t, engine.Release("t"))
	}
}
