package device

import (
	"context"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/timeslice"
)

// Scheduler is the vGPU scheduler of a GPU or of a GPU instance. Obtain one from
// Open or OpenInstance. It is safe for concurrent use: its operations run one
// after the other, those of others, and other processes, beside it.
type Scheduler struct {
	calls    calls
	uuid     string
	instance int           // id of the GPU instance, or None
	turn     chan struct{} // holds one element while an operation runs
}

// Open returns the scheduler of a GPU. NVML must stay initialised for as long as
// the result is used; the library is asked which functions the driver has. Whether
// there is a scheduler, the first operation says. The error is an *OpError, and
// ErrMIGDevice for a handle of a MIG device.
func Open(ctx context.Context, lib nvml.Interface, dev nvml.Device) (*Scheduler, error) {
	if lib == nil || dev == nil {
		return nil, &OpError{Op: "open", GPUInstance: None, Err: fmt.Errorf("no library or no device handle: %w", nvml.ERROR_INVALID_ARGUMENT)}
	}
	return open(ctx, None, gpuCalls{lib, dev}, func() (string, error) { return identify(lib, dev) })
}

// OpenInstance is Open for a GPU instance. The result is of no use any more when
// the instance is gone.
func OpenInstance(ctx context.Context, lib nvml.Interface, gi nvml.GpuInstance) (*Scheduler, error) {
	if lib == nil || gi == nil {
		return nil, &OpError{Op: "open", GPUInstance: None, Err: fmt.Errorf("no library or no GPU instance's handle: %w", nvml.ERROR_INVALID_ARGUMENT)}
	}
	info, ret := ask(lib, "nvmlGpuInstanceGetInfo", gi.GetInfo)
	if ret != nvml.SUCCESS {
		return nil, &OpError{Op: "open", GPUInstance: None, Err: code(ret)}
	}
	return open(ctx, int(info.Id), instanceCalls{lib, info.Device, gi}, func() (string, error) { return identify(lib, info.Device) })
}

func open(ctx context.Context, instance int, c calls, identify func() (string, error)) (*Scheduler, error) {
	s := &Scheduler{calls: c, instance: instance, turn: make(chan struct{}, 1)}
	uuid, err := do(ctx, s, "open", 0, func(context.Context) (string, error) { return identify() })
	if err != nil {
		return nil, err
	}
	s.uuid = uuid
	return s, nil
}

// identify returns the UUID of a GPU.
func identify(lib nvml.Interface, dev nvml.Device) (string, error) {
	if isMIG, ret := ask(lib, "nvmlDeviceIsMigDeviceHandle", dev.IsMigDeviceHandle); ret == nvml.SUCCESS && isMIG {
		return "", ErrMIGDevice
	}
	uuid, ret := dev.GetUUID()
	return uuid, code(ret)
}

// GPU returns the UUID of the GPU.
func (s *Scheduler) GPU() string { return s.uuid }

// GPUInstance returns the id of the GPU instance, None for the scheduler of a GPU.
func (s *Scheduler) GPUInstance() int { return s.instance }

// Capabilities returns what the scheduler of the graphics engine takes, by the
// device. A GPU instance reports none of its own; where the GPU does not answer
// for it, the error is an ErrNotSupported, and Set goes by
// timeslice.DocumentedVGPUCapabilities.
func (s *Scheduler) Capabilities(ctx context.Context) (timeslice.VGPUCapabilities, error) {
	return do(ctx, s, "read the capabilities of the scheduler", 0, func(context.Context) (timeslice.VGPUCapabilities, error) {
		c, ret := s.calls.capabilities()
		if ret != nvml.SUCCESS {
			return timeslice.VGPUCapabilities{}, s.explain(ret)
		}
		return capabilities(c), nil
	})
}

func capabilities(c nvml.VgpuSchedulerCapabilities) timeslice.VGPUCapabilities {
	caps := timeslice.VGPUCapabilities{
		MinSlice: int64(c.MinTimeslice), MaxSlice: int64(c.MaxTimeslice),
		ARR:          c.IsArrModeSupported != 0,
		MinFrequency: c.MinFrequencyForARR, MaxFrequency: c.MaxFrequencyForARR,
		MinFactor: c.MinAvgFactorForARR, MaxFactor: c.MaxAvgFactorForARR,
	}
	for _, p := range c.SupportedSchedulers {
		if policy := timeslice.VGPUPolicy(p); policy != timeslice.VGPUUnknown {
			caps.Policies = append(caps.Policies, policy)
		}
	}
	return caps
}

// State returns what the scheduler of an engine is like.
func (s *Scheduler) State(ctx context.Context, engine timeslice.VGPUEngine) (State, error) {
	return do(ctx, s, "read the scheduler", engine, func(context.Context) (State, error) { return s.read(engine) })
}

func (s *Scheduler) read(engine timeslice.VGPUEngine) (State, error) {
	st, ret := prefer(func(v version) (State, nvml.Return) { return s.calls.state(v, engine) })
	return st, s.explain(ret)
}

// explain turns a code into an error, with MIG mode as the reason where it is one.
func (s *Scheduler) explain(ret nvml.Return) error {
	if ret == nvml.ERROR_NOT_SUPPORTED && s.instance == None && s.calls.migOn() {
		return fmt.Errorf("%w: %w", ErrMIG, ret)
	}
	return code(ret)
}
