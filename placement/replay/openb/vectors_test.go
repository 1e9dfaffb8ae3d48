package openb_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay/openb"
)

// vector is a node, a task and what the reference's functions say of them.
type vector struct {
	ID   int
	Mix  string `json:"typical"`
	Node struct {
		CPU    int64          `json:"cpu_milli_left"`
		Milli  []int64        `json:"gpu_milli_left"`
		Model  string         `json:"gpu_type"`
		Labels map[string]int `json:"gpu_affinity_counts"`
	}
	Task     goldenShape
	Feasible bool
	Class    string     `json:"class_task_vs_node"`
	Amounts  [7]float64 `json:"frag_milli_by_category"`
	Before   float64    `json:"f_before"`
	ForTask  int64      `json:"frag_milli_for_this_task"`
	FGD      struct {
		Score   int64
		Sigmoid float64      `json:"sigmoid_x100_untruncated"`
		Delta   float64      `json:"delta_f_before_minus_after"`
		After   float64      `json:"f_after"`
		GPUs    []int        `json:"gpu_index"`
		PerGPU  [][4]float64 `json:"per_gpu"` // GPU, F after, F before minus F after, score
	}
	BestFit    int64 `json:"bestfit_score"`
	Packing    int64 `json:"gpupacking_score"`
	Clustering int64 `json:"gpuclustering_score"`
	DotProd    int64 `json:"dotprod_merge_max_score"`
	Best       []int `json:"gpu_index_best"`
	Worst      []int `json:"gpu_index_worst"`
}

func (v *vector) state() fragmentation.State {
	s := fragmentation.State{CPU: v.Node.CPU, Memory: 1 << 40, Model: v.Node.Model}
	for _, milli := range v.Node.Milli {
		s.GPUs = append(s.GPUs, fragmentation.GPU{Milli: milli})
	}
	return s
}

// placed returns the state with the task on the given GPUs.
func placed(s fragmentation.State, shape fragmentation.Shape, gpus ...int) fragmentation.State {
	var after fragmentation.State
	s.CopyTo(&after)
	after.CPU -= shape.CPU
	for _, i := range gpus {
		after.GPUs[i].Milli -= shape.Milli
	}
	return after
}

// node returns a node with that much left, the rest taken by other tasks.
func node(t *testing.T, left *fragmentation.State) *placement.Node {
	t.Helper()
	n, err := placement.NewNode(placement.NodeSpec{
		Name: "node", CPU: left.CPU, Model: left.Model, GPUs: make([]placement.GPUSpec, len(left.GPUs)),
	})
	require.NoError(t, err)
	for i, g := range left.GPUs {
		if g.Milli == fragmentation.Whole {
			continue
		}
		other := placement.Task{ID: strconv.Itoa(i), Shape: fragmentation.Shape{GPUs: 1, Milli: fragmentation.Whole - g.Milli}}
		n, err = n.With(placement.Assignment{Task: other, Spot: placement.Spot{GPUs: placement.GPUs(i)}})
		require.NoError(t, err)
	}
	return n
}

// TestVectors compares every figure of every vector: fragments as the reference
// rounds them, classes, scores and GPUs to the integer. Of the dot products only
// the one that was run for the published figures (merge, max) is here: the others
// are options of the reference's program that nothing published depends on.
func TestVectors(t *testing.T) {
	t.Parallel()
	g := readGolden(t)
	require.Len(t, g.Cases, 542)
	const rounding = 1e-6
	scored := 0
	for i := range g.Cases {
		v := &g.Cases[i]
		mix := g.mix(v.Mix)
		float, err := openb.NewFloatFGD(mix, g.Mixes[v.Mix].Tasks)
		require.NoError(t, err)
		exact, err := fragmentation.NewFGD(mix)
		require.NoError(t, err)
		s, shape := v.state(), v.Task.shape()

		// What stands there.
		amounts, exactAmounts := float.Amounts(&s), exact.Amounts(&s)
		for class, want := range v.Amounts {
			require.InDelta(t, want, amounts[class], rounding, "vector %d: %s", v.ID, g.Categories[class])
			require.InDelta(t, want, float64(exactAmounts[class])/float64(exact.Scale()), rounding, "vector %d: %s", v.ID, g.Categories[class])
		}
		require.InDelta(t, v.Before, float.Fragment(&s), rounding, "vector %d", v.ID)
		class, forTask := fragmentation.Classify(&s, &shape)
		require.Equal(t, v.Class, g.Categories[class], "vector %d", v.ID)
		require.Equal(t, v.ForTask, forTask.Fragment(), "vector %d", v.ID)
		require.Equal(t, v.Feasible, class == fragmentation.Satisfied || class == fragmentation.NoUse, "vector %d", v.ID)
		if !v.Feasible {
			continue
		}
		scored++

		// What each choice would do.
		for _, per := range v.FGD.PerGPU {
			gpu := int(per[0])
			after := placed(s, shape, gpu)
			gain := float.Fragment(&s) - float.Fragment(&after)
			require.InDelta(t, per[1], float.Fragment(&after), rounding, "vector %d: GPU %d", v.ID, gpu)
			require.InDelta(t, per[2], gain, rounding, "vector %d: GPU %d", v.ID, gpu)
			require.InDelta(t, per[3], math.Trunc(openb.Sigmoid100(gain)), 0, "vector %d: GPU %d", v.ID, gpu)
		}
		after := placed(s, shape, v.FGD.GPUs...)
		gain := float.Fragment(&s) - float.Fragment(&after)
		require.InDelta(t, v.FGD.After, float.Fragment(&after), rounding, "vector %d", v.ID)
		require.InDelta(t, v.FGD.Delta, gain, rounding, "vector %d", v.ID)
		require.InDelta(t, v.FGD.Sigmoid, openb.Sigmoid100(gain), rounding, "vector %d", v.ID)
		exactGain := float64(fragmentation.Fragment(exact, &s)-fragmentation.Fragment(exact, &after)) / float64(exact.Scale())
		require.InDelta(t, v.FGD.Delta, exactGain, rounding, "vector %d", v.ID)

		// What is decided.
		gpus, score := float.Decide(v.state(), shape)
		require.Equal(t, v.FGD.Score, score, "vector %d: FGD", v.ID)
		require.Equal(t, placement.GPUs(v.FGD.GPUs...), gpus, "vector %d: FGD", v.ID)
		for policy, want := range map[string]int64{openb.BestFit: v.BestFit, openb.DotProd: v.DotProd, openb.GpuPacking: v.Packing} {
			gpus, score := openb.Decide(policy, v.state(), shape)
			require.Equal(t, want, score, "vector %d: %s", v.ID, policy)
			if shape.GPUs > 0 {
				require.Equal(t, placement.GPUs(v.Best...), gpus, "vector %d: %s", v.ID, policy)
			}
		}
		if shape.GPUs > 0 {
			n, job := node(t, &s), placement.Task{ID: "job", Shape: shape}
			best := placement.BestFit(placement.Largest{}).Choose(n, &job)
			worst := placement.WorstFit(placement.Largest{}).Choose(n, &job)
			require.Equal(t, placement.GPUs(v.Best...), best.Spot.GPUs, "vector %d: the library's best fit", v.ID)
			require.Equal(t, placement.GPUs(v.Worst...), worst.Spot.GPUs, "vector %d: the library's worst fit", v.ID)
		}
		label, same, others := "share-gpu", false, false
		if shape.Milli == fragmentation.Whole {
			label = string(rune('0'+shape.GPUs)) + "-gpu"
		}
		for l, n := range v.Node.Labels {
			same = same || l == label && n > 0
			others = others || l != label && n > 0
		}
		require.Equal(t, v.Clustering, openb.ClusteringScore(s, shape, same, others), "vector %d: clustering", v.ID)
	}
	assert.Equal(t, 469, scored)
}

// TestTargetMix: shapes, order, counts and shares of the five published target
// workloads.
func TestTargetMix(t *testing.T) {
	t.Parallel()
	g := readGolden(t)
	require.Len(t, g.Mixes, 5)
	for name, want := range g.Mixes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tasks := sharedTasks(t, name)
			require.Len(t, tasks, want.Tasks)
			mix, err := openb.TargetMix(tasks, want.Percent)
			require.NoError(t, err)
			assert.Equal(t, g.mix(name), mix)
			assert.Equal(t, want.Covered, mix.Total())
			for i, e := range want.Entries {
				assert.Equal(t, e.P, openb.PublishedShare(e.Count, want.Covered, want.Tasks), "entry %d", i) //nolint:testifylint // to the bit
			}
		})
	}
}
