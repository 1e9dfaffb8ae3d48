package placement_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

func usedFirst(t require.TestingT, v fragmentation.Value, step int64, order placement.Order) *placement.UsedFirstPolicy {
	p, err := placement.UsedFirst(v, step, order)
	require.NoError(t, err)
	return p
}

func inUse(g fragmentation.GPU) bool {
	if g.Cut() {
		return g.Layout.Len() > 0
	}
	return g.Milli < fragmentation.Whole
}

// No empty GPU is opened anywhere while a used one takes the task; among the used
// ones, and among the empty ones, the choice is that of the value.
func TestUsedFirstOpensLast(t *testing.T) {
	t.Parallel()
	v, err := fragmentation.NewMIGFGD(migMix())
	require.NoError(t, err)
	fgd, err := fragmentation.NewFGD(plainMix())
	require.NoError(t, err)
	both, err := fragmentation.Sum(fgd, v)
	require.NoError(t, err)
	p := usedFirst(t, both, 1, placement.SmallestFirst)
	rapid.Check(t, func(t *rapid.T) {
		var nodes []*placement.Node
		for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
			nodes = append(nodes, genNode(t, fmt.Sprintf("n%d", i)))
		}
		job := task("job", genShapeFor(t, nodes[0].Spec()))
		best, at := placement.Choice{}, -1
		for i, n := range nodes {
			if c := p.Choose(n, &job); c.OK() && (at < 0 || c.Score > best.Score) {
				best, at = c, i
			}
		}
		if at < 0 || job.Shape.GPUs != 1 {
			return
		}
		opens := !inUse(nodes[at].GPU(best.Spot.GPUs.First()))
		mine := valuePoints(both, 1, placement.SmallestFirst, nodes[at], &job, best.Spot)
		for _, n := range nodes {
			for _, spot := range freeSpots(n, job.Shape) {
				used := inUse(n.GPU(spot.GPUs.First()))
				require.False(t, opens && used, "%v of %s is in use", spot, n.Name())
				if used == !opens {
					require.LessOrEqual(t, valuePoints(both, 1, placement.SmallestFirst, n, &job, spot), mine)
				}
			}
		}
	})
}

// 7 % whole GPUs among small requests: what FGD alone would open, it leaves.
func TestUsedFirstKeepsEmptyGPUs(t *testing.T) {
	t.Parallel()
	v, err := fragmentation.NewMIGFGD(fragmentation.Mix{
		{Shape: instance("7g.40gb"), Count: 7},
		{Shape: instance("4g.20gb"), Count: 6},
		{Shape: instance("3g.20gb"), Count: 12},
		{Shape: instance("2g.10gb"), Count: 22},
		{Shape: instance("1g.10gb"), Count: 8},
		{Shape: instance("1g.5gb"), Count: 45},
	})
	require.NoError(t, err)
	c := newCluster(t, cut(t, "used", "a100-40gb", 1), cut(t, "empty", "a100-40gb", 1))
	require.NoError(t, c.Place("used", instanceAt("a", "2g.10gb", 0, 4)))
	job := task("job", instance("4g.20gb"))
	n, _ := c.Choose(usedFirst(t, v, 1, placement.SmallestFirst), &job)
	assert.Equal(t, "used", n.Name())
}

func TestUsedFirstRefuses(t *testing.T) {
	t.Parallel()
	_, err := placement.UsedFirst(nil, 1, nil)
	require.ErrorIs(t, err, placement.ErrBadRule)
	v, err := fragmentation.NewMIGFGD(migMix())
	require.NoError(t, err)
	_, err = placement.UsedFirst(v, 0, nil)
	require.ErrorIs(t, err, placement.ErrBadRule)
}
