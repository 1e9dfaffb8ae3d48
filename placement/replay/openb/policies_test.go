package openb_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay/openb"
)

// plainFragment is the published sum as it is written down: entry by entry,
// each GPU looked at, then class by class.
func plainFragment(mix fragmentation.Mix, traceTasks int, s *fragmentation.State) float64 {
	covered := float64(mix.Total()) / float64(traceTasks)
	var sum [7]float64
	for i := range mix {
		p := float64(mix[i].Count) / float64(traceTasks) / covered
		_, amounts := fragmentation.Classify(s, &mix[i].Shape)
		for class, x := range amounts {
			product := p * float64(x)
			sum[class] += product
		}
	}
	total := 0.0
	for class, x := range sum {
		if fragmentation.Class(class) != fragmentation.Satisfied {
			total += x
		}
	}
	return total
}

// TestFGDLikePlain: score and GPU of the policy are those of the formula, bit
// for bit, tried on every GPU.
func TestFGDLikePlain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mix, traceTasks := genMix(t)
		policy, err := openb.PublishedFGD(mix, traceTasks)
		require.NoError(t, err)
		s, shape := genState(t), genShape(t)
		n := nodeOf(t, s)
		choice := policy.Choose(n, &placement.Task{ID: "x", Shape: shape})
		require.Equal(t, n.Fits(&placement.Task{Shape: shape}), choice.Refusal)
		if !choice.OK() {
			return
		}
		before := plainFragment(mix, traceTasks, &s)
		want, score := placement.GPUSet(0), int64(-1)
		try := func(gpus ...int) {
			after := placed(s, shape, gpus...)
			gain := before - plainFragment(mix, traceTasks, &after)
			if x := int64(100 * (1 / (1 + math.Exp(-gain/1000)))); x > score {
				want, score = placement.GPUs(gpus...), x
			}
		}
		if shape.GPUs == 1 {
			for i := range s.GPUs {
				if s.GPUs[i].Milli >= shape.Milli {
					try(i)
				}
			}
		} else {
			var free []int
			for i := 0; len(free) < shape.GPUs; i++ {
				if s.GPUs[i].Milli == 1000 {
					free = append(free, i)
				}
			}
			try(free...)
		}
		assert.Equal(t, score, choice.Score)
		assert.Equal(t, placement.Spot{GPUs: want}, choice.Spot)
	})
}

// TestPoliciesConform: every policy refuses exactly what does not fit, answers
// with a spot that the node takes, answers alike when asked twice, and leaves
// the view alone.
func TestPoliciesConform(t *testing.T) {
	t.Parallel()
	for _, name := range openb.Policies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				mix, traceTasks := genMix(t)
				e := openb.Experiment{Mix: mix, TraceTasks: traceTasks}
				policy, err := e.Policy(name)
				require.NoError(t, err)
				s := genState(t)
				n := nodeOf(t, s)
				task := placement.Task{ID: "x", Shape: genShape(t)}
				choice := policy.Choose(n, &task)
				require.Equal(t, n.Fits(&task), choice.Refusal)
				require.Equal(t, choice, policy.Choose(n, &task))
				require.Equal(t, s, n.State())
				if choice.OK() {
					_, err := n.With(placement.Assignment{Task: task, Spot: choice.Spot})
					require.NoError(t, err)
					require.True(t, 0 <= choice.Score && choice.Score <= 100, "score %d", choice.Score)
				}
			})
		})
	}
}

// TestClustering goes through the node's books: alone, among others, none, only
// others.
func TestClustering(t *testing.T) {
	t.Parallel()
	half := fragmentation.Shape{GPUs: 1, Milli: 500}
	one := fragmentation.Shape{GPUs: 1, Milli: 1000}
	two := fragmentation.Shape{GPUs: 2, Milli: 1000}
	cpu := fragmentation.Shape{CPU: 1000}
	for _, c := range []struct {
		name  string
		there []fragmentation.Shape
		task  fragmentation.Shape
		want  int64
	}{
		{"empty", nil, half, 25},
		{"CPU tasks do not count", []fragmentation.Shape{cpu}, one, 25},
		{"alone", []fragmentation.Shape{half}, half, 75 + 1},
		{"among others", []fragmentation.Shape{one, two}, one, 50 + 9},
		{"only others", []fragmentation.Shape{one, two}, half, 9},
		{"a whole GPU is not two", []fragmentation.Shape{one}, two, 3},
		{"no GPU", []fragmentation.Shape{one}, cpu, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n, err := placement.NewNode(placement.NodeSpec{Name: "n", CPU: 64_000, GPUs: make([]placement.GPUSpec, 8)})
			require.NoError(t, err)
			policy := openb.PublishedClustering()
			for i, s := range c.there {
				task := placement.Task{ID: string(rune('a' + i)), Shape: s}
				n, err = n.With(placement.Assignment{Task: task, Spot: policy.Choose(n, &task).Spot})
				require.NoError(t, err)
			}
			assert.Equal(t, c.want, policy.Choose(n, &placement.Task{ID: "x", Shape: c.task}).Score)
		})
	}
}

func TestUnknownPolicy(t *testing.T) {
	t.Parallel()
	var e openb.Experiment
	_, err := e.Policy("Fgd")
	require.ErrorIs(t, err, openb.ErrUnknownPolicy)
	require.ErrorContains(t, err, `"Fgd"`)
	require.ErrorContains(t, err, "GpuClustering")
}

func TestBadMix(t *testing.T) {
	t.Parallel()
	one := fragmentation.Shape{GPUs: 1, Milli: 1000}
	for _, c := range []struct {
		name  string
		mix   fragmentation.Mix
		tasks int
		says  string
		is    error
	}{
		{"empty", nil, 1, "", fragmentation.ErrEmptyMix},
		{"negative count", fragmentation.Mix{{Shape: one, Count: -2}}, 1, "entry 0: count -2", fragmentation.ErrBadMix},
		{"more than the trace", fragmentation.Mix{{Shape: one, Count: 3}}, 2, "counts 3 tasks, the trace 2", fragmentation.ErrBadMix},
		{"an instance", fragmentation.Mix{{Shape: one, Count: 1}, {Shape: fragmentation.Shape{GPUs: 1, Profile: "1g.5gb"}, Count: 1}}, 2, "entry 1: profile 1g.5gb", fragmentation.ErrBadMix},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := openb.PublishedFGD(c.mix, c.tasks)
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.says)
		})
	}
}

// TestInstancesRefused: the published rules know no MIG.
func TestInstancesRefused(t *testing.T) {
	t.Parallel()
	n, err := placement.NewNode(placement.NodeSpec{Name: "n", GPUs: make([]placement.GPUSpec, 1)})
	require.NoError(t, err)
	task := placement.Task{ID: "x", Shape: fragmentation.Shape{GPUs: 1, Profile: "1g.5gb"}}
	assert.Equal(t, placement.NoGPU, openb.PublishedPacking().Choose(n, &task).Refusal.Kind)
}
