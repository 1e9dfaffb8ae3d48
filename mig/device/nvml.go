package device

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// gpuHandle lists the calls on a GPU that this package makes; nvml.Device has them
// and hundreds more.
type gpuHandle interface {
	// Identity.
	IsMigDeviceHandle() (bool, nvml.Return)
	GetUUID() (string, nvml.Return)
	GetName() (string, nvml.Return)
	GetPciInfo() (nvml.PciInfo, nvml.Return)
	GetMemoryInfo() (nvml.Memory, nvml.Return)
	GetArchitecture() (nvml.DeviceArchitecture, nvml.Return)

	// MIG mode: current, pending; to set it returns what became of the
	// activation, then the code of the call itself.
	GetMigMode() (int, int, nvml.Return)
	SetMigMode(mode int) (activation, ret nvml.Return)

	// Processes.
	GetComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return)
	GetGraphicsRunningProcesses() ([]nvml.ProcessInfo, nvml.Return)
	GetMPSComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return)

	// GPU instances.
	GetGpuInstanceProfileInfo(profile int) (nvml.GpuInstanceProfileInfo, nvml.Return)
	GetGpuInstancePossiblePlacements(*nvml.GpuInstanceProfileInfo) ([]nvml.GpuInstancePlacement, nvml.Return)
	GetGpuInstanceRemainingCapacity(*nvml.GpuInstanceProfileInfo) (int, nvml.Return)
	GetGpuInstances(*nvml.GpuInstanceProfileInfo) ([]nvml.GpuInstance, nvml.Return)
	GetGpuInstanceById(id int) (nvml.GpuInstance, nvml.Return)
	CreateGpuInstanceWithPlacement(*nvml.GpuInstanceProfileInfo, *nvml.GpuInstancePlacement) (nvml.GpuInstance, nvml.Return)

	// MIG devices.
	GetMaxMigDeviceCount() (int, nvml.Return)
	GetMigDeviceHandleByIndex(index int) (nvml.Device, nvml.Return)
}

// gpuInstanceHandle lists the calls on a GPU instance that this package makes.
type gpuInstanceHandle interface {
	GetInfo() (nvml.GpuInstanceInfo, nvml.Return)
	GetComputeInstanceProfileInfo(profile, engine int) (nvml.ComputeInstanceProfileInfo, nvml.Return)
	GetComputeInstancePossiblePlacements(*nvml.ComputeInstanceProfileInfo) ([]nvml.ComputeInstancePlacement, nvml.Return)
	GetComputeInstances(*nvml.ComputeInstanceProfileInfo) ([]nvml.ComputeInstance, nvml.Return)
	GetComputeInstanceById(id int) (nvml.ComputeInstance, nvml.Return)
	CreateComputeInstance(*nvml.ComputeInstanceProfileInfo) (nvml.ComputeInstance, nvml.Return)
	CreateComputeInstanceWithPlacement(*nvml.ComputeInstanceProfileInfo, *nvml.ComputeInstancePlacement) (nvml.ComputeInstance, nvml.Return)
	Destroy() nvml.Return
}

// maxProfileIndex ends the walk over profile indices on a driver that never
// says that an index is beyond its list. The header that this package is built
// with knows 18; a newer driver can have more.
const maxProfileIndex = 63

// profiles walks the profile indices of a driver: NOT_SUPPORTED marks a profile
// that this GPU does not have, INVALID_ARGUMENT the end of the list, if it is
// said twice: what a list lacks would not be looked for. It returns the first other
// code, and SUCCESS at the end.
func profiles(ask func(index int) nvml.Return) nvml.Return {
	for i := 0; i <= maxProfileIndex; i++ {
		ret := ask(i)
		if ret == nvml.ERROR_INVALID_ARGUMENT {
			ret = ask(i)
		}
		switch ret {
		case nvml.SUCCESS, nvml.ERROR_NOT_SUPPORTED:
		case nvml.ERROR_INVALID_ARGUMENT:
			return nvml.SUCCESS
		default:
			return ret
		}
	}
	return nvml.SUCCESS
}
