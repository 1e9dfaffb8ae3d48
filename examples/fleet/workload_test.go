package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay"
)

func TestWorkload(t *testing.T) {
	t.Parallel()
	w, err := readWorkload(embedded)
	require.NoError(t, err)
	assert.Less(t, len(embedded), 1<<20)
	nodes, gpus, cut := 0, 0, 0
	for _, n := range w.nodes {
		nodes++
		for _, g := range n.GPUs {
			gpus++
			if g.MIG != nil {
				cut++
				assert.Len(t, n.GPUs, 8)
			}
		}
	}
	assert.Equal(t, []int{46, 249, 48}, []int{nodes, gpus, cut})
	assert.Len(t, w.shares, 35)
	assert.EqualValues(t, 7766, w.shares.Total())
	for _, e := range w.shares {
		assert.Empty(t, e.Shape.Profile)
	}
	// Every request can be served by some GPU of the empty fleet.
	for _, e := range w.instances {
		require.NotEmpty(t, e.Shape.Profile)
		assert.Positive(t, replay.Asked(w.cluster, e.Shape), "%+v", e.Shape)
		fits := false
		for n := range w.cluster.Nodes() {
			fits = fits || n.Fits(&placement.Task{Shape: e.Shape}).Kind == 0
		}
		assert.True(t, fits, "%+v", e.Shape)
	}
	pools := w.pools()
	require.Len(t, pools, 4)
	for i, capacity := range []int64{201_000, 16_000, 16_000, 16_000} {
		assert.Equal(t, capacity, pools[i].capacity)
	}
	for _, p := range pools[1:] {
		assert.EqualValues(t, 100, p.mix.Total(), "counts are hundredths")
	}
}

// TestSharesArePublished compares the shapes with the recorded ones.
func TestSharesArePublished(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../shared/reference/fgd-golden.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the recorded shapes are not here: %v", err)
	}
	require.NoError(t, err)
	var golden struct {
		Distributions map[string]struct {
			Entries []struct {
				CPU   int64  `json:"cpu_milli"`
				Milli int64  `json:"gpu_milli_per_gpu"`
				GPUs  int    `json:"num_gpu"`
				Spec  string `json:"gpu_spec"`
				Count int64  `json:"count"`
			} `json:"entries"`
		} `json:"typical_distributions"`
	}
	require.NoError(t, json.Unmarshal(data, &golden))
	var want fragmentation.Mix
	for _, e := range golden.Distributions["default"].Entries {
		require.Empty(t, e.Spec)
		want = append(want, fragmentation.Entry{Shape: fragmentation.Shape{CPU: e.CPU, GPUs: e.GPUs, Milli: e.Milli}, Count: e.Count})
	}
	w, err := readWorkload(embedded)
	require.NoError(t, err)
	assert.Equal(t, want, w.shares)
}

func TestDraw(t *testing.T) {
	t.Parallel()
	w, err := readWorkload(embedded)
	require.NoError(t, err)
	for _, inflate := range []float64{0.01, 0.5, 1.3, 4} {
		nodes, tasks := w.draw(42, inflate)
		assert.ElementsMatch(t, w.nodes, nodes)
		again, same := w.draw(42, inflate)
		assert.Equal(t, nodes, again)
		assert.Equal(t, tasks, same)
		_, other := w.draw(43, inflate)
		assert.NotEqual(t, tasks, other)

		// Both parts of the fleet are asked for alike, all along: a task is at
		// most a whole GPU, and the smallest pool has 16.
		pools := w.pools()
		for i, task := range tasks {
			at := 0
			for p := range pools[1:] {
				if task.Shape.Profile != "" && pools[p+1].mix[0].Shape.Models == task.Shape.Models {
					at = p + 1
				}
			}
			assert.Less(t, pools[at].load(), inflate, "task %d comes too late", i)
			pools[at].arrived += replay.Asked(w.cluster, task.Shape)
			for _, p := range pools {
				assert.InDelta(t, pools[0].load(), p.load(), 2.0/16, "after task %d", i)
			}
		}
		for _, p := range pools {
			assert.GreaterOrEqual(t, p.load(), inflate)
		}
	}
}

// TestDrawFollowsCounts draws often enough that a wrong share would show: six
// standard deviations.
func TestDrawFollowsCounts(t *testing.T) {
	t.Parallel()
	w, err := readWorkload(embedded)
	require.NoError(t, err)
	_, tasks := w.draw(1, 50)
	drawn := map[fragmentation.Shape]int{}
	total := 0
	for _, task := range tasks {
		if task.Shape.Profile == "" {
			drawn[task.Shape]++
			total++
		}
	}
	require.Greater(t, total, 10_000)
	for _, e := range w.shares {
		p := float64(e.Count) / float64(w.shares.Total())
		n := float64(total)
		assert.InDelta(t, n*p, float64(drawn[e.Shape]), 6*math.Sqrt(n*p*(1-p)), "%+v", e.Shape)
	}
}

func TestBadWorkload(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ data, says string }{
		"no JSON":           {"nodes", "invalid character"},
		"unknown field":     {`{"nodez": []}`, "nodez"},
		"unknown MIG model": {`{"nodes": [{"name": "n", "count": 1, "gpus": 1, "mig": "a1000"}]}`, "a1000"},
		"no shares":         {`{}`, "shares"},
		"bad share":         {`{"shares": [{"count": 1, "cpu": -5}]}`, "-5"},
		"no instances":      {`{"shares": [{"count": 1, "cpu": 5}]}`, "instances"},
		"bad profile":       {`{"shares": [{"count": 1}], "instances": [{"count": 1, "profile": "0g.0gb"}]}`, "0g.0gb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := readWorkload([]byte(c.data))
			require.ErrorContains(t, err, c.says)
			assert.Nil(t, w)
		})
	}
}
