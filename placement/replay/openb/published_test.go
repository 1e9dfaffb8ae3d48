package openb_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay"
	"github.com/gpushare/gpushare/placement/replay/openb"
)

// TestDefaultSeed42 replays the default trace as published with every policy:
// each decision, and every figure of the end.
func TestDefaultSeed42(t *testing.T) {
	t.Parallel()
	g := readGolden(t)
	nodes, tasks := sharedNodes(t), sharedTasks(t, "default")
	e, err := openb.NewExperiment(nodes, tasks, openb.Ratio, openb.FirstSeed)
	require.NoError(t, err)
	for name, rank := range g.Default.Ranks {
		assert.Equal(t, name, e.Nodes[rank].Name)
	}
	value, err := fragmentation.NewFGD(e.Mix)
	require.NoError(t, err)
	for _, name := range openb.Policies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := g.Default.Policies[name]
			policy, err := e.Policy(name)
			require.NoError(t, err)
			digest := openb.NewDigest()
			index, last := 0, 0
			cfg := e.Config(policy)
			cfg.Value = value
			cfg.Observe = func(e replay.Event) {
				if index < len(want.First) {
					require.Equal(t, strings.Join(want.First[index][:], ","), openb.Decision(e), "decision %d", index)
				}
				if e.Node != nil {
					last = index
				}
				index++
				digest.Add(e)
			}
			r, err := replay.Run(t.Context(), cfg)
			require.NoError(t, err)
			assert.Equal(t, want.Digest, digest.String())
			assert.Equal(t, want.LastPlaced, last)
			final := r.Final
			assert.Equal(t, want.Tasks, final.Tasks)
			assert.Equal(t, want.Failed, final.Tasks-final.Placed)
			assert.Equal(t, want.Arrived, final.Arrived)
			assert.Equal(t, want.Allocated, final.Allocated)
			assert.Equal(t, want.CPU, final.CPU)
			assert.Equal(t, want.GPUsInUse, final.GPUsInUse)
			assert.InDelta(t, want.Fragment, final.Fragment, 1e-5)
			assert.InDelta(t, want.Idle, 1000*final.UnallocatedGPUs(), 1e-6)
			assert.NotEmpty(t, want.At)
			for percent, allocated := range want.At {
				c, err := strconv.Atoi(percent)
				require.NoError(t, err)
				assert.Equal(t, allocated, r.Samples[c].Allocated, "at %d percent", c)
			}
			var amounts fragmentation.Amounts
			for n := range r.Cluster.Nodes() {
				s := n.State()
				amounts = amounts.Add(value.Amounts(&s))
			}
			for class, x := range want.Amounts {
				assert.InDelta(t, x, float64(amounts[class])/float64(value.Scale()), 1e-5, g.Categories[class])
			}
		})
	}
}

// TestTotals compares published totals of three variants: one with model
// constraints, one where tuning takes tasks out, and one of fractions alone. All
// 402 runs are compared by examples/openb.
func TestTotals(t *testing.T) {
	t.Parallel()
	g := readGolden(t)
	nodes := sharedNodes(t)
	for _, c := range []struct {
		trace, seed string
		policies    []string
	}{
		{"default", "47", []string{openb.FGD}},
		{"gpuspec10", "43", openb.Policies()},
		{"multigpu50", "44", []string{openb.FGD, openb.BestFit}},
		{"gpushare100", "42", []string{openb.FGD, openb.DotProd, openb.GpuPacking, openb.GpuClustering}},
	} {
		t.Run(c.trace, func(t *testing.T) {
			t.Parallel()
			seed, err := strconv.ParseInt(c.seed, 10, 64)
			require.NoError(t, err)
			e, err := openb.NewExperiment(nodes, sharedTasks(t, c.trace), openb.Ratio, seed)
			require.NoError(t, err)
			for _, name := range c.policies {
				want, found := g.Totals.ByTrace[c.trace][name][c.seed]
				require.True(t, found)
				policy, err := e.Policy(name)
				require.NoError(t, err)
				r, err := replay.Run(t.Context(), e.Config(policy))
				require.NoError(t, err)
				assert.Equal(t, want.Allocated, r.Final.Allocated, name)
				assert.Equal(t, want.Failed, r.Final.Tasks-r.Final.Placed, name)
			}
		})
	}
}

// byFGD is the library's own rule with steps of 80 milli-GPU.
func byFGD(order placement.Order) func(*testing.T, *openb.Experiment, int64) placement.Policy {
	return func(t *testing.T, e *openb.Experiment, _ int64) placement.Policy {
		t.Helper()
		value, err := fragmentation.NewFGD(e.Mix)
		require.NoError(t, err)
		policy, err := placement.ByValue(value, 80, order)
		require.NoError(t, err)
		return policy
	}
}

// TestMeans: what the library's own policies reach on the published sequence.
// Random cannot be compared run by run; its published mean over ten seeds is
// 87.55 within the half percent given here. FGD in exact integers, cut into
// steps, comes within 0.1 of the published 95.39.
func TestMeans(t *testing.T) {
	t.Parallel()
	if raceDetector || testing.Short() {
		t.Skip("forty replays take long here")
	}
	nodes, tasks := sharedNodes(t), sharedTasks(t, "default")
	for _, c := range []struct {
		name      string
		policy    func(*testing.T, *openb.Experiment, int64) placement.Policy
		low, high float64
	}{
		{"random", func(_ *testing.T, _ *openb.Experiment, seed int64) placement.Policy {
			return placement.Random(uint64(seed))
		}, 87.07, 88.03},
		{"fgd, score not cut", uncut, 92.27, 92.47}, // less than best fit
		{"fgd, node order", byFGD(placement.NodeOrder), 95.29, 95.49},
		{"fgd, smallest first", byFGD(placement.SmallestFirst), 95.29, 95.49},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var seeds []int64
			for i := range int64(10) {
				seeds = append(seeds, openb.FirstSeed+i)
			}
			percents, err := replay.Seeds(t.Context(), seeds, 2, func(ctx context.Context, seed int64) (float64, error) {
				e, err := openb.NewExperiment(nodes, tasks, openb.Ratio, seed)
				if err != nil {
					return 0, err
				}
				r, err := replay.Run(ctx, e.Config(c.policy(t, e, seed)))
				if err != nil {
					return 0, err
				}
				return r.Final.AllocatedPercent(), nil
			})
			require.NoError(t, err)
			sum := 0.0
			for _, p := range percents {
				sum += p
			}
			mean := sum / float64(len(percents))
			t.Logf("mean allocated %.3f %% of %.2f", mean, percents)
			assert.True(t, c.low <= mean && mean <= c.high, "%v is not in %v to %v", mean, c.low, c.high)
		})
	}
}
