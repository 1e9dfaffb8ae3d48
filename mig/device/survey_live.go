package device

import (
	"cmp"
	"context"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/mig"
)

// What a survey learns from the instances that exist.

// computeProfiles reads the compute profiles of every profile of which a GPU
// instance exists.
func (v *survey) computeProfiles(ctx context.Context) error {
	for _, p := range v.spec.Profiles {
		s := v.g.step("list GPU instances")
		s.Profile = p.Name
		if err := ended(ctx); err != nil {
			return s.fail(err)
		}
		info := v.infos[p.Name]
		handles, ret := v.g.handle.GetGpuInstances(&info)
		if err := s.fail(unlessGone(ret)); err != nil {
			return err
		}
		for _, gi := range handles {
			rows, err := v.computeRows(p, gi)
			if err != nil {
				return err
			}
			if len(rows) > 0 { // else it has gone meanwhile
				v.spec.ComputeProfiles = append(v.spec.ComputeProfiles, rows...)
				break
			}
		}
	}
	return nil
}

// computeRows reads the compute profiles of one GPU instance; none if it goes
// away.
func (v *survey) computeRows(p mig.Profile, gi gpuInstanceHandle) ([]mig.ComputeProfile, error) {
	s := v.g.step("list compute instance profiles of")
	s.Profile = p.Name
	offers, ret := computeOffers(gi)
	if err := s.check(ret); err != nil {
		return nil, err
	}
	var rows []mig.ComputeProfile
	for _, o := range offers {
		size, most := int(o.info.SliceCount), int(o.info.InstanceCount)
		if size < 1 || size > p.ComputeSlices {
			return nil, s.fail(mismatch("index %d has %d slices, the GPU instance %d", o.index, size, p.ComputeSlices))
		}
		if most == 0 {
			continue
		}
		c := mig.ComputeProfile{
			GPUInstance: p.Name, Name: computeName(p.Name, size), Index: o.index,
			Slices: size, MaxInstances: most, SMs: int(o.info.MultiprocessorCount), Confidence: mig.Exact,
		}
		info := o.info
		places, ret := gi.GetComputeInstancePossiblePlacements(&info)
		switch ret {
		case nvml.SUCCESS:
		case nvml.ERROR_NOT_SUPPORTED:
			places = nil
		case nvml.ERROR_INVALID_ARGUMENT, nvml.ERROR_NOT_FOUND:
			return nil, nil
		default:
			return nil, s.check(ret)
		}
		for _, at := range places {
			if at.Size == 0 || at.Start >= mig.MaxUnits || at.Size > mig.MaxUnits-at.Start || c.Size != 0 && c.Size != int(at.Size) {
				return nil, s.fail(mismatch("index %d covers %d slices from %d", o.index, at.Size, at.Start))
			}
			c.Size = int(at.Size)
			c.Starts |= mig.MaskOf(int(at.Start))
		}
		rows = append(rows, c)
	}
	if whole, ok := mig.FullSize(rows); ok {
		for i := range rows {
			rows[i].Default = rows[i].Index == whole.Index
		}
	}
	return rows, nil
}

// computeName returns the name of a compute profile with that many slices.
func computeName(gpuInstance string, slices int) string {
	name, _ := mig.ParseName(gpuInstance) // it is the name of a row
	name.ComputeSlices = slices
	return name.String()
}

// deriveCompute takes the compute profiles that the device cannot list from the
// table, for profiles that both have alike.
func (v *survey) deriveCompute(table mig.Spec) {
	var rows []mig.ComputeProfile
	for _, p := range v.spec.Profiles {
		read := slices.ContainsFunc(v.spec.ComputeProfiles, func(c mig.ComputeProfile) bool { return c.GPUInstance == p.Name })
		i := slices.IndexFunc(table.Profiles, func(q mig.Profile) bool { return q.Index == p.Index && q.ComputeSlices == p.ComputeSlices })
		if read || i < 0 {
			continue
		}
		for _, c := range table.ComputeProfiles {
			if c.GPUInstance == table.Profiles[i].Name {
				c.GPUInstance, c.Name, c.Confidence = p.Name, computeName(p.Name, c.Slices), mig.Derived
				rows = append(rows, c)
			}
		}
	}
	v.spec.ComputeProfiles = append(v.spec.ComputeProfiles, rows...)
	at := func(c mig.ComputeProfile) int {
		return slices.IndexFunc(v.spec.Profiles, func(p mig.Profile) bool { return p.Name == c.GPUInstance })
	}
	slices.SortStableFunc(v.spec.ComputeProfiles, func(a, b mig.ComputeProfile) int {
		return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a.Index, b.Index))
	})
}

// standingRow is an instance as far as the media rule is concerned.
type standingRow struct {
	profile   int // position in the table
	start, id int
}

// mediaAlone finds out whether a plain profile may stand beside the +me profile
// of its size, if an instance with +me is there to show it: nothing else keeps a
// plain instance out where placements are free.
func (v *survey) mediaAlone(ctx context.Context) error {
	before, err := v.instances(ctx)
	if err != nil {
		return err
	}
	profiles := v.spec.Profiles
	var used mig.Mask
	for _, in := range before {
		p := profiles[in.profile]
		for u := range p.Size {
			used |= mig.MaskOf(in.start + u)
		}
	}
	shown, alone := false, false
	for _, in := range before {
		media := profiles[in.profile]
		i := slices.IndexFunc(profiles, func(p mig.Profile) bool {
			return p.Attrs == 0 && p.ComputeSlices == media.ComputeSlices && p.Size == media.Size
		})
		if media.Attrs != mig.MediaExtensions || i < 0 || media.Size == 0 {
			continue
		}
		plain := profiles[i]
		info := v.infos[plain.Name]
		s := v.g.step("read the remaining capacity of")
		s.Profile = plain.Name
		left, ret := v.g.handle.GetGpuInstanceRemainingCapacity(&info)
		if ret == nvml.ERROR_NOT_SUPPORTED {
			continue
		}
		if err := s.check(ret); err != nil {
			return err
		}
		there := 0
		for _, other := range before {
			if other.profile == i {
				there++
			}
		}
		switch {
		case left > 0 || there > 0:
			shown = true
		case hasFree(plain, used) && there < plain.MaxInstances:
			shown, alone = true, true
		}
	}
	if !shown {
		return nil
	}
	// What others did in between could have shown anything.
	after, err := v.instances(ctx)
	if err != nil {
		return err
	}
	if slices.Equal(before, after) {
		v.spec.MediaAlone = alone
		v.spec.Sources = append(v.spec.Sources, "MediaAlone: from the remaining capacity beside a +me instance")
	}
	return nil
}

// hasFree reports whether a placement of the profile overlaps nothing.
func hasFree(p mig.Profile, used mig.Mask) bool {
	for start := range p.Starts.All() {
		free := true
		for u := range p.Size {
			free = free && !used.Has(start+u)
		}
		if free {
			return true
		}
	}
	return false
}

// instances lists what stands on the GPU, as far as the media rule is concerned.
func (v *survey) instances(ctx context.Context) ([]standingRow, error) {
	var all []standingRow
	for i, p := range v.spec.Profiles {
		s := v.g.step("list GPU instances")
		s.Profile = p.Name
		if err := ended(ctx); err != nil {
			return nil, s.fail(err)
		}
		info := v.infos[p.Name]
		handles, ret := v.g.handle.GetGpuInstances(&info)
		if err := s.fail(unlessGone(ret)); err != nil {
			return nil, err
		}
		for _, gi := range handles {
			in, ret := gi.GetInfo()
			if ret == nvml.ERROR_NOT_FOUND || ret == nvml.ERROR_INVALID_ARGUMENT {
				continue // it has gone meanwhile
			}
			if err := s.check(ret); err != nil {
				return nil, err
			}
			all = append(all, standingRow{profile: i, start: int(in.Placement.Start), id: int(in.Id)})
		}
	}
	return all, nil
}
