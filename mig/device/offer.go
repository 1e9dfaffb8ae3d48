package device

import (
	"context"
	"fmt"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/mig"
)

// offer is a profile that this very GPU has, as it reports it: the printed id
// of one name can be another on the board beside it.
type offer struct {
	index   int
	info    nvml.GpuInstanceProfileInfo
	profile mig.Profile // of the table; valid only if err is nil
	err     error       // why the profile cannot be used
}

// offers asks the GPU for its profiles and finds each in the table. A profile
// that the table does not have, or has otherwise, carries an error and hurts
// nobody until it is used or an instance of it is found.
func (g *GPU) offers(ctx context.Context) ([]offer, error) {
	var all []offer
	var gone error
	ret := profiles(func(index int) nvml.Return {
		if gone = ended(ctx); gone != nil {
			return nvml.ERROR_INVALID_ARGUMENT
		}
		info, ret := g.handle.GetGpuInstanceProfileInfo(index)
		if ret == nvml.SUCCESS {
			o := offer{index: index, info: info}
			o.profile, o.err = g.resolve(index, info)
			all = append(all, o)
		}
		return ret
	})
	s := g.step("list GPU instance profiles")
	if gone != nil {
		return nil, s.fail(gone)
	}
	for i := range all {
		for j := range all[:i] {
			if all[i].info.Id == all[j].info.Id {
				err := mismatch("profile indices %d and %d both have id %d", all[j].index, all[i].index, all[i].info.Id)
				all[i].err, all[j].err = err, err
			}
		}
	}
	return all, s.check(ret)
}

// resolve finds the profile of an index in the table and compares what the
// device says about it. Ids and memory sizes may differ between boards and
// drivers; the slices and the name may not.
func (g *GPU) resolve(index int, info nvml.GpuInstanceProfileInfo) (mig.Profile, error) {
	for p := range g.model.Profiles() {
		if p.Index != index {
			continue
		}
		if int(info.SliceCount) != p.ComputeSlices {
			return p, mismatch("profile index %d is %s with %d slices in the table of %s, and has id %d with %d slices on the device",
				index, p.Name, p.ComputeSlices, g.model, info.Id, info.SliceCount)
		}
		name, err := mig.ParseName(p.Name)
		if err != nil {
			return p, err
		}
		gb := mig.MemoryGB(int(info.MemorySizeMB), g.totalMiB)
		if info.MemorySizeMB != 0 && gb != name.MemoryGB {
			return p, mismatch("profile index %d is %s in the table of %s, and has id %d with %d of %d MiB on the device, which makes %dgb",
				index, p.Name, g.model, info.Id, info.MemorySizeMB, g.totalMiB, gb)
		}
		return p, nil
	}
	return mig.Profile{}, mismatch("the device offers profile index %d with id %d, %d slices and %d MiB, the table of %s has no such index",
		index, info.Id, info.SliceCount, info.MemorySizeMB, g.model)
}

// find returns the offer of a profile of the table.
func find(all []offer, p mig.Profile) (offer, error) {
	i := slices.IndexFunc(all, func(o offer) bool { return o.index == p.Index })
	if i < 0 {
		return offer{}, fmt.Errorf("the table has the profile at index %d, the device does not: %w: %w", p.Index, ErrMismatch, nvml.ERROR_NOT_SUPPORTED)
	}
	return all[i], all[i].err
}

// computeOffer is a compute instance profile that a GPU instance has.
type computeOffer struct {
	index int
	info  nvml.ComputeInstanceProfileInfo
}

// computeOffers asks a GPU instance for its compute instance profiles.
func computeOffers(gi gpuInstanceHandle) ([]computeOffer, nvml.Return) {
	var all []computeOffer
	ret := profiles(func(index int) nvml.Return {
		info, ret := gi.GetComputeInstanceProfileInfo(index, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
		if ret == nvml.SUCCESS {
			all = append(all, computeOffer{index: index, info: info})
		}
		return ret
	})
	return all, ret
}

// describe adds the profile to what a compute instance of it says of itself.
func (o computeOffer) describe(in Instance, c ComputeInstance) (ComputeInstance, error) {
	name, err := mig.ParseName(in.Profile)
	if err != nil {
		return c, err
	}
	name.ComputeSlices = int(o.info.SliceCount)
	c.Profile, c.Index, c.SMs = name.String(), o.index, int(o.info.MultiprocessorCount)
	return c, nil
}

// fullSize returns the compute instance profile that takes most of a GPU
// instance, by the rule of mig.FullSize.
func fullSize(all []computeOffer) (computeOffer, bool) {
	rows := make([]mig.ComputeProfile, len(all))
	for i, o := range all {
		rows[i] = mig.ComputeProfile{Index: o.index, Slices: int(o.info.SliceCount), SMs: int(o.info.MultiprocessorCount)}
	}
	best, found := mig.FullSize(rows)
	if !found {
		return computeOffer{}, false
	}
	return all[slices.IndexFunc(all, func(o computeOffer) bool { return o.index == best.Index })], true
}
