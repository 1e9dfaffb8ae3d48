package nvmlfake

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// placed is a handle of what can have a vGPU scheduler.
type placed interface {
	handle
	place() place // of a valid handle, with the server's lock held
}

func (d deviceHandle) place() place      { return place{gpu: d.gpu} }
func (h gpuInstanceHandle) place() place { return place{gpu: h.gi.gpu, gi: h.gi} }

func getScheduler(h placed, engine uint32) (reading, nvml.Return) {
	return call(h, func() (reading, nvml.Return) { return h.place().readScheduler(engine) })
}

func setScheduler(h placed, w wish) nvml.Return {
	_, ret := call(h, func() (any, nvml.Return) { return nil, h.place().setScheduler(w) })
	return ret
}

// stateV2 is the state with the fields that the second version of the calls has.
// It has none for whether ARR is on.
func stateV2(h placed, engine uint32) (nvml.VgpuSchedulerStateInfo_v2, nvml.Return) {
	r, ret := getScheduler(h, engine)
	return nvml.VgpuSchedulerStateInfo_v2{
		EngineId: engine, SchedulerPolicy: r.policy, AvgFactor: r.factor, Timeslice: r.timeslice,
	}, ret
}

// setV2 always turns ARR on, since the second version cannot say otherwise.
func setV2(h placed, to *nvml.VgpuSchedulerState_v2) nvml.Return {
	if to == nil {
		return nvml.ERROR_INVALID_ARGUMENT
	}
	return setScheduler(h, wish{
		engine: to.EngineId, policy: to.SchedulerPolicy, arr: nvml.VGPU_SCHEDULER_ARR_ENABLE,
		factor: to.AvgFactor, frequency: to.Frequency,
	})
}

func logV2(h placed, engine uint32) (nvml.VgpuSchedulerLogInfo_v2, nvml.Return) {
	return call(h, func() (nvml.VgpuSchedulerLogInfo_v2, nvml.Return) {
		info := nvml.VgpuSchedulerLogInfo_v2{EngineId: engine}
		p := h.place()
		r, ret := p.readScheduler(engine)
		if ret != nvml.SUCCESS {
			return info, ret
		}
		info.SchedulerPolicy, info.AvgFactor, info.Timeslice = r.policy, r.factor, r.timeslice
		info.EntriesCount = uint32(copy(info.LogEntries[:], p.vgpu().logs[engine]))
		return info, nvml.SUCCESS
	})
}

// logV1 is the log of the graphics engine without what only the second version
// of the calls tells.
func logV1(h placed) (nvml.VgpuSchedulerLog, nvml.Return) {
	const engine = nvml.VGPU_SCHEDULER_ENGINE_TYPE_GRAPHICS
	return call(h, func() (nvml.VgpuSchedulerLog, nvml.Return) {
		p := h.place()
		r, ret := p.readScheduler(engine)
		if ret != nvml.SUCCESS {
			return nvml.VgpuSchedulerLog{}, ret
		}
		l := nvml.VgpuSchedulerLog{EngineId: engine, SchedulerPolicy: r.policy, ArrMode: r.arr, SchedulerParams: r.params()}
		for i, e := range p.vgpu().logs[engine] {
			l.LogEntries[i] = nvml.VgpuSchedulerLogEntry{
				Timestamp: e.Timestamp, TimeRunTotal: e.TimeRunTotal, TimeRun: e.TimeRun, SwRunlistId: e.SwRunlistId,
				TargetTimeSlice: e.TargetTimeSlice, CumulativePreemptionTime: e.CumulativePreemptionTime,
			}
			l.EntriesCount++
		}
		return l, nvml.SUCCESS
	})
}

// GetVgpuSchedulerCapabilities returns the vendor's documented bounds. On a GPU
// with MIG on it is not supported, as all the other calls on the GPU.
func (d deviceHandle) GetVgpuSchedulerCapabilities() (nvml.VgpuSchedulerCapabilities, nvml.Return) {
	return call(d, func() (nvml.VgpuSchedulerCapabilities, nvml.Return) {
		if ret := d.place().scheduled(nvml.VGPU_SCHEDULER_ENGINE_TYPE_GRAPHICS); ret != nvml.SUCCESS {
			return nvml.VgpuSchedulerCapabilities{}, ret
		}
		return nvml.VgpuSchedulerCapabilities{
			SupportedSchedulers: [3]uint32{
				nvml.VGPU_SCHEDULER_POLICY_BEST_EFFORT, nvml.VGPU_SCHEDULER_POLICY_EQUAL_SHARE, nvml.VGPU_SCHEDULER_POLICY_FIXED_SHARE,
			},
			MinTimeslice: minVGPUSlice, MaxTimeslice: maxVGPUSlice, IsArrModeSupported: 1,
			MinFrequencyForARR: minVGPUFrequency, MaxFrequencyForARR: maxVGPUFrequency,
			MinAvgFactorForARR: minVGPUFactor, MaxAvgFactorForARR: maxVGPUFactor,
		}, nvml.SUCCESS
	})
}

func (d deviceHandle) GetVgpuSchedulerState() (nvml.VgpuSchedulerGetState, nvml.Return) {
	r, ret := getScheduler(d, nvml.VGPU_SCHEDULER_ENGINE_TYPE_GRAPHICS)
	return nvml.VgpuSchedulerGetState{SchedulerPolicy: r.policy, ArrMode: r.arr, SchedulerParams: r.params()}, ret
}

// SetVgpuSchedulerState sets the scheduler of the graphics engine, unless a vGPU
// runs on the GPU, which is not supported then.
func (d deviceHandle) SetVgpuSchedulerState(to *nvml.VgpuSchedulerSetState) nvml.Return {
	if to == nil {
		return nvml.ERROR_INVALID_ARGUMENT
	}
	return setScheduler(d, writtenWish(nvml.VGPU_SCHEDULER_ENGINE_TYPE_GRAPHICS, to.SchedulerPolicy, to.EnableARRMode, to.SchedulerParams))
}

func (d deviceHandle) GetVgpuSchedulerLog() (nvml.VgpuSchedulerLog, nvml.Return) { return logV1(d) }

func (d deviceHandle) GetVgpuSchedulerState_v2(info nvml.VgpuSchedulerStateInfo_v2) (nvml.VgpuSchedulerStateInfo_v2, nvml.Return) { //nolint:revive // NVML's name
	return stateV2(d, info.EngineId)
}

func (d deviceHandle) SetVgpuSchedulerState_v2(to *nvml.VgpuSchedulerState_v2) nvml.Return { //nolint:revive // NVML's name
	return setV2(d, to)
}

func (d deviceHandle) GetVgpuSchedulerLog_v2(info nvml.VgpuSchedulerLogInfo_v2) (nvml.VgpuSchedulerLogInfo_v2, nvml.Return) { //nolint:revive // NVML's name
	return logV2(d, info.EngineId)
}

// GetVgpuSchedulerState is about the graphics engine: the binding has no way to
// ask for another one, and leaves the engine 0.
func (h gpuInstanceHandle) GetVgpuSchedulerState() (nvml.VgpuSchedulerStateInfo, nvml.Return) {
	r, ret := getScheduler(h, nvml.VGPU_SCHEDULER_ENGINE_TYPE_GRAPHICS)
	info := nvml.VgpuSchedulerStateInfo{
		EngineId:        nvml.VGPU_SCHEDULER_ENGINE_TYPE_GRAPHICS,
		SchedulerPolicy: r.policy, ArrMode: r.arr, SchedulerParams: r.params(),
	}
	info.Version = nvml.STRUCT_VERSION(info, 1)
	return info, ret
}

// SetVgpuSchedulerState wants the version of the struct, which the binding does
// not fill in.
func (h gpuInstanceHandle) SetVgpuSchedulerState(to *nvml.VgpuSchedulerState) nvml.Return {
	_, ret := call(h, func() (any, nvml.Return) {
		switch {
		case to == nil:
			return nil, nvml.ERROR_INVALID_ARGUMENT
		case to.Version != nvml.STRUCT_VERSION(*to, 1):
			return nil, nvml.ERROR_ARGUMENT_VERSION_MISMATCH
		}
		return nil, h.place().setScheduler(writtenWish(to.EngineId, to.SchedulerPolicy, to.EnableARRMode, to.SchedulerParams))
	})
	return ret
}

// GetVgpuSchedulerLog is about the graphics engine, as GetVgpuSchedulerState.
func (h gpuInstanceHandle) GetVgpuSchedulerLog() (nvml.VgpuSchedulerLogInfo, nvml.Return) {
	l, ret := logV1(h)
	info := nvml.VgpuSchedulerLogInfo{
		EngineId: l.EngineId, SchedulerPolicy: l.SchedulerPolicy, ArrMode: l.ArrMode, SchedulerParams: l.SchedulerParams,
		EntriesCount: l.EntriesCount, LogEntries: l.LogEntries,
	}
	info.Version = nvml.STRUCT_VERSION(info, 1)
	return info, ret
}

func (h gpuInstanceHandle) GetVgpuSchedulerState_v2(info nvml.VgpuSchedulerStateInfo_v2) (nvml.VgpuSchedulerStateInfo_v2, nvml.Return) { //nolint:revive // NVML's name
	return stateV2(h, info.EngineId)
}

func (h gpuInstanceHandle) SetVgpuSchedulerState_v2(to *nvml.VgpuSchedulerState_v2) nvml.Return { //nolint:revive // NVML's name
	return setV2(h, to)
}

func (h gpuInstanceHandle) GetVgpuSchedulerLog_v2(info nvml.VgpuSchedulerLogInfo_v2) (nvml.VgpuSchedulerLogInfo_v2, nvml.Return) { //nolint:revive // NVML's name
	return logV2(h, info.EngineId)
}
