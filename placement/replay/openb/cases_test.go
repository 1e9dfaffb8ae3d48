package openb_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay/openb"
)

// Real reports about the published simulator, and how its rules behave here.

// Small gains vanish in the integer score: on 1000 and 300 left, a task of 100
// gains 5 on GPU 1 and nothing on GPU 0, both score 50 and the first GPU is
// taken. The library's own rule with a step of 1 tells them apart.
func TestCaseIntegerScoreTie(t *testing.T) {
	t.Parallel()
	mix := fragmentation.Mix{
		{Shape: fragmentation.Shape{CPU: 1000, GPUs: 1, Milli: 100}, Count: 95},
		{Shape: fragmentation.Shape{CPU: 1000, GPUs: 1, Milli: 400}, Count: 5},
	}
	n, err := placement.NewNode(placement.NodeSpec{Name: "n", CPU: 64_000, GPUs: make([]placement.GPUSpec, 2)})
	require.NoError(t, err)
	n, err = n.With(placement.Assignment{
		Task: placement.Task{ID: "there", Shape: fragmentation.Shape{GPUs: 1, Milli: 700}},
		Spot: placement.Spot{GPUs: placement.GPUs(1)},
	})
	require.NoError(t, err)
	task := &placement.Task{ID: "x", Shape: fragmentation.Shape{CPU: 1000, GPUs: 1, Milli: 100}}

	published, err := openb.PublishedFGD(mix, 100)
	require.NoError(t, err)
	assert.Equal(t, placement.Choice{Spot: placement.Spot{GPUs: placement.GPUs(0)}, Score: 50}, published.Choose(n, task))

	value, err := fragmentation.NewFGD(mix)
	require.NoError(t, err)
	steep, err := placement.ByValue(value, 1, placement.NodeOrder)
	require.NoError(t, err)
	assert.Equal(t, placement.GPUs(1), steep.Choose(n, task).Spot.GPUs)
}

// A popularity threshold above 100 % made the simulator loop for ever.
func TestCasePopularityOver100(t *testing.T) {
	t.Parallel()
	_, tasks := madeUp(t)
	for percent, ends := range map[float64]bool{60: true, 100: true, 101: false, 0: false, -1: false} {
		mix, err := openb.TargetMix(tasks, percent)
		if ends {
			require.NoError(t, err)
			assert.GreaterOrEqual(t, 100*float64(mix.Total()), percent*float64(len(tasks)))
			continue
		}
		require.ErrorIs(t, err, fragmentation.ErrBadMix)
		require.ErrorContains(t, err, "not above 0 and at most 100")
	}
}

// A task of two halves was scored on a node that was half changed; here it is no
// request that can be made, and is refused.
func TestCaseFractionsOfSeveralGPUs(t *testing.T) {
	t.Parallel()
	shape := fragmentation.Shape{CPU: 1000, GPUs: 2, Milli: 500}
	require.ErrorIs(t, shape.Validate(), fragmentation.ErrBadShape)
	nodes, tasks := madeUp(t)
	_, err := openb.NewExperiment(nodes, append(tasks, placement.Task{ID: "x", Shape: shape}), openb.Ratio, 1)
	require.ErrorIs(t, err, fragmentation.ErrBadShape)
}
