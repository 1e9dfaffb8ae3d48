package nvmlfake_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/nvmlfake"
)

// logged returns entries of a log that can be told apart.
func logged(from, to int) []nvml.VgpuSchedulerLogEntry_v2 {
	var entries []nvml.VgpuSchedulerLogEntry_v2
	for i := from; i < to; i++ {
		entries = append(entries, nvml.VgpuSchedulerLogEntry_v2{
			Timestamp: uint64(i), TimeRunTotal: uint64(10 * i), TimeRun: 10, SwRunlistId: uint32(i % 2),
			TargetTimeSlice: 9, CumulativePreemptionTime: 1, Weight: 5,
		})
	}
	return entries
}

func TestVGPUSchedulerLog(t *testing.T) {
	t.Parallel()
	s, d := startHost(t, "a100-40gb", false)
	require.Equal(t, nvml.SUCCESS, d.SetVgpuSchedulerState_v2(&nvml.VgpuSchedulerState_v2{EngineId: graphics, SchedulerPolicy: equalShare}))
	assert.Zero(t, must(d.GetVgpuSchedulerLog()).EntriesCount)
	require.NoError(t, s.LogVGPU(0, graphics, logged(0, 3)...))
	log := must(d.GetVgpuSchedulerLog())
	assert.Equal(t, []uint32{graphics, equalShare, arrOn, 3}, []uint32{log.EngineId, log.SchedulerPolicy, log.ArrMode, log.EntriesCount})
	assert.Equal(t, nvml.VgpuSchedulerLogEntry{Timestamp: 2, TimeRunTotal: 20, TimeRun: 10, TargetTimeSlice: 9, CumulativePreemptionTime: 1}, log.LogEntries[2])
	assert.Zero(t, log.LogEntries[3])
	for _, more := range [][2]int{{3, 150}, {150, 260}, {260, 261}, {261, 900}} {
		require.NoError(t, s.LogVGPU(0, graphics, logged(more[0], more[1])...))
		v2 := must(d.GetVgpuSchedulerLog_v2(nvml.VgpuSchedulerLogInfo_v2{EngineId: graphics}))
		require.Equal(t, v2, must(d.GetVgpuSchedulerLog_v2(nvml.VgpuSchedulerLogInfo_v2{EngineId: graphics, EntriesCount: 9})), "reading takes nothing away")
		require.Equal(t, logged(max(more[1]-200, 0), more[1]), v2.LogEntries[:v2.EntriesCount])
		require.NoError(t, s.Audit())
	}
	require.ErrorIs(t, s.LogVGPU(1, graphics), nvmlfake.ErrNoGPU)
	require.ErrorIs(t, s.LogVGPU(0, nvenc0), nvmlfake.ErrNoScheduler)
	require.ErrorIs(t, s.LogVGPU(0, -1), nvmlfake.ErrNoScheduler)
	require.ErrorIs(t, s.LogVGPUIn(0, 3, graphics), nvmlfake.ErrNoInstance)

	s, gi, id := startHostInstance(t, "1g.24gb")
	require.NoError(t, s.LogVGPUIn(0, id, nvenc0, logged(0, 2)...))
	assert.Zero(t, must(gi.GetVgpuSchedulerLog()).EntriesCount, "that of graphics")
	v2 := must(gi.GetVgpuSchedulerLog_v2(nvml.VgpuSchedulerLogInfo_v2{EngineId: nvenc0}))
	assert.Equal(t, logged(0, 2), v2.LogEntries[:v2.EntriesCount])
	require.ErrorIs(t, s.LogVGPU(0, graphics), nvmlfake.ErrNoScheduler, "MIG is on")
}

func TestVGPUCapabilities(t *testing.T) {
	t.Parallel()
	_, d := startHost(t, "a100-40gb", false)
	assert.Equal(t, nvml.VgpuSchedulerCapabilities{
		SupportedSchedulers: [3]uint32{1, 2, 3}, MinTimeslice: 1_000_000, MaxTimeslice: 30_000_000, IsArrModeSupported: 1,
		MinFrequencyForARR: 63, MaxFrequencyForARR: 960, MinAvgFactorForARR: 1, MaxAvgFactorForARR: 60,
	}, must(d.GetVgpuSchedulerCapabilities()))
}

// Where vGPUs can run, how many, and what they keep from happening.
func TestRunVGPU(t *testing.T) {
	t.Parallel()
	s, _ := start(t, nvmlfake.Config{GPUs: []nvmlfake.GPU{
		{Model: "a100-40gb"},
		{Model: "rtx-pro-6000-96gb", VGPUHost: true, MIG: true},
		{Model: "h100-80gb-sxm5", VGPUHost: true, MIG: true},
		{Model: "h100-80gb-sxm5", VGPUHost: true},
	}})
	refused := func(err error, says string) {
		t.Helper()
		require.ErrorIs(t, err, nvmlfake.ErrBadHolder)
		require.ErrorContains(t, err, says)
	}
	only := func(_ func(), err error) error { return err }
	refused(only(s.RunVGPU(0, "vm")), "vGPU host")
	refused(only(s.RunVGPU(1, "vm")), "MIG is on")
	refused(only(s.Hold(3, nvmlfake.Holder{PID: 1, Name: "vm", VGPU: true})), "hidden")
	require.ErrorIs(t, only(s.RunVGPU(4, "vm")), nvmlfake.ErrNoGPU)
	require.ErrorIs(t, only(s.RunVGPUIn(1, 0, "vm")), nvmlfake.ErrNoInstance)

	for n := range 33 {
		err := only(s.RunVGPU(3, fmt.Sprint("vm-", n)))
		if n < 32 {
			require.NoError(t, err)
		} else {
			refused(err, "33 vGPUs, of 32")
		}
	}
	assert.Contains(t, s.String(), "  held by vm-31 (hidden, vGPU)\n")
	var held *nvmlfake.HeldError
	require.ErrorAs(t, s.Reset(3), &held)
	assert.Len(t, held.Holders, 32)

	d := must(s.NVML().DeviceGetHandleByIndex(2))
	gi := must(d.CreateGpuInstance(infoOf(t, d, "h100-80gb-sxm5", "1g.10gb")))
	ci := must(gi.CreateComputeInstance(computeInfoOf(gi, 0)))
	id := int(must(gi.GetInfo()).Id)
	refused(only(s.HoldCompute(2, id, int(must(ci.GetInfo()).Id), nvmlfake.Holder{Name: "vm", Hidden: true, VGPU: true})), "compute instance")
	require.NoError(t, only(s.RunVGPUIn(2, id, "vm")))
	refused(only(s.RunVGPUIn(2, id, "vm")), "2 vGPUs, of 1")

	d = must(s.NVML().DeviceGetHandleByIndex(1))
	for range 4 {
		gi := must(d.CreateGpuInstance(infoOf(t, d, "rtx-pro-6000-96gb", "1g.24gb")))
		id := int(must(gi.GetInfo()).Id)
		for range 12 {
			require.NoError(t, only(s.RunVGPUIn(1, id, "vm")))
		}
		refused(only(s.RunVGPUIn(1, id, "vm")), "13 vGPUs, of 12")
	}
	require.NoError(t, s.Audit())
	throughJSON(t, s)
}

// A scheduler is forgotten with its GPU instance, and by a reset.
func TestVGPUSchedulerIsNotKept(t *testing.T) {
	t.Parallel()
	to := nvml.VgpuSchedulerState_v2{EngineId: graphics, SchedulerPolicy: fixedShare}
	ask := nvml.VgpuSchedulerStateInfo_v2{EngineId: graphics}
	s, gi, id := startHostInstance(t, "1g.24gb")
	require.Equal(t, nvml.SUCCESS, gi.SetVgpuSchedulerState_v2(&to))
	d := must(gi.GetInfo()).Device
	require.Equal(t, nvml.SUCCESS, gi.Destroy())
	assert.Equal(t, nvml.ERROR_INVALID_ARGUMENT, code(gi.GetVgpuSchedulerState_v2(ask)))
	assert.Equal(t, nvml.ERROR_INVALID_ARGUMENT, gi.SetVgpuSchedulerState_v2(&to))
	gi = must(d.CreateGpuInstance(infoOf(t, d, "rtx-pro-6000-96gb", "1g.24gb")))
	require.Equal(t, id, int(must(gi.GetInfo()).Id))
	assert.Equal(t, uint32(bestEffort), must(gi.GetVgpuSchedulerState_v2(ask)).SchedulerPolicy)
	require.NoError(t, s.Audit())

	for name, restart := range map[string]func(*nvmlfake.Server){
		"reset":  func(s *nvmlfake.Server) { require.NoError(t, s.Reset(0)) },
		"reboot": func(s *nvmlfake.Server) { s.Reboot(); require.Equal(t, nvml.SUCCESS, s.NVML().Init()) },
	} {
		s, d := startHost(t, "a100-40gb", false)
		require.Equal(t, nvml.SUCCESS, d.SetVgpuSchedulerState_v2(&to))
		require.NoError(t, s.LogVGPU(0, graphics, logged(0, 3)...))
		restart(s)
		log := must(d.GetVgpuSchedulerLog_v2(nvml.VgpuSchedulerLogInfo_v2{EngineId: graphics}))
		assert.Equal(t, nvml.VgpuSchedulerLogInfo_v2{EngineId: graphics, SchedulerPolicy: bestEffort}, log, name)
	}
}

func TestVGPUSnapshots(t *testing.T) {
	t.Parallel()
	s, d := restore(t, `{"schema":1,"gpus":[{"model":"a100-40gb","vgpuHost":true,"vgpuScheduler":{"policy":3,"arr":1,"timeslice":4000000},
		"holders":[{"name":"vm","hidden":true,"vgpu":true}]}]}`)
	assert.Equal(t, words(4_000_000, 0), must(d.GetVgpuSchedulerState()).SchedulerParams)
	throughJSON(t, s)
	scheduler := func(text string) string {
		return `{"model":"a100-40gb","vgpuHost":true,"vgpuScheduler":` + text + `}`
	}
	for _, row := range []struct{ name, gpu, says string }{
		{"no host", `{"model":"a100-40gb","vgpuScheduler":{"policy":2}}`, "gpus[0].vgpuScheduler"},
		{"best effort is none", scheduler(`{"policy":1}`), "gpus[0].vgpuScheduler"},
		{"no policy", scheduler(`{}`), "gpus[0].vgpuScheduler"},
		{"no such policy", scheduler(`{"policy":4}`), "gpus[0].vgpuScheduler"},
		{"a slice with ARR", scheduler(`{"policy":2,"timeslice":2000000}`), "gpus[0].vgpuScheduler"},
		{"a frequency without", scheduler(`{"policy":2,"arr":1,"frequency":480}`), "gpus[0].vgpuScheduler"},
		{"out of bounds", scheduler(`{"policy":2,"frequency":1}`), "gpus[0].vgpuScheduler"},
		{"in an instance of a GPU that has none there", `{"model":"a100-40gb","mig":true,"vgpuHost":true,"instances":[{"profile":"1g.5gb","start":0,"vgpuScheduler":{"policy":2}}]}`, "gpus[0].instances[0].vgpuScheduler"},
		{"a vGPU on no host", `{"model":"a100-40gb","holders":[{"name":"vm","hidden":true,"vgpu":true}]}`, "gpus[0].holders[0]"},
	} {
		snap, err := nvmlfake.ReadSnapshot(strings.NewReader(`{"schema":1,"gpus":[` + row.gpu + `]}`))
		require.NoError(t, err)
		_, err = nvmlfake.Restore(snap)
		require.ErrorIs(t, err, nvmlfake.ErrBadSnapshot, row.name)
		require.ErrorContains(t, err, row.says, row.name)
	}
}
