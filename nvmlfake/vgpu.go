package nvmlfake

import (
	"cmp"
	"encoding/binary"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// What a vGPU scheduler takes, by the vendor's documented bounds, and what it
// does where nothing is set: the defaults of a type of which at most eight fit
// on a GPU.
const (
	minVGPUSlice, maxVGPUSlice, defaultVGPUSlice             = 1_000_000, 30_000_000, 2_000_000 // ns
	minVGPUFrequency, maxVGPUFrequency, defaultVGPUFrequency = 63, 960, 480                     // Hz
	minVGPUFactor, maxVGPUFactor, defaultVGPUFactor          = 1, 60, 33                        // averaging

	engineCount = nvml.VGPU_SCHEDULER_ENGINE_TYPE_NVENC0 + 1
)

// scheduler is the vGPU scheduler of the graphics engine as it was set, in NVML's
// numbers: 0 is best effort for the policy, and the default for all else. The
// schedulers of the other engines are always best effort.
type scheduler struct {
	policy, arr       uint32
	factor, frequency uint32 // with ARR
	timeslice         uint32 // ns; without ARR
}

// vgpuState is what a GPU, or a GPU instance, has of vGPU schedulers.
type vgpuState struct {
	graphics scheduler
	logs     [engineCount][]nvml.VgpuSchedulerLogEntry_v2 // the newest last
}

// wish is what a caller asks of a scheduler.
type wish struct{ engine, policy, arr, factor, frequency, timeslice uint32 }

// writtenWish reads the union that a caller fills in: {factor, frequency} with
// ARR, {slice} without.
func writtenWish(engine, policy, arr uint32, params [8]byte) wish {
	w := wish{engine: engine, policy: policy, arr: arr}
	first, second := binary.NativeEndian.Uint32(params[:4]), binary.NativeEndian.Uint32(params[4:])
	if arr == nvml.VGPU_SCHEDULER_ARR_DISABLE {
		w.timeslice = first
	} else {
		w.factor, w.frequency = first, second
	}
	return w
}

// legal reports whether a scheduler can be told so. Under best effort, which has
// no parameters, they are not looked at.
func (w wish) legal() bool {
	within := func(v, low, high uint32) bool { return v == 0 || v >= low && v <= high }
	switch {
	case w.policy < nvml.VGPU_SCHEDULER_POLICY_BEST_EFFORT || w.policy > nvml.VGPU_SCHEDULER_POLICY_FIXED_SHARE:
		return false
	case w.arr > nvml.VGPU_SCHEDULER_ARR_ENABLE:
		return false
	case w.policy == nvml.VGPU_SCHEDULER_POLICY_BEST_EFFORT:
		return true
	default:
		return within(w.factor, minVGPUFactor, maxVGPUFactor) &&
			within(w.frequency, minVGPUFrequency, maxVGPUFrequency) &&
			within(w.timeslice, minVGPUSlice, maxVGPUSlice)
	}
}

func (w wish) scheduler() scheduler {
	if w.policy == nvml.VGPU_SCHEDULER_POLICY_BEST_EFFORT {
		return scheduler{}
	}
	return scheduler{w.policy, w.arr, w.factor, w.frequency, w.timeslice}
}

// reading is what a scheduler says of itself.
type reading struct{ policy, arr, factor, timeslice uint32 }

// read returns what there is to say; factor and slice are 0 where nothing is
// scheduled.
func (s scheduler) read(active bool) reading {
	r := reading{policy: cmp.Or(s.policy, nvml.VGPU_SCHEDULER_POLICY_BEST_EFFORT), arr: s.arr}
	switch {
	case s.policy == 0 || !active:
	case s.arr == nvml.VGPU_SCHEDULER_ARR_DISABLE:
		r.timeslice = cmp.Or(s.timeslice, defaultVGPUSlice)
	default:
		r.factor = cmp.Or(s.factor, defaultVGPUFactor)
		r.timeslice = 1_000_000_000 / cmp.Or(s.frequency, defaultVGPUFrequency)
	}
	return r
}

// params is the union that a caller reads: {factor, slice} with ARR, {slice}
// without.
func (r reading) params() [8]byte {
	var b [8]byte
	if r.arr == nvml.VGPU_SCHEDULER_ARR_DISABLE {
		binary.NativeEndian.PutUint32(b[:4], r.timeslice)
		return b
	}
	binary.NativeEndian.PutUint32(b[:4], r.factor)
	binary.NativeEndian.PutUint32(b[4:], r.timeslice)
	return b
}

// slicesInstances reports whether vGPUs can share a GPU instance in time: on
// GB20x, which is the Blackwell with graphics, and on nothing before it.
func (g *gpuState) slicesInstances() bool {
	return architecture(g.spec) == nvml.DEVICE_ARCH_BLACKWELL && workstation(g.spec)
}

// vgpu returns the schedulers of a GPU or a GPU instance.
func (p place) vgpu() *vgpuState {
	if p.gi != nil {
		return &p.gi.vgpu
	}
	return &p.gpu.vgpu
}

// encoders returns how many a GPU, or a GPU instance, has.
func (p place) encoders() int {
	if p.gi != nil {
		return p.gi.profile.Engines.Encoders
	}
	most := 0
	for _, profile := range p.gpu.spec.Profiles {
		if profile.ComputeSlices == p.gpu.spec.ComputeSlices {
			most = max(most, profile.Engines.Encoders)
		}
	}
	return most
}

// scheduled says whether there is a scheduler of an engine. Arguments are
// checked before the mode.
func (p place) scheduled(engine uint32) nvml.Return {
	wanted := 0 // encoders
	switch engine {
	case nvml.VGPU_SCHEDULER_ENGINE_TYPE_GRAPHICS:
	case nvml.VGPU_SCHEDULER_ENGINE_TYPE_NVENC0:
		wanted = 1
	case nvml.VGPU_SCHEDULER_ENGINE_TYPE_NVENC1:
		wanted = 2
	default:
		return nvml.ERROR_INVALID_ARGUMENT
	}
	switch {
	case !p.gpu.vgpuHost || p.encoders() < wanted:
		return nvml.ERROR_NOT_SUPPORTED
	case p.gi == nil && p.gpu.current, p.gi != nil && !p.gpu.slicesInstances():
		return nvml.ERROR_NOT_SUPPORTED
	default:
		return nvml.SUCCESS
	}
}

// readScheduler returns what the scheduler of an engine says.
func (p place) readScheduler(engine uint32) (reading, nvml.Return) {
	if ret := p.scheduled(engine); ret != nvml.SUCCESS {
		return reading{}, ret
	}
	if engine != nvml.VGPU_SCHEDULER_ENGINE_TYPE_GRAPHICS {
		return scheduler{}.read(false), nvml.SUCCESS
	}
	return p.vgpu().graphics.read(p.runningVGPUs() > 0), nvml.SUCCESS
}

// setScheduler does what a caller asks, unless a vGPU runs there.
func (p place) setScheduler(w wish) nvml.Return {
	if !w.legal() {
		return nvml.ERROR_INVALID_ARGUMENT
	}
	switch ret := p.scheduled(w.engine); {
	case ret != nvml.SUCCESS:
		return ret
	case p.runningVGPUs() > 0:
		return nvml.ERROR_NOT_SUPPORTED
	case w.engine == nvml.VGPU_SCHEDULER_ENGINE_TYPE_GRAPHICS:
		p.vgpu().graphics = w.scheduler()
	case w.policy != nvml.VGPU_SCHEDULER_POLICY_BEST_EFFORT:
		return nvml.ERROR_NOT_SUPPORTED
	}
	return nvml.SUCCESS
}
