package device

import (
	"context"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/mig"
)

// GPU is a physical GPU of a known model. Obtain one from Open. It is safe for
// concurrent use: the operations of one value run one after the other, those of
// others, on the same GPU too, and other processes, beside it.
type GPU struct {
	handle   gpuHandle
	model    *mig.Model
	uuid     string
	totalMiB int // as the device reports it, rounded up

	busy  chan struct{} // holds one element while an operation runs
	watch *watch        // of the calls of that operation
}

// Open identifies the GPU behind a handle: its model is found by PCI id and
// total memory, and, where no table has that pair, by the product name. The
// GPU may be in or out of MIG mode. NVML must stay initialised for as long as
// the result is used.
//
// The error wraps mig.ErrUnknownModel when neither way leads to a table, and
// ErrMismatch when the product name does but the memory is another's; it is an
// *OpError like all others.
func Open(ctx context.Context, dev nvml.Device) (*GPU, error) {
	return openAs(ctx, dev, nil)
}

// OpenModel is Open for a GPU whose table the caller brings, as one built from
// what the device itself reports. Nothing about it is checked until it is used:
// a profile that the device has otherwise is then an ErrMismatch.
func OpenModel(ctx context.Context, dev nvml.Device, model *mig.Model) (*GPU, error) {
	if model == nil {
		var g GPU
		return nil, g.step("open").fail(fmt.Errorf("no model: %w", mig.ErrUnknownModel))
	}
	return openAs(ctx, dev, model)
}

func openAs(ctx context.Context, dev nvml.Device, model *mig.Model) (*GPU, error) {
	g := &GPU{model: model, busy: make(chan struct{}, 1), watch: &watch{}}
	s := g.step("open")
	if dev == nil {
		return nil, s.fail(fmt.Errorf("no device handle: %w", nvml.ERROR_INVALID_ARGUMENT))
	}
	g.handle = watchedGPU{dev, g.watch}
	_, err := do(ctx, g, s, func(ctx context.Context) (any, error) { return nil, g.identifySelf(ctx) }, nil)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// identifySelf reads who the GPU is, and finds its table unless there is one.
func (g *GPU) identifySelf(ctx context.Context) error {
	uuid, ret := g.handle.GetUUID()
	if ret != nvml.SUCCESS {
		return g.step("read the UUID").check(ret)
	}
	g.uuid = uuid
	s := g.step("open")
	if isMIG, ret := g.handle.IsMigDeviceHandle(); ret == nvml.SUCCESS && isMIG {
		return s.fail(fmt.Errorf("a MIG device, not a GPU: %w", nvml.ERROR_INVALID_ARGUMENT))
	}
	memory, ret := g.handle.GetMemoryInfo()
	if ret != nvml.SUCCESS {
		return g.step("read the total memory").check(ret)
	}
	g.totalMiB = int((memory.Total + 1<<20 - 1) >> 20)
	if err := ended(ctx); err != nil {
		return s.fail(err)
	}
	if g.model != nil {
		return nil
	}
	return s.fail(g.findModel())
}

// findModel finds the table of the GPU.
func (g *GPU) findModel() error {
	var byPCI error
	if pci, ret := g.handle.GetPciInfo(); ret != nvml.SUCCESS {
		byPCI = fmt.Errorf("read the PCI id: %w", ret)
	} else if g.model, byPCI = mig.LookupPCI(pci.PciDeviceId, g.totalMiB); byPCI == nil {
		return nil
	}
	name, ret := g.handle.GetName()
	if ret != nvml.SUCCESS {
		return fmt.Errorf("%w; read the product name: %w", byPCI, ret)
	}
	model, byName := mig.Lookup(name)
	if byName != nil {
		return fmt.Errorf("%w; %w", byPCI, byName)
	}
	// Profile names follow from the total memory: another total, other names.
	if gib, want := (g.totalMiB+1023)/1024, model.Spec().NameMemoryGB; gib != want {
		return fmt.Errorf("%w; %w", byPCI, mismatch("%q has %d GiB, the table of %s %d", name, gib, model, want))
	}
	g.model = model
	return nil
}

// Model returns the table of the GPU.
func (g *GPU) Model() *mig.Model { return g.model }

// UUID returns the UUID of the GPU.
func (g *GPU) UUID() string { return g.uuid }

// String returns the UUID and the model.
func (g *GPU) String() string { return g.uuid + " (" + g.model.Key() + ")" }
