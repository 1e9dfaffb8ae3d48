package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/mig"
)

// readings is how often the instances are read before an incomplete list counts
// as the driver's fault.
const readings = 3

// read reads the whole state, and the profiles that the GPU offers while MIG
// mode is on.
func (g *GPU) read(ctx context.Context) (State, []offer, error) {
	current, pending, ret := g.handle.GetMigMode()
	if err := g.step("read the MIG mode").check(ret); err != nil {
		return State{}, nil, err
	}
	st := State{GPU: g.uuid, Mode: Mode{Current: current == nvml.DEVICE_MIG_ENABLE, Pending: pending == nvml.DEVICE_MIG_ENABLE}}
	if !st.Mode.Current {
		return st, nil, nil
	}
	offers, err := g.offers(ctx)
	if err != nil {
		return State{}, nil, err
	}
	// Others may create and destroy in mid-reading, which looks like a handle
	// that went stale, an instance that was missed, or two where there is room
	// for one: what looks so again and again is an error.
	for i := 1; ; i++ {
		var again error
		st.Instances, again = g.readInstances(ctx, offers)
		if again == nil {
			again, err = g.crossCheck(ctx, st.Instances)
		} else if !errors.Is(again, nvml.ERROR_INVALID_ARGUMENT) {
			err = again
		}
		if again == nil && err == nil {
			st.Layout, again = g.layout(st.Instances)
		}
		if err == nil && i == readings {
			err = again
		}
		if err != nil {
			return State{}, nil, err
		}
		if again == nil {
			return st, offers, nil
		}
	}
}

// layout expresses what was read in the terms of package mig.
func (g *GPU) layout(all []Instance) (mig.Layout, error) {
	var placed []mig.Instance
	for _, in := range all {
		placed = append(placed, in.Instance)
	}
	l, err := g.model.Layout(placed...)
	return l, g.step("read the layout").fail(err)
}

// readInstances lists the GPU instances of every profile that the GPU offers,
// of those that the table does not know, too.
func (g *GPU) readInstances(ctx context.Context, offers []offer) ([]Instance, error) {
	var all []Instance
	for _, o := range offers {
		s := g.step("list GPU instances")
		s.Profile = o.profile.Name
		if err := ended(ctx); err != nil {
			return nil, s.fail(err)
		}
		if o.info.InstanceCount == 0 {
			continue // none can exist, and go-nvml refuses to ask
		}
		info := o.info
		handles, ret := g.handle.GetGpuInstances(&info)
		if ret == nvml.ERROR_NOT_FOUND {
			continue
		}
		if err := s.check(ret); err != nil {
			return nil, err
		}
		for _, gi := range handles {
			in, there, err := g.readInstance(o, gi)
			if err != nil {
				return nil, err
			}
			if there {
				all = append(all, in)
			}
		}
	}
	slices.SortFunc(all, func(a, b Instance) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}

// readInstance reads one GPU instance; there is false if it is gone.
func (g *GPU) readInstance(o offer, gi gpuInstanceHandle) (in Instance, there bool, err error) {
	s := g.step("read GPU instance")
	s.Profile = o.profile.Name
	info, ret := gi.GetInfo()
	if ret == nvml.ERROR_NOT_FOUND {
		return Instance{}, false, nil
	}
	if err := s.check(ret); err != nil {
		return Instance{}, false, err
	}
	s = s.gi(int(info.Id))
	switch {
	case o.err != nil:
		return Instance{}, false, s.fail(fmt.Errorf("at memory slice %d: %w", info.Placement.Start, o.err))
	case info.ProfileId != o.info.Id:
		return Instance{}, false, s.fail(mismatch("listed under profile id %d, it says it has %d", o.info.Id, info.ProfileId))
	}
	in = Instance{
		Instance: mig.Instance{Profile: o.profile.Name, Start: int(info.Placement.Start), Size: int(info.Placement.Size)},
		ID:       int(info.Id),
	}
	in.Compute, err = g.readCompute(in, gi)
	if err != nil {
		if _, ret := g.handle.GetGpuInstanceById(in.ID); ret == nvml.ERROR_NOT_FOUND {
			return Instance{}, false, nil
		}
		return Instance{}, false, err
	}
	return in, true, nil
}

// readCompute reads the compute instances of a GPU instance.
func (g *GPU) readCompute(in Instance, gi gpuInstanceHandle) ([]ComputeInstance, error) {
	s := g.step("list compute instances").on(in.Instance).gi(in.ID)
	offers, ret := computeOffers(gi)
	if err := s.check(ret); err != nil {
		return nil, err
	}
	if len(offers) == 0 { // as it looks when the GPU instance is gone
		return nil, s.check(nvml.ERROR_INVALID_ARGUMENT)
	}
	var all []ComputeInstance
	asked := make(map[uint32]bool) // by id, should two indices share one
	for _, o := range offers {
		if o.info.InstanceCount == 0 || asked[o.info.Id] {
			continue
		}
		asked[o.info.Id] = true
		info := o.info
		handles, ret := gi.GetComputeInstances(&info)
		if ret == nvml.ERROR_NOT_FOUND {
			continue
		}
		if err := s.check(ret); err != nil {
			return nil, err
		}
		for _, handle := range handles {
			c, there, err := readComputeInstance(s, handle)
			if err != nil {
				return nil, err
			}
			if !there {
				continue
			}
			if c, err = o.describe(in, c); err != nil {
				return nil, s.ci(c.ID).fail(err)
			}
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b ComputeInstance) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// readComputeInstance reads what a compute instance says of itself, which is
// all but its profile; there is false if it is gone.
func readComputeInstance(s step, handle nvml.ComputeInstance) (c ComputeInstance, there bool, err error) {
	info, ret := handle.GetInfo()
	if ret == nvml.ERROR_NOT_FOUND {
		return ComputeInstance{}, false, nil
	}
	if err := s.check(ret); err != nil {
		return ComputeInstance{}, false, err
	}
	s = s.ci(int(info.Id))
	if info.Device == nil {
		return ComputeInstance{}, false, s.fail(fmt.Errorf("no MIG device: %w", nvml.ERROR_NOT_FOUND))
	}
	uuid, ret := info.Device.GetUUID()
	if err := s.check(ret); err != nil {
		return ComputeInstance{}, false, err
	}
	return ComputeInstance{ID: int(info.Id), UUID: uuid, Start: int(info.Placement.Start), Size: int(info.Placement.Size)}, true, nil
}

// crossCheck walks the MIG devices, which the driver lists apart from the
// instances, and says which of them a reading lacks. The count that NVML
// gives is an upper bound: an index without a device is a hole, not the end.
func (g *GPU) crossCheck(ctx context.Context, seen []Instance) (missing, err error) {
	s := g.step("list MIG devices")
	limit, ret := g.handle.GetMaxMigDeviceCount()
	if err := s.check(ret); err != nil {
		return nil, err
	}
	for i := range limit {
		if err := ended(ctx); err != nil {
			return nil, s.fail(err)
		}
		dev, ret := g.handle.GetMigDeviceHandleByIndex(i)
		if ret == nvml.ERROR_NOT_FOUND {
			continue
		}
		if err := s.check(ret); err != nil {
			return nil, err
		}
		gi, ret := dev.GetGpuInstanceId()
		ci := None
		if ret == nvml.SUCCESS {
			ci, ret = dev.GetComputeInstanceId()
		}
		if ret == nvml.SUCCESS && !listed(seen, gi, ci) {
			if ret = g.exists(gi, ci); ret == nvml.SUCCESS {
				return s.gi(gi).ci(ci).fail(mismatch("MIG device %d exists, but no profile that the device offers lists it", i)), nil
			}
		}
		if ret == nvml.ERROR_INVALID_ARGUMENT || ret == nvml.ERROR_NOT_FOUND {
			continue // a handle that outlived its device
		}
		if err := s.check(ret); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// listed reports whether a compute instance is among those that were read.
func listed(all []Instance, gi, ci int) bool {
	for _, in := range all {
		if in.ID == gi {
			return slices.ContainsFunc(in.Compute, func(c ComputeInstance) bool { return c.ID == ci })
		}
	}
	return false
}

// exists asks for a compute instance by its numbers.
func (g *GPU) exists(gi, ci int) nvml.Return {
	handle, ret := g.handle.GetGpuInstanceById(gi)
	if ret == nvml.SUCCESS {
		_, ret = handle.GetComputeInstanceById(ci)
	}
	return ret
}
