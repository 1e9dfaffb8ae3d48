package replay_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay"
)

func firstFit(*placement.Cluster) placement.Policy { return placement.FirstFit() }

func task(id string, arrive, lifetime int64, s fragmentation.Shape) replay.Task {
	return replay.Task{Task: placement.Task{ID: id, Shape: s}, Arrive: arrive, Lifetime: lifetime}
}

func part(milli int64) fragmentation.Shape {
	return fragmentation.Shape{CPU: 1000, GPUs: 1, Milli: milli}
}

func whole(n int) fragmentation.Shape { return fragmentation.Shape{CPU: 1000, GPUs: n, Milli: 1000} }

func twoNodes() []placement.NodeSpec {
	return []placement.NodeSpec{
		{Name: "a", CPU: 4000, GPUs: make([]placement.GPUSpec, 2)},
		{Name: "b", CPU: 2000, GPUs: make([]placement.GPUSpec, 2)},
	}
}

// small is a replay whose figures can be checked by hand.
func small(t *testing.T) replay.Config {
	t.Helper()
	value, err := fragmentation.NewFGD(fragmentation.Mix{{Shape: whole(1), Count: 1}})
	require.NoError(t, err)
	return replay.Config{
		Nodes: twoNodes(),
		Tasks: []replay.Task{
			task("late", 9, 0, whole(2)), // after "half" has left: a has room for it
			task("half", 0, 9, part(500)),
			task("cpu", 0, 0, fragmentation.Shape{CPU: 1500}),
			task("never", 1, 0, whole(3)), // no node has three GPUs
			task("starved", 2, 0, fragmentation.Shape{CPU: 9000}),
		},
		Policy: firstFit, Value: value,
	}
}

func TestSmall(t *testing.T) {
	t.Parallel()
	result, err := replay.Run(t.Context(), small(t))
	require.NoError(t, err)

	// What arrives, of 4000: half 500 (12.5 %), cpu 0, never 3000 (87.5 %),
	// starved 0, late 2000 (137.5 %).
	require.Len(t, result.Samples, 138)
	empty := replay.Sample{Capacity: 4000}
	assert.Equal(t, empty, result.Samples[0], "a mix of whole GPUs can use all of an empty cluster")
	half := replay.Sample{Tasks: 1, Placed: 1, Arrived: 500, Capacity: 4000, Allocated: 500, CPU: 1000, GPUsInUse: 1, Fragment: 500}
	assert.Equal(t, half, result.Samples[1], "the first task passes 12 percents at once")
	assert.Equal(t, half, result.Samples[12])
	never := half
	never.Tasks, never.Placed, never.Arrived, never.CPU = 3, 2, 3500, 2500
	assert.Equal(t, never, result.Samples[13])
	assert.Equal(t, never, result.Samples[87])
	final := replay.Sample{Tasks: 5, Placed: 3, Arrived: 5500, Capacity: 4000, Allocated: 2000, CPU: 2500, GPUsInUse: 2}
	assert.Equal(t, final, result.Samples[88])
	assert.Equal(t, final, result.Samples[137])
	assert.Equal(t, final, result.Final)

	assert.Equal(t, replay.Counts{replay.CPUOnly: 2, replay.Fraction: 1, replay.SeveralGPUs: 2}, result.Offered)
	assert.Equal(t, replay.Counts{replay.CPUOnly: 1, replay.Fraction: 1, replay.SeveralGPUs: 1}, result.Accepted)
	assert.Equal(t, 5, result.Offered.Total())
	assert.Equal(t, []replay.Failure{{Kind: placement.LackCPU, Tasks: 1}, {Kind: placement.LackGPU, Tasks: 1}}, result.Failures)
	assert.Equal(t, "a", result.Cluster.Locate("late").Name())
	assert.Nil(t, result.Cluster.Locate("half"))
	assert.Zero(t, result.Elapsed)
	assert.Zero(t, result.DecisionsPerSecond())

	assert.InDelta(t, 12.5, half.ArrivedPercent(), 1e-9)
	assert.InDelta(t, 12.5, half.AllocatedPercent(), 1e-9)
	assert.InDelta(t, 3.5, half.UnallocatedGPUs(), 1e-9)
	assert.InDelta(t, 12.5, half.FragmentPercent(), 1e-9)
	assert.InDelta(t, 100*500.0/3500, half.FragmentRate(), 1e-9)
	full := replay.Sample{Capacity: 4000, Allocated: 4000}
	assert.Zero(t, full.FragmentRate(), "nothing is left")
}

// TestDepartureFirst: at one time, who leaves makes room for who arrives; a
// moment earlier it does not.
func TestDepartureFirst(t *testing.T) {
	t.Parallel()
	for arrive, accepted := range map[int64]int{4: 1, 5: 2} {
		t.Run(fmt.Sprint(arrive), func(t *testing.T) {
			t.Parallel()
			result, err := replay.Run(t.Context(), replay.Config{
				Nodes:  []placement.NodeSpec{{Name: "a", CPU: 9000, GPUs: make([]placement.GPUSpec, 1)}},
				Tasks:  []replay.Task{task("x", 2, 3, whole(1)), task("y", arrive, 0, whole(1))},
				Policy: firstFit,
			})
			require.NoError(t, err)
			assert.Equal(t, accepted, result.Accepted.Total())
		})
	}
}

func TestPercents(t *testing.T) {
	t.Parallel()
	for percents, want := range map[int]int{1: 2, 100: 101, 137: 138, 5000: 138} {
		t.Run(fmt.Sprint(percents), func(t *testing.T) {
			t.Parallel()
			cfg := small(t)
			cfg.Percents = percents
			result, err := replay.Run(t.Context(), cfg)
			require.NoError(t, err)
			assert.Len(t, result.Samples, want)
			assert.Equal(t, 5, result.Final.Tasks, "the run goes on after the last sample")
		})
	}
	t.Run("no more than 1000 unasked", func(t *testing.T) {
		t.Parallel()
		cfg := replay.Config{Nodes: twoNodes()[1:], Policy: firstFit}
		for i := range 30 {
			cfg.Tasks = append(cfg.Tasks, task(fmt.Sprint(i), 0, 0, whole(1)))
		}
		result, err := replay.Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.Len(t, result.Samples, 1001)
	})
}

func TestClockAndProgress(t *testing.T) {
	t.Parallel()
	cfg := small(t)
	at := time.Unix(1, 0)
	cfg.Now = func() time.Time { at = at.Add(2 * time.Second); return at }
	var seen []int
	cfg.Progress = func(done, total int) {
		assert.Equal(t, 5, total)
		seen = append(seen, done)
	}
	result, err := replay.Run(t.Context(), cfg)
	require.NoError(t, err)
	assert.Equal(t, 2*time.Second, result.Elapsed)
	assert.InDelta(t, 2.5, result.DecisionsPerSecond(), 1e-9)
	assert.Equal(t, []int{1, 2, 3, 4, 5}, seen)
}

// TestStopped: a context that ends stops the replay before the next decision.
func TestStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cfg := small(t)
	offered := 0
	cfg.Observe = func(replay.Event) {
		if offered++; offered == 2 {
			cancel()
		}
	}
	result, err := replay.Run(ctx, cfg)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "after 2 of 5 tasks")
	assert.Nil(t, result)
	assert.Equal(t, 2, offered)
}

// wrongSpot answers with a GPU that no node has.
type wrongSpot struct{}

func (wrongSpot) Choose(*placement.Node, *placement.Task) placement.Choice {
	return placement.Choice{Spot: placement.Spot{GPUs: placement.GPUs(60)}}
}

func TestWrongPolicy(t *testing.T) {
	t.Parallel()
	_, err := replay.Run(t.Context(), replay.Config{
		Nodes: twoNodes(), Tasks: []replay.Task{task("x", 0, 0, whole(1))},
		Policy: func(*placement.Cluster) placement.Policy { return wrongSpot{} },
	})
	require.ErrorIs(t, err, placement.ErrBadSpot)
	require.ErrorContains(t, err, `task "x"`)
}

func TestBadConfig(t *testing.T) {
	t.Parallel()
	x := task("x", 0, 0, whole(1))
	for _, c := range []struct {
		name   string
		change func(*replay.Config)
		says   string
		is     error
	}{
		{"no nodes", func(c *replay.Config) { c.Nodes = nil }, "no nodes", nil},
		{"no tasks", func(c *replay.Config) { c.Tasks = nil }, "no tasks", nil},
		{"no policy", func(c *replay.Config) { c.Policy = nil }, "no policy", nil},
		{"nil policy", func(c *replay.Config) { c.Policy = func(*placement.Cluster) placement.Policy { return nil } }, "no policy", nil},
		{"no GPU", func(c *replay.Config) { c.Nodes = []placement.NodeSpec{{Name: "a"}, {Name: "b"}} }, "none of 2 nodes has a GPU", nil},
		{"value from no constructor", func(c *replay.Config) { c.Value = &fragmentation.FGD{} }, "value of scale 0", nil},
		{"negative percents", func(c *replay.Config) { c.Percents = -1 }, "up to -1 percent", nil},
		{"too many percents", func(c *replay.Config) { c.Percents = 10_001 }, "up to 10001 percent", nil},
		{"node twice", func(c *replay.Config) { c.Nodes = append(c.Nodes, c.Nodes[0]) }, `node "a"`, placement.ErrDuplicate},
		{"negative node", func(c *replay.Config) { c.Nodes[1].CPU = -5 }, `node "b": CPU -5`, placement.ErrBadNode},
		{"task twice", func(c *replay.Config) { c.Tasks = append(c.Tasks, c.Tasks[0]) }, `task 1: ID "x" is that of task 0`, placement.ErrDuplicate},
		{"no ID", func(c *replay.Config) { c.Tasks[0].ID = "" }, "task 0: no ID", placement.ErrBadTask},
		{"negative time", func(c *replay.Config) { c.Tasks[0].Arrive = -3 }, `task 0 ("x"): arrival at -3`, placement.ErrBadTask},
		{"negative lifetime", func(c *replay.Config) { c.Tasks[0].Lifetime = -4 }, `task 0 ("x"): lifetime -4`, placement.ErrBadTask},
		{"endless", func(c *replay.Config) { c.Tasks[0].Arrive, c.Tasks[0].Lifetime = 2, math.MaxInt64-1 }, "too large", placement.ErrBadTask},
		{"one and a half GPUs", func(c *replay.Config) { c.Tasks[0].Shape.Milli = 1500 }, `task 0 ("x")`, fragmentation.ErrBadShape},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := replay.Config{Nodes: twoNodes(), Tasks: []replay.Task{x}, Policy: firstFit}
			c.change(&cfg)
			result, err := replay.Run(t.Context(), cfg)
			require.ErrorIs(t, err, replay.ErrBadConfig)
			require.ErrorContains(t, err, c.says)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			assert.Nil(t, result)
		})
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	for group, s := range map[replay.Group]fragmentation.Shape{
		replay.CPUOnly:     {CPU: 1},
		replay.Fraction:    part(999),
		replay.WholeGPU:    whole(1),
		replay.SeveralGPUs: whole(2),
		replay.Instance:    {GPUs: 1, Profile: "1g.5gb"},
	} {
		t.Run(group.String(), func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, group, replay.GroupOf(s))
			assert.NotEqual(t, "unknown", group.String())
		})
	}
	assert.Equal(t, "unknown", replay.Group(200).String())
}

// TestAsked: a MIG instance asks for its share of memory slices, the largest
// that a model of the cluster gives it, whatever the order of the nodes.
func TestAsked(t *testing.T) {
	t.Parallel()
	small := placement.NodeSpec{Name: "small", Model: "A100-40", GPUs: []placement.GPUSpec{{MIG: model(t, "a100-40gb")}}}
	large := placement.NodeSpec{Name: "large", Model: "A100-80", GPUs: []placement.GPUSpec{{}, {MIG: model(t, "a100-80gb")}}}
	quarter := placement.NodeSpec{Name: "a30", Model: "A30", GPUs: []placement.GPUSpec{{MIG: model(t, "a30-24gb")}}}
	for _, c := range []struct {
		name  string
		nodes []placement.NodeSpec
		shape fragmentation.Shape
		want  int64
	}{
		{"no GPU", []placement.NodeSpec{small}, fragmentation.Shape{CPU: 7}, 0},
		{"fraction", []placement.NodeSpec{small}, part(460), 460},
		{"whole GPUs", []placement.NodeSpec{small}, whole(8), 8000},
		{"two slices of eight", []placement.NodeSpec{small}, fragmentation.Shape{GPUs: 1, Profile: "1g.10gb"}, 250},
		{"one slice of eight", []placement.NodeSpec{large}, fragmentation.Shape{GPUs: 1, Profile: "1g.10gb"}, 125},
		{"larger first", []placement.NodeSpec{small, large}, fragmentation.Shape{GPUs: 1, Profile: "1g.10gb"}, 250},
		{"larger last", []placement.NodeSpec{large, small}, fragmentation.Shape{GPUs: 1, Profile: "1g.10gb"}, 250},
		{"larger not accepted", []placement.NodeSpec{small, large}, fragmentation.Shape{GPUs: 1, Profile: "1g.10gb", Models: "A100-80"}, 125},
		{"one slice of four", []placement.NodeSpec{small, quarter}, fragmentation.Shape{GPUs: 1, Profile: "1g.6gb"}, 250},
		{"offered by none", []placement.NodeSpec{small}, fragmentation.Shape{GPUs: 1, Profile: "1g.6gb"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cluster, err := placement.NewCluster(c.nodes)
			require.NoError(t, err)
			assert.Equal(t, c.want, replay.Asked(cluster, c.shape))
		})
	}
}
