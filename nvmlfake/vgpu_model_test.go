package nvmlfake_test

import (
	"slices"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/nvmlfake"
)

// vgpuMachine drives the vGPU scheduler of a GPU, or of a GPU instance, beside a
// naive model that keeps what it would be told.
type vgpuMachine struct {
	s   *nvmlfake.Server
	d   nvml.Device
	gi  nvml.GpuInstance // nil: the GPU
	id  int              // of the GPU instance
	max int              // vGPUs

	stops                      []func()
	policy, arr, factor, slice uint32 // as they are read while a vGPU runs
	entries                    []nvml.VgpuSchedulerLogEntry_v2
	written                    int
}

func newVGPUMachine(t *rapid.T) *vgpuMachine {
	x := &vgpuMachine{policy: bestEffort}
	if rapid.Bool().Draw(t, "in a GPU instance") {
		x.s, x.gi, x.id = startHostInstance(t, "2g.48gb")
		x.d, x.max = must(x.gi.GetInfo()).Device, 12
	} else {
		x.s, x.d = startHost(t, genModel(t).Key(), false)
		x.max = 32
	}
	return x
}

// asked draws what is asked of the scheduler, half of it legal.
func asked(t *rapid.T) (policy, arr, factor, frequency, slice uint32, legal bool) {
	number := func(label string, low, high uint32) uint32 {
		v := rapid.OneOf(
			rapid.Just[uint32](0), rapid.Uint32Range(low, high), rapid.SampledFrom([]uint32{low - 1, low, high, high + 1}),
		).Draw(t, label)
		if v != 0 && (v < low || v > high) {
			legal = false
		}
		return v
	}
	policy, arr, legal = rapid.Uint32Range(0, 4).Draw(t, "policy"), rapid.Uint32Range(0, 3).Draw(t, "arr"), true
	if arr == arrOff {
		slice = number("slice", 1_000_000, 30_000_000)
	} else {
		factor, frequency = number("factor", 1, 60), number("frequency", 63, 960)
	}
	if policy == bestEffort {
		legal = true
	}
	return policy, arr, factor, frequency, slice, legal && policy > 0 && policy < 4 && arr < 3
}

func (x *vgpuMachine) Set(t *rapid.T) {
	policy, arr, factor, frequency, slice, legal := asked(t)
	params := words(factor, frequency)
	if arr == arrOff {
		params = words(slice, rapid.Uint32().Draw(t, "the word behind the slice"))
	}
	var ret nvml.Return
	switch v2 := arr == arrOn && rapid.Bool().Draw(t, "v2"); {
	case v2 && x.gi == nil:
		ret = x.d.SetVgpuSchedulerState_v2(&nvml.VgpuSchedulerState_v2{EngineId: graphics, SchedulerPolicy: policy, AvgFactor: factor, Frequency: frequency})
	case v2:
		ret = x.gi.SetVgpuSchedulerState_v2(&nvml.VgpuSchedulerState_v2{EngineId: graphics, SchedulerPolicy: policy, AvgFactor: factor, Frequency: frequency})
	case x.gi == nil:
		ret = x.d.SetVgpuSchedulerState(&nvml.VgpuSchedulerSetState{SchedulerPolicy: policy, EnableARRMode: arr, SchedulerParams: params})
	default:
		to := nvml.VgpuSchedulerState{EngineId: graphics, SchedulerPolicy: policy, EnableARRMode: arr, SchedulerParams: params}
		to.Version = nvml.STRUCT_VERSION(to, 1)
		ret = x.gi.SetVgpuSchedulerState(&to)
	}
	switch {
	case !legal:
		require.Equal(t, nvml.ERROR_INVALID_ARGUMENT, ret)
		return
	case len(x.stops) > 0:
		require.Equal(t, nvml.ERROR_NOT_SUPPORTED, ret)
		return
	}
	require.Equal(t, nvml.SUCCESS, ret)
	or := func(v, byDefault uint32) uint32 {
		if v == 0 {
			return byDefault
		}
		return v
	}
	x.policy, x.arr, x.factor, x.slice = policy, arr, or(factor, 33), 1_000_000_000/or(frequency, 480)
	if arr == arrOff {
		x.factor, x.slice = 0, or(slice, 2_000_000)
	}
	if policy == bestEffort {
		x.arr, x.factor, x.slice = 0, 0, 0
	}
}

func (x *vgpuMachine) Run(t *rapid.T) {
	var end func()
	var err error
	if x.gi == nil {
		end, err = x.s.RunVGPU(0, "vm")
	} else {
		end, err = x.s.RunVGPUIn(0, x.id, "vm")
	}
	require.Equal(t, len(x.stops) < x.max, err == nil)
	if err == nil {
		x.stops = append(x.stops, end)
	}
}

func (x *vgpuMachine) Stop(t *rapid.T) {
	if len(x.stops) == 0 {
		return
	}
	i := rapid.IntRange(0, len(x.stops)-1).Draw(t, "vGPU")
	x.stops[i]()
	x.stops = slices.Delete(x.stops, i, i+1)
}

func (x *vgpuMachine) Log(t *rapid.T) {
	n := rapid.IntRange(0, 250).Draw(t, "entries")
	entries := logged(x.written, x.written+n)
	x.written += n
	if x.gi == nil {
		require.NoError(t, x.s.LogVGPU(0, graphics, entries...))
	} else {
		require.NoError(t, x.s.LogVGPUIn(0, x.id, graphics, entries...))
	}
	x.entries = append(x.entries, entries...)
	x.entries = x.entries[max(len(x.entries)-200, 0):]
}

// ChangeMode does nothing while a vGPU runs.
func (x *vgpuMachine) ChangeMode(t *rapid.T) {
	if len(x.stops) == 0 {
		return
	}
	want := off
	if x.gi == nil {
		want = on
	}
	activation, ret := x.d.SetMigMode(want)
	require.Equal(t, []nvml.Return{nvml.ERROR_IN_USE, nvml.SUCCESS}, []nvml.Return{activation, ret})
	activation, ret = x.d.SetMigMode(on - want)
	require.Equal(t, []nvml.Return{nvml.SUCCESS, nvml.SUCCESS}, []nvml.Return{activation, ret})
}

// Check reads the scheduler in every way there is.
func (x *vgpuMachine) Check(t *rapid.T) {
	require.NoError(t, x.s.Audit())
	factor, slice := x.factor, x.slice
	if len(x.stops) == 0 {
		factor, slice = 0, 0
	}
	params := words(factor, slice)
	if x.arr == arrOff {
		params = words(slice, 0)
	}
	infoV2 := nvml.VgpuSchedulerStateInfo_v2{EngineId: graphics, SchedulerPolicy: x.policy, AvgFactor: factor, Timeslice: slice}
	ask, askLog := nvml.VgpuSchedulerStateInfo_v2{EngineId: graphics}, nvml.VgpuSchedulerLogInfo_v2{EngineId: graphics}
	var log nvml.VgpuSchedulerLogInfo_v2
	if x.gi == nil {
		require.Equal(t, nvml.VgpuSchedulerGetState{SchedulerPolicy: x.policy, ArrMode: x.arr, SchedulerParams: params}, must(x.d.GetVgpuSchedulerState()))
		require.Equal(t, infoV2, must(x.d.GetVgpuSchedulerState_v2(ask)))
		log = must(x.d.GetVgpuSchedulerLog_v2(askLog))
	} else {
		got := must(x.gi.GetVgpuSchedulerState())
		require.Equal(t, []any{x.policy, x.arr, params}, []any{got.SchedulerPolicy, got.ArrMode, got.SchedulerParams})
		require.Equal(t, infoV2, must(x.gi.GetVgpuSchedulerState_v2(ask)))
		log = must(x.gi.GetVgpuSchedulerLog_v2(askLog))
	}
	inLog := nvml.VgpuSchedulerStateInfo_v2{EngineId: log.EngineId, SchedulerPolicy: log.SchedulerPolicy, AvgFactor: log.AvgFactor, Timeslice: log.Timeslice}
	require.Equal(t, infoV2, inLog)
	require.Len(t, x.entries, int(log.EntriesCount))
	for i, e := range x.entries {
		require.Equal(t, e, log.LogEntries[i])
	}
}

// Restart goes on with what a file brought back, where nothing runs and no log is.
func (x *vgpuMachine) Restart(t *rapid.T) {
	if len(x.stops) > 0 {
		return
	}
	x.s, x.entries = throughJSON(t, x.s), nil
	require.Equal(t, nvml.SUCCESS, x.s.NVML().Init())
	x.d = must(x.s.NVML().DeviceGetHandleByIndex(0))
	if x.gi != nil {
		x.gi = must(x.d.GetGpuInstanceById(x.id))
	}
}

func TestVGPUMachine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { t.Repeat(rapid.StateMachineActions(newVGPUMachine(t))) })
}
