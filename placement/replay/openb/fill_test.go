package openb_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay"
	"github.com/gpushare/gpushare/placement/replay/openb"
)

// byFill is the expected fill of the whole trace, as its users set it up.
func byFill(t *testing.T, tasks []placement.Task) placement.Policy {
	t.Helper()
	mix, err := openb.TargetMix(tasks, 100)
	require.NoError(t, err)
	value, err := fragmentation.NewFill(mix, fragmentation.FillOptions{})
	require.NoError(t, err)
	policy, err := placement.ByValue(value, 160, placement.NodeOrder)
	require.NoError(t, err)
	return policy
}

// TestFillStrandsLess replays the published protocol with expected fill beside
// the published FGD: what is left at 100 and at 130 percent arrived, and the
// tasks of several GPUs, which a value that breaks up idle nodes early would
// refuse.
func TestFillStrandsLess(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("slow under the race detector")
	}
	nodes := sharedNodes(t)
	for _, c := range []struct {
		trace string
		most  float64 // percent unallocated at the end
	}{
		{"default", 4.05},
		{"cpu250", 6.0},
		{"gpushare60", 7.8}, // few tasks of several GPUs
		{"gpuspec33", 4.1},  // a third of the tasks accept some models only
		{"multigpu40", 2.9},
	} {
		t.Run(c.trace, func(t *testing.T) {
			t.Parallel()
			tasks := sharedTasks(t, c.trace)
			e, err := openb.NewExperiment(nodes, tasks, openb.Ratio, openb.FirstSeed)
			require.NoError(t, err)
			fgd, err := e.Policy(openb.FGD)
			require.NoError(t, err)
			theirs, err := replay.Run(t.Context(), e.Config(fgd))
			require.NoError(t, err)
			ours, err := replay.Run(t.Context(), e.Config(byFill(t, tasks)))
			require.NoError(t, err)
			assert.Less(t, 100-ours.Final.AllocatedPercent(), c.most)
			assert.Greater(t, ours.Final.Allocated, theirs.Final.Allocated)
			assert.Greater(t, ours.Samples[100].Allocated, theirs.Samples[100].Allocated)
			several := float64(ours.Offered[replay.SeveralGPUs])
			assert.Greater(t, float64(ours.Accepted[replay.SeveralGPUs])/several,
				float64(theirs.Accepted[replay.SeveralGPUs])/several-0.015)
		})
	}
}
