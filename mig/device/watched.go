package device

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// The driver's handles come out as ones that the watch knows of; no handle, as
// none.
func (w *watch) gpuInstance(gi nvml.GpuInstance) nvml.GpuInstance {
	if gi == nil {
		return nil
	}
	return watchedGI{gi, w}
}

func (w *watch) computeInstance(ci nvml.ComputeInstance) nvml.ComputeInstance {
	if ci == nil {
		return nil
	}
	return watchedCI{ci, w}
}

func (w *watch) migDevice(d nvml.Device) nvml.Device {
	if d == nil {
		return nil
	}
	return watchedMIG{d, w}
}

// watchedGPU is a GPU whose calls the watch knows of, and so are those of all
// that comes from it.
type watchedGPU struct {
	gpuHandle
	w *watch
}

func (d watchedGPU) GetUUID() (string, nvml.Return) {
	return watched(d.w, "GetUUID", d.gpuHandle.GetUUID)
}

func (d watchedGPU) GetName() (string, nvml.Return) {
	return watched(d.w, "GetName", d.gpuHandle.GetName)
}

func (d watchedGPU) IsMigDeviceHandle() (bool, nvml.Return) {
	return watched(d.w, "IsMigDeviceHandle", d.gpuHandle.IsMigDeviceHandle)
}

func (d watchedGPU) GetPciInfo() (nvml.PciInfo, nvml.Return) {
	return watched(d.w, "GetPciInfo", d.gpuHandle.GetPciInfo)
}

func (d watchedGPU) GetMemoryInfo() (nvml.Memory, nvml.Return) {
	return watched(d.w, "GetMemoryInfo", d.gpuHandle.GetMemoryInfo)
}

func (d watchedGPU) GetMigMode() (current, pending int, ret nvml.Return) {
	d.w.begin("GetMigMode")
	defer d.w.end()
	return d.gpuHandle.GetMigMode()
}

func (d watchedGPU) GetGpuInstanceProfileInfo(profile int) (nvml.GpuInstanceProfileInfo, nvml.Return) {
	return watched(d.w, "GetGpuInstanceProfileInfo", func() (nvml.GpuInstanceProfileInfo, nvml.Return) {
		return d.gpuHandle.GetGpuInstanceProfileInfo(profile)
	})
}

func (d watchedGPU) GetGpuInstancePossiblePlacements(info *nvml.GpuInstanceProfileInfo) ([]nvml.GpuInstancePlacement, nvml.Return) {
	return watched(d.w, "GetGpuInstancePossiblePlacements", func() ([]nvml.GpuInstancePlacement, nvml.Return) {
		return d.gpuHandle.GetGpuInstancePossiblePlacements(info)
	})
}

func (d watchedGPU) GetGpuInstanceRemainingCapacity(info *nvml.GpuInstanceProfileInfo) (int, nvml.Return) {
	return watched(d.w, "GetGpuInstanceRemainingCapacity", func() (int, nvml.Return) {
		return d.gpuHandle.GetGpuInstanceRemainingCapacity(info)
	})
}

func (d watchedGPU) GetArchitecture() (nvml.DeviceArchitecture, nvml.Return) {
	return watched(d.w, "GetArchitecture", d.gpuHandle.GetArchitecture)
}

func (d watchedGPU) GetGpuInstances(info *nvml.GpuInstanceProfileInfo) ([]nvml.GpuInstance, nvml.Return) {
	all, ret := watched(d.w, "GetGpuInstances", func() ([]nvml.GpuInstance, nvml.Return) {
		return d.gpuHandle.GetGpuInstances(info)
	})
	wrapped := make([]nvml.GpuInstance, len(all))
	for i, gi := range all {
		wrapped[i] = watchedGI{gi, d.w}
	}
	return wrapped, ret
}

func (d watchedGPU) GetGpuInstanceById(id int) (nvml.GpuInstance, nvml.Return) { //nolint:revive // NVML's name
	gi, ret := watched(d.w, "GetGpuInstanceById", func() (nvml.GpuInstance, nvml.Return) {
		return d.gpuHandle.GetGpuInstanceById(id)
	})
	return d.w.gpuInstance(gi), ret
}

func (d watchedGPU) CreateGpuInstanceWithPlacement(info *nvml.GpuInstanceProfileInfo, at *nvml.GpuInstancePlacement) (nvml.GpuInstance, nvml.Return) {
	gi, ret := watched(d.w, "CreateGpuInstanceWithPlacement", func() (nvml.GpuInstance, nvml.Return) {
		return d.gpuHandle.CreateGpuInstanceWithPlacement(info, at)
	})
	return d.w.gpuInstance(gi), ret
}

func (d watchedGPU) SetMigMode(mode int) (activation, ret nvml.Return) {
	d.w.begin("SetMigMode")
	defer d.w.end()
	return d.gpuHandle.SetMigMode(mode)
}

func (d watchedGPU) GetComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return watched(d.w, "GetComputeRunningProcesses", d.gpuHandle.GetComputeRunningProcesses)
}

func (d watchedGPU) GetGraphicsRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return watched(d.w, "GetGraphicsRunningProcesses", d.gpuHandle.GetGraphicsRunningProcesses)
}

func (d watchedGPU) GetMPSComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return watched(d.w, "GetMPSComputeRunningProcesses", d.gpuHandle.GetMPSComputeRunningProcesses)
}

func (d watchedGPU) GetMaxMigDeviceCount() (int, nvml.Return) {
	return watched(d.w, "GetMaxMigDeviceCount", d.gpuHandle.GetMaxMigDeviceCount)
}

func (d watchedGPU) GetMigDeviceHandleByIndex(index int) (nvml.Device, nvml.Return) {
	dev, ret := watched(d.w, "GetMigDeviceHandleByIndex", func() (nvml.Device, nvml.Return) {
		return d.gpuHandle.GetMigDeviceHandleByIndex(index)
	})
	return d.w.migDevice(dev), ret
}

// watchedMIG is a MIG device whose calls the watch knows of.
type watchedMIG struct {
	nvml.Device
	w *watch
}

func (d watchedMIG) GetUUID() (string, nvml.Return) {
	return watched(d.w, "MIG device GetUUID", d.Device.GetUUID)
}

func (d watchedMIG) GetGpuInstanceId() (int, nvml.Return) { //nolint:revive // NVML's name
	return watched(d.w, "MIG device GetGpuInstanceId", d.Device.GetGpuInstanceId)
}

func (d watchedMIG) GetComputeInstanceId() (int, nvml.Return) { //nolint:revive // NVML's name
	return watched(d.w, "MIG device GetComputeInstanceId", d.Device.GetComputeInstanceId)
}

func (d watchedMIG) GetComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return watched(d.w, "MIG device GetComputeRunningProcesses", d.Device.GetComputeRunningProcesses)
}

func (d watchedMIG) GetGraphicsRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return watched(d.w, "MIG device GetGraphicsRunningProcesses", d.Device.GetGraphicsRunningProcesses)
}

func (d watchedMIG) GetMPSComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return watched(d.w, "MIG device GetMPSComputeRunningProcesses", d.Device.GetMPSComputeRunningProcesses)
}

// watchedGI is a GPU instance whose calls the watch knows of.
type watchedGI struct {
	nvml.GpuInstance
	w *watch
}

func (g watchedGI) GetInfo() (nvml.GpuInstanceInfo, nvml.Return) {
	return watched(g.w, "GpuInstance.GetInfo", g.GpuInstance.GetInfo)
}

func (g watchedGI) GetComputeInstanceProfileInfo(profile, engine int) (nvml.ComputeInstanceProfileInfo, nvml.Return) {
	return watched(g.w, "GetComputeInstanceProfileInfo", func() (nvml.ComputeInstanceProfileInfo, nvml.Return) {
		return g.GpuInstance.GetComputeInstanceProfileInfo(profile, engine)
	})
}

func (g watchedGI) GetComputeInstancePossiblePlacements(info *nvml.ComputeInstanceProfileInfo) ([]nvml.ComputeInstancePlacement, nvml.Return) {
	return watched(g.w, "GetComputeInstancePossiblePlacements", func() ([]nvml.ComputeInstancePlacement, nvml.Return) {
		return g.GpuInstance.GetComputeInstancePossiblePlacements(info)
	})
}

func (g watchedGI) GetComputeInstances(info *nvml.ComputeInstanceProfileInfo) ([]nvml.ComputeInstance, nvml.Return) {
	all, ret := watched(g.w, "GetComputeInstances", func() ([]nvml.ComputeInstance, nvml.Return) {
		return g.GpuInstance.GetComputeInstances(info)
	})
	wrapped := make([]nvml.ComputeInstance, len(all))
	for i, ci := range all {
		wrapped[i] = watchedCI{ci, g.w}
	}
	return wrapped, ret
}

func (g watchedGI) GetComputeInstanceById(id int) (nvml.ComputeInstance, nvml.Return) { //nolint:revive // NVML's name
	ci, ret := watched(g.w, "GetComputeInstanceById", func() (nvml.ComputeInstance, nvml.Return) {
		return g.GpuInstance.GetComputeInstanceById(id)
	})
	return g.w.computeInstance(ci), ret
}

func (g watchedGI) CreateComputeInstance(info *nvml.ComputeInstanceProfileInfo) (nvml.ComputeInstance, nvml.Return) {
	ci, ret := watched(g.w, "CreateComputeInstance", func() (nvml.ComputeInstance, nvml.Return) {
		return g.GpuInstance.CreateComputeInstance(info)
	})
	return g.w.computeInstance(ci), ret
}

func (g watchedGI) CreateComputeInstanceWithPlacement(info *nvml.ComputeInstanceProfileInfo, at *nvml.ComputeInstancePlacement) (nvml.ComputeInstance, nvml.Return) {
	ci, ret := watched(g.w, "CreateComputeInstanceWithPlacement", func() (nvml.ComputeInstance, nvml.Return) {
		return g.GpuInstance.CreateComputeInstanceWithPlacement(info, at)
	})
	return g.w.computeInstance(ci), ret
}

func (g watchedGI) Destroy() nvml.Return {
	g.w.begin("GpuInstance.Destroy")
	defer g.w.end()
	return g.GpuInstance.Destroy()
}

// watchedCI is a compute instance whose calls the watch knows of.
type watchedCI struct {
	nvml.ComputeInstance
	w *watch
}

func (c watchedCI) GetInfo() (nvml.ComputeInstanceInfo, nvml.Return) {
	info, ret := watched(c.w, "ComputeInstance.GetInfo", c.ComputeInstance.GetInfo)
	info.Device = c.w.migDevice(info.Device)
	return info, ret
}

func (c watchedCI) Destroy() nvml.Return {
	c.w.begin("ComputeInstance.Destroy")
	defer c.w.end()
	return c.ComputeInstance.Destroy()
}
