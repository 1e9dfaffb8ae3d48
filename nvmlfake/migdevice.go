package nvmlfake

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// migDeviceHandle is the device that a compute instance makes visible. Once
// the compute instance is gone every call answers ERROR_INVALID_ARGUMENT.
//
// What nvml.h offers for parent devices only (MIG mode, GPU instances) is left
// to the base and so not supported.
type migDeviceHandle struct {
	deviceBase
	ci *ciState
}

func (d migDeviceHandle) server() *Server { return d.srv }
func (d migDeviceHandle) valid() bool     { return d.ci != nil && !d.ci.gone }

func (s *Server) migDevice(ci *ciState) nvml.Device { return migDeviceHandle{deviceBase{s}, ci} }

// GetMaxMigDeviceCount returns the largest number of MIG devices that the GPU
// can have, which is not how many there are; none when MIG is disabled.
func (d deviceHandle) GetMaxMigDeviceCount() (int, nvml.Return) {
	return call(d, func() (int, nvml.Return) { return d.gpu.maxMIGDevices(), nvml.SUCCESS })
}

// GetMigDeviceHandleByIndex returns a MIG device. A device keeps its index
// until it is gone, so there are holes, which give ERROR_NOT_FOUND.
func (d deviceHandle) GetMigDeviceHandleByIndex(index int) (nvml.Device, nvml.Return) {
	ci, ret := call(d, func() (*ciState, nvml.Return) {
		if !d.gpu.current {
			return nil, nvml.ERROR_NOT_SUPPORTED
		}
		if index < 0 || index >= d.gpu.maxMIGDevices() {
			return nil, nvml.ERROR_INVALID_ARGUMENT
		}
		if ci := d.gpu.migDevice(index); ci != nil {
			return ci, nvml.SUCCESS
		}
		if ci := d.gpu.lastSeen[index]; ci != nil && d.srv.staleHandles {
			return ci, nvml.SUCCESS
		}
		return nil, nvml.ERROR_NOT_FOUND
	})
	return d.srv.migDevice(ci), ret
}

func (d migDeviceHandle) IsMigDeviceHandle() (bool, nvml.Return) {
	return call(d, func() (bool, nvml.Return) { return true, nvml.SUCCESS })
}

func (d migDeviceHandle) GetName() (string, nvml.Return) {
	return call(d, func() (string, nvml.Return) {
		return d.ci.gi.gpu.product + " MIG " + d.ci.profile.Name, nvml.SUCCESS
	})
}

func (d migDeviceHandle) GetUUID() (string, nvml.Return) {
	return call(d, func() (string, nvml.Return) { return d.ci.uuid, nvml.SUCCESS })
}

// GetIndex returns the index that GetMigDeviceHandleByIndex takes.
func (d migDeviceHandle) GetIndex() (int, nvml.Return) {
	return call(d, func() (int, nvml.Return) { return d.ci.index, nvml.SUCCESS })
}

func (d migDeviceHandle) GetGpuInstanceId() (int, nvml.Return) { //nolint:revive // NVML's name
	return call(d, func() (int, nvml.Return) { return d.ci.gi.id, nvml.SUCCESS })
}

func (d migDeviceHandle) GetComputeInstanceId() (int, nvml.Return) { //nolint:revive // NVML's name
	return call(d, func() (int, nvml.Return) { return d.ci.id, nvml.SUCCESS })
}

func (d migDeviceHandle) GetDeviceHandleFromMigDeviceHandle() (nvml.Device, nvml.Return) {
	g, ret := call(d, func() (*gpuState, nvml.Return) { return d.ci.gi.gpu, nvml.SUCCESS })
	return d.srv.device(g), ret
}

// GetAttributes returns the multiprocessors of the compute instance and the
// memory and engines of the GPU instance, which its compute instances share.
func (d migDeviceHandle) GetAttributes() (nvml.DeviceAttributes, nvml.Return) {
	return call(d, func() (nvml.DeviceAttributes, nvml.Return) {
		p := d.ci.gi.profile
		return nvml.DeviceAttributes{
			MultiprocessorCount:       uint32(d.ci.profile.SMs),
			SharedCopyEngineCount:     uint32(p.Engines.Copy),
			SharedDecoderCount:        uint32(p.Engines.Decoders),
			SharedEncoderCount:        uint32(p.Engines.Encoders),
			SharedJpegCount:           uint32(p.Engines.JPEG),
			SharedOfaCount:            uint32(p.Engines.OFA),
			GpuInstanceSliceCount:     uint32(p.ComputeSlices),
			ComputeInstanceSliceCount: uint32(d.ci.profile.Slices),
			MemorySizeMB:              uint64(p.MemoryMiB),
		}, nvml.SUCCESS
	})
}

// GetMemoryInfo returns the memory of the GPU instance, which its compute
// instances share.
func (d migDeviceHandle) GetMemoryInfo() (nvml.Memory, nvml.Return) {
	return call(d, func() (nvml.Memory, nvml.Return) {
		return memory(d.ci.gi.profile.MemoryMiB, d.ci.gi.usedMiB()), nvml.SUCCESS
	})
}

func (d migDeviceHandle) GetMemoryInfo_v2() (nvml.Memory_v2, nvml.Return) { //nolint:revive // NVML's name
	return memoryV2(d.GetMemoryInfo())
}

func (d migDeviceHandle) GetPciInfo() (nvml.PciInfo, nvml.Return) {
	return call(d, func() (nvml.PciInfo, nvml.Return) { return d.ci.gi.gpu.pciInfo(), nvml.SUCCESS })
}

func (d migDeviceHandle) GetArchitecture() (nvml.DeviceArchitecture, nvml.Return) {
	return call(d, func() (nvml.DeviceArchitecture, nvml.Return) {
		return architecture(d.ci.gi.gpu.spec), nvml.SUCCESS
	})
}

func (d migDeviceHandle) GetBrand() (nvml.BrandType, nvml.Return) {
	return call(d, func() (nvml.BrandType, nvml.Return) { return brand(d.ci.gi.gpu.spec), nvml.SUCCESS })
}

func (d migDeviceHandle) GetCudaComputeCapability() (major, minor int, ret nvml.Return) {
	version, ret := call(d, func() ([2]int, nvml.Return) {
		return computeCapability(d.ci.gi.gpu.spec), nvml.SUCCESS
	})
	return version[0], version[1], ret
}
