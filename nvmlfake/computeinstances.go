package nvmlfake

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/mig"
)

// profiles returns what the GPU instance offers, in table order.
func (gi *giState) profiles() []mig.ComputeProfile { return gi.gpu.offers[gi.profile.Name] }

// room is what is taken of a GPU instance's compute slices.
type room struct {
	used  mig.Mask
	count [nvml.COMPUTE_INSTANCE_PROFILE_COUNT]int // by profile index
}

func (r room) with(p mig.ComputeProfile, start int) room {
	for i := range p.Size {
		r.used |= mig.MaskOf(start + i)
	}
	r.count[p.Index]++
	return r
}

func (gi *giState) room() room {
	var r room
	for _, ci := range gi.instances {
		r = r.with(ci.profile, ci.start)
	}
	return r
}

// freeStarts returns where one more instance of a profile can begin.
//
// A profile of kind 1_SLICE_REV1 is listed with one slice and nearly all
// multiprocessors of the GPU instance: more than any other would leave it. So
// it stands alone; that follows from the published counts and was not read from
// a device.
func (r room) freeStarts(p mig.ComputeProfile) mig.Mask {
	const rev1 = nvml.COMPUTE_INSTANCE_PROFILE_1_SLICE_REV1
	if r.count[p.Index] >= p.MaxInstances || r.count[rev1] > 0 || p.Index == rev1 && r.used != 0 {
		return 0
	}
	var free mig.Mask
	for start := range p.Starts.All() {
		if (room{}).with(p, start).used&r.used == 0 {
			free |= mig.MaskOf(start)
		}
	}
	return free
}

// remaining returns how many more instances of a profile fit.
func (r room) remaining(p mig.ComputeProfile) int {
	n := 0
	for free := r.freeStarts(p); free != 0; free = r.freeStarts(p) {
		r = r.with(p, free.Lowest())
		n++
	}
	return n
}

// defaultStart is the driver's choice: of the free starts the one that leaves
// the most (profile, start) pairs free, the lowest on a tie.
func (gi *giState) defaultStart(p mig.ComputeProfile) (start int, ok bool) {
	r, best := gi.room(), -1
	for s := range r.freeStarts(p).All() {
		after, pairs := r.with(p, s), 0
		for _, q := range gi.profiles() {
			pairs += after.freeStarts(q).Len()
		}
		if pairs > best {
			best, start = pairs, s
		}
	}
	return start, best >= 0
}

// GetComputeInstanceProfileInfo answers for NVML's indices of a profile and of
// the one engine profile there is. The id equals the index in every listing
// read. Two profiles of one GPU instance can have the same slices and other
// multiprocessors.
func (h gpuInstanceHandle) GetComputeInstanceProfileInfo(index, engines int) (nvml.ComputeInstanceProfileInfo, nvml.Return) {
	return call(h, func() (nvml.ComputeInstanceProfileInfo, nvml.Return) {
		var info nvml.ComputeInstanceProfileInfo
		if index < 0 || index >= nvml.COMPUTE_INSTANCE_PROFILE_COUNT ||
			engines < 0 || engines >= nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_COUNT {
			return info, nvml.ERROR_INVALID_ARGUMENT
		}
		for _, p := range h.gi.profiles() {
			if p.Index == index {
				return computeProfileInfo(h.gi.profile, p), nvml.SUCCESS
			}
		}
		return info, nvml.ERROR_NOT_SUPPORTED
	})
}

func computeProfileInfo(gi mig.Profile, p mig.ComputeProfile) nvml.ComputeInstanceProfileInfo {
	return nvml.ComputeInstanceProfileInfo{
		Id:                    uint32(p.Index),
		SliceCount:            uint32(p.Slices),
		InstanceCount:         uint32(p.MaxInstances),
		MultiprocessorCount:   uint32(p.SMs),
		SharedCopyEngineCount: uint32(gi.Engines.Copy),
		SharedDecoderCount:    uint32(gi.Engines.Decoders),
		SharedEncoderCount:    uint32(gi.Engines.Encoders),
		SharedJpegCount:       uint32(gi.Engines.JPEG),
		SharedOfaCount:        uint32(gi.Engines.OFA),
	}
}

// withComputeProfile runs f for the profile that info names by its id.
func withComputeProfile[T any](h gpuInstanceHandle, info *nvml.ComputeInstanceProfileInfo, f func(mig.ComputeProfile) (T, nvml.Return)) (T, nvml.Return) {
	var zero T
	if info == nil {
		return zero, nvml.ERROR_INVALID_ARGUMENT
	}
	return call(h, func() (T, nvml.Return) {
		if info.Id >= nvml.COMPUTE_INSTANCE_PROFILE_COUNT {
			return zero, nvml.ERROR_INVALID_ARGUMENT
		}
		for _, p := range h.gi.profiles() {
			if uint32(p.Index) == info.Id {
				return f(p)
			}
		}
		return zero, nvml.ERROR_NOT_SUPPORTED
	})
}

// GetComputeInstancePossiblePlacements lists all legal placements inside the
// GPU instance, free or not.
func (h gpuInstanceHandle) GetComputeInstancePossiblePlacements(info *nvml.ComputeInstanceProfileInfo) ([]nvml.ComputeInstancePlacement, nvml.Return) {
	return withComputeProfile(h, info, func(p mig.ComputeProfile) ([]nvml.ComputeInstancePlacement, nvml.Return) {
		placements := []nvml.ComputeInstancePlacement{}
		for start := range p.Starts.All() {
			placements = append(placements, nvml.ComputeInstancePlacement{Start: uint32(start), Size: uint32(p.Size)})
		}
		return placements, nvml.SUCCESS
	})
}

func (h gpuInstanceHandle) GetComputeInstanceRemainingCapacity(info *nvml.ComputeInstanceProfileInfo) (int, nvml.Return) {
	return withComputeProfile(h, info, func(p mig.ComputeProfile) (int, nvml.Return) {
		return h.gi.room().remaining(p), nvml.SUCCESS
	})
}

// CreateComputeInstance puts an instance where the driver likes.
func (h gpuInstanceHandle) CreateComputeInstance(info *nvml.ComputeInstanceProfileInfo) (nvml.ComputeInstance, nvml.Return) {
	return h.create(info, func(p mig.ComputeProfile) (int, nvml.Return) {
		start, ok := h.gi.defaultStart(p)
		if !ok {
			return 0, nvml.ERROR_INSUFFICIENT_RESOURCES
		}
		return start, nvml.SUCCESS
	})
}

// CreateComputeInstanceWithPlacement puts an instance at a placement, which
// must be one of the possible ones.
func (h gpuInstanceHandle) CreateComputeInstanceWithPlacement(info *nvml.ComputeInstanceProfileInfo, at *nvml.ComputeInstancePlacement) (nvml.ComputeInstance, nvml.Return) {
	return h.create(info, func(p mig.ComputeProfile) (int, nvml.Return) {
		if at == nil || at.Size != uint32(p.Size) || at.Start >= mig.MaxUnits || !p.Starts.Has(int(at.Start)) {
			return 0, nvml.ERROR_INVALID_ARGUMENT
		}
		return int(at.Start), nvml.SUCCESS
	})
}

func (h gpuInstanceHandle) create(info *nvml.ComputeInstanceProfileInfo, place func(mig.ComputeProfile) (int, nvml.Return)) (nvml.ComputeInstance, nvml.Return) {
	ci, ret := withComputeProfile(h, info, func(p mig.ComputeProfile) (*ciState, nvml.Return) {
		start, ret := place(p)
		if ret != nvml.SUCCESS {
			return nil, ret
		}
		if !h.gi.room().freeStarts(p).Has(start) {
			return nil, nvml.ERROR_INSUFFICIENT_RESOURCES
		}
		return h.gi.create(p, start), nvml.SUCCESS
	})
	return h.srv.computeInstance(ci), ret
}

// GetComputeInstances lists the instances of a profile, by id. As for GPU
// instances, the binding sizes its buffer from info's InstanceCount.
func (h gpuInstanceHandle) GetComputeInstances(info *nvml.ComputeInstanceProfileInfo) ([]nvml.ComputeInstance, nvml.Return) {
	if info != nil && info.InstanceCount == 0 {
		return nil, nvml.ERROR_INVALID_ARGUMENT
	}
	return withComputeProfile(h, info, func(p mig.ComputeProfile) ([]nvml.ComputeInstance, nvml.Return) {
		instances := []nvml.ComputeInstance{}
		for _, ci := range h.gi.instances {
			if ci.profile.Index == p.Index {
				instances = append(instances, h.srv.computeInstance(ci))
			}
		}
		if len(instances) > int(info.InstanceCount) {
			return nil, nvml.ERROR_INSUFFICIENT_SIZE
		}
		return instances, nvml.SUCCESS
	})
}

func (h gpuInstanceHandle) GetComputeInstanceById(id int) (nvml.ComputeInstance, nvml.Return) { //nolint:revive // NVML's name
	ci, ret := call(h, func() (*ciState, nvml.Return) {
		for _, ci := range h.gi.instances {
			if ci.id == id {
				return ci, nvml.SUCCESS
			}
		}
		return nil, nvml.ERROR_NOT_FOUND
	})
	return h.srv.computeInstance(ci), ret
}
