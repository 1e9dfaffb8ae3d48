package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/plan"
)

// TestApplyLabel goes the whole way: apply, assert, state, undo.
func TestApplyLabel(t *testing.T) {
	t.Parallel()
	file, yaml := newMachine(t, "a100-40gb", "a100-40gb"), write(t, config)
	done(t, "apply", "-fake", file, "-gpu", "1", "-want", "2g.10gb=1,1g.5gb=1")
	before := gpuStates(t, file)
	assert.Equal(t, "empty", before[0])

	got := answer[changeAnswer](t, exitDone, "apply", "-fake", file, "-f", yaml, "-label", "mixed")
	assert.True(t, got.Feasible && got.Done && !got.DryRun)
	require.Len(t, got.GPUs, 2)
	for _, g := range got.GPUs {
		require.NotNil(t, g.Report)
		assert.Equal(t, device.Done, g.Report.Outcome)
		assert.Equal(t, g.UUID, g.Plan.GPU)
		assert.Len(t, g.Plan.Goal, 4)
	}
	assert.Equal(t, []int{0, 4}, []int{got.GPUs[0].Destroyed, got.GPUs[0].Created})
	assert.Equal(t, []int{1, 3}, []int{got.GPUs[1].Destroyed, got.GPUs[1].Created}, "the idle 1g.5gb is kept")
	done(t, "assert", "-fake", file, "-f", yaml, "-label", "mixed", "-strict")

	again := answer[changeAnswer](t, exitDone, "apply", "-fake", file, "-f", yaml, "-label", "mixed")
	for _, g := range again.GPUs {
		assert.Nil(t, g.Report, "nothing to do")
	}
	assert.Equal(t, "GPU 0, 1: a100-40gb, MIG on\nnothing to do\n\nGPU 0: nothing to do\nGPU 1: nothing to do\n",
		done(t, "apply", "-fake", file, "-f", yaml, "-label", "mixed"))

	record := answer[recordAnswer](t, exitDone, "undo", "-fake", file)
	assert.True(t, record.Done)
	require.Len(t, record.GPUs, 2)
	assert.Equal(t, []int{1, 0}, []int{record.GPUs[0].Index, record.GPUs[1].Index}, "the last one first")
	assert.Equal(t, before, gpuStates(t, file), "undo is of the last change, not of one that had nothing to do")
	answer[recordAnswer](t, exitDone, "undo", "-fake", file)
	assert.Equal(t, before, gpuStates(t, file), "twice is once")
	answer[recordAnswer](t, exitDone, "resume", "-fake", file)
	done(t, "assert", "-fake", file, "-f", yaml, "-label", "mixed")
}

// TestMode: a label that switches MIG off and back, with and without a reset.
func TestMode(t *testing.T) {
	t.Parallel()
	file, yaml := newMachine(t, "a100-40gb", "h100-80gb-sxm5"), write(t, config)
	done(t, "apply", "-fake", file, "-gpu", "0", "-want", "3g.20gb=1,1c.2g.10gb=2")
	done(t, "apply", "-fake", file, "-gpu", "1", "-want", "7g.80gb=1")
	before := gpuStates(t, file)
	out := done(t, "apply", "-fake", file, "-f", yaml, "-label", "off")
	assert.Contains(t, out, "GPU 0: a100-40gb, MIG on → off\n")
	assert.Contains(t, out, "reset: on Ampere a change of MIG mode waits for a reset\n")
	assert.Contains(t, out, "GPU 1  switch MIG mode off\n")
	assert.Less(t, strings.Index(out, "  destroy  2g.10gb@"), strings.Index(out, "  set-mode: "), "off comes last")
	assert.Equal(t, []string{"off", "off"}, gpuStates(t, file))
	done(t, "assert", "-fake", file, "-f", yaml, "-label", "off")
	done(t, "undo", "-fake", file)
	assert.Equal(t, before, gpuStates(t, file))
	done(t, "resume", "-fake", file)
	assert.Equal(t, []string{"off", "off"}, gpuStates(t, file))
	out = done(t, "apply", "-fake", file, "-gpu", "1", "-want", "3g.40gb=1")
	assert.Less(t, strings.Index(out, "  set-mode: "), strings.Index(out, "  create   3g.40gb@"), "on comes first")
	out = done(t, "undo", "-fake", file)
	assert.Contains(t, out, "GPU 1: as before: now empty\n", "nothing has a new UUID")

	got := answer[changeAnswer](t, exitDone, "apply", "-fake", file, "-gpu", "0,1", "-want", "none")
	assert.True(t, got.GPUs[0].ModeTo)
	assert.False(t, got.GPUs[0].ModeFrom)
	assert.Equal(t, []string{"empty", "empty"}, gpuStates(t, file))
	done(t, "undo", "-fake", file)
	assert.Equal(t, []string{"off", "off"}, gpuStates(t, file))
}

// TestRefusedChangesNothing: exit status 1 with the reason, and no file differs
// from before, nor is there a new one.
func TestRefusedChangesNothing(t *testing.T) {
	t.Parallel()
	file, yaml := newMachine(t, "a100-40gb", "a100-40gb"), write(t, config)
	done(t, "apply", "-fake", file, "-gpu", "0,1", "-want", "3g.20gb=1,1g.5gb=2")
	gi := "2"
	done(t, "hold", "-fake", file, "-gpu", "1", "-gi", gi, "-pid", "8", "-name", "serve")
	empty, err := json.Marshal(func() plan.Plan {
		m, err := mig.Lookup("a100-40gb")
		require.NoError(t, err)
		p, err := plan.Repartition(plan.StateOf(m.Empty()), mig.Demand{"7g.40gb": 1})
		require.NoError(t, err)
		return p
	}())
	require.NoError(t, err)
	stale := write(t, string(empty))
	big := write(t, "version: v1\nmig-configs:\n  big:\n  - {devices: all, mig-enabled: true, mig-devices: {7g.40gb: 1}}\n")
	before := tree(t, filepath.Dir(file))
	for _, c := range []struct {
		name, kind, says string
		gpu              int
		args             []string
	}{
		{"does not fit", "compute", "8 compute slices needed in all, the GPU has 7", 0, []string{"-gpu", "0", "-want", "4g.20gb=2"}},
		{"busy and in the way", "memory", "3g.20gb@4", 1, []string{"-gpu", "1", "-want", "7g.40gb=1"}},
		{"busy and not wanted", "busy", "3g.20gb@4", 1, []string{"-gpu", "1", "-want", "none"}},
		{"one of two GPUs is busy", "memory", "3g.20gb@4", 1, []string{"-f", big}},
		{"MIG off beside a process", "busy", "3g.20gb@4", 1, []string{"-f", yaml, "-label", "off"}},
		{"label does not fit", "memory", "11 memory slices needed in all, the GPU has 8", 1, []string{"-f", yaml, "-label", "too-much"}},
		{"plan for another state", "stale", "another state", 0, []string{"-gpu", "0", "-plan", stale}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, dry := range []bool{false, true} {
				args := append([]string{"apply", "-fake", file}, c.args...)
				if dry {
					args = append(args, "-dry-run")
				}
				got := answer[changeAnswer](t, exitNo, args...)
				assert.False(t, got.Feasible || got.Done)
				found := false
				for _, g := range got.GPUs {
					assert.Nil(t, g.Report)
					if g.Index != c.gpu {
						continue
					}
					found = true
					require.NotNil(t, g.Reason)
					assert.Equal(t, c.kind, g.Reason.Kind)
					assert.Contains(t, g.Reason.Detail, c.says)
					if strings.Contains(c.says, "3g.20gb@4") {
						assert.Equal(t, []mig.Instance{{Profile: "3g.20gb", Start: 4, Size: 4}}, g.Busy)
						require.Len(t, g.Holders, 1)
						assert.Equal(t, "serve", g.Holders[0].Name)
					}
				}
				assert.True(t, found)
				status, out, errs := call(t, args...)
				assert.Equal(t, exitNo, status)
				assert.Empty(t, errs)
				assert.Contains(t, out, "cannot be had: "+c.kind)
				assert.True(t, strings.HasSuffix(out, "nothing was changed\n"), out)
			}
		})
	}
	t.Cleanup(func() { assert.Equal(t, before, tree(t, filepath.Dir(file))) }) // after the rows
}

// TestWarnings: what in a file means nothing on this machine is said.
func TestWarnings(t *testing.T) {
	t.Parallel()
	file := newMachine(t, "a30-24gb")
	yaml := write(t, "version: v1\nmig-configs:\n  a:\n  - {devices: [0, 3], mig-enabled: true, mig-devices: {4g.24gb: 1}}\n")
	got := answer[changeAnswer](t, exitDone, "apply", "-fake", file, "-f", yaml, "-dry-run")
	require.Len(t, got.Warnings, 1)
	assert.Equal(t, 4, got.Warnings[0].Line)
	assert.Contains(t, done(t, "apply", "-fake", file, "-f", yaml, "-dry-run"), got.Warnings[0].String()+"\nGPU 0: ")
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	file := newMachine(t, "a30-24gb", "a30-24gb")
	done(t, "apply", "-fake", file, "-gpu", "0,1", "-want", "2g.12gb=1,1g.6gb=1")
	done(t, "hold", "-fake", file, "-gpu", "0", "-gi", "1")
	before := tree(t, filepath.Dir(file))
	out := done(t, "apply", "-fake", file, "-gpu", "0", "-want", "2g.12gb=2", "-dry-run")
	assert.Equal(t, `GPU 0: a30-24gb, MIG on

        0       1       2       3
       ┌───────────────┬───────┬───────┐
before │!2g.12gb       │✗1g.6gb│·······│
after  │!2g.12gb       │+2g.12gb       │
       └───────────────┴───────────────┘

✗ destroyed   + created   ! in use

destroys 1, creates 1, keeps 1
  keep     2g.12gb@0
  destroy  1g.6gb@2       in the way of 2g.12gb@2
  create   2g.12gb@2
takes about 1.7s at the default costs and costs 6.7s of one memory slice

nothing was changed
`, out)
	got := answer[changeAnswer](t, exitDone, "apply", "-fake", file, "-gpu", "0", "-want", "2g.12gb=2", "-dry-run")
	assert.True(t, got.DryRun && got.Feasible && !got.Done)
	assert.Nil(t, got.GPUs[0].Report)
	assert.Equal(t, before, tree(t, filepath.Dir(file)))

	out = done(t, "apply", "-fake", "dgx-b200", "-gpu", "0,1,2,7", "-want", "1g.23gb=7")
	assert.Equal(t, 1, strings.Count(out, "before"), "drawn once for all that are the same")
	assert.Contains(t, out, "GPU 0-2, 7: b200-180gb, MIG on\n")
	assert.Contains(t, out, "GPU 7  7/7  create 1g.23gb@")
	assert.Contains(t, out, "this machine is kept nowhere")
}

// TestApplyPlan takes a plan of the form that migplan writes, with and without a
// GPU in it.
func TestApplyPlan(t *testing.T) {
	t.Parallel()
	file := newMachine(t, "a100-40gb", "a100-40gb")
	m, err := mig.Lookup("a100-40gb")
	require.NoError(t, err)
	ahead, err := plan.Restore(plan.StateOf(m.Empty()), []plan.Instance{{Instance: mig.Instance{Profile: "2g.10gb", Start: 2}}})
	require.NoError(t, err)
	text, err := json.Marshal(ahead)
	require.NoError(t, err)
	status, _, errs := call(t, "apply", "-fake", file, "-plan", write(t, string(text)))
	assert.Equal(t, exitBad, status)
	assert.Contains(t, errs, "-gpu: the plan names no GPU, and there are 2")
	done(t, "apply", "-fake", file, "-plan", write(t, string(text)), "-gpu", "1")
	assert.Equal(t, []string{"empty", "2g.10gb@2"}, gpuStates(t, file))

	dry := answer[changeAnswer](t, exitDone, "apply", "-fake", file, "-gpu", "1", "-want", "2g.10gb=1,4g.20gb=1", "-dry-run")
	assert.Equal(t, []int{1, 2}, []int{dry.GPUs[0].Destroyed, dry.GPUs[0].Created})
	text, err = json.Marshal(dry.GPUs[0].Plan)
	require.NoError(t, err)
	named := write(t, string(text))
	status, _, errs = call(t, "apply", "-fake", file, "-plan", named, "-gpu", "0")
	assert.Equal(t, exitBad, status)
	assert.Contains(t, errs, "-gpu: the plan is for GPU 1")
	done(t, "apply", "-fake", file, "-plan", named)
	assert.Equal(t, []string{"empty", "4g.20gb@0 2g.10gb@4"}, gpuStates(t, file))
	no := answer[changeAnswer](t, exitNo, "apply", "-fake", file, "-plan", named)
	assert.Equal(t, "stale", no.GPUs[0].Reason.Kind, "it was for what stood there")
}

// TestHiddenHolder: a holder that no list shows makes a step fail. The GPU is
// rolled back, those after it are left alone, and undo takes the first one back.
func TestHiddenHolder(t *testing.T) {
	t.Parallel()
	file := write(t, `{"schema":1,"gpus":[
		{"model":"a30-24gb","mig":true,"instances":[{"profile":"1g.6gb","start":0}]},
		{"model":"a30-24gb","mig":true,"instances":[{"profile":"1g.6gb","start":1},
			{"profile":"2g.12gb","start":2,"holders":[{"name":"monitor","hidden":true}]}]},
		{"model":"a30-24gb","mig":true,"instances":[{"profile":"1g.6gb","start":3}]}]}`)
	before := gpuStates(t, file)
	got := answer[changeAnswer](t, exitNo, "apply", "-fake", file, "-gpu", "0,1,2", "-want", "4g.24gb=1", "-timeout", "0")
	assert.True(t, got.Feasible)
	assert.False(t, got.Done)
	assert.Empty(t, got.GPUs[0].Error)
	assert.Contains(t, got.GPUs[1].Error, "ERROR_IN_USE")
	assert.Equal(t, device.RolledBack, got.GPUs[1].Report.Outcome)
	assert.Contains(t, got.GPUs[2].Error, "not begun")
	assert.Equal(t, []string{"4g.24gb@0", before[1], before[2]}, gpuStates(t, file))
	done(t, "undo", "-fake", file)
	assert.Equal(t, before, gpuStates(t, file))
}

// TestLock: who comes second is told so.
func TestLock(t *testing.T) {
	t.Parallel()
	file := newMachine(t, "a30-24gb")
	lock := filepath.Join(t.TempDir(), "lock")
	unlock, err := device.Lock(context.Background(), lock)
	require.NoError(t, err)
	before := tree(t, filepath.Dir(file))
	args := []string{"apply", "-fake", file, "-want", "4g.24gb=1", "-lock", lock, "-wait", "1ms"}
	no := answer[noAnswer](t, exitNo, args...)
	assert.Equal(t, "locked", no.Reason.Kind)
	assert.Contains(t, no.Reason.Detail, lock)
	assert.Equal(t, before, tree(t, filepath.Dir(file)))
	require.NoError(t, unlock())
	done(t, args...)
	done(t, "undo", "-fake", file, "-lock", lock)
	assert.Equal(t, []string{"empty"}, gpuStates(t, file))
}

// TestSave: a machine that another process has written meanwhile is not
// overwritten, a link stays a link, and permissions stay.
func TestSave(t *testing.T) {
	t.Parallel()
	file := newMachine(t, "a30-24gb")
	require.NoError(t, os.Chmod(file, 0o600))
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(file, link))
	mine, err := openFake(link)
	require.NoError(t, err)
	text := read(t, file)
	require.NoError(t, mine.save())
	require.Equal(t, text, read(t, file), "nothing has changed")

	done(t, "apply", "-fake", link, "-want", "4g.24gb=1")
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	info, err = os.Lstat(link)
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&os.ModeSymlink)

	text = read(t, file)
	_, ret := first(t, mine).SetMigMode(nvml.DEVICE_MIG_DISABLE)
	require.Equal(t, nvml.SUCCESS, ret)
	var no *noError
	require.ErrorAs(t, mine.save(), &no)
	assert.Equal(t, "changed", no.kind)
	assert.Equal(t, text, read(t, file))
	files, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	assert.Len(t, files, 2, "no temporary file is left: the machine and its journal")
}

// first returns the first GPU of a machine.
func first(t *testing.T, f *fakeMachine) nvml.Device {
	t.Helper()
	lib := f.server.NVML()
	require.Equal(t, nvml.SUCCESS, lib.Init())
	dev, ret := lib.DeviceGetHandleByIndex(0)
	require.Equal(t, nvml.SUCCESS, ret)
	return dev
}

// TestApplyThenUndo: whatever is applied over whatever stands there, undo brings
// back what stood there, and resume what was applied.
func TestApplyThenUndo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "m.json")
	done(t, "init", "-model", "a100-40gb,a30-24gb", "-to", file)
	wants := map[string][]string{
		"0": {"none", "7g.40gb=1", "3g.20gb=2", "1g.5gb=7", "1c.3g.20gb=4", "2g.10gb=2,1g.10gb=1", "4g.20gb=1,1g.5gb+me=1", "1c.7g.40gb=3"},
		"1": {"none", "4g.24gb=1", "2g.12gb=2", "1c.2g.12gb=2,1g.6gb=1", "1g.6gb=4"},
	}
	steps := func(gpu, want string) []plan.Step {
		args := []string{"apply", "-fake", file, "-gpu", gpu, "-want", want, "-dry-run"}
		return answer[changeAnswer](t, exitDone, args...).GPUs[0].Plan.Steps
	}
	rapid.Check(t, func(r *rapid.T) {
		gpu := rapid.SampledFrom([]string{"0", "1"}).Draw(r, "gpu")
		want := rapid.SampledFrom(wants[gpu]).Draw(r, "want")
		before := gpuStates(t, file)
		if len(steps(gpu, want)) == 0 {
			return // nothing is recorded, and undo would be of an earlier change
		}
		answer[changeAnswer](t, exitDone, "apply", "-fake", file, "-gpu", gpu, "-want", want)
		after := gpuStates(t, file)
		require.NotEqual(r, before, after)
		require.Empty(r, steps(gpu, want), "it stands there")
		answer[recordAnswer](t, exitDone, "undo", "-fake", file)
		require.Equal(r, before, gpuStates(t, file))
		if rapid.Bool().Draw(r, "redo") {
			answer[recordAnswer](t, exitDone, "resume", "-fake", file)
			require.Equal(r, after, gpuStates(t, file))
		}
	})
}
