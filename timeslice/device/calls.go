package device

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/timeslice"
)

// version is that of NVML's calls.
type version int

const (
	v1 version = 1
	v2 version = 2
)

// calls are those on a GPU or on a GPU instance. One that the driver lacks, or
// that cannot be asked for an engine, answers with a code like any other.
type calls interface {
	migOn() bool
	capabilities() (nvml.VgpuSchedulerCapabilities, nvml.Return)
	state(v version, engine timeslice.VGPUEngine) (State, nvml.Return)
	log(v version, engine timeslice.VGPUEngine) (Log, nvml.Return)
	// set does what it is told; arr is what is written for the mode in the first
	// version.
	set(v version, engine timeslice.VGPUEngine, to timeslice.VGPUScheduler, arr uint32) nvml.Return
}

// ask makes a call if the driver has the function: otherwise the binding would
// end the process.
func ask[T any](lib nvml.Interface, symbol string, f func() (T, nvml.Return)) (T, nvml.Return) {
	if lib.Extensions().LookupSymbol(symbol) != nil {
		var none T
		return none, nvml.ERROR_FUNCTION_NOT_FOUND
	}
	return f()
}

// tell is ask for a call that returns a code only.
func tell(lib nvml.Interface, symbol string, f func() nvml.Return) nvml.Return {
	_, ret := ask(lib, symbol, func() (any, nvml.Return) { return nil, f() })
	return ret
}

// prefer makes a call in the second version and, where that is not offered, in
// the first.
func prefer[T any](f func(version) (T, nvml.Return)) (T, nvml.Return) {
	value, ret := f(v2)
	if ret != nvml.ERROR_NOT_SUPPORTED && ret != nvml.ERROR_FUNCTION_NOT_FOUND {
		return value, ret
	}
	if old, oldRet := f(v1); oldRet != nvml.ERROR_FUNCTION_NOT_FOUND {
		return old, oldRet
	}
	return value, ret
}

func migOn(lib nvml.Interface, dev nvml.Device) bool {
	current, ret := ask(lib, "nvmlDeviceGetMigMode", func() (int, nvml.Return) {
		current, _, ret := dev.GetMigMode()
		return current, ret
	})
	return ret == nvml.SUCCESS && current == nvml.DEVICE_MIG_ENABLE
}

// gpuCalls are the calls on a GPU. The first version of them knows the graphics
// engine only.
type gpuCalls struct {
	lib nvml.Interface
	dev nvml.Device
}

func (c gpuCalls) migOn() bool { return migOn(c.lib, c.dev) }

func (c gpuCalls) capabilities() (nvml.VgpuSchedulerCapabilities, nvml.Return) {
	return ask(c.lib, "nvmlDeviceGetVgpuSchedulerCapabilities", c.dev.GetVgpuSchedulerCapabilities)
}

func (c gpuCalls) state(v version, engine timeslice.VGPUEngine) (State, nvml.Return) {
	if v == v2 {
		s, ret := ask(c.lib, "nvmlDeviceGetVgpuSchedulerState_v2", func() (nvml.VgpuSchedulerStateInfo_v2, nvml.Return) {
			return c.dev.GetVgpuSchedulerState_v2(nvml.VgpuSchedulerStateInfo_v2{EngineId: uint32(engine)})
		})
		return readStateV2(engine, s.SchedulerPolicy, s.AvgFactor, s.Timeslice), ret
	}
	if engine != timeslice.EngineGraphics {
		return State{}, nvml.ERROR_NOT_SUPPORTED
	}
	s, ret := ask(c.lib, "nvmlDeviceGetVgpuSchedulerState", c.dev.GetVgpuSchedulerState)
	return readState(engine, s.SchedulerPolicy, s.ArrMode, s.SchedulerParams), ret
}

func (c gpuCalls) set(v version, engine timeslice.VGPUEngine, to timeslice.VGPUScheduler, arr uint32) nvml.Return {
	if v == v2 {
		state := writtenV2(engine, to)
		return tell(c.lib, "nvmlDeviceSetVgpuSchedulerState_v2", func() nvml.Return { return c.dev.SetVgpuSchedulerState_v2(&state) })
	}
	if engine != timeslice.EngineGraphics {
		return nvml.ERROR_NOT_SUPPORTED
	}
	state := nvml.VgpuSchedulerSetState{SchedulerPolicy: uint32(to.Policy), EnableARRMode: arr, SchedulerParams: written(to)}
	return tell(c.lib, "nvmlDeviceSetVgpuSchedulerState", func() nvml.Return { return c.dev.SetVgpuSchedulerState(&state) })
}

func (c gpuCalls) log(v version, engine timeslice.VGPUEngine) (Log, nvml.Return) {
	if v == v2 {
		l, ret := ask(c.lib, "nvmlDeviceGetVgpuSchedulerLog_v2", func() (nvml.VgpuSchedulerLogInfo_v2, nvml.Return) {
			return c.dev.GetVgpuSchedulerLog_v2(nvml.VgpuSchedulerLogInfo_v2{EngineId: uint32(engine)})
		})
		return readLogV2(engine, &l), ret
	}
	if engine != timeslice.EngineGraphics {
		return Log{}, nvml.ERROR_NOT_SUPPORTED
	}
	l, ret := ask(c.lib, "nvmlDeviceGetVgpuSchedulerLog", c.dev.GetVgpuSchedulerLog)
	return Log{
		State:   readState(engine, l.SchedulerPolicy, l.ArrMode, l.SchedulerParams),
		Entries: readEntries(l.LogEntries[:], l.EntriesCount),
	}, ret
}

// instanceCalls are the calls on a GPU instance. In the first version of them the
// engine can be named for setting only: the binding does not pass it for reading.
type instanceCalls struct {
	lib nvml.Interface
	dev nvml.Device // of the GPU
	gi  nvml.GpuInstance
}

func (c instanceCalls) migOn() bool { return migOn(c.lib, c.dev) }

func (c instanceCalls) capabilities() (nvml.VgpuSchedulerCapabilities, nvml.Return) {
	return gpuCalls{c.lib, c.dev}.capabilities()
}

func (c instanceCalls) state(v version, engine timeslice.VGPUEngine) (State, nvml.Return) {
	if v == v2 {
		s, ret := ask(c.lib, "nvmlGpuInstanceGetVgpuSchedulerState_v2", func() (nvml.VgpuSchedulerStateInfo_v2, nvml.Return) {
			return c.gi.GetVgpuSchedulerState_v2(nvml.VgpuSchedulerStateInfo_v2{EngineId: uint32(engine)})
		})
		return readStateV2(engine, s.SchedulerPolicy, s.AvgFactor, s.Timeslice), ret
	}
	if engine != timeslice.EngineGraphics {
		return State{}, nvml.ERROR_NOT_SUPPORTED
	}
	s, ret := ask(c.lib, "nvmlGpuInstanceGetVgpuSchedulerState", c.gi.GetVgpuSchedulerState)
	return readState(engine, s.SchedulerPolicy, s.ArrMode, s.SchedulerParams), ret
}

func (c instanceCalls) set(v version, engine timeslice.VGPUEngine, to timeslice.VGPUScheduler, arr uint32) nvml.Return {
	if v == v2 {
		state := writtenV2(engine, to)
		return tell(c.lib, "nvmlGpuInstanceSetVgpuSchedulerState_v2", func() nvml.Return { return c.gi.SetVgpuSchedulerState_v2(&state) })
	}
	state := nvml.VgpuSchedulerState{
		EngineId: uint32(engine), SchedulerPolicy: uint32(to.Policy), EnableARRMode: arr, SchedulerParams: written(to),
	}
	state.Version = nvml.STRUCT_VERSION(state, 1)
	return tell(c.lib, "nvmlGpuInstanceSetVgpuSchedulerState", func() nvml.Return { return c.gi.SetVgpuSchedulerState(&state) })
}

func (c instanceCalls) log(v version, engine timeslice.VGPUEngine) (Log, nvml.Return) {
	if v == v2 {
		l, ret := ask(c.lib, "nvmlGpuInstanceGetVgpuSchedulerLog_v2", func() (nvml.VgpuSchedulerLogInfo_v2, nvml.Return) {
			return c.gi.GetVgpuSchedulerLog_v2(nvml.VgpuSchedulerLogInfo_v2{EngineId: uint32(engine)})
		})
		return readLogV2(engine, &l), ret
	}
	if engine != timeslice.EngineGraphics {
		return Log{}, nvml.ERROR_NOT_SUPPORTED
	}
	l, ret := ask(c.lib, "nvmlGpuInstanceGetVgpuSchedulerLog", c.gi.GetVgpuSchedulerLog)
	return Log{
		State:   readState(engine, l.SchedulerPolicy, l.ArrMode, l.SchedulerParams),
		Entries: readEntries(l.LogEntries[:], l.EntriesCount),
	}, ret
}
