package openb_test

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay/openb"
)

// A small made-up trace.
var (
	//go:embed testdata/nodes.csv
	nodesCSV string
	//go:embed testdata/tasks.csv
	tasksCSV string
)

const (
	nodeHeader = "sn,cpu_milli,memory_mib,gpu,model\n"
	taskHeader = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
	fullHeader = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
)

func zipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

func madeUp(t testing.TB) ([]placement.NodeSpec, []placement.Task) {
	t.Helper()
	nodes, err := openb.ReadNodes(strings.NewReader(nodesCSV), "nodes.csv")
	require.NoError(t, err)
	tasks, err := openb.ReadTasks(strings.NewReader(tasksCSV), "tasks.csv")
	require.NoError(t, err)
	return nodes, tasks
}

func TestReadNodes(t *testing.T) {
	t.Parallel()
	want := []placement.NodeSpec{
		{Name: "a", CPU: 64000, Memory: 262144, Model: "P100", GPUs: make([]placement.GPUSpec, 2)},
		{Name: "b", CPU: 94000, Memory: 7},
	}
	text := nodeHeader + "a,64000,262144,2,P100\nb,94000,7,0,\n"
	for _, text := range []string{text, zipped(t, text), strings.ReplaceAll(text, "\n", "\r\n")} {
		nodes, err := openb.ReadNodes(strings.NewReader(text), "nodes.csv")
		require.NoError(t, err)
		assert.Equal(t, want, nodes)
	}
}

func TestReadTasks(t *testing.T) {
	t.Parallel()
	want := []placement.Task{
		{ID: "a", Shape: fragmentation.Shape{CPU: 12000, Memory: 16384, GPUs: 1, Milli: 1000}},
		{ID: "b", Shape: fragmentation.Shape{CPU: 6000, Memory: 12288, GPUs: 1, Milli: 460, Models: "T4|P100"}},
		{ID: "c", Shape: fragmentation.Shape{CPU: 8000}},
	}
	text := fullHeader + "a,12000,16384,1,1000,,LS,Running,0,12537496,0\n" +
		"b,6000,12288,1,460,T4|P100,BE,Pending,427061,12902960,\nc,8000,0,0,0,,LS,Failed,1,2,3\n"
	for _, text := range []string{text, zipped(t, text)} {
		tasks, err := openb.ReadTasks(strings.NewReader(text), "tasks.csv")
		require.NoError(t, err)
		assert.Equal(t, want, tasks)
	}

	// The multi-GPU variants have five columns; order does not matter.
	for _, text := range []string{
		taskHeader + "a,12000,16384,1,1000\n",
		"gpu_milli,num_gpu,name,memory_mib,cpu_milli\n1000,1,a,16384,12000\n",
	} {
		tasks, err := openb.ReadTasks(strings.NewReader(text), "tasks.csv")
		require.NoError(t, err)
		assert.Equal(t, want[:1], tasks)
	}
}

// TestReadShared: the totals that the published files are known by.
func TestReadShared(t *testing.T) {
	t.Parallel()
	nodes := sharedNodes(t)
	require.Len(t, nodes, 1213)
	gpus, cpu := map[string]int{}, int64(0)
	for _, n := range nodes {
		gpus[n.Model] += len(n.GPUs)
		cpu += n.CPU
	}
	assert.Equal(t, map[string]int{"G2": 4392, "T4": 842, "G3": 312, "P100": 265, "V100M32": 204, "V100M16": 195, "A10": 2}, gpus)
	assert.Equal(t, int64(107_018_000), cpu)
	for trace, want := range map[string]struct {
		tasks int
		milli int64
	}{"default": {8152, 6_086_800}, "cpu0": {7064, 6_086_800}, "multigpu50": {9061, 11_358_800}, "gpuspec33": {8152, 6_086_800}} {
		t.Run(trace, func(t *testing.T) {
			t.Parallel()
			tasks := sharedTasks(t, trace)
			assert.Len(t, tasks, want.tasks)
			milli := int64(0)
			for _, task := range tasks {
				milli += task.Shape.TotalMilli()
			}
			assert.InDelta(t, want.milli, milli, 50, "published to one digit of a GPU")
		})
	}
}

// TestBadFiles: every error names the file and, where there is one, the line,
// the column and the value.
// A list that is cut off anywhere within a line is refused, also in its last
// field: 700 must not become 7.
func TestCutOff(t *testing.T) {
	t.Parallel()
	for cut := range len(nodesCSV) {
		_, err := openb.ReadNodes(strings.NewReader(nodesCSV[:cut]), "F")
		if whole := cut > 0 && nodesCSV[cut-1] == '\n' && strings.Count(nodesCSV[:cut], "\n") > 1; whole {
			require.NoError(t, err, "%d: between two lines", cut)
		} else {
			require.ErrorIs(t, err, openb.ErrBadFile, "%d: %q", cut, nodesCSV[max(0, cut-40):cut])
		}
	}
	_, err := openb.ReadTasks(strings.NewReader(taskHeader+"a,1,1,1,1000\nb,1,1,1,7"), "F")
	require.ErrorContains(t, err, "F: line 3: is cut off")
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, says string
		nodes            bool
	}{
		{"empty", "", "F: is empty", false},
		{"empty nodes", "", "F: is empty", true},
		{"header alone", taskHeader, "F: has a header and no rows", false},
		{"nodes for tasks", nodeHeader + "a,1,1,1,T4\n", `F: line 1: column 1: "sn" is not a column`, false},
		{"tasks for nodes", taskHeader + "a,1,1,1,1000\n", `F: line 1: column 1: "name" is not a column`, true},
		{"no header", "a,12000,16384,1,1000\n", `F: line 1: column 1: "a" is not a column`, false},
		{"column twice", "name,name,cpu_milli,memory_mib,num_gpu,gpu_milli\n", `"name" stands there twice`, false},
		{"column missing", "name,cpu_milli,memory_mib,num_gpu\na,1,1,0\n", "F: line 1: column gpu_milli is missing", false},
		{"row cut off", fullHeader + "a,12000,16384,1,1000,,LS,Running,0,1,0\nb,12000,163", "record on line 3: wrong number of fields", false},
		{"amount cut off", taskHeader + "a,1,2,1,1000\nb,1,2,1,\n", `F: line 3: column gpu_milli: "" is missing`, false},
		{"gzip cut off", zipped(t, tasksCSV)[:200], "F: is cut off", false},
		{"gzip header alone", "\x1f\x8b", "F: is cut off", true},
		{"gzip broken", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00garbage", "F: ", false},
		{"quote", taskHeader + "a,1,2,1,\"1000\nb,1,2,1,3\n", "F: ", false},
		{"negative CPU", taskHeader + "a,-12000,1,1,1000\n", `F: line 2: column cpu_milli: "-12000" is negative`, false},
		{"negative memory", nodeHeader + "a,1,-1,1,T4\n", `F: line 2: column memory_mib: "-1" is negative`, true},
		{"NaN", taskHeader + "a,1,1,1,1000\nb,1,1,1,NaN\n", `F: line 3: column gpu_milli: "NaN" is not a whole number`, false},
		{"infinite", taskHeader + "a,1,Inf,1,1000\n", `F: line 2: column memory_mib: "Inf" is not a whole number`, false},
		{"half a core", nodeHeader + "a,0.5,1,1,T4\n", `F: line 2: column cpu_milli: "0.5" is not a whole number`, true},
		{"exponent", nodeHeader + "a,1e3,1,1,T4\n", `"1e3" is not a whole number`, true},
		{"space", nodeHeader + "a, 1,1,1,T4\n", `" 1" is not a whole number`, true},
		{"too large", taskHeader + "a,99999999999999999999,1,1,1000\n", `column cpu_milli: "99999999999999999999" is more than`, false},
		{"too large for a sum", taskHeader + "a,1000000000001,1,1,1000\n", `"1000000000001" is more than 1000000000000`, false},
		{"negative GPUs", nodeHeader + "a,1,1,-1,T4\n", `F: line 2: column gpu: "-1" is negative`, true},
		{"negative GPUs asked for", taskHeader + "a,1,1,-1,1000\n", `F: line 2: column num_gpu: "-1" is negative`, false},
		{"too many GPUs", nodeHeader + "a,1,1,65,T4\n", `column gpu: "65" is more than 64`, true},
		{"one and a half GPUs", taskHeader + "a,1,1,1,1500\n", `F: line 2: column gpu_milli: "1500" with num_gpu 1: `, false},
		{"three halves", taskHeader + "a,1,1,3,500\n", `column gpu_milli: "500" with num_gpu 3: `, false},
		{"share without GPU", taskHeader + "a,1,1,0,500\n", `column gpu_milli: "500" with num_gpu 0: `, false},
		{"GPU without share", taskHeader + "a,1,1,1,0\n", `column gpu_milli: "0" with num_gpu 1: `, false},
		{"task twice", taskHeader + "a,1,1,0,0\nb,1,1,0,0\na,1,1,0,0\n", `F: line 4: column name: "a" is the name in line 2 too`, false},
		{"node twice", nodeHeader + "a,1,1,1,T4\na,1,1,1,T4\n", `F: line 3: column sn: "a" is the name in line 2 too`, true},
		{"no name", taskHeader + ",1,1,0,0\n", `F: line 2: column name: "" is missing`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var err error
			if c.nodes {
				var nodes []placement.NodeSpec
				nodes, err = openb.ReadNodes(strings.NewReader(c.text), "F")
				assert.Nil(t, nodes)
			} else {
				var tasks []placement.Task
				tasks, err = openb.ReadTasks(strings.NewReader(c.text), "F")
				assert.Nil(t, tasks)
			}
			require.ErrorIs(t, err, openb.ErrBadFile)
			require.ErrorContains(t, err, c.says)
		})
	}
}
