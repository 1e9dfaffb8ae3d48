package nvmlfake

import (
	"cmp"
	"math"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// notInMIG stands for the instance ids of a process on a whole GPU.
const notInMIG = math.MaxUint32

// list returns the visible holders as NVML lists processes.
func (hs holders) list(gi, ci uint32) []nvml.ProcessInfo {
	var list []nvml.ProcessInfo
	for _, h := range hs {
		if !h.Hidden {
			list = append(list, nvml.ProcessInfo{
				Pid: uint32(h.PID), UsedGpuMemory: uint64(h.MemoryMiB) << 20,
				GpuInstanceId: gi, ComputeInstanceId: ci,
			})
		}
	}
	return list
}

func (ci *ciState) processes() []nvml.ProcessInfo {
	return ci.holders.list(uint32(ci.gi.id), uint32(ci.id))
}

func byPID(list []nvml.ProcessInfo) []nvml.ProcessInfo {
	if list == nil {
		list = []nvml.ProcessInfo{}
	}
	slices.SortStableFunc(list, func(a, b nvml.ProcessInfo) int { return cmp.Compare(a.Pid, b.Pid) })
	return list
}

// GetComputeRunningProcesses lists the visible holders, by process id. In MIG
// mode those of all MIG devices are among them, which nvml.h promises to a
// caller with privileges; where one process runs in two, it stands there twice.
func (d deviceHandle) GetComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return call(d, func() ([]nvml.ProcessInfo, nvml.Return) {
		list := d.gpu.holders.list(notInMIG, notInMIG)
		for _, gi := range d.gpu.instances {
			for _, ci := range gi.instances {
				list = append(list, ci.processes()...)
			}
		}
		return byPID(list), nvml.SUCCESS
	})
}

// GetGraphicsRunningProcesses lists nobody: all holders compute.
func (d deviceHandle) GetGraphicsRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return call(d, nobody)
}

// GetMPSComputeRunningProcesses lists nobody: no MPS server runs here.
func (d deviceHandle) GetMPSComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return call(d, nobody)
}

func nobody() ([]nvml.ProcessInfo, nvml.Return) { return []nvml.ProcessInfo{}, nvml.SUCCESS }

// GetComputeRunningProcesses lists the visible holders of the MIG device.
func (d migDeviceHandle) GetComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return call(d, func() ([]nvml.ProcessInfo, nvml.Return) { return byPID(d.ci.processes()), nvml.SUCCESS })
}

// GetGraphicsRunningProcesses lists nobody: all holders compute.
func (d migDeviceHandle) GetGraphicsRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return call(d, nobody)
}

// GetMPSComputeRunningProcesses lists nobody: no MPS server runs here.
func (d migDeviceHandle) GetMPSComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return call(d, nobody)
}

// SystemGetProcessName knows every holder with a process id, hidden or not.
func (l libraryHandle) SystemGetProcessName(pid int) (string, nvml.Return) {
	return call(l, func() (string, nvml.Return) {
		name, known := l.srv.processName(pid)
		if !known {
			return "", nvml.ERROR_NOT_FOUND
		}
		return name, nvml.SUCCESS
	})
}
