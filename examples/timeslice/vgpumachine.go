//go:build cgo

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	migdevice "github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/timeslice"
	"github.com/gpushare/gpushare/timeslice/device"
)

// vgpuFlags are the flags that say which schedulers are meant.
type vgpuFlags struct {
	fake, gpu, engine string
	nvml              bool
	gi                int
	chosen            timeslice.VGPUEngine
}

func (inv *invocation) vgpuFlags() *vgpuFlags {
	f := &vgpuFlags{}
	inv.Flags.StringVar(&f.fake, "fake", "", "")
	inv.Flags.BoolVar(&f.nvml, "nvml", false, "")
	inv.Flags.StringVar(&f.gpu, "gpu", "", "")
	inv.Flags.IntVar(&f.gi, "gi", 0, "")
	inv.Flags.StringVar(&f.engine, "engine", timeslice.EngineGraphics.String(), "")
	return f
}

// vgpuMachine is a machine whose library is initialised.
type vgpuMachine struct {
	lib  nvml.Interface
	fake *fakeHost // nil with -nvml
}

// vgpuPlace is where a scheduler is, or where none could be opened.
type vgpuPlace struct {
	answer    placeAnswer
	scheduler *device.Scheduler
	err       error
}

// with opens the machine for as long as f runs, with the schedulers that are meant.
func (f *vgpuFlags) with(ctx context.Context, inv *invocation, work func(*vgpuMachine, []*vgpuPlace) error) error {
	if _, err := inv.ExactlyOne("fake", "nvml"); err != nil {
		return err
	}
	for _, e := range []timeslice.VGPUEngine{timeslice.EngineGraphics, timeslice.EngineNVENC0, timeslice.EngineNVENC1} {
		if e.String() == f.engine {
			f.chosen = e
		}
	}
	if f.chosen == 0 {
		return fmt.Errorf("-engine: %q is none of graphics, nvenc0, nvenc1", f.engine)
	}
	if inv.Given("gi") && !inv.Given("gpu") {
		return errors.New("-gi needs -gpu")
	}
	m := &vgpuMachine{lib: nvml.New()}
	if f.nvml {
		if ret := m.lib.Init(); ret != nvml.SUCCESS {
			return fmt.Errorf("-nvml: no driver that answers: %w", ret)
		}
	} else {
		var err error
		if m.fake, err = openFakeHost(f.fake); err != nil {
			return fmt.Errorf("-fake: %w", err)
		}
		m.lib = m.fake.server.NVML()
		if ret := m.lib.Init(); ret != nvml.SUCCESS {
			return fmt.Errorf("-fake: %w", ret)
		}
	}
	places, err := f.places(ctx, inv, m.lib)
	if err == nil {
		err = work(m, places)
	}
	if ret := m.lib.Shutdown(); ret != nvml.SUCCESS {
		err = errors.Join(err, fmt.Errorf("shut NVML down: %w", ret))
	}
	return err
}

// places opens the schedulers of -gpu and -gi, or all.
func (f *vgpuFlags) places(ctx context.Context, inv *invocation, lib nvml.Interface) ([]*vgpuPlace, error) {
	n, ret := lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return nil, fmt.Errorf("count the GPUs: %w", ret)
	}
	var all []*vgpuPlace
	for i := range n {
		at := placeAnswer{GPU: i}
		dev, ret := lib.DeviceGetHandleByIndex(i)
		if ret == nvml.SUCCESS {
			at.UUID, ret = dev.GetUUID()
		}
		if ret == nvml.SUCCESS {
			at.Product, ret = dev.GetName()
		}
		if inv.Given("gpu") && f.gpu != strconv.Itoa(i) && (at.UUID == "" || !strings.EqualFold(f.gpu, at.UUID)) {
			continue
		}
		if ret != nvml.SUCCESS {
			all = append(all, &vgpuPlace{answer: at, err: fmt.Errorf("GPU %d: %w", i, ret)})
			continue
		}
		places, err := f.of(ctx, inv, lib, dev, at)
		if err != nil {
			return nil, err
		}
		all = append(all, places...)
	}
	if inv.Given("gpu") && len(all) == 0 {
		return nil, fmt.Errorf("-gpu: %q is neither an index nor a UUID of the %s", f.gpu, count(n, "GPU"))
	}
	return all, nil
}

// of opens the schedulers of a GPU: its own or, with MIG, those of its instances.
func (f *vgpuFlags) of(ctx context.Context, inv *invocation, lib nvml.Interface, dev nvml.Device, at placeAnswer) ([]*vgpuPlace, error) {
	ids := []int{f.gi}
	if !inv.Given("gi") {
		ids = instances(ctx, dev)
	}
	if ids == nil {
		s, err := device.Open(ctx, lib, dev)
		return []*vgpuPlace{{at, s, err}}, nil
	}
	var places []*vgpuPlace
	for _, id := range ids {
		gi, ret := dev.GetGpuInstanceById(id)
		if ret != nvml.SUCCESS && inv.Given("gi") {
			return nil, fmt.Errorf("-gi: GPU %d: GPU instance %d: %w", at.GPU, id, ret)
		}
		in := at
		in.GPUInstance = &id
		if ret != nvml.SUCCESS {
			places = append(places, &vgpuPlace{answer: in, err: ret})
			continue
		}
		s, err := device.OpenInstance(ctx, lib, gi)
		places = append(places, &vgpuPlace{in, s, err})
	}
	return places, nil
}

// instances returns the ids of the GPU instances; nil if there are none or it
// cannot be told, so that the scheduler of the GPU says why it is of no use.
func instances(ctx context.Context, dev nvml.Device) []int {
	g, err := migdevice.Open(ctx, dev)
	if err != nil {
		return nil
	}
	state, err := g.State(ctx)
	if err != nil {
		return nil
	}
	var ids []int
	for _, in := range state.Instances {
		ids = append(ids, in.ID)
	}
	return ids
}

func (p *vgpuPlace) state(ctx context.Context, e timeslice.VGPUEngine) (device.State, error) {
	if p.err != nil {
		return device.State{}, p.err
	}
	return p.scheduler.State(ctx, e)
}

func (p *vgpuPlace) capabilities(ctx context.Context) (timeslice.VGPUCapabilities, error) {
	if p.err != nil {
		return timeslice.VGPUCapabilities{}, p.err
	}
	return p.scheduler.Capabilities(ctx)
}

// one returns the only place there is, for what cannot be done with many.
func one(places []*vgpuPlace) (*vgpuPlace, error) {
	if len(places) != 1 {
		return nil, fmt.Errorf("%s: say which by -gpu and -gi", count(len(places), "scheduler"))
	}
	return places[0], nil
}

// vgpuTable writes a line for each place.
func vgpuTable(n int, row func(int) (placeAnswer, string)) string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "GPU\tGI\tPRODUCT\tSCHEDULER")
	for i := range n {
		p, text := row(i)
		gi := "-"
		if p.GPUInstance != nil {
			gi = strconv.Itoa(*p.GPUInstance)
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\n", p.GPU, gi, cmp.Or(p.Product, "-"), text)
	}
	t.Flush()
	return b.String()
}
