package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/parted"
)

// machine is a machine whose library is initialised.
type machine struct {
	lib  nvml.Interface
	fake *fakeMachine // nil with -nvml
	gpus []*gpu       // all, by index
}

// gpu is a GPU of a machine.
type gpu struct {
	index   int
	uuid    string
	product string
	pci     nvml.PciInfo
	dev     *device.GPU // nil where it cannot do MIG, or with err
	tabled  bool        // a table of package mig is for it
	err     error       // why it could not be opened
}

// open opens the machine of -fake or -nvml.
func (inv *invocation) open(ctx context.Context) (*machine, error) {
	m := &machine{lib: nvml.New()}
	if inv.nvml {
		if ret := m.lib.Init(); ret != nvml.SUCCESS {
			return nil, fmt.Errorf("-nvml: no driver that answers: %w", ret)
		}
	} else {
		var err error
		if m.fake, err = openFake(inv.fake); err != nil {
			return nil, fmt.Errorf("-fake: %w", err)
		}
		m.lib = m.fake.server.NVML()
		if ret := m.lib.Init(); ret != nvml.SUCCESS {
			return nil, fmt.Errorf("-fake: %w", ret)
		}
	}
	if err := m.look(ctx); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

// look opens all GPUs.
func (m *machine) look(ctx context.Context) error {
	count, ret := m.lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return fmt.Errorf("count the GPUs: %w", ret)
	}
	for i := range count {
		m.gpus = append(m.gpus, m.gpu(ctx, i))
	}
	return nil
}

// with opens the machine for as long as f runs, with the GPUs of -gpu.
func (inv *invocation) with(ctx context.Context, f func(*machine, []*gpu) error) error {
	m, err := inv.open(ctx)
	if err != nil {
		return err
	}
	gpus, err := inv.selected(m)
	if err == nil {
		err = f(m, gpus)
	}
	return errors.Join(err, m.close())
}

// close ends the use of the library. What changed of a fake machine has been
// saved by then.
func (m *machine) close() error {
	if ret := m.lib.Shutdown(); ret != nvml.SUCCESS {
		return fmt.Errorf("shut NVML down: %w", ret)
	}
	return nil
}

// keeping says so where nothing is kept.
func (m *machine) keeping() string {
	if m.fake != nil && m.fake.path == "" {
		return "this machine is kept nowhere; -fake FILE keeps its state, see init\n"
	}
	return ""
}

// save keeps what has changed of a fake machine.
func (m *machine) save() error {
	if m.fake == nil {
		return nil
	}
	return m.fake.save()
}

// gpu opens a GPU. One that cannot be opened says so when it is needed.
func (m *machine) gpu(ctx context.Context, index int) *gpu {
	g := &gpu{index: index}
	handle, ret := m.lib.DeviceGetHandleByIndex(index)
	if ret == nvml.SUCCESS {
		g.uuid, ret = handle.GetUUID()
	}
	if ret == nvml.SUCCESS {
		g.product, ret = handle.GetName()
	}
	if ret == nvml.SUCCESS {
		g.pci, ret = handle.GetPciInfo()
	}
	if ret == nvml.SUCCESS {
		_, _, ret = handle.GetMigMode()
	}
	switch ret {
	case nvml.SUCCESS:
	case nvml.ERROR_NOT_SUPPORTED:
		return g
	default:
		g.err = fmt.Errorf("GPU %d: %w", index, ret)
		return g
	}
	g.tabled = true
	g.dev, g.err = device.Open(ctx, handle)
	if errors.Is(g.err, mig.ErrUnknownModel) || errors.Is(g.err, device.ErrMismatch) {
		g.tabled = false
		g.dev, g.err = survey(ctx, handle)
	}
	if errors.Is(g.err, device.ErrNotSupported) {
		g.err = nil
		return g
	}
	if g.err != nil {
		g.err = fmt.Errorf("GPU %d: %w", index, g.err)
		return g
	}
	g.dev = g.dev.WithProcessNames(m.lib.SystemGetProcessName)
	return g
}

// survey opens a GPU that no table is for, by what it says of itself.
func survey(ctx context.Context, handle nvml.Device) (*device.GPU, error) {
	spec, err := device.Survey(ctx, handle)
	if err != nil {
		return nil, err
	}
	model, err := mig.NewModel(spec)
	if err != nil {
		return nil, err
	}
	return device.OpenModel(ctx, handle, model)
}

// selected returns the GPUs of -gpu, lowest index first; all where it is not
// given.
func (inv *invocation) selected(m *machine) ([]*gpu, error) {
	if !inv.Given("gpu") {
		return m.gpus, nil
	}
	chosen := make([]bool, len(m.gpus))
	for item := range strings.SplitSeq(inv.gpus, ",") {
		g, err := m.find(item)
		if err != nil {
			return nil, fmt.Errorf("-gpu: %w", err)
		}
		if chosen[g.index] {
			return nil, fmt.Errorf("-gpu: %q: GPU %d stands there twice", item, g.index)
		}
		chosen[g.index] = true
	}
	var list []*gpu
	for i, g := range m.gpus {
		if chosen[i] {
			list = append(list, g)
		}
	}
	return list, nil
}

// find returns the GPU of an index or a UUID.
func (m *machine) find(text string) (*gpu, error) {
	index, err := strconv.Atoi(text)
	for _, g := range m.gpus {
		if err == nil && g.index == index || err != nil && g.uuid != "" && strings.EqualFold(g.uuid, text) {
			return g, nil
		}
	}
	return nil, fmt.Errorf("%q is neither an index nor a UUID of the %d GPUs", text, len(m.gpus))
}

// capable returns an error unless the GPU can be cut.
func (g *gpu) capable() error {
	if g.err == nil && g.dev == nil {
		return fmt.Errorf("GPU %d (%s) cannot do MIG: %w", g.index, g.product, device.ErrNotSupported)
	}
	return g.err
}

// model returns the key of its table; empty where there is none.
func (g *gpu) model() string {
	if g.dev == nil {
		return ""
	}
	return g.dev.Model().Key()
}

// parted returns the GPU in the terms of mig-parted, which counts in the order
// of PCI addresses, as NVML does.
func (g *gpu) parted() parted.GPU {
	p := parted.GPU{Index: g.index, PCI: g.pci.PciDeviceId, Subsystem: g.pci.PciSubSystemId, Capable: g.dev != nil}
	if g.dev != nil {
		p.Model = g.dev.Model()
	}
	return p
}
