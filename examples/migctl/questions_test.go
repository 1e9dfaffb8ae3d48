package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/parted"
	"github.com/gpushare/gpushare/nvmlfake"
)

func TestStateOfPresets(t *testing.T) {
	t.Parallel()
	for _, name := range nvmlfake.Presets() {
		got := answer[stateAnswer](t, exitDone, "state", "-fake", name)
		assert.Equal(t, schema, got.Schema)
		require.Len(t, got.GPUs, 8, name)
		for i, g := range got.GPUs {
			assert.Equal(t, i, g.Index)
			assert.True(t, g.MIGCapable)
			assert.Equal(t, &modeInfo{true, true}, g.Mode)
			assert.Equal(t, []instanceState{}, g.Instances)
			m, err := mig.Lookup(g.Product)
			require.NoError(t, err)
			assert.Equal(t, m.Key(), g.Model)
		}
		one := answer[stateAnswer](t, exitDone, "state", "-fake", name, "-gpu", got.GPUs[3].UUID)
		assert.Equal(t, got.GPUs[3:4], one.GPUs)
		some := answer[stateAnswer](t, exitDone, "state", "-fake", name, "-gpu", "6,1")
		assert.Equal(t, []gpuState{got.GPUs[1], got.GPUs[6]}, some.GPUs, "lowest index first")
	}
}

// handWritten is a machine as a person writes it.
const handWritten = `{"schema": 1, "gpus": [
	{"model": "a30-24gb", "mig": true, "pendingMig": false, "instances": [
		{"profile": "2g.12gb", "start": 2, "computeInstances": [
			{"profile": "1c.2g.12gb", "start": 1, "holders": [{"pid": 77, "name": "notebook", "memoryMiB": 512}]}]},
		{"profile": "1g.6gb", "start": 0, "computeInstances": []}]},
	{"model": "h200-141gb"}]}`

func TestStateText(t *testing.T) {
	t.Parallel()
	file := write(t, handWritten)
	out := done(t, "state", "-fake", file)
	got := answer[stateAnswer](t, exitDone, "state", "-fake", file)
	want := strings.NewReplacer("UUID-0", got.GPUs[0].UUID, "UUID-1", got.GPUs[1].UUID, "MIG-0", got.GPUs[0].Instances[1].ComputeInstances[0].UUID).Replace(
		`GPU  MODEL       MIG                      UUID                                      PRODUCT
0    a30-24gb    on (off after a reset)   UUID-0  NVIDIA A30
1    h200-141gb  off                      UUID-1  NVIDIA H200

       0       1       2       3
      ┌───────┬───────┬───────────────┐
GPU 0 │ 1g.6gb│·······│ 2g.12gb       │
      └───────┴───────┴───────────────┘
GPU 1 not cut

GPU  GI  INSTANCE   CI  COMPUTE                        MIG DEVICE
0    3   1g.6gb@0   -   none: nothing can run there    
0    2   2g.12gb@2  0   1c.2g.12gb@1                   MIG-0
`)
	assert.Equal(t, strings.Join(strings.Fields(want), " "), strings.Join(strings.Fields(out), " "), out)
	assert.Empty(t, strings.TrimPrefix(read(t, file), handWritten), "a question does not rewrite the file")
}

func TestBlockers(t *testing.T) {
	t.Parallel()
	file := write(t, handWritten)
	got := answer[blockersAnswer](t, exitNo, "blockers", "-fake", file)
	assert.True(t, got.Held)
	require.Len(t, got.GPUs[0].Processes, 1)
	p := got.GPUs[0].Processes[0]
	assert.Equal(t, []any{77, "notebook", 512, 0}, []any{p.PID, p.Name, p.MemoryMiB, p.ComputeInstance})
	assert.NotEmpty(t, p.UUID)

	status, out, _ := call(t, "blockers", "-fake", file)
	assert.Equal(t, exitNo, status)
	assert.Contains(t, out, "GPU 0: notebook (pid 77, C, 512 MiB) on GI ")
	assert.Contains(t, out, "GPU 1: no process is listed\n")
	assert.Contains(t, out, unseen, "what cannot be seen is said")

	free := answer[blockersAnswer](t, exitDone, "blockers", "-fake", file, "-gpu", "1")
	assert.False(t, free.Held)
	assert.Len(t, free.GPUs, 1)
	assert.Equal(t, "kill: written to "+file+"\n", done(t, "kill", "-fake", file, "-pid", "77"))
	assert.False(t, answer[blockersAnswer](t, exitDone, "blockers", "-fake", file).Held)
}

func TestAssert(t *testing.T) {
	t.Parallel()
	file, yaml := newMachine(t, "a100-40gb", "a100-40gb"), write(t, config)
	got := answer[assertAnswer](t, exitNo, "assert", "-fake", file, "-f", yaml, "-label", "first")
	assert.Equal(t, assertAnswer{
		Schema: schema,
		Report: parted.Report{
			Label:       "first",
			Differences: []parted.Difference{{GPU: 0, WantEnabled: true, Enabled: true, Missing: mig.Demand{"7g.40gb": 1}}},
			Uncovered:   []int{1},
			Warnings:    []parted.Finding{},
		},
	}, got)
	done(t, "apply", "-fake", file, "-gpu", "0", "-want", "7g.40gb=1")
	assert.True(t, answer[assertAnswer](t, exitDone, "assert", "-fake", file, "-f", yaml, "-label", "first").Satisfied)
	assert.False(t, answer[assertAnswer](t, exitNo, "assert", "-fake", file, "-f", yaml, "-label", "first", "-strict").Satisfied)
	assert.True(t, answer[assertAnswer](t, exitDone, "assert", "-fake", file, "-f", yaml, "-label", "first", "-strict", "-gpu", "0").Satisfied)
	assert.Equal(t, "the machine is as label \"first\" says\n", done(t, "assert", "-fake", file, "-f", yaml, "-label", "first"))

	status, out, _ := call(t, "assert", "-fake", file, "-f", yaml, "-label", "mixed", "-gpu", "0")
	assert.Equal(t, exitNo, status)
	assert.Equal(t, "the machine is not as label \"mixed\" says\nGPU 0: missing 1g.5gb=3,3g.20gb=1; surplus 7g.40gb=1\n", out)

	status, out, errs := callWith(t, config, "assert", "-fake", file, "-f", "-", "-label", "off", "-gpu", "1")
	assert.Equal(t, exitNo, status, errs)
	assert.Contains(t, out, "GPU 1: MIG is on, not off")

	no := answer[assertAnswer](t, exitNo, "assert", "-fake", file, "-f", yaml, "-label", "too-much")
	require.NotNil(t, no.Reason)
	assert.Equal(t, "impossible", no.Reason.Kind)
	assert.Contains(t, no.Reason.Detail, "11 memory slices needed in all, the GPU has 8")
}

// TestExport: what is exported parses, and the machine is as it says.
func TestExport(t *testing.T) {
	t.Parallel()
	file := newMachine(t, "a100-40gb", "a100-40gb", "h100-80gb-sxm5")
	done(t, "apply", "-fake", file, "-gpu", "0,1", "-want", "3g.20gb=1,1c.2g.10gb=1")
	done(t, "apply", "-fake", file, "-gpu", "2", "-want", "1g.10gb+me=1,1g.20gb=2")
	exported := write(t, done(t, "export", "-fake", file, "-label", "now"))
	as := answer[assertAnswer](t, exitDone, "assert", "-fake", file, "-f", exported, "-label", "now", "-strict")
	assert.Empty(t, as.Warnings)
	got := answer[exportAnswer](t, exitDone, "export", "-fake", file)
	assert.Empty(t, got.Lost)
	config, err := parted.Parse(got.Config, "")
	require.NoError(t, err)
	assert.Equal(t, "current", config.Labels[0].Name)

	hand := write(t, handWritten)
	lost := "GPU 0: left out, without compute instance: 1g.6gb=1"
	assert.Equal(t, []string{lost}, answer[exportAnswer](t, exitDone, "export", "-fake", hand).Lost)
	text := done(t, "export", "-fake", hand)
	assert.Contains(t, text, "# "+lost+"\n")
	_, err = parted.Parse([]byte(text), "")
	require.NoError(t, err)
}

// TestExportOfSome: what is exported of some GPUs is for these, not for all.
func TestExportOfSome(t *testing.T) {
	t.Parallel()
	file := newMachine(t, "a100-40gb", "a100-40gb", "h100-80gb-sxm5")
	done(t, "apply", "-fake", file, "-gpu", "0,1", "-want", "3g.20gb=2")
	for gpus, uncovered := range map[string][]int{"0": {1, 2}, "1,2": {0}, "2": {0, 1}, "0,1,2": {}} {
		exported := write(t, done(t, "export", "-fake", file, "-gpu", gpus))
		got := answer[assertAnswer](t, exitDone, "assert", "-fake", file, "-f", exported)
		assert.Equal(t, uncovered, got.Uncovered, "%s\n%s", gpus, read(t, exported))
		assert.Empty(t, got.Warnings)
	}
}

func TestExportLayout(t *testing.T) {
	t.Parallel()
	got := answer[exportAnswer](t, exitDone, "export", "-fake", write(t, handWritten))
	require.Len(t, got.GPUs, 2)
	assert.Equal(t, schema, got.Schema)
	assert.Equal(t, "a30-24gb", got.GPUs[0].Model)
	instances, err := json.Marshal(got.GPUs[0].Instances)
	require.NoError(t, err)
	assert.JSONEq(t, `[{"profile":"1g.6gb","start":0,"size":1,"computeInstances":[]},
		{"profile":"2g.12gb","start":2,"size":2,"computeInstances":[{"profile":"1c.2g.12gb","start":1,"size":1,"index":0}]}]`,
		string(instances), "with places, without UUIDs")
	assert.True(t, got.GPUs[0].MIG)
	assert.False(t, got.GPUs[1].MIG)
	assert.NotNil(t, got.GPUs[1].Instances)
	assert.Empty(t, got.GPUs[1].Instances)
}

// TestVerify: no fake machine contradicts a table, since it is made from it.
func TestVerify(t *testing.T) {
	t.Parallel()
	var models []string
	for m := range mig.Models() {
		if m.HasGeometry() {
			models = append(models, m.Key())
		}
	}
	got := answer[verifyAnswer](t, exitDone, "verify", "-fake", newMachine(t, models...), "-strict")
	assert.True(t, got.Agrees)
	require.Len(t, got.GPUs, len(models))
	known := 0
	for i, v := range got.GPUs {
		assert.Equal(t, models[i], v.Model)
		for _, d := range v.Differences {
			assert.NotEqual(t, mig.Contradiction, d.Verdict, "%s: %s", v.Model, d)
			known++
		}
	}
	assert.Positive(t, known, "figures that one side does not know are told")

	out := done(t, "verify", "-fake", "dgx-a100")
	assert.Contains(t, out, "GPU 0-7: a100-80gb agrees with its table: 0 contradictions, ", "once for all that are the same")
}

func TestGPUNames(t *testing.T) {
	t.Parallel()
	for want, list := range map[string][]int{
		"GPU 0": {0}, "GPU 0, 1": {0, 1}, "GPU 0-2": {0, 1, 2}, "GPU 0, 2, 4-7": {0, 2, 4, 5, 6, 7}, "GPU 1-3, 5": {1, 2, 3, 5},
	} {
		assert.Equal(t, want, gpuNames(list))
	}
}

// TestFakeMachines: init, reboot, hold and kill keep what they do.
func TestFakeMachines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, twin := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	done(t, "init", "-model", "a100-40gb,h100-80gb-sxm5", "-to", file)
	done(t, "init", "-fake", file, "-to", twin)
	assert.Equal(t, read(t, file), read(t, twin))
	made := answer[fakeAnswer](t, exitDone, "init", "-fake", "dgx-h100", "-to", filepath.Join(dir, "c"))
	assert.Equal(t, filepath.Join(dir, "c"), made.File)
	assert.Len(t, answer[stateAnswer](t, exitDone, "state", "-fake", made.File).GPUs, 8)
	done(t, "init", "-model", "a30-24gb", "-mig=false", "-to", filepath.Join(dir, "d"))
	assert.Equal(t, []string{"off"}, gpuStates(t, filepath.Join(dir, "d")))

	for _, i := range []string{"0", "1"} {
		profile := map[string]string{"0": "7g.40gb", "1": "7g.80gb"}[i]
		done(t, "apply", "-fake", file, "-gpu", i, "-want", profile+"=1")
	}
	done(t, "hold", "-fake", file, "-gpu", "0", "-gi", "0", "-pid", "9", "-name", "x")
	assert.True(t, answer[blockersAnswer](t, exitNo, "blockers", "-fake", file).Held)
	done(t, "kill", "-fake", file, "-pid", "9")
	assert.False(t, answer[blockersAnswer](t, exitDone, "blockers", "-fake", file).Held)
	assert.Equal(t, []string{"7g.40gb@0", "7g.80gb@0"}, gpuStates(t, file))
	done(t, "reboot", "-fake", file)
	assert.Equal(t, []string{"empty", "off"}, gpuStates(t, file), "Hopper forgets the mode")
}
