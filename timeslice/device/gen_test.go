package device_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/nvmlfake"
	"github.com/gpushare/gpushare/timeslice"
	"github.com/gpushare/gpushare/timeslice/device"
)

const (
	plainModel    = "a100-40gb"         // a scheduler for the GPU, none in an instance
	instanceModel = "rtx-pro-6000-96gb" // in an instance, too
)

// failer is what *testing.T and *rapid.T have in common.
type failer interface {
	require.TestingT
	Helper()
}

// must returns the value of a call that has to succeed.
func must[T any](v T, ret nvml.Return) T {
	if ret != nvml.SUCCESS {
		panic(fmt.Sprintf("unexpected %v", ret))
	}
	return v
}

// place is a vGPU host with the GPU, or the GPU instance, whose scheduler is
// tested.
type place struct {
	s   *nvmlfake.Server
	lib nvml.Interface
	dev nvml.Device
	gi  nvml.GpuInstance // nil: the GPU
	id  int
}

func start(t failer, inInstance bool, wrap func(nvml.Interface) nvml.Interface) place {
	t.Helper()
	gpu := nvmlfake.GPU{Model: plainModel, VGPUHost: true}
	if inInstance {
		gpu = nvmlfake.GPU{Model: instanceModel, VGPUHost: true, MIG: true}
	}
	s, err := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{gpu}})
	require.NoError(t, err)
	p := place{s: s, lib: s.NVML()}
	if wrap != nil {
		p.lib = wrap(p.lib)
	}
	require.Equal(t, nvml.SUCCESS, p.lib.Init())
	p.dev = must(p.lib.DeviceGetHandleByIndex(0))
	if inInstance {
		info := must(p.dev.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_2_SLICE))
		p.gi = must(p.dev.CreateGpuInstance(&info))
		p.id = int(must(p.gi.GetInfo()).Id)
	}
	return p
}

// opener is a failer with a context.
type opener interface {
	failer
	Context() context.Context
}

// open returns the scheduler of the place.
func (p place) open(t opener) *device.Scheduler {
	t.Helper()
	var s *device.Scheduler
	var err error
	if p.gi != nil {
		s, err = device.OpenInstance(t.Context(), p.lib, p.gi)
	} else {
		s, err = device.Open(t.Context(), p.lib, p.dev)
	}
	require.NoError(t, err)
	return s
}

func (p place) run(t failer) (stop func()) {
	t.Helper()
	var err error
	if p.gi != nil {
		stop, err = p.s.RunVGPUIn(0, p.id, "vm")
	} else {
		stop, err = p.s.RunVGPU(0, "vm")
	}
	require.NoError(t, err)
	return stop
}

func (p place) log(t failer, entries ...nvml.VgpuSchedulerLogEntry_v2) {
	t.Helper()
	if p.gi != nil {
		require.NoError(t, p.s.LogVGPUIn(0, p.id, nvml.VGPU_SCHEDULER_ENGINE_TYPE_GRAPHICS, entries...))
	} else {
		require.NoError(t, p.s.LogVGPU(0, nvml.VGPU_SCHEDULER_ENGINE_TYPE_GRAPHICS, entries...))
	}
}

// oldDriver is a library that lacks functions. To call one ends the process with
// the real binding; here it fails the test.
type oldDriver struct {
	nvml.Interface
	lacks func(symbol string) bool
}

func (o oldDriver) Extensions() nvml.ExtendedInterface { return o }

func (o oldDriver) LookupSymbol(symbol string) error {
	if o.lacks(symbol) {
		return nvml.ERROR_FUNCTION_NOT_FOUND
	}
	return o.Interface.Extensions().LookupSymbol(symbol)
}

// genScheduler draws a setting that a device of documented bounds takes.
func genScheduler(t *rapid.T) timeslice.VGPUScheduler {
	to := timeslice.VGPUScheduler{Policy: rapid.SampledFrom([]timeslice.VGPUPolicy{
		timeslice.VGPUBestEffort, timeslice.VGPUEqualShare, timeslice.VGPUFixedShare,
	}).Draw(t, "policy")}
	if to.Policy == timeslice.VGPUBestEffort {
		return to
	}
	number := func(label string, low, high int64) int64 {
		return rapid.OneOf(rapid.Just[int64](0), rapid.SampledFrom([]int64{low, high}), rapid.Int64Range(low, high)).Draw(t, label)
	}
	to.ARR = rapid.SampledFrom([]timeslice.ARRMode{timeslice.ARRDefault, timeslice.ARROff, timeslice.ARROn}).Draw(t, "ARR")
	if to.ARR == timeslice.ARROff {
		to.Slice = number("slice", timeslice.MinVGPUSlice, timeslice.MaxVGPUSlice)
	} else {
		to.Factor = uint32(number("factor", int64(timeslice.MinVGPUFactor), int64(timeslice.MaxVGPUFactor)))
		to.Frequency = uint32(number("frequency", int64(timeslice.MinVGPUFrequency), int64(timeslice.MaxVGPUFrequency)))
	}
	return to
}

// turns returns entries of the log, of three vGPUs in turn, a millisecond each.
func turns(from, to int) []nvml.VgpuSchedulerLogEntry_v2 {
	var entries []nvml.VgpuSchedulerLogEntry_v2
	for i := from; i < to; i++ {
		entries = append(entries, nvml.VgpuSchedulerLogEntry_v2{
			Timestamp: uint64(i+1) * 1_000_000, TimeRun: 990_000, TimeRunTotal: uint64(i/3+1) * 990_000, SwRunlistId: uint32(i % 3),
			TargetTimeSlice: 980_000, CumulativePreemptionTime: uint64(i/3+1) * 10_000, Weight: 7,
		})
	}
	return entries
}

// read returns how the package tells entries.
func read(entries []nvml.VgpuSchedulerLogEntry_v2, weighted bool) []device.Entry {
	var list []device.Entry
	for _, e := range entries {
		one := device.Entry{
			At: int64(e.Timestamp), RunList: e.SwRunlistId, Ran: int64(e.TimeRun), RanTotal: int64(e.TimeRunTotal),
			Target: int64(e.TargetTimeSlice), Preemption: int64(e.CumulativePreemptionTime),
		}
		if weighted {
			one.Weight = e.Weight
		}
		list = append(list, one)
	}
	return slices.Clip(list)
}
