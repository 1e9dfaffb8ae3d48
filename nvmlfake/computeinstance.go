package nvmlfake

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// computeInstanceHandle is a compute instance. Once the instance is gone every
// call answers ERROR_INVALID_ARGUMENT.
type computeInstanceHandle struct {
	computeInstanceBase
	ci *ciState
}

func (h computeInstanceHandle) server() *Server { return h.srv }
func (h computeInstanceHandle) valid() bool     { return h.ci != nil && !h.ci.gone }

func (s *Server) computeInstance(ci *ciState) nvml.ComputeInstance {
	return computeInstanceHandle{computeInstanceBase{s}, ci}
}

// GetInfo returns, as Device, the MIG device and not the GPU.
func (h computeInstanceHandle) GetInfo() (nvml.ComputeInstanceInfo, nvml.Return) {
	return call(h, func() (nvml.ComputeInstanceInfo, nvml.Return) {
		return nvml.ComputeInstanceInfo{
			Device:      h.srv.migDevice(h.ci),
			GpuInstance: h.srv.gpuInstance(h.ci.gi),
			Id:          uint32(h.ci.id),
			ProfileId:   uint32(h.ci.profile.Index),
			Placement:   nvml.ComputeInstancePlacement{Start: uint32(h.ci.start), Size: uint32(h.ci.profile.Size)},
		}, nvml.SUCCESS
	})
}

// Destroy removes the instance; it is in use while somebody holds it.
func (h computeInstanceHandle) Destroy() nvml.Return {
	_, ret := call(h, func() (any, nvml.Return) {
		if len(h.ci.holders) > 0 {
			return nil, nvml.ERROR_IN_USE
		}
		h.ci.gi.destroy(h.ci)
		return nil, nvml.SUCCESS
	})
	return ret
}
