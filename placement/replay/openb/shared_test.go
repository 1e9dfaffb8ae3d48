package openb_test

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay/openb"
)

// The published trace and the figures of the reference are not part of the
// repository; tests that need them skip where they are not beside it.
const (
	sharedTrace  = "../../../../shared/data/openb/openb_"
	sharedGolden = "../../../../shared/reference/fgd-golden.json"
)

// openShared opens a file beside the repository, or skips.
func openShared(t testing.TB, path string) io.ReadCloser {
	t.Helper()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is not beside the repository", path)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

func sharedNodes(t testing.TB) []placement.NodeSpec {
	t.Helper()
	nodes, err := openb.ReadNodes(openShared(t, sharedTrace+"node_list_gpu_node.csv"), "nodes")
	require.NoError(t, err)
	return nodes
}

func sharedTasks(t testing.TB, trace string) []placement.Task {
	t.Helper()
	suffix := ".csv.gz"
	if trace == "default" {
		suffix = ".csv"
	}
	tasks, err := openb.ReadTasks(openShared(t, sharedTrace+"pod_list_"+trace+suffix), trace)
	require.NoError(t, err)
	return tasks
}

// golden holds the figures of the reference.
type golden struct {
	Categories []string `json:"frag_categories"`
	Mixes      map[string]struct {
		Tasks   int           `json:"tasks_in_trace"`
		Covered int64         `json:"tasks_covered"`
		Percent float64       `json:"popularity_threshold_percent"`
		Entries []goldenShape `json:"entries"`
	} `json:"typical_distributions"`
	Cases   []vector `json:"cases"`
	Default struct {
		Ranks    map[string]int `json:"first_node_ranks"`
		Policies map[string]struct {
			Digest     string      `json:"decisions_sha256"`
			First      [][3]string `json:"first_150_decisions"`
			LastPlaced int         `json:"last_placed_decision_index"`
			Tasks      int
			Failed     int
			Arrived    int64            `json:"arrived_gpu_milli"`
			Allocated  int64            `json:"allocated_gpu_milli"`
			CPU        int64            `json:"allocated_cpu_milli"`
			GPUsInUse  int              `json:"gpus_in_use"`
			At         map[string]int64 `json:"allocated_gpu_milli_when_arrived_reaches_percent"`
			Amounts    [7]float64       `json:"frag_milli_by_category"`
			Fragment   float64          `json:"frag_milli"`
			Idle       float64          `json:"idle_milli"`
		}
	} `json:"replay_default_seed42"`
	Totals struct {
		ByTrace map[string]map[string]map[string]struct {
			Allocated int64 `json:"allocated_gpu_milli"`
			Failed    int   `json:"failed_tasks"`
		} `json:"by_trace"`
	} `json:"replay_totals"`
}

type goldenShape struct {
	CPU    int64   `json:"cpu_milli"`
	Milli  int64   `json:"gpu_milli"`
	Each   int64   `json:"gpu_milli_per_gpu"`
	GPUs   int     `json:"num_gpu"`
	Models string  `json:"gpu_spec"`
	P      float64 `json:"p"`
	Count  int64   `json:"count"`
}

func (g goldenShape) shape() fragmentation.Shape {
	return fragmentation.Shape{CPU: g.CPU, GPUs: g.GPUs, Milli: g.Milli + g.Each, Models: fragmentation.Models(g.Models)}
}

func readGolden(t testing.TB) *golden {
	t.Helper()
	var g golden
	require.NoError(t, json.NewDecoder(openShared(t, sharedGolden)).Decode(&g))
	return &g
}

// mix returns a target workload as the golden file lists it.
func (g *golden) mix(name string) fragmentation.Mix {
	var mix fragmentation.Mix
	for _, e := range g.Mixes[name].Entries {
		mix = append(mix, fragmentation.Entry{Shape: e.shape(), Count: e.Count})
	}
	return mix
}
