package nvmlfake

import (
	"fmt"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/mig"
)

// deviceHandle is a physical GPU. It outlives resets and, in this model, also
// Shutdown; one without a GPU came from a look-up that failed.
type deviceHandle struct {
	deviceBase
	gpu *gpuState
}

func (d deviceHandle) server() *Server { return d.srv }
func (d deviceHandle) valid() bool     { return d.gpu != nil }

func (d deviceHandle) GetName() (string, nvml.Return) {
	return call(d, func() (string, nvml.Return) { return d.gpu.product, nvml.SUCCESS })
}

func (d deviceHandle) GetUUID() (string, nvml.Return) {
	return call(d, func() (string, nvml.Return) { return d.gpu.uuid, nvml.SUCCESS })
}

func (d deviceHandle) GetIndex() (int, nvml.Return) {
	return call(d, func() (int, nvml.Return) { return d.gpu.index, nvml.SUCCESS })
}

func (d deviceHandle) GetMinorNumber() (int, nvml.Return) { return d.GetIndex() }

func (d deviceHandle) GetBrand() (nvml.BrandType, nvml.Return) {
	return call(d, func() (nvml.BrandType, nvml.Return) { return brand(d.gpu.spec), nvml.SUCCESS })
}

func (d deviceHandle) GetArchitecture() (nvml.DeviceArchitecture, nvml.Return) {
	return call(d, func() (nvml.DeviceArchitecture, nvml.Return) {
		return architecture(d.gpu.spec), nvml.SUCCESS
	})
}

func (d deviceHandle) GetCudaComputeCapability() (major, minor int, ret nvml.Return) {
	version, ret := call(d, func() ([2]int, nvml.Return) { return computeCapability(d.gpu.spec), nvml.SUCCESS })
	return version[0], version[1], ret
}

func (d deviceHandle) GetMemoryInfo() (nvml.Memory, nvml.Return) {
	return call(d, func() (nvml.Memory, nvml.Return) {
		return memory(d.gpu.spec.MemoryMiB, d.gpu.usedMiB()), nvml.SUCCESS
	})
}

func (d deviceHandle) GetMemoryInfo_v2() (nvml.Memory_v2, nvml.Return) { //nolint:revive // NVML's name
	return memoryV2(d.GetMemoryInfo())
}

func (d deviceHandle) GetPciInfo() (nvml.PciInfo, nvml.Return) {
	return call(d, func() (nvml.PciInfo, nvml.Return) { return d.gpu.pciInfo(), nvml.SUCCESS })
}

func (d deviceHandle) IsMigDeviceHandle() (bool, nvml.Return) {
	return call(d, func() (bool, nvml.Return) { return false, nvml.SUCCESS })
}

// GetAttributes is not supported: it knows MIG devices only.
func (d deviceHandle) GetAttributes() (nvml.DeviceAttributes, nvml.Return) {
	return call(d, func() (nvml.DeviceAttributes, nvml.Return) {
		return nvml.DeviceAttributes{}, nvml.ERROR_NOT_SUPPORTED
	})
}

// GetGpuInstanceId wants a MIG device's handle, so this one is invalid.
func (d deviceHandle) GetGpuInstanceId() (int, nvml.Return) { //nolint:revive // NVML's name
	return call(d, func() (int, nvml.Return) { return 0, nvml.ERROR_INVALID_ARGUMENT })
}

// GetComputeInstanceId wants a MIG device's handle, so this one is invalid.
func (d deviceHandle) GetComputeInstanceId() (int, nvml.Return) { //nolint:revive // NVML's name
	return d.GetGpuInstanceId()
}

// GetDeviceHandleFromMigDeviceHandle wants a MIG device's handle, so this one
// is invalid.
func (d deviceHandle) GetDeviceHandleFromMigDeviceHandle() (nvml.Device, nvml.Return) {
	_, ret := d.GetGpuInstanceId()
	return d.srv.device(nil), ret
}

// memory is that of something of which the holders use a part, in MiB.
func memory(total, used int) nvml.Memory {
	return nvml.Memory{Total: uint64(total) << 20, Free: uint64(total-used) << 20, Used: uint64(used) << 20}
}

func memoryV2(m nvml.Memory, ret nvml.Return) (nvml.Memory_v2, nvml.Return) {
	v2 := nvml.Memory_v2{Total: m.Total, Free: m.Free, Used: m.Used}
	v2.Version = nvml.STRUCT_VERSION(v2, 2)
	return v2, ret
}

func (g *gpuState) pciInfo() nvml.PciInfo {
	at := g.busID()
	info := nvml.PciInfo{
		Domain: uint32(at[0]), Bus: uint32(at[1]), Device: uint32(at[2]),
		PciDeviceId: g.pciID,
	}
	putString(info.BusId[:], at.String())
	putString(info.BusIdLegacy[:], fmt.Sprintf("%04X:%02X:%02X.%X", at[0], at[1], at[2], at[3]))
	return info
}

// putString writes a C string into a buffer that has room for it.
func putString(to []int8, s string) {
	for i, c := range []byte(s) {
		to[i] = int8(c)
	}
}

// workstation reports whether the GPU is one of the boards with graphics.
func workstation(spec mig.Spec) bool {
	for _, p := range spec.Profiles {
		if p.Attrs&mig.Graphics != 0 {
			return true
		}
	}
	return false
}

func brand(spec mig.Spec) nvml.BrandType {
	if workstation(spec) {
		return nvml.BRAND_NVIDIA_RTX
	}
	return nvml.BRAND_NVIDIA
}

func architecture(spec mig.Spec) nvml.DeviceArchitecture {
	switch spec.Architecture {
	case "Ampere":
		return nvml.DEVICE_ARCH_AMPERE
	case "Hopper":
		return nvml.DEVICE_ARCH_HOPPER
	case "Blackwell":
		return nvml.DEVICE_ARCH_BLACKWELL
	default:
		return nvml.DEVICE_ARCH_UNKNOWN
	}
}

// blackwellUltra reports whether a PCI id is that of a B300 or a GB300.
func blackwellUltra(id uint32) bool { return id == 0x318210DE || id == 0x31C210DE }

func computeCapability(spec mig.Spec) [2]int {
	switch {
	case spec.Architecture == "Ampere":
		return [2]int{8, 0}
	case spec.Architecture == "Hopper":
		return [2]int{9, 0}
	case spec.Architecture == "Blackwell" && workstation(spec):
		return [2]int{12, 0}
	case slices.ContainsFunc(spec.PCIDeviceIDs, blackwellUltra):
		return [2]int{10, 3}
	case spec.Architecture == "Blackwell":
		return [2]int{10, 0}
	default:
		return [2]int{}
	}
}
