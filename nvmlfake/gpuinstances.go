package nvmlfake

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/mig"
)

// GetGpuInstanceProfileInfo answers for NVML's index of a profile, whether MIG
// is enabled or not, as newer drivers do. An index that NVML does not know is
// invalid; one that this GPU lacks is not supported.
func (d deviceHandle) GetGpuInstanceProfileInfo(index int) (nvml.GpuInstanceProfileInfo, nvml.Return) {
	return call(d, func() (nvml.GpuInstanceProfileInfo, nvml.Return) {
		if index < 0 || index >= nvml.GPU_INSTANCE_PROFILE_COUNT {
			return nvml.GpuInstanceProfileInfo{}, nvml.ERROR_INVALID_ARGUMENT
		}
		for _, p := range d.gpu.spec.Profiles {
			if p.Index == index {
				return profileInfo(p), nvml.SUCCESS
			}
		}
		return nvml.GpuInstanceProfileInfo{}, nvml.ERROR_NOT_SUPPORTED
	})
}

func profileInfo(p mig.Profile) nvml.GpuInstanceProfileInfo {
	return nvml.GpuInstanceProfileInfo{
		Id:                  uint32(p.ID),
		SliceCount:          uint32(p.ComputeSlices),
		InstanceCount:       uint32(p.MaxInstances),
		MultiprocessorCount: uint32(p.SMs),
		CopyEngineCount:     uint32(p.Engines.Copy),
		DecoderCount:        uint32(p.Engines.Decoders),
		EncoderCount:        uint32(p.Engines.Encoders),
		JpegCount:           uint32(p.Engines.JPEG),
		OfaCount:            uint32(p.Engines.OFA),
		MemorySizeMB:        uint64(p.MemoryMiB),
	}
}

// withProfile runs f for the profile that info names. Of info only the id goes
// to the driver; a nil one does not even get that far.
func withProfile[T any](d deviceHandle, info *nvml.GpuInstanceProfileInfo, f func(mig.Profile) (T, nvml.Return)) (T, nvml.Return) {
	var zero T
	if info == nil {
		return zero, nvml.ERROR_INVALID_ARGUMENT
	}
	return call(d, func() (T, nvml.Return) {
		for _, p := range d.gpu.spec.Profiles {
			if uint32(p.ID) == info.Id {
				return f(p)
			}
		}
		return zero, nvml.ERROR_INVALID_ARGUMENT
	})
}

// GetGpuInstancePossiblePlacements lists all legal placements, free or not,
// whether MIG is enabled or not.
func (d deviceHandle) GetGpuInstancePossiblePlacements(info *nvml.GpuInstanceProfileInfo) ([]nvml.GpuInstancePlacement, nvml.Return) {
	return withProfile(d, info, func(p mig.Profile) ([]nvml.GpuInstancePlacement, nvml.Return) {
		placements := []nvml.GpuInstancePlacement{}
		for start := range p.Starts.All() {
			placements = append(placements, nvml.GpuInstancePlacement{Start: uint32(start), Size: uint32(p.Size)})
		}
		return placements, nvml.SUCCESS
	})
}

// GetGpuInstanceRemainingCapacity returns how many more of a profile fit, each
// profile taken for itself.
func (d deviceHandle) GetGpuInstanceRemainingCapacity(info *nvml.GpuInstanceProfileInfo) (int, nvml.Return) {
	return withProfile(d, info, func(p mig.Profile) (int, nvml.Return) {
		if !d.gpu.current {
			return 0, nvml.ERROR_NOT_SUPPORTED
		}
		return d.gpu.layout.Remaining(p), nvml.SUCCESS
	})
}

// CreateGpuInstance puts an instance where the driver likes: see
// mig.Layout.DefaultStart, a rule derived from what drivers were seen to do.
func (d deviceHandle) CreateGpuInstance(info *nvml.GpuInstanceProfileInfo) (nvml.GpuInstance, nvml.Return) {
	return d.create(info, func(p mig.Profile) (int, nvml.Return) {
		start, ok := d.gpu.layout.DefaultStart(p)
		if !ok {
			return 0, nvml.ERROR_INSUFFICIENT_RESOURCES
		}
		return start, nvml.SUCCESS
	})
}

// CreateGpuInstanceWithPlacement puts an instance at a placement. One that is
// not among the possible ones is invalid; one that is taken gives the same code
// as a full GPU.
func (d deviceHandle) CreateGpuInstanceWithPlacement(info *nvml.GpuInstanceProfileInfo, at *nvml.GpuInstancePlacement) (nvml.GpuInstance, nvml.Return) {
	return d.create(info, func(p mig.Profile) (int, nvml.Return) {
		if at == nil || at.Size != uint32(p.Size) || at.Start >= mig.MaxUnits || !p.Starts.Has(int(at.Start)) {
			return 0, nvml.ERROR_INVALID_ARGUMENT
		}
		return int(at.Start), nvml.SUCCESS
	})
}

func (d deviceHandle) create(info *nvml.GpuInstanceProfileInfo, place func(mig.Profile) (int, nvml.Return)) (nvml.GpuInstance, nvml.Return) {
	gi, ret := withProfile(d, info, func(p mig.Profile) (*giState, nvml.Return) {
		if !d.gpu.current {
			return nil, nvml.ERROR_NOT_SUPPORTED
		}
		start, ret := place(p)
		if ret != nvml.SUCCESS {
			return nil, ret
		}
		gi, err := d.gpu.create(p, start)
		if err != nil {
			return nil, nvml.ERROR_INSUFFICIENT_RESOURCES
		}
		return gi, nvml.SUCCESS
	})
	return d.srv.gpuInstance(gi), ret
}

// GetGpuInstances lists the instances of a profile, by id. The binding sizes
// its buffer from info's InstanceCount: with a count of zero the call is
// invalid, with too small a one the driver would overrun the buffer, so the
// fake refuses it.
func (d deviceHandle) GetGpuInstances(info *nvml.GpuInstanceProfileInfo) ([]nvml.GpuInstance, nvml.Return) {
	if info != nil && info.InstanceCount == 0 {
		return nil, nvml.ERROR_INVALID_ARGUMENT
	}
	return withProfile(d, info, func(p mig.Profile) ([]nvml.GpuInstance, nvml.Return) {
		if !d.gpu.current {
			return nil, nvml.ERROR_NOT_SUPPORTED
		}
		instances := []nvml.GpuInstance{}
		for _, gi := range d.gpu.instances {
			if gi.profile.ID == p.ID {
				instances = append(instances, d.srv.gpuInstance(gi))
			}
		}
		if len(instances) > int(info.InstanceCount) {
			return nil, nvml.ERROR_INSUFFICIENT_SIZE
		}
		return instances, nvml.SUCCESS
	})
}

func (d deviceHandle) GetGpuInstanceById(id int) (nvml.GpuInstance, nvml.Return) { //nolint:revive // NVML's name
	gi, ret := call(d, func() (*giState, nvml.Return) {
		if !d.gpu.current {
			return nil, nvml.ERROR_NOT_SUPPORTED
		}
		for _, gi := range d.gpu.instances {
			if gi.id == id {
				return gi, nvml.SUCCESS
			}
		}
		return nil, nvml.ERROR_NOT_FOUND
	})
	return d.srv.gpuInstance(gi), ret
}
