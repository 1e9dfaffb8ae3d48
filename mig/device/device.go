package device

import (
	"context"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/mig"
)

// Device is a GPU of a known model. Obtain one from Open. It is safe for
// concurrent use: the operations of one Device run one after the other, those
// on other Devices, and other processes, beside it.
type Device struct {
	dev      gpu
	model    *mig.Model
	uuid     string
	totalMiB int // as the device reports it, rounded up

	busy chan struct{} // holds one element while an operation runs
}

// Open identifies the GPU behind a handle: its model is found by PCI id and
// total memory, and, where no table has that pair, by the product name. The
// GPU may be in or out of MIG mode. NVML must stay initialised for as long as
// the Device is used.
//
// The error wraps mig.ErrUnknownModel when neither way leads to a table, and
// ErrMismatch when the product name does but the memory is another's; it is an
// *OpError like all others.
func Open(ctx context.Context, dev nvml.Device) (*Device, error) {
	d := &Device{dev: dev, busy: make(chan struct{}, 1)}
	s := d.step("open")
	if dev == nil {
		return nil, s.fail(fmt.Errorf("no device handle: %w", nvml.ERROR_INVALID_ARGUMENT))
	}
	if err := ctx.Err(); err != nil {
		return nil, s.fail(err)
	}
	uuid, ret := d.dev.GetUUID()
	if ret != nvml.SUCCESS {
		return nil, d.step("read the UUID").check(ret)
	}
	d.uuid = uuid
	s = d.step("open")
	if isMIG, ret := d.dev.IsMigDeviceHandle(); ret == nvml.SUCCESS && isMIG {
		return nil, s.fail(fmt.Errorf("a MIG device, not a GPU: %w", nvml.ERROR_INVALID_ARGUMENT))
	}
	memory, ret := d.dev.GetMemoryInfo()
	if ret != nvml.SUCCESS {
		return nil, d.step("read the total memory").check(ret)
	}
	d.totalMiB = int((memory.Total + 1<<20 - 1) >> 20)
	if err := ctx.Err(); err != nil {
		return nil, s.fail(err)
	}
	if err := d.identify(); err != nil {
		return nil, s.fail(err)
	}
	return d, nil
}

// identify finds the table of the GPU.
func (d *Device) identify() error {
	var byPCI error
	if pci, ret := d.dev.GetPciInfo(); ret != nvml.SUCCESS {
		byPCI = fmt.Errorf("read the PCI id: %w", ret)
	} else if d.model, byPCI = mig.LookupPCI(pci.PciDeviceId, d.totalMiB); byPCI == nil {
		return nil
	}
	name, ret := d.dev.GetName()
	if ret != nvml.SUCCESS {
		return fmt.Errorf("%w; read the product name: %w", byPCI, ret)
	}
	model, byName := mig.Lookup(name)
	if byName != nil {
		return fmt.Errorf("%w; %w", byPCI, byName)
	}
	// Profile names follow from the total memory: another total, other names.
	if gib, want := (d.totalMiB+1023)/1024, model.Spec().NameMemoryGB; gib != want {
		return fmt.Errorf("%w; %w", byPCI, mismatch("%q has %d GiB, the table of %s %d", name, gib, model, want))
	}
	d.model = model
	return nil
}

// Model returns the table of the GPU.
func (d *Device) Model() *mig.Model { return d.model }

// UUID returns the UUID of the GPU.
func (d *Device) UUID() string { return d.uuid }

// String returns the UUID and the model.
func (d *Device) String() string { return d.uuid + " (" + d.model.Key() + ")" }

// acquire waits for the operations before this one.
func (d *Device) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case d.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *Device) release() { <-d.busy }
