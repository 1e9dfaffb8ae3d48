package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	nodesHead = "sn,cpu_milli,memory_mib,gpu,model\n"
	tasksHead = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
	goodNodes = nodesHead + "n-0,64000,262144,2,P100\nn-1,96000,393216,8,G2\nn-2,32000,65536,0,\n"
	goodTasks = tasksHead + "t-0,4000,8192,1,500,,LS,Running,0,10,1\nt-1,8000,8192,1,1000,,LS,Running,0,10,1\nt-2,4000,8192,0,0,,LS,Running,0,10,1\n"
)

// write writes a file and returns its name.
func write(t *testing.T, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	return file
}

func TestBadFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"unknown flag", []string{"-speed", "3"}, []string{"-speed"}},
		{"argument after the flags", []string{"-json", "trace.csv"}, []string{"trace.csv"}},
		{"unknown policy", []string{"-policies", "fgd,luck"}, []string{"-policies", `"luck"`, "worstfit"}},
		{"no policy", []string{"-policies", ""}, []string{"-policies", `""`}},
		{"policy twice", []string{"-policies", "fgd,fgd"}, []string{"-policies", "fgd", "twice"}},
		{"no seed", []string{"-seeds", "0"}, []string{"-seeds", "0"}},
		{"negative seeds", []string{"-seeds", "-3"}, []string{"-seeds", "-3"}},
		{"seeds beyond bounds", []string{"-seeds", "1000000000"}, []string{"-seeds", "1000000000"}},
		{"seeds that are no number", []string{"-seeds", "ten"}, []string{"seeds", `"ten"`}},
		{"inflate NaN", []string{"-inflate", "NaN"}, []string{"-inflate", "NaN"}},
		{"inflate infinite", []string{"-inflate", "+Inf"}, []string{"-inflate", "+Inf"}},
		{"inflate negative", []string{"-inflate", "-1"}, []string{"-inflate", "-1"}},
		{"inflate zero", []string{"-inflate", "0"}, []string{"-inflate", "0"}},
		{"nodes alone", []string{"-nodes", "n.csv"}, []string{"-nodes", `"n.csv"`, "-tasks"}},
		{"tasks alone", []string{"-tasks", "t.csv"}, []string{"-tasks", `"t.csv"`, "-nodes"}},
		{"empty file names", []string{"-nodes", "", "-tasks", ""}, []string{"-nodes", "empty"}},
		{"picture without a name", []string{"-plot", "."}, []string{"-plot", `"."`}},
		{"picture that is a directory", []string{"-plot", "dir/"}, []string{"-plot", `"dir/"`}},
		{"picture in no directory", []string{"-plot", "no/such/fleet"}, []string{"-plot", "no/such"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			status, out, errs := call(t, c.args...)
			assert.Equal(t, exitBad, status)
			assert.Empty(t, out)
			for _, s := range c.says {
				assert.Contains(t, errs, s)
			}
		})
	}
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	task := func(amounts string) string {
		return tasksHead + "t-0,4000,8192,1,500,,LS,Running,0,10,1\nt-1," + amounts + ",,LS,Running,0,10,1\n"
	}
	node := func(amounts string) string { return nodesHead + "n-0,64000,262144,2,P100\nn-1," + amounts + "\n" }
	for _, c := range []struct {
		name, nodes, tasks string
		says               []string
	}{
		{"empty node list", "", goodTasks, []string{"nodes.csv"}},
		{"empty task list", goodNodes, "", []string{"tasks.csv"}},
		{"node list of a head", nodesHead, goodTasks, []string{"nodes.csv"}},
		{"task list of a head", goodNodes, tasksHead, []string{"tasks.csv"}},
		{"node list cut off", node("64000,262"), goodTasks, []string{"nodes.csv", "3"}},
		{"task list cut off", goodNodes, tasksHead + "t-0,4000,8192,1", []string{"tasks.csv", "2"}},
		{"negative CPU", goodNodes, task("-4000,8192,1,500"), []string{"tasks.csv", "3", "cpu_milli", "-4000"}},
		{"memory not a number", goodNodes, task("4000,NaN,1,500"), []string{"tasks.csv", "3", "memory_mib", "NaN"}},
		{"negative node memory", node("64000,-1,2,P100"), goodTasks, []string{"nodes.csv", "3", "memory_mib", "-1"}},
		{"negative GPU count", node("64000,262144,-2,P100"), goodTasks, []string{"nodes.csv", "3", "gpu", "-2"}},
		{"NaN on a node", node("NaN,262144,2,P100"), goodTasks, []string{"nodes.csv", "3", "cpu_milli", "NaN"}},
		{"fraction of one and a half GPUs", goodNodes, task("4000,8192,1,1500"), []string{"tasks.csv", "3", "1500"}},
		{"fractions of two GPUs", goodNodes, task("4000,8192,2,500"), []string{"tasks.csv", "3", "500"}},
		{"no GPU in the fleet", nodesHead + "n-0,64000,262144,0,\n", goodTasks, []string{"GPU"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			status, out, errs := call(t, "-nodes", write(t, "nodes.csv", c.nodes), "-tasks", write(t, "tasks.csv", c.tasks), "-json")
			assert.Equal(t, exitBad, status)
			assert.Empty(t, out)
			for _, s := range c.says {
				assert.Contains(t, errs, s)
			}
		})
	}
	t.Run("file that is not there", func(t *testing.T) {
		t.Parallel()
		missing := filepath.Join(t.TempDir(), "missing.csv")
		status, _, errs := call(t, "-nodes", missing, "-tasks", write(t, "tasks.csv", goodTasks))
		assert.Equal(t, exitBad, status)
		assert.Contains(t, errs, "-nodes")
		assert.Contains(t, errs, missing)
	})
}

func TestFiles(t *testing.T) {
	t.Parallel()
	r := answer(t, "-nodes", write(t, "nodes.csv", goodNodes), "-tasks", write(t, "tasks.csv", goodTasks), "-seeds", "2")
	require.Len(t, r.Policies, len(policyNames))
	assert.Nil(t, r.CarriedOut, "no node is in MIG mode")
	for _, p := range r.Policies {
		assert.Greater(t, p.AllocatedPercent.Mean, 80.0, p.Name)
	}
}
