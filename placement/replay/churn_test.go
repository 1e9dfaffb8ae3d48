package replay_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/churn"
	"github.com/gpushare/gpushare/placement/replay"
)

func smallMix() fragmentation.Mix {
	return fragmentation.Mix{
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "1g.5gb"}, Count: 6},
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "2g.10gb"}, Count: 3},
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "3g.20gb"}, Count: 1},
	}
}

func fleetOf(t testing.TB, gpus int) []placement.NodeSpec {
	t.Helper()
	m := model(t, "a100-40gb")
	nodes := make([]placement.NodeSpec, gpus)
	for i := range nodes {
		nodes[i] = placement.NodeSpec{Name: string(rune('a' + i)), GPUs: []placement.GPUSpec{{MIG: m}}}
	}
	return nodes
}

// TestChurnLaws compares means and spreads of many draws with those of the laws.
func TestChurnLaws(t *testing.T) {
	t.Parallel()
	const tasks, mean = 200_000, 1 << 20
	for _, c := range []struct{ sigma, variation, median float64 }{
		{0, 1, math.Ln2},
		{1.5, math.Sqrt(math.Exp(1.5*1.5) - 1), math.Exp(-1.5 * 1.5 / 2)},
		{0.5, math.Sqrt(math.Exp(0.5*0.5) - 1), math.Exp(-0.5 * 0.5 / 2)},
	} {
		all, err := replay.Churn{Mix: smallMix(), Gap: mean / 8, Lifetime: mean, Sigma: c.sigma, Tasks: tasks}.Arrivals(3)
		require.NoError(t, err)
		sum, squares, below := 0.0, 0.0, 0
		counts := map[string]int{}
		for i, task := range all {
			life := float64(task.Lifetime) / mean
			sum += life
			squares += life * life
			if life < c.median {
				below++
			}
			counts[task.Shape.Profile]++
			if i > 0 {
				require.GreaterOrEqual(t, task.Arrive, all[i-1].Arrive)
			}
		}
		average := sum / tasks
		assert.InDelta(t, 1, average, 0.03, "mean, sigma %v", c.sigma)
		assert.InDelta(t, 0.5, float64(below)/tasks, 0.005, "median, sigma %v", c.sigma)
		assert.InEpsilon(t, c.variation, math.Sqrt(squares/tasks-average*average)/average, 0.15, "spread, sigma %v", c.sigma)
		assert.InEpsilon(t, mean/8, float64(all[tasks-1].Arrive)/tasks, 0.01, "gaps")
		assert.InDelta(t, 0.6, float64(counts["1g.5gb"])/tasks, 0.005)
		assert.InDelta(t, 0.1, float64(counts["3g.20gb"])/tasks, 0.005)
	}
}

// TestChurnFixed pins the first tasks of a seed: they are the same on every
// platform and in every version.
func TestChurnFixed(t *testing.T) {
	t.Parallel()
	c := replay.Churn{Mix: smallMix(), Gap: 1000, Lifetime: 1_000_000, Tasks: 4}
	light, err := c.Arrivals(42)
	require.NoError(t, err)
	c.Sigma = 1.5
	heavy, err := c.Arrivals(42)
	require.NoError(t, err)
	again, err := c.Arrivals(42)
	require.NoError(t, err)
	assert.Equal(t, heavy, again)
	other, err := c.Arrivals(43)
	require.NoError(t, err)
	assert.NotEqual(t, heavy, other)
	for i := range light {
		assert.Equal(t, light[i].Task, heavy[i].Task, "another sigma leaves the arrivals as they were")
		assert.Equal(t, light[i].Arrive, heavy[i].Arrive)
	}
	type fixed struct{ arrive, light, heavy int64 }
	var got []fixed
	for i := range light {
		got = append(got, fixed{light[i].Arrive, light[i].Lifetime, heavy[i].Lifetime})
	}
	assert.Equal(t, []fixed{{2220, 349318, 474353}, {2252, 60375, 82415}, {4628, 2483321, 616206}, {4674, 548122, 1372127}}, got)
}

func TestChurnErrors(t *testing.T) {
	t.Parallel()
	good := replay.Churn{Mix: smallMix(), Gap: 1, Lifetime: 1, Tasks: 1}
	_, err := good.Arrivals(0)
	require.NoError(t, err)
	for text, spoil := range map[string]func(*replay.Churn){
		"mean gap 0":       func(c *replay.Churn) { c.Gap = 0 },
		"mean lifetime -1": func(c *replay.Churn) { c.Lifetime = -1 },
		"sigma NaN":        func(c *replay.Churn) { c.Sigma = math.NaN() },
		"sigma 4":          func(c *replay.Churn) { c.Sigma = 4 },
		"0 tasks":          func(c *replay.Churn) { c.Tasks = 0 },
		"10000000 tasks":   func(c *replay.Churn) { c.Gap, c.Tasks = 1<<40, 10_000_000 }, // beyond 64 bits
		"empty mix":        func(c *replay.Churn) { c.Mix = nil },
	} {
		c := good
		spoil(&c)
		_, err := c.Arrivals(0)
		require.ErrorIs(t, err, replay.ErrBadConfig, text)
		assert.ErrorContains(t, err, text)
	}
}

// TestGapFor wants the load that it was asked for: what arrives in a lifetime,
// over what there is.
func TestGapFor(t *testing.T) {
	t.Parallel()
	c, err := placement.NewCluster(fleetOf(t, 4))
	require.NoError(t, err)
	// 28 compute slices; a request takes 0.6 + 0.6 + 0.3 of them on average, and
	// 0.6 + 0.6 + 0.4 of the 32 memory slices.
	gap, err := replay.GapFor(c, smallMix(), 1_000_000, 1)
	require.NoError(t, err)
	assert.Equal(t, int64(math.Round(1e6*1.5/28)), gap)
	double, err := replay.GapFor(c, smallMix(), 1_000_000, 2)
	require.NoError(t, err)
	assert.Equal(t, int64(math.Round(1e6*1.5/28/2)), double)

	uncut, err := placement.NewCluster(twoNodes())
	require.NoError(t, err)
	gap, err = replay.GapFor(uncut, fragmentation.MixOf([]fragmentation.Shape{part(500)}), 1000, 1)
	require.NoError(t, err)
	assert.EqualValues(t, 125, gap)
	for _, mix := range []fragmentation.Mix{nil, smallMix(), fragmentation.MixOf([]fragmentation.Shape{{CPU: 1}})} {
		_, err := replay.GapFor(uncut, mix, 1000, 1)
		require.ErrorIs(t, err, replay.ErrBadConfig)
	}
	// All GPUs are cut, or there are none at all.
	whole := fragmentation.MixOf([]fragmentation.Shape{part(1000)})
	_, err = replay.GapFor(c, whole, 1000, 1)
	require.ErrorIs(t, err, replay.ErrBadConfig)
	_, err = replay.GapFor(nil, whole, 1000, 1)
	require.ErrorIs(t, err, replay.ErrBadConfig)

	// Of a fleet with both kinds of GPU the scarcer one reaches the load: 28 slices
	// for requests that take 1.5 in three of four arrivals, and the 4 uncut GPUs for
	// one that takes half of one in the fourth.
	both, err := placement.NewCluster(append(fleetOf(t, 4), placement.NodeSpec{Name: "uncut", GPUs: make([]placement.GPUSpec, 4)}))
	require.NoError(t, err)
	mix := append(smallMix(), fragmentation.Entry{Shape: part(500), Count: 10})
	gap, err = replay.GapFor(both, mix, 1_000_000, 1)
	require.NoError(t, err)
	assert.Equal(t, int64(math.Round(1e6*0.5*0.5/4)), gap)
	mix[3].Count = 1
	gap, err = replay.GapFor(both, mix, 1_000_000, 1)
	require.NoError(t, err)
	assert.Equal(t, int64(math.Round(1e6*1.5*10/11/28)), gap)
	for _, load := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		_, err := replay.GapFor(c, smallMix(), 1000, load)
		require.ErrorIs(t, err, replay.ErrBadConfig)
	}
}

// TestAgreesWithTheCompactSimulator runs one trace both ways: on books of nodes
// with tasks, and on numbers of states.
func TestAgreesWithTheCompactSimulator(t *testing.T) {
	t.Parallel()
	migFGD, err := fragmentation.NewMIGFGD(smallMix())
	require.NoError(t, err)
	byValue, err := placement.ByValue(migFGD, 1, placement.SmallestFirst)
	require.NoError(t, err)
	m := model(t, "a100-40gb")
	states, err := fragmentation.NewStates(m)
	require.NoError(t, err)
	index, err := fragmentation.NewIndex(states, smallMix(), fragmentation.DefaultIndex())
	require.NoError(t, err)
	byIndex, err := placement.ByIndex(index)
	require.NoError(t, err)
	for name, policy := range map[string]placement.Policy{
		"first fit": placement.FirstFit(), "MIG-FGD": byValue, "index": byIndex,
		"best fit": placement.BestFit(placement.Largest{GPU: fragmentation.Whole}),
	} {
		for _, heavy := range []bool{false, true} {
			trace, err := churn.NewTrace(churn.Config{
				Fleet: []churn.Group{{Model: m, GPUs: 5}}, Mix: smallMix(), Load: 1.1, Heavy: heavy, WarmUp: 2, Arrivals: 2000, Seed: 9,
			})
			require.NoError(t, err)
			compact, err := trace.Run(policy)
			require.NoError(t, err)
			cfg := replay.Config{
				Nodes:  fleetOf(t, 5),
				Policy: func(*placement.Cluster) placement.Policy { return policy },
				WarmUp: -1,
			}
			for a := range trace.Arrivals() {
				const ticks = 1 << 32
				job := task(string(rune(0x4e00+len(cfg.Tasks))), int64(a.At*ticks), max(1, int64(a.Lifetime*ticks)), a.Shape)
				if a.Measured && cfg.WarmUp < 0 {
					cfg.WarmUp = job.Arrive
				}
				cfg.Tasks = append(cfg.Tasks, job)
			}
			books, err := replay.Run(t.Context(), cfg)
			require.NoError(t, err)
			assert.Equal(t, compact.Requests.Offered, books.Steady.Offered.Total(), name)
			assert.Equal(t, compact.Requests.Rejected, books.Steady.Rejected.Total(), name)
			assert.Equal(t, compact.Slices.Offered, books.Steady.OfferedSlices, name)
			assert.Equal(t, compact.Slices.Rejected, books.Steady.RejectedSlices, name)
			assert.Positive(t, books.Steady.RejectedSlices)
		}
	}
}

// TestRepairInReplay: rejections fall, the budget holds, and what is observed adds
// up.
func TestRepairInReplay(t *testing.T) {
	t.Parallel()
	c, err := placement.NewCluster(fleetOf(t, 6))
	require.NoError(t, err)
	gap, err := replay.GapFor(c, smallMix(), 1<<20, 1)
	require.NoError(t, err)
	tasks, err := replay.Churn{Mix: smallMix(), Gap: gap, Lifetime: 1 << 20, Tasks: 3000}.Arrivals(1)
	require.NoError(t, err)
	cfg := replay.Config{Nodes: fleetOf(t, 6), Tasks: tasks, Policy: firstFit, WarmUp: 6 << 20}
	plain, err := replay.Run(t.Context(), cfg)
	require.NoError(t, err)
	assert.Zero(t, plain.Moves)
	worth := func(s *fragmentation.State) int64 {
		sum := int64(0)
		for _, g := range s.GPUs {
			sum += int64(g.Layout.FreePairs())
		}
		return sum
	}
	for _, rule := range []placement.Repair{{Every: 10}, {Every: 10, Worth: worth}} {
		cfg.Repair = &rule
		seen := 0
		cfg.Observe = func(e replay.Event) { seen += placement.Moved(e.Moves) }
		mended, err := replay.Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.Positive(t, mended.Moves)
		assert.Equal(t, seen, mended.Moves)
		assert.LessOrEqual(t, mended.Moves, mended.Accepted.Total()/10)
		assert.LessOrEqual(t, mended.Steady.Moves, mended.Moves)
		assert.Less(t, mended.Steady.RejectedSlices, plain.Steady.RejectedSlices)
		assert.Equal(t, plain.Steady.Offered, mended.Steady.Offered)
		again, err := replay.Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.Equal(t, mended.Metrics, again.Metrics)
	}
	cfg.Repair = &placement.Repair{}
	_, err = replay.Run(t.Context(), cfg)
	require.ErrorIs(t, err, replay.ErrBadConfig)
	require.ErrorIs(t, err, placement.ErrBadRepair)
	cfg.Repair, cfg.WarmUp = nil, -1
	_, err = replay.Run(t.Context(), cfg)
	require.ErrorIs(t, err, replay.ErrBadConfig)
}

// TestNextPolicy: from the third arrival on the last node is filled first.
func TestNextPolicy(t *testing.T) {
	t.Parallel()
	cfg := replay.Config{
		Nodes: twoNodes(), Policy: firstFit,
		Tasks: []replay.Task{task("1", 0, 0, part(100)), task("2", 0, 0, part(100)), task("3", 0, 0, part(100)), task("4", 0, 0, part(100))},
	}
	cfg.Nodes[1].CPU = 64_000
	worst := placement.WorstFit(placement.Largest{CPU: 64_000})
	asked := 0
	cfg.Next = func(job *placement.Task) placement.Policy {
		asked++
		if job.ID == "3" {
			return worst
		}
		return nil
	}
	var nodes []string
	cfg.Observe = func(e replay.Event) { nodes = append(nodes, e.Node.Name()) }
	_, err := replay.Run(t.Context(), cfg)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "a", "b", "b"}, nodes)
	assert.Equal(t, 4, asked)
}
