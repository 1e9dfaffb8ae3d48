//go:build cgo

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/nvmlfake"
)

// newHostFile writes a fake vGPU host to a file.
func newHostFile(t *testing.T, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "host.json")
	assert.Equal(t, "init: written to "+file+"\n", done(t, append([]string{"vgpu", "init", "-to", file}, args...)...))
	return file
}

// instances12 is a fake host with two GPU instances that can each be shared in time.
func instances12(t *testing.T) string {
	t.Helper()
	server, err := newHost("rtx-pro-6000-96gb", true)
	require.NoError(t, err)
	snap := server.Snapshot()
	one, two := 1, 2
	snap.GPUs[0].Instances = []nvmlfake.InstanceSnapshot{
		{Profile: "1g.24gb", Start: 0, ID: &one}, {Profile: "1g.24gb", Start: 3, ID: &two},
	}
	text, err := snapshotText(snap)
	require.NoError(t, err)
	return write(t, string(text))
}

func TestVGPUSetGet(t *testing.T) {
	t.Parallel()
	file := newHostFile(t, "-model", "a100-80gb,h100-80gb-sxm5")
	on := func(what string, more ...string) []string {
		return append([]string{"vgpu", what, "-fake", file}, more...)
	}
	assert.Equal(t, `GPU  GI  PRODUCT                SCHEDULER
0    -   NVIDIA A100-SXM4-80GB  best-effort
1    -   NVIDIA H100 80GB HBM3  best-effort
`, done(t, on("get")...))
	assert.Equal(t, "GPU 0: set to fixed-share, 480 Hz; it reads fixed-share\n", done(t, on("set", "-gpu", "0", "-policy", "fixed", "-frequency", "480")...))
	set := answer[setAnswer](t, exitDone, on("set", "-gpu", "1", "-policy", "equal", "-slice", "3ms")...)
	assert.True(t, set.Done)
	assert.Equal(t, "off", set.State.ARR)

	// Its parameters are shown while a vGPU runs.
	done(t, on("start", "-gpu", "0", "-name", "vm1")...)
	done(t, on("start", "-gpu", set.UUID, "-name", "vm2")...)
	got := answer[vgpuAnswer](t, exitDone, on("get")...)
	require.Len(t, got.Schedulers, 2)
	assert.Equal(t, stateAnswer{Engine: "graphics", Policy: "fixed-share", ARR: "on", Factor: 33, SliceNs: 2_083_333, Active: true}, *got.Schedulers[0].State)
	assert.Equal(t, stateAnswer{Engine: "graphics", Policy: "equal-share", ARR: "off", SliceNs: 3_000_000, Active: true}, *got.Schedulers[1].State)

	refused := answer[setAnswer](t, exitNo, on("set", "-gpu", "1", "-policy", "besteffort")...)
	assert.False(t, refused.Done)
	assert.Equal(t, "in-use", refused.Reason.Kind)
	status, out, _ := call(t, on("set", "-gpu", "1", "-policy", "besteffort")...)
	assert.Equal(t, exitNo, status)
	assert.True(t, strings.HasPrefix(out, "GPU 1: not set to best-effort\nreason: in-use: "), out)

	done(t, on("stop", "-name", "vm2")...)
	assert.Equal(t, "GPU 1: set to best-effort; it reads best-effort\n", done(t, on("set", "-gpu", "1", "-policy", "besteffort")...))
	encoder := answer[vgpuAnswer](t, exitNo, on("get", "-gpu", "1", "-engine", "nvenc0")...)
	assert.Contains(t, encoder.Schedulers[0].Error, "nvenc0", "it has no encoder")
	encoder = answer[vgpuAnswer](t, exitDone, "vgpu", "get", "-fake", "rtx-pro-6000-96gb", "-engine", "nvenc0")
	assert.Equal(t, "best-effort", encoder.Schedulers[0].State.Policy)
}

func TestVGPUNotOffered(t *testing.T) {
	t.Parallel()
	a := answer[setAnswer](t, exitNo, "vgpu", "set", "-fake", "a100-80gb", "-policy", "equal", "-slice", "31ms")
	assert.Equal(t, "not-offered", a.Reason.Kind)
	assert.Nil(t, a.State)
	out := done(t, "vgpu", "set", "-fake", "a100-80gb", "-policy", "equal")
	assert.Contains(t, out, "kept nowhere")
}

func TestVGPUCapabilities(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `GPU  GI  PRODUCT                SCHEDULER
0    -   NVIDIA A100-SXM4-80GB  best-effort, equal-share, fixed-share; slice 1ms to 30ms; ARR: 63 to 960 Hz, factor 1 to 60
`, done(t, "vgpu", "capabilities", "-fake", "a100-80gb"))
	a := answer[capabilitiesAnswer](t, exitDone, "vgpu", "capabilities", "-fake", "a100-80gb,a30-24gb")
	require.Len(t, a.Schedulers, 2)
	assert.EqualValues(t, 30_000_000, a.Schedulers[1].Takes.MaxSliceNs)
	no := answer[capabilitiesAnswer](t, exitNo, "vgpu", "capabilities", "-fake", newHostFile(t, "-model", "a100-80gb", "-mig"))
	assert.Nil(t, no.Schedulers[0].Takes)
	assert.Contains(t, no.Schedulers[0].Error, "MIG mode is on")
}

// TestVGPUInstances: with MIG each GPU instance has a scheduler, on GPUs that can.
func TestVGPUInstances(t *testing.T) {
	t.Parallel()
	file := instances12(t)
	assert.Equal(t, "GPU 0 GI 2: set to equal-share, ARR on, 960 Hz, factor 20; it reads equal-share\n",
		done(t, "vgpu", "set", "-fake", file, "-gpu", "0", "-gi", "2", "-policy", "equal", "-arr", "on", "-frequency", "960", "-factor", "20"))
	done(t, "vgpu", "start", "-fake", file, "-gpu", "0", "-gi", "2", "-name", "vm")
	a := answer[vgpuAnswer](t, exitDone, "vgpu", "get", "-fake", file)
	require.Len(t, a.Schedulers, 2)
	assert.Equal(t, 1, *a.Schedulers[0].GPUInstance)
	assert.Equal(t, "best-effort", a.Schedulers[0].State.Policy)
	assert.Equal(t, stateAnswer{Engine: "graphics", Policy: "equal-share", ARR: "on", Factor: 20, SliceNs: 1_041_666, Active: true}, *a.Schedulers[1].State)
	log := answer[logAnswer](t, exitDone, "vgpu", "log", "-fake", file, "-gpu", "0", "-gi", "2")
	assert.NotEmpty(t, log.Turns)

	refuses(t, []string{"vgpu", "get", "-fake", file, "-gpu", "0", "-gi", "9"}, []string{"-gi", "GPU instance 9"})
	refuses(t, []string{"vgpu", "set", "-fake", file, "-gpu", "0", "-policy", "equal"}, []string{"2 schedulers"})
	no := answer[vgpuAnswer](t, exitNo, "vgpu", "get", "-fake", newHostFile(t, "-model", "a100-80gb", "-mig"))
	assert.Contains(t, no.Schedulers[0].Error, "MIG mode is on")
}

func TestVGPULog(t *testing.T) {
	t.Parallel()
	file := newHostFile(t, "-model", "a100-80gb")
	on := func(what string, more ...string) []string {
		return append([]string{"vgpu", what, "-fake", file}, more...)
	}
	assert.Equal(t, "best-effort: 0 turns\n", done(t, on("log")...))
	done(t, on("set", "-policy", "equal", "-slice", "3ms")...)
	for _, name := range []string{"a", "b", "c"} {
		done(t, on("start", "-gpu", "0", "-name", name)...)
	}
	assert.Equal(t, `equal-share arr=off slice=3ms: 6 turns

RUN LIST  TURNS  RAN  SHARE   LONGEST
1         2      6ms  33.3 %  3ms
2         2      6ms  33.3 %  3ms
3         2      6ms  33.3 %  3ms

ENDED    RUN LIST  RAN  TARGET  PREEMPTIONS
15.2ms   2         3ms  3ms     80µs
18.24ms  3         3ms  3ms     80µs
`, done(t, on("log", "-ran", "20ms", "-last", "2")...))
	log := answer[logAnswer](t, exitDone, on("log", "-ran", "10s")...)
	assert.Len(t, log.Turns, 200, "no more are kept")
	assert.False(t, log.Gap)
	var before int64
	for _, turn := range log.Turns {
		assert.Greater(t, turn.AtNs, before)
		before = turn.AtNs
	}
	followed := answer[logAnswer](t, exitDone, on("log", "-ran", "20ms", "-follow", "150ms")...)
	assert.Len(t, followed.Turns, 6, "each once")

	status, out, errs := call(t, "vgpu", "log", "-fake", newHostFile(t, "-model", "a100-80gb", "-mig"))
	assert.Equal(t, exitNo, status, errs)
	assert.True(t, strings.HasPrefix(out, "not read: "), out)
}

func TestVGPUBadInput(t *testing.T) {
	t.Parallel()
	file := newHostFile(t, "-model", "a100-80gb")
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"nothing", nil, []string{"what to do is missing"}},
		{"unknown", []string{"put"}, []string{`"put"`, "get, capabilities, set, log, init, start, stop"}},
		{"flag first", []string{"-x", "get"}, []string{"-x", "before the flags"}},
		{"no machine", []string{"get"}, []string{"-fake, -nvml is missing"}},
		{"two machines", []string{"get", "-fake", file, "-nvml"}, []string{"exclude each other"}},
		{"unknown model", []string{"get", "-fake", "t4"}, []string{"-fake", `"t4"`, "neither a file nor models"}},
		{"not a machine", []string{"get", "-fake", write(t, "{}x")}, []string{"-fake"}},
		{"unknown GPU", []string{"get", "-fake", file, "-gpu", "1"}, []string{"-gpu", `"1"`, "1 GPU"}},
		{"instance without GPU", []string{"get", "-fake", file, "-gi", "1"}, []string{"-gi needs -gpu"}},
		{"unknown instance", []string{"get", "-fake", file, "-gpu", "0", "-gi", "1"}, []string{"-gi"}},
		{"unknown engine", []string{"get", "-fake", file, "-engine", "copy"}, []string{"-engine", `"copy"`}},
		{"no policy", []string{"set", "-fake", file}, []string{"-policy is missing"}},
		{"many GPUs", []string{"set", "-fake", "a100-80gb,a30-24gb", "-policy", "equal"}, []string{"2 schedulers", "-gpu"}},
		{"contradiction", []string{"set", "-fake", file, "-policy", "equal", "-slice", "3ms", "-frequency", "100"}, []string{"frequency 100"}},
		{"too long to follow", []string{"log", "-fake", file, "-follow", "1h"}, []string{"-follow: 1h0m0s"}},
		{"too long a run", []string{"log", "-fake", file, "-ran", "1h"}, []string{"-ran: 1h0m0s"}},
		{"negative last", []string{"log", "-fake", file, "-last", "-1"}, []string{"-last: -1"}},
		{"init over a file", []string{"init", "-model", "a100-80gb", "-to", file}, []string{"-to", "exists"}},
		{"init of nothing", []string{"init", "-to", file}, []string{"-model is missing"}},
		{"init of an unknown model", []string{"init", "-model", "t4", "-to", "x"}, []string{"-model", `"t4"`}},
		{"start without a file", []string{"start", "-fake", "a100-80gb", "-gpu", "0", "-name", "a"}, []string{"-fake", "no such file"}},
		{"start on an unknown GPU", []string{"start", "-fake", file, "-gpu", "2", "-name", "a"}, []string{"-gpu", `"2"`}},
		{"start in an unknown instance", []string{"start", "-fake", file, "-gpu", "0", "-gi", "1", "-name", "b"}, []string{"-gi"}},
		{"stop of nobody", []string{"stop", "-fake", file, "-name", "nobody"}, []string{"-name", `"nobody"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			refuses(t, append([]string{"vgpu"}, c.args...), c.says)
		})
	}
	done(t, "vgpu", "start", "-fake", file, "-gpu", "0", "-name", "a")
	refuses(t, []string{"vgpu", "start", "-fake", file, "-gpu", "0", "-name", "a"}, []string{"-name", `"a" runs already`})
}

// TestSaveMeanwhile: what somebody else has written is not overwritten.
func TestSaveMeanwhile(t *testing.T) {
	t.Parallel()
	file := newHostFile(t, "-model", "a100-80gb")
	h, err := (&vgpuFlags{fake: file}).onFile()
	require.NoError(t, err)
	done(t, "vgpu", "start", "-fake", file, "-gpu", "0", "-name", "other")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	_, err = h.server.RunVGPU(0, "mine")
	require.NoError(t, err)
	require.ErrorContains(t, h.save(), "another process")
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(text), string(now))
}
