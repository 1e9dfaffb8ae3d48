package nvmlfake

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// gpuInstanceHandle is a GPU instance. Once the instance is gone every call
// answers ERROR_INVALID_ARGUMENT, which nvml.h has for an invalid handle, also
// when a later instance has the same id.
type gpuInstanceHandle struct {
	gpuInstanceBase
	gi *giState
}

func (h gpuInstanceHandle) server() *Server { return h.srv }
func (h gpuInstanceHandle) valid() bool     { return h.gi != nil && !h.gi.gone }

func (s *Server) gpuInstance(gi *giState) nvml.GpuInstance {
	return gpuInstanceHandle{gpuInstanceBase{s}, gi}
}

func (h gpuInstanceHandle) GetInfo() (nvml.GpuInstanceInfo, nvml.Return) {
	return call(h, func() (nvml.GpuInstanceInfo, nvml.Return) {
		return nvml.GpuInstanceInfo{
			Device:    h.srv.device(h.gi.gpu),
			Id:        uint32(h.gi.id),
			ProfileId: uint32(h.gi.profile.ID),
			Placement: nvml.GpuInstancePlacement{Start: uint32(h.gi.start), Size: uint32(h.gi.profile.Size)},
		}, nvml.SUCCESS
	})
}

// Destroy removes the instance; it is in use while there is a compute instance
// in it or somebody holds it.
func (h gpuInstanceHandle) Destroy() nvml.Return {
	_, ret := call(h, func() (any, nvml.Return) {
		if len(h.gi.instances) > 0 || len(h.gi.holders) > 0 {
			return nil, nvml.ERROR_IN_USE
		}
		h.gi.gpu.destroy(h.gi)
		return nil, nvml.SUCCESS
	})
	return ret
}
