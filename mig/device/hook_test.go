package device_test

import (
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// hook stands between a GPU and a fake: it sees the name of every call
// before it is made, and what it returns other than SUCCESS is returned
// instead of making the call.
type hook func(call string) nvml.Return

// hooked wraps a GPU, and what comes from it.
type hooked struct {
	nvml.Device
	hook hook
}

// ask makes a call unless the hook answers.
func ask[T any](h hook, call string, f func() (T, nvml.Return)) (T, nvml.Return) {
	if ret := h(call); ret != nvml.SUCCESS {
		var zero T
		return zero, ret
	}
	return f()
}

func (d hooked) GetUUID() (string, nvml.Return) { return ask(d.hook, "GetUUID", d.Device.GetUUID) }
func (d hooked) GetName() (string, nvml.Return) { return ask(d.hook, "GetName", d.Device.GetName) }

func (d hooked) GetPciInfo() (nvml.PciInfo, nvml.Return) {
	return ask(d.hook, "GetPciInfo", d.Device.GetPciInfo)
}

func (d hooked) GetMemoryInfo() (nvml.Memory, nvml.Return) {
	return ask(d.hook, "GetMemoryInfo", d.Device.GetMemoryInfo)
}

func (d hooked) GetMigMode() (int, int, nvml.Return) {
	if ret := d.hook("GetMigMode"); ret != nvml.SUCCESS {
		return 0, 0, ret
	}
	return d.Device.GetMigMode()
}

func (d hooked) GetGpuInstanceProfileInfo(i int) (nvml.GpuInstanceProfileInfo, nvml.Return) {
	return ask(d.hook, "GetGpuInstanceProfileInfo", func() (nvml.GpuInstanceProfileInfo, nvml.Return) {
		return d.Device.GetGpuInstanceProfileInfo(i)
	})
}

func (d hooked) GetGpuInstancePossiblePlacements(info *nvml.GpuInstanceProfileInfo) ([]nvml.GpuInstancePlacement, nvml.Return) {
	return ask(d.hook, "GetGpuInstancePossiblePlacements", func() ([]nvml.GpuInstancePlacement, nvml.Return) {
		return d.Device.GetGpuInstancePossiblePlacements(info)
	})
}

func (d hooked) GetGpuInstances(info *nvml.GpuInstanceProfileInfo) ([]nvml.GpuInstance, nvml.Return) {
	all, ret := ask(d.hook, "GetGpuInstances", func() ([]nvml.GpuInstance, nvml.Return) {
		return d.Device.GetGpuInstances(info)
	})
	var wrapped []nvml.GpuInstance
	for _, gi := range all {
		wrapped = append(wrapped, hookedGI{gi, d.hook})
	}
	return wrapped, ret
}

func (d hooked) GetGpuInstanceById(id int) (nvml.GpuInstance, nvml.Return) { //nolint:revive // NVML's name
	gi, ret := ask(d.hook, "GetGpuInstanceById", func() (nvml.GpuInstance, nvml.Return) {
		return d.Device.GetGpuInstanceById(id)
	})
	return hookedGI{gi, d.hook}, ret
}

func (d hooked) CreateGpuInstanceWithPlacement(info *nvml.GpuInstanceProfileInfo, at *nvml.GpuInstancePlacement) (nvml.GpuInstance, nvml.Return) {
	gi, ret := ask(d.hook, "CreateGpuInstanceWithPlacement", func() (nvml.GpuInstance, nvml.Return) {
		return d.Device.CreateGpuInstanceWithPlacement(info, at)
	})
	return hookedGI{gi, d.hook}, ret
}

func (d hooked) GetMaxMigDeviceCount() (int, nvml.Return) {
	return ask(d.hook, "GetMaxMigDeviceCount", d.Device.GetMaxMigDeviceCount)
}

func (d hooked) GetMigDeviceHandleByIndex(i int) (nvml.Device, nvml.Return) {
	dev, ret := ask(d.hook, "GetMigDeviceHandleByIndex", func() (nvml.Device, nvml.Return) {
		return d.Device.GetMigDeviceHandleByIndex(i)
	})
	return hookedMIG{dev, d.hook}, ret
}

type hookedMIG struct {
	nvml.Device
	hook hook
}

func (d hookedMIG) GetUUID() (string, nvml.Return) {
	return ask(d.hook, "MIGDevice.GetUUID", d.Device.GetUUID)
}

func (d hookedMIG) GetGpuInstanceId() (int, nvml.Return) { //nolint:revive // NVML's name
	return ask(d.hook, "MIGDevice.GetGpuInstanceId", d.Device.GetGpuInstanceId)
}

func (d hookedMIG) GetComputeInstanceId() (int, nvml.Return) { //nolint:revive // NVML's name
	return ask(d.hook, "MIGDevice.GetComputeInstanceId", d.Device.GetComputeInstanceId)
}

type hookedGI struct {
	nvml.GpuInstance
	hook hook
}

func (g hookedGI) GetInfo() (nvml.GpuInstanceInfo, nvml.Return) {
	return ask(g.hook, "GpuInstance.GetInfo", g.GpuInstance.GetInfo)
}

func (g hookedGI) GetComputeInstanceProfileInfo(profile, engine int) (nvml.ComputeInstanceProfileInfo, nvml.Return) {
	return ask(g.hook, "GetComputeInstanceProfileInfo", func() (nvml.ComputeInstanceProfileInfo, nvml.Return) {
		return g.GpuInstance.GetComputeInstanceProfileInfo(profile, engine)
	})
}

func (g hookedGI) GetComputeInstances(info *nvml.ComputeInstanceProfileInfo) ([]nvml.ComputeInstance, nvml.Return) {
	all, ret := ask(g.hook, "GetComputeInstances", func() ([]nvml.ComputeInstance, nvml.Return) {
		return g.GpuInstance.GetComputeInstances(info)
	})
	var wrapped []nvml.ComputeInstance
	for _, ci := range all {
		wrapped = append(wrapped, hookedCI{ci, g.hook})
	}
	return wrapped, ret
}

func (g hookedGI) GetComputeInstanceById(id int) (nvml.ComputeInstance, nvml.Return) { //nolint:revive // NVML's name
	ci, ret := ask(g.hook, "GetComputeInstanceById", func() (nvml.ComputeInstance, nvml.Return) {
		return g.GpuInstance.GetComputeInstanceById(id)
	})
	return hookedCI{ci, g.hook}, ret
}

func (g hookedGI) CreateComputeInstance(info *nvml.ComputeInstanceProfileInfo) (nvml.ComputeInstance, nvml.Return) {
	ci, ret := ask(g.hook, "CreateComputeInstance", func() (nvml.ComputeInstance, nvml.Return) {
		return g.GpuInstance.CreateComputeInstance(info)
	})
	return hookedCI{ci, g.hook}, ret
}

func (g hookedGI) Destroy() nvml.Return {
	if ret := g.hook("GpuInstance.Destroy"); ret != nvml.SUCCESS {
		return ret
	}
	return g.GpuInstance.Destroy()
}

type hookedCI struct {
	nvml.ComputeInstance
	hook hook
}

func (c hookedCI) GetInfo() (nvml.ComputeInstanceInfo, nvml.Return) {
	info, ret := ask(c.hook, "ComputeInstance.GetInfo", c.ComputeInstance.GetInfo)
	if info.Device != nil {
		info.Device = hookedMIG{info.Device, c.hook}
	}
	return info, ret
}

func (c hookedCI) Destroy() nvml.Return {
	if ret := c.hook("ComputeInstance.Destroy"); ret != nvml.SUCCESS {
		return ret
	}
	return c.ComputeInstance.Destroy()
}

// faults answers chosen calls. The zero value lets all pass.
type faults struct {
	mu    sync.Mutex
	codes map[string]nvml.Return // by call, every time
	nth   int                    // and the nth call of all, from 1
	code  nvml.Return
	calls int
	then  func(call string) // runs before each call that passes
}

func (f *faults) hook(call string) nvml.Return {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.calls == f.nth {
		return f.code
	}
	if code, found := f.codes[call]; found {
		return code
	}
	if f.then != nil {
		f.then(call)
	}
	return nvml.SUCCESS
}

// set replaces what fails.
func (f *faults) set(codes map[string]nvml.Return) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.codes = codes
}
