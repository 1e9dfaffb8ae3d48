package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/examples/internal/command"
)

// The exit statuses.
const (
	exitEqual       = command.Done
	exitDifferent   = command.No
	exitBad         = command.Bad
	exitInterrupted = command.Interrupted
)

// arguments writes the files of a trace of one node with one GPU and one task of
// half a GPU, which tuning to 1.3 makes two, and reference figures.
func arguments(t *testing.T, golden string, args ...string) []string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"openb_node_list_gpu_node.csv": "sn,cpu_milli,memory_mib,gpu,model\nnode,64000,64,1,T4\n",
		"openb_pod_list_default.csv":   "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nhalf,1000,1,1,500\n",
		"openb_pod_list_broken.csv":    "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nhalf,1000,1,1,NaN\n",
		"golden.json":                  golden,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return append([]string{"-data", dir, "-golden", filepath.Join(dir, "golden.json")}, args...)
}

// call runs the program on those files.
func call(t *testing.T, golden string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	status = run(t.Context(), arguments(t, golden, args...), &out, &err)
	return status, out.String(), err.String()
}

const (
	right  = `{"replay_totals":{"by_trace":{"default":{"FGD":{"42":{"allocated_gpu_milli":1000,"failed_tasks":0},"43":{"allocated_gpu_milli":1000,"failed_tasks":0}},"BestFit":{"42":{"allocated_gpu_milli":1000,"failed_tasks":0}}}}}}`
	wrong  = `{"replay_totals":{"by_trace":{"default":{"FGD":{"42":{"allocated_gpu_milli":990,"failed_tasks":0},"43":{"allocated_gpu_milli":1000,"failed_tasks":0}}}}}}`
	failed = `{"replay_totals":{"by_trace":{"default":{"FGD":{"42":{"allocated_gpu_milli":1000,"failed_tasks":1}}}}}}`
	other  = `{"replay_totals":{"by_trace":{"default":{"FGD":{"42":{"allocated_gpu_milli":1000,"failed_tasks":0}}}}},"replay_default_seed42":{"policies":{"FGD":{"decisions_sha256":"00"}}}}`
	broken = `{"replay_totals":{"by_trace":{"broken":{"FGD":{"42":{"allocated_gpu_milli":1000,"failed_tasks":0}}}}}}`
	only   = "default"
)

func TestEqual(t *testing.T) {
	t.Parallel()
	status, out, errs := call(t, right, "-traces", only)
	require.Equal(t, exitEqual, status, errs)
	assert.Regexp(t, `(?m)^trace +FGD +BestFit$`, out)
	assert.Regexp(t, `(?m)^default +2 equal \(100\.00\) +1 equal \(100\.00\)$`, out)
	assert.Regexp(t, `(?m)^3 of 3 equal, \d+ s$`, out)
}

func TestChosen(t *testing.T) {
	t.Parallel()
	status, out, errs := call(t, right, "-policies", "FGD", "-seeds", "43")
	require.Equal(t, exitEqual, status, errs)
	assert.Contains(t, out, "1 of 1 equal")
}

func TestDifferent(t *testing.T) {
	t.Parallel()
	status, out, _ := call(t, wrong, "-traces", only)
	assert.Equal(t, exitDifferent, status)
	assert.Contains(t, out, "1 of 2 DIFFERENT")
	assert.Contains(t, out, "different: default FGD seed 42: 1000 milli-GPU (expected 990), 0 failed (expected 0)")
	assert.Contains(t, out, "1 of 2 equal")

	status, out, _ = call(t, failed, "-traces", only)
	assert.Equal(t, exitDifferent, status, "an equal allocation with other failures is different")
	assert.Contains(t, out, "0 failed (expected 1)")

	status, out, _ = call(t, other, "-traces", only)
	assert.Equal(t, exitDifferent, status, "equal totals of other decisions are different")
	assert.Contains(t, out, "other decisions")
}

// TestRandomOutside: on this trace Random fills the GPU, which is outside the
// published range.
func TestRandomOutside(t *testing.T) {
	t.Parallel()
	status, out, errs := call(t, right, "-policies", "Random")
	assert.Equal(t, exitDifferent, status, errs)
	assert.Contains(t, out, "Random on default: mean of 10 seeds 100.00 %, OUTSIDE 87.07 to 88.03")
	_, out, _ = call(t, right, "-policies", "Random", "-json")
	assert.Contains(t, out, `"policies":[],"outcomes":[],"random":{`, "a list without entries is no null")
}

func TestJSON(t *testing.T) {
	t.Parallel()
	status, out, errs := call(t, other, "-traces", only, "-json")
	require.Equal(t, exitDifferent, status, errs)
	var got struct {
		Schema, Runs, Equal int
		Policies            []struct{ Name string }
		Outcomes            []struct {
			Trace, Policy     string
			Seed              int64
			Equal             bool
			AllocatedMilliGPU int64
			DecisionsEqual    *bool
		}
		Random *struct{}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	assert.Equal(t, 1, got.Schema)
	assert.Equal(t, 1, got.Runs)
	assert.Zero(t, got.Equal)
	require.Len(t, got.Outcomes, 1)
	assert.Equal(t, int64(1000), got.Outcomes[0].AllocatedMilliGPU)
	require.NotNil(t, got.Outcomes[0].DecisionsEqual)
	assert.False(t, *got.Outcomes[0].DecisionsEqual)
	assert.Nil(t, got.Random)
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, golden string
		args         []string
		says         string
	}{
		{"not JSON", "{", nil, "golden.json"},
		{"no totals", "{}", nil, "holds no totals"},
		{"unknown trace", right, []string{"-traces", "gpuspec99"}, `-traces: "gpuspec99"`},
		{"unknown policy", right, []string{"-policies", "fgd"}, `-policies: "fgd"`},
		{"bad seed", right, []string{"-seeds", "42,x"}, `-seeds: "x" is not a number`},
		{"seed without figures", right, []string{"-seeds", "7"}, "no figures"},
		{"seed without figures beside one with", right, []string{"-seeds", "42,7"}, "no figures for 7"},
		{"no runs at a time", right, []string{"-parallel", "0"}, "-parallel: 0"},
		{"argument", right, []string{"now"}, `unexpected argument "now"`},
		{"unknown flag", right, []string{"-now"}, "-now"},
		{"bad trace", broken, nil, `line 2: column gpu_milli: "NaN"`},
		{"no data", right, []string{"-data", "/nowhere"}, "/nowhere"},
		{"no data named", right, []string{"-data", ""}, "-data and -golden are needed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			status, out, errs := call(t, c.golden, c.args...)
			assert.Equal(t, exitBad, status)
			assert.Empty(t, out)
			assert.Contains(t, errs, c.says)
		})
	}
}

// An interrupt is no answer, whatever was compared before it.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs strings.Builder
	status := run(ctx, arguments(t, right, "-traces", only), &out, &errs)
	assert.Equal(t, exitInterrupted, status)
	assert.Empty(t, out.String())
	assert.Equal(t, "openb: interrupted\n", errs.String())
}

// A clock that did not move gives no speed, and JSON has no infinity.
func TestNoElapsedTime(t *testing.T) {
	t.Parallel()
	var r report
	r.add([]outcome{{Policy: "FGD", tasks: 2}})
	require.Len(t, r.Policies, 1)
	assert.Zero(t, r.Policies[0].DecisionsPerSecond)
	require.NoError(t, r.print(&strings.Builder{}, true))
}

func TestHelp(t *testing.T) {
	t.Parallel()
	status, out, errs := call(t, right, "-h")
	assert.Equal(t, exitEqual, status)
	assert.Equal(t, usage, out)
	assert.Empty(t, errs)
}
