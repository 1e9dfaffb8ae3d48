package fragmentation_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
)

// goldenFile holds vectors computed by the published implementation. It is not
// part of the repository; a few of its vectors are, in published_test.go.
const goldenFile = "../../shared/reference/fgd-golden.json"

type goldenShape struct {
	CPU    int64  `json:"cpu_milli"`
	Milli  int64  `json:"gpu_milli_per_gpu"`
	GPUs   int    `json:"num_gpu"`
	Models string `json:"gpu_spec"`
	Count  int64  `json:"count"`
}

func (g goldenShape) shape() fragmentation.Shape {
	return fragmentation.Shape{CPU: g.CPU, GPUs: g.GPUs, Milli: g.Milli, Models: fragmentation.Models(g.Models)}
}

type golden struct {
	Categories []string `json:"frag_categories"`
	Mixes      map[string]struct {
		Entries []goldenShape `json:"entries"`
	} `json:"typical_distributions"`
	Cases []goldenCase `json:"cases"`
}

type goldenCase struct {
	ID   int    `json:"id"`
	Mix  string `json:"typical"`
	Node struct {
		CPU   int64   `json:"cpu_milli_left"`
		Milli []int64 `json:"gpu_milli_left"`
		Model string  `json:"gpu_type"`
	} `json:"node"`
	Task     goldenShape `json:"task"`
	Feasible bool        `json:"feasible"`
	Class    string      `json:"class_task_vs_node"`
	Amounts  []float64   `json:"frag_milli_by_category"`
	Before   float64     `json:"f_before"`
	ForTask  int64       `json:"frag_milli_for_this_task"`
	FGD      struct {
		Delta  float64     `json:"delta_f_before_minus_after"`
		After  float64     `json:"f_after"`
		GPUs   []int       `json:"gpu_index"`
		PerGPU [][]float64 `json:"per_gpu"` // GPU, F after, F before minus F after, score
	} `json:"fgd"`
}

func TestGolden(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(goldenFile)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the published vectors are not beside the repository")
	}
	require.NoError(t, err)
	var file golden
	require.NoError(t, json.Unmarshal(text, &file))
	require.GreaterOrEqual(t, len(file.Cases), 500)

	values := map[string]*fragmentation.FGD{}
	for name, mix := range file.Mixes {
		var m fragmentation.Mix
		for _, e := range mix.Entries {
			m = append(m, fragmentation.Entry{Shape: e.shape(), Count: e.Count})
		}
		values[name] = fgdOf(t, m)
	}
	// The order of the seven published amounts is that of the classes.
	require.Equal(t, []string{"q1_lack_both", "q2_lack_gpu", "q3_satisfied", "q4_lack_cpu", "xl_satisfied", "xr_lack_cpu", "no_access"}, file.Categories)
	classes := map[string]fragmentation.Class{}
	for i, name := range file.Categories {
		classes[name] = fragmentation.Class(i)
	}
	placed := 0
	for _, c := range file.Cases {
		require.Contains(t, values, c.Mix, "case %d", c.ID)
		require.Contains(t, classes, c.Class, "case %d", c.ID)
		checkGolden(t, values[c.Mix], classes[c.Class], &c)
		placed += len(c.FGD.PerGPU)
	}
	require.Greater(t, placed, 500, "placements on single GPUs compared")
}

func checkGolden(t *testing.T, v *fragmentation.FGD, class fragmentation.Class, c *goldenCase) {
	t.Helper()
	const tolerance = 1e-6
	scale := float64(v.Scale())
	s := &fragmentation.State{CPU: c.Node.CPU, Model: c.Node.Model, GPUs: uncut(c.Node.Milli...)}
	shape := c.Task.shape()

	got, split := fragmentation.Classify(s, &shape)
	assert.Equal(t, class, got, "case %d: class", c.ID)
	assert.Equal(t, c.ForTask, split.Fragment(), "case %d: fragment for this task", c.ID)

	amounts := v.Amounts(s)
	require.Len(t, c.Amounts, len(amounts))
	for i, want := range c.Amounts {
		assert.InDelta(t, want, float64(amounts[i])/scale, tolerance, "case %d: %s", c.ID, fragmentation.Class(i))
	}
	assert.InDelta(t, c.Before, float64(amounts.Fragment())/scale, tolerance, "case %d: F before", c.ID)
	assert.InDelta(t, c.Before, float64(fragmentation.Fragment(v, s))/scale, tolerance, "case %d: F before", c.ID)

	growth := func(want, delta float64, gpus ...int) {
		after := place(s, shape, gpus...)
		assert.InDelta(t, want, float64(v.Amounts(after).Fragment())/scale, tolerance, "case %d: F after on %v", c.ID, gpus)
		assert.InDelta(t, -delta, float64(fragmentation.Strands(v, s, after))/scale, tolerance, "case %d: stranded on %v", c.ID, gpus)
	}
	for _, p := range c.FGD.PerGPU {
		growth(p[1], p[2], int(p[0]))
	}
	if c.Feasible {
		growth(c.FGD.After, c.FGD.Delta, c.FGD.GPUs...)
	}
}
