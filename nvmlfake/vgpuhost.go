package nvmlfake

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// How many vGPUs the driver lets share a GPU in time.
const (
	maxVGPUsPerInstance = 12 // GB20x; one before
	maxVGPUsWithoutMIG  = 32
	maxVGPUsPerGPU      = 48 // in all its GPU instances
)

// RunVGPU starts a vGPU on a GPU of a vGPU host (GPU.VGPUHost) with MIG off; stop
// ends it, and can be called more than once. It is a hidden Holder: MIG mode does
// not change meanwhile, and the scheduler of vGPUs cannot be set. The error wraps
// ErrNoGPU, or ErrBadHolder where no vGPU can run or no more of them.
func (s *Server) RunVGPU(gpu int, name string) (stop func(), err error) {
	return s.Hold(gpu, Holder{Name: name, Hidden: true, VGPU: true})
}

// RunVGPUIn is RunVGPU in a GPU instance, by its id. The error can wrap
// ErrNoInstance too.
func (s *Server) RunVGPUIn(gpu, gi int, name string) (stop func(), err error) {
	return s.HoldInstance(gpu, gi, Holder{Name: name, Hidden: true, VGPU: true})
}

// LogVGPU writes entries into the log of an engine's vGPU scheduler on a GPU,
// the newest last, as if the vGPUs had run so: the fake schedules nothing by
// itself. Of a log the last 200 entries are kept, and reading takes none away.
// The error wraps ErrNoGPU, or ErrNoScheduler where NVML would not answer.
func (s *Server) LogVGPU(gpu, engine int, entries ...nvml.VgpuSchedulerLogEntry_v2) error {
	return s.logVGPU(gpu, engine, entries, func(g *gpuState) (place, error) { return place{gpu: g}, nil })
}

// LogVGPUIn is LogVGPU in a GPU instance, by its id. The error can wrap
// ErrNoInstance too.
func (s *Server) LogVGPUIn(gpu, gi, engine int, entries ...nvml.VgpuSchedulerLogEntry_v2) error {
	return s.logVGPU(gpu, engine, entries, func(g *gpuState) (place, error) { return g.instance(gi) })
}

func (s *Server) logVGPU(gpu, engine int, entries []nvml.VgpuSchedulerLogEntry_v2, find func(*gpuState) (place, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, err := s.gpu(gpu)
	if err != nil {
		return err
	}
	at, err := find(g)
	if err != nil {
		return fmt.Errorf("nvmlfake: GPU %d: %w", gpu, err)
	}
	if engine < 0 || engine >= engineCount || at.scheduled(uint32(engine)) != nvml.SUCCESS {
		return fmt.Errorf("nvmlfake: GPU %d: engine %d: %w", gpu, engine, ErrNoScheduler)
	}
	// No more than what is kept is ever copied.
	const most = nvml.SCHEDULER_SW_MAX_LOG_ENTRIES
	entries = entries[max(len(entries)-most, 0):]
	log := at.vgpu().logs[engine]
	log = log[max(len(log)+len(entries)-most, 0):]
	at.vgpu().logs[engine] = append(slices.Clip(slices.Clone(log)), entries...)
	return nil
}

func (hs holders) vgpus() int {
	n := 0
	for _, h := range hs {
		if h.VGPU {
			n++
		}
	}
	return n
}

// runningVGPUs counts those on a GPU, in its instances too, or in one of them.
func (p place) runningVGPUs() int {
	if p.gi != nil {
		return p.gi.holders.vgpus()
	}
	n := 0
	for hs := range p.gpu.holdings() {
		n += hs.vgpus()
	}
	return n
}

// vgpuRefusal says why so many vGPUs more cannot be at a place, or, for none, why
// those that are cannot; it is empty if they can.
func (p place) vgpuRefusal(more int) string {
	g := p.gpu
	here, limit := p.runningVGPUs()+more, maxVGPUsWithoutMIG
	if p.gi != nil {
		limit = 1
		if g.slicesInstances() {
			limit = maxVGPUsPerInstance
		}
	}
	switch {
	case !g.vgpuHost:
		return "the GPU is not that of a vGPU host"
	case p.ci != nil:
		return "a vGPU has a GPU instance, not a compute instance"
	case p.gi == nil && g.current:
		return "it needs a GPU instance, since MIG is on"
	case here > limit:
		return fmt.Sprintf("%d vGPUs, of %d", here, limit)
	case p.gi != nil && (place{gpu: g}).runningVGPUs()+more > maxVGPUsPerGPU:
		return fmt.Sprintf("%d vGPUs on the GPU, of %d", (place{gpu: g}).runningVGPUs()+more, maxVGPUsPerGPU)
	default:
		return ""
	}
}

// draw shows a scheduler that is set, and logs that are not empty.
func (v vgpuState) draw(b *strings.Builder, indent string) {
	if v.graphics != (scheduler{}) {
		s := v.graphics
		fmt.Fprintf(b, "%svGPU scheduler policy %d ARR %d factor %d frequency %d slice %d\n", indent, s.policy, s.arr, s.factor, s.frequency, s.timeslice)
	}
	for engine, log := range v.logs {
		if len(log) > 0 {
			fmt.Fprintf(b, "%svGPU log of engine %d: %d entries\n", indent, engine, len(log))
		}
	}
}

// auditVGPU checks the schedulers and the vGPUs of a GPU or a GPU instance.
func (p place) auditVGPU() error {
	v := p.vgpu()
	s := v.graphics
	w := wish{0, cmp.Or(s.policy, nvml.VGPU_SCHEDULER_POLICY_BEST_EFFORT), s.arr, s.factor, s.frequency, s.timeslice}
	adaptive := s.arr != nvml.VGPU_SCHEDULER_ARR_DISABLE
	switch {
	case !w.legal() || w.scheduler() != s || adaptive && s.timeslice != 0 || !adaptive && (s.factor != 0 || s.frequency != 0):
		return fmt.Errorf("vGPU scheduler %+v", s)
	case s != (scheduler{}) && (!p.gpu.vgpuHost || p.gi != nil && !p.gpu.slicesInstances()):
		return fmt.Errorf("vGPU scheduler %+v where none is", s)
	}
	for engine, log := range v.logs {
		if len(log) > nvml.SCHEDULER_SW_MAX_LOG_ENTRIES {
			return fmt.Errorf("vGPU log of engine %d: %d entries", engine, len(log))
		}
	}
	if p.holders().vgpus() == 0 {
		return nil
	}
	if why := p.vgpuRefusal(0); why != "" {
		return fmt.Errorf("vGPUs: %s", why)
	}
	return nil
}
