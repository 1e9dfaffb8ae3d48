package openb_test

import (
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay"
	"github.com/gpushare/gpushare/placement/replay/openb"
)

// TestExperiment: whatever the seed and the order of the arguments, the nodes
// are a permutation, the tasks those of the trace, repeated or left out, and
// what they ask for ends where the published rule ends it.
func TestExperiment(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nodes, tasks := genTrace(t)
		ratio := rapid.SampledFrom([]float64{0.05, 0.3, 1, 1.3, 4}).Draw(t, "ratio")
		seed := rapid.Int64().Draw(t, "seed")
		e, err := openb.NewExperiment(nodes, tasks, ratio, seed)
		require.NoError(t, err)

		capacity, most, total := int64(0), int64(0), int64(0)
		for _, n := range nodes {
			capacity += 1000 * int64(len(n.GPUs))
		}
		byID := map[string]fragmentation.Shape{}
		for _, task := range tasks {
			byID[task.ID] = task.Shape
			total += task.Shape.TotalMilli()
			most = max(most, task.Shape.TotalMilli())
		}
		assert.ElementsMatch(t, nodes, e.Nodes)
		assert.Equal(t, len(tasks), e.TraceTasks)
		offered, seen := int64(0), map[string]bool{}
		for _, task := range e.Tasks {
			name, _, tuned := strings.Cut(task.ID, "-tuned-")
			require.Contains(t, byID, name)
			require.Equal(t, byID[name], task.Shape)
			require.False(t, seen[task.ID], "%s is offered twice", task.ID)
			require.False(t, tuned && float64(total) > ratio*float64(capacity), "%s is a copy, though too much is asked for", task.ID)
			seen[task.ID] = true
			offered += task.Shape.TotalMilli()
		}
		limit := ratio * float64(capacity)
		if float64(total) < limit {
			// The slip lets a task of several GPUs pass the limit.
			assert.Less(t, float64(offered), limit+float64(most))
			assert.Greater(t, float64(offered), limit-1001)
			assert.GreaterOrEqual(t, len(e.Tasks), len(tasks))
		} else {
			assert.LessOrEqual(t, float64(offered), limit)
			assert.Greater(t, float64(offered), limit-float64(most)-1)
		}

		rand.New(rand.NewSource(1)).Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
		slices.Reverse(nodes)
		again, err := openb.NewExperiment(nodes, tasks, ratio, seed)
		require.NoError(t, err)
		assert.Equal(t, e, again, "the order of the arguments counts")
	})
}

// TestMadeUp pins the protocol on the made-up trace, so that it is watched where
// the published one is not at hand.
func TestMadeUp(t *testing.T) {
	t.Parallel()
	nodes, tasks := madeUp(t)
	e, err := openb.NewExperiment(nodes, tasks, openb.Ratio, openb.FirstSeed)
	require.NoError(t, err)
	names := func(n int) (offered, ranked []string) {
		for i := range n {
			offered, ranked = append(offered, e.Tasks[i].ID), append(ranked, e.Nodes[i].Name)
		}
		return offered, ranked
	}
	offered, ranked := names(5)
	assert.Equal(t, []string{"task-34", "task-18", "task-00", "task-47", "task-49"}, offered)
	assert.Equal(t, []string{"node-10", "node-06", "node-11", "node-08", "node-02"}, ranked)
	require.Len(t, e.Tasks, 92)
	assert.Equal(t, "task-38-tuned-31", e.Tasks[len(e.Tasks)-1].ID)
	for policy, want := range map[string]struct {
		allocated int64
		digest    string
	}{
		openb.FGD:           {58540, "97687fce917ed06a"},
		openb.BestFit:       {58040, "afa7e67e0faa96fe"},
		openb.DotProd:       {58160, "465be0ae29436e93"},
		openb.GpuPacking:    {58040, "1c7ab43fc2177c91"},
		openb.GpuClustering: {56540, "a7be9d46f87d9e56"},
	} {
		p, err := e.Policy(policy)
		require.NoError(t, err)
		digest := openb.NewDigest()
		cfg := e.Config(p)
		cfg.Observe = digest.Add
		r, err := replay.Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.Equal(t, want.allocated, r.Final.Allocated, policy)
		assert.Equal(t, want.digest, digest.String()[:16], policy)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	n, err := placement.NewNode(placement.NodeSpec{Name: "node"})
	require.NoError(t, err)
	task := &placement.Task{ID: "task"}
	placed := replay.Event{Task: task, Node: n, Choice: placement.Choice{Spot: placement.Spot{GPUs: placement.GPUs(0, 3)}}}
	assert.Equal(t, "task,node,0-3", openb.Decision(placed))
	assert.Equal(t, "task,,", openb.Decision(replay.Event{Task: task}))

	d := openb.NewDigest()
	const none = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	assert.Equal(t, none, d.String())
	d.Add(replay.Event{Task: task, Node: n, Departure: true})
	assert.Equal(t, none, d.String(), "a departure is no decision")
	d.Add(placed)
	assert.NotEqual(t, none, d.String())
}

func TestBadExperiments(t *testing.T) {
	t.Parallel()
	nodes := []placement.NodeSpec{{Name: "a", GPUs: make([]placement.GPUSpec, 4)}}
	tasks := []placement.Task{{ID: "x", Shape: fragmentation.Shape{GPUs: 1, Milli: 1}}}
	for _, c := range []struct {
		name  string
		nodes []placement.NodeSpec
		tasks []placement.Task
		ratio float64
		says  string
	}{
		{"no nodes", nil, tasks, 1.3, "none of 0 nodes"},
		{"no GPUs", []placement.NodeSpec{{Name: "a"}}, tasks, 1.3, "none of 1 nodes"},
		{"no tasks", nodes, nil, 1.3, "0 tasks"},
		{"no GPU asked for", nodes, []placement.Task{{ID: "x"}}, 1.3, "none of 1 tasks"},
		{"bad shape", nodes, []placement.Task{{ID: "x", Shape: fragmentation.Shape{CPU: -1}}}, 1.3, "CPU -1"},
		{"NaN", nodes, tasks, math.NaN(), "ratio NaN"},
		{"zero", nodes, tasks, 0, "ratio 0"},
		{"negative", nodes, tasks, -1, "ratio -1"},
		{"infinite", nodes, tasks, math.Inf(1), "ratio +Inf"},
		{"too many copies", nodes, tasks, 900, "more than 2000000 tasks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e, err := openb.NewExperiment(c.nodes, c.tasks, c.ratio, 1)
			require.ErrorIs(t, err, openb.ErrBadExperiment)
			require.ErrorContains(t, err, c.says)
			assert.Nil(t, e)
		})
	}
}
