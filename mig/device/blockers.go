package device

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Blocker is a process that holds a GPU or a MIG device of it, as NVML tells.
// It is plain data.
type Blocker struct {
	PID  int    `json:"pid"`            // as the host counts, whatever the container says
	Name string `json:"name,omitempty"` // empty if nobody could tell: see WithProcessNames

	// Contexts says what it has open, in nvidia-smi's letters, joined by "+": C
	// for compute, G for graphics, M for a client of MPS.
	Contexts string `json:"contexts"`

	// MemoryMiB is the device memory it uses, rounded up; None where NVML does
	// not say.
	MemoryMiB int `json:"memoryMiB"`

	// GPUInstance and ComputeInstance are the ids of what it runs on, None on a
	// whole GPU and where NVML does not say. UUID is that of the MIG device.
	GPUInstance     int    `json:"gpuInstance"`
	ComputeInstance int    `json:"computeInstance"`
	UUID            string `json:"uuid,omitempty"`
}

// String returns the form "python3 (pid 4242, C, 512 MiB) on GI 2 CI 0".
func (b Blocker) String() string {
	words := []string{fmt.Sprintf("pid %d", b.PID), b.Contexts}
	if b.MemoryMiB != None {
		words = append(words, fmt.Sprintf("%d MiB", b.MemoryMiB))
	}
	text := "(" + strings.Join(words, ", ") + ")"
	if b.Name != "" {
		text = b.Name + " " + text
	}
	if b.GPUInstance != None {
		text += fmt.Sprintf(" on GI %d", b.GPUInstance)
		if b.ComputeInstance != None {
			text += fmt.Sprintf(" CI %d", b.ComputeInstance)
		}
	}
	return text
}

// InUseError says that a GPU is in use, and by whom as far as NVML can tell. It
// matches ErrInUse.
type InUseError struct {
	BusID    string    // of the GPU, as the kernel writes it: "0000:01:00.0"; empty if it could not be read
	Blockers []Blocker // empty: a holder that NVML does not list
	Err      error     // what reported it, such as an NVML code; nil if the list did
}

// Error names the processes, or where to look when there is none to name.
func (e *InUseError) Error() string {
	text := "in use by a client that NVML does not list (a monitor, nvidia-persistenced or a kernel module can be one)"
	if len(e.Blockers) > 0 {
		var names []string
		for _, b := range e.Blockers {
			names = append(names, b.String())
		}
		text = "in use by " + strings.Join(names, ", ")
	}
	if e.BusID != "" {
		text = e.BusID + " is " + text
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Is reports whether target is ErrInUse.
func (e *InUseError) Is(target error) bool { return target == ErrInUse }

// Unwrap returns what reported the use.
func (e *InUseError) Unwrap() error { return e.Err }

// namedHandle is a handle together with a way to the names of processes.
type namedHandle struct {
	gpuHandle
	name func(pid int) (string, nvml.Return)
}

// WithProcessNames returns a GPU that tells the names of processes, which NVML
// has in the library and not in the device. Give it the method of the library
// that the device came from:
//
//	gpu = gpu.WithProcessNames(lib.SystemGetProcessName)
//
// Both values stand for one GPU: their operations run one after the other. The
// function must be safe for concurrent use. A name that it cannot tell, since
// the process has ended or is another user's, stays empty.
func (g *GPU) WithProcessNames(name func(pid int) (string, nvml.Return)) *GPU {
	with := *g
	if before, ok := with.handle.(namedHandle); ok {
		with.handle = before.gpuHandle
	}
	if name != nil {
		with.handle = namedHandle{with.handle, name}
	}
	return &with
}

// Blockers lists the processes that hold the GPU, those of its MIG devices
// included: by GPU instance, compute instance and process id, each once, those
// of the whole GPU first.
//
// An empty list does not make the GPU idle. NVML lists processes with a compute
// or graphics context only; a monitoring agent, nvidia-persistenced, a program
// that runs nvidia-smi in a loop, or a kernel module such as nvidia_drm holds a
// GPU without being listed. What the driver then refuses is "in use" with no
// process to name.
//
// A list that the device does not support counts as empty, unless it supports
// none of compute processes: that error matches ErrNotSupported. ErrNoPermission
// is what a caller without the privilege for a GPU in MIG mode gets.
func (g *GPU) Blockers(ctx context.Context) ([]Blocker, error) {
	return do(ctx, g, g.step("list processes"), g.blockers, nil)
}

// blockers is Blockers for who has the turn.
func (g *GPU) blockers(ctx context.Context) ([]Blocker, error) {
	s := g.step("list processes")
	current, _, ret := g.handle.GetMigMode()
	if ret == nvml.ERROR_NOT_SUPPORTED {
		current, ret = nvml.DEVICE_MIG_DISABLE, nvml.SUCCESS
	}
	if err := s.check(ret); err != nil {
		return nil, err
	}
	var all processCensus
	told, ret := all.ask(g.handle, None, None, "")
	if err := s.check(ret); err != nil {
		return nil, err
	}
	if current == nvml.DEVICE_MIG_ENABLE {
		toldToo, err := g.migBlockers(ctx, &all)
		if err != nil {
			return nil, err
		}
		told = told || toldToo
	}
	if !told {
		return nil, s.check(nvml.ERROR_NOT_SUPPORTED)
	}
	list := all.list()
	if with, ok := g.handle.(namedHandle); ok {
		for i := range list {
			if err := ended(ctx); err != nil {
				return nil, s.fail(err)
			}
			name, ret := watched(g.watch, "SystemGetProcessName", func() (string, nvml.Return) { return with.name(list[i].PID) })
			if ret == nvml.SUCCESS {
				list[i].Name = name
			}
		}
	}
	return list, nil
}

// migBlockers asks every MIG device for its processes.
func (g *GPU) migBlockers(ctx context.Context, all *processCensus) (told bool, err error) {
	s := g.step("list processes of MIG devices")
	limit, ret := g.handle.GetMaxMigDeviceCount()
	if err := s.check(ret); err != nil {
		return false, err
	}
	for i := range limit {
		if err := ended(ctx); err != nil {
			return false, s.fail(err)
		}
		var gi, ci int
		var uuid string
		var answered bool
		dev, ret := g.handle.GetMigDeviceHandleByIndex(i)
		if ret == nvml.SUCCESS {
			gi, ret = dev.GetGpuInstanceId()
		}
		if ret == nvml.SUCCESS {
			ci, ret = dev.GetComputeInstanceId()
		}
		if ret == nvml.SUCCESS {
			uuid, ret = dev.GetUUID()
		}
		if ret == nvml.SUCCESS {
			answered, ret = all.ask(dev, gi, ci, uuid)
		}
		if ret == nvml.ERROR_NOT_FOUND || ret == nvml.ERROR_INVALID_ARGUMENT {
			continue // no device, or none any more
		}
		if err := s.check(ret); err != nil {
			return false, err
		}
		told = told || answered
	}
	return told, nil
}

// idle returns an *InUseError if a process is listed. That the device cannot
// list any is no obstacle.
func (g *GPU) idle(ctx context.Context) error {
	all, err := g.blockers(ctx)
	switch {
	case errors.Is(err, ErrNotSupported):
		return nil
	case err != nil:
		return err
	case len(all) > 0:
		return &InUseError{BusID: g.busID(), Blockers: all}
	default:
		return nil
	}
}

// inUse explains a refusal as in use: by whom, as far as that can be read.
func (g *GPU) inUse(ctx context.Context, cause error) error {
	e := &InUseError{BusID: g.busID(), Err: cause}
	if all, err := g.blockers(context.WithoutCancel(ctx)); err == nil {
		e.Blockers = all
	}
	return e
}

// withUsers adds to a failure as in use the processes that are listed on the GPU
// instance, if there are any.
func (g *GPU) withUsers(ctx context.Context, gi int, err error) error {
	failed, ok := err.(*OpError) //nolint:errorlint // the outermost is replaced
	if !ok || !errors.Is(err, ErrInUse) {
		return err
	}
	all, unread := g.blockers(context.WithoutCancel(ctx))
	held := holders(all, gi)
	if unread != nil || len(held) == 0 {
		return err
	}
	e := *failed
	e.Err = &InUseError{Blockers: held, Err: failed.Err}
	return &e
}

// busID reads the bus id of the GPU in the form of the kernel; empty if it cannot
// be read.
func (g *GPU) busID() string {
	pci, ret := g.handle.GetPciInfo()
	if ret != nvml.SUCCESS {
		return ""
	}
	var text []byte
	for _, c := range pci.BusId {
		if c == 0 {
			break
		}
		text = append(text, byte(c))
	}
	id, _ := kernelBusID(string(text))
	return id
}
