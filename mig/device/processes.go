package device

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// processLists are the calls that list processes, of a GPU and of a MIG device
// alike.
type processLists interface {
	GetComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return)
	GetGraphicsRunningProcesses() ([]nvml.ProcessInfo, nvml.Return)
	GetMPSComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return)
}

// processCensus collects what lists of processes say, each process of each instance
// once.
type processCensus struct {
	found   []Blocker
	devices []Blocker // one for each MIG device that was asked: ids and UUID
}

// ask adds the processes of a device. The ids and the UUID are those of a MIG
// device. It reports whether the device can list compute processes.
func (c *processCensus) ask(dev processLists, gi, ci int, uuid string) (compute bool, ret nvml.Return) {
	if uuid != "" {
		c.devices = append(c.devices, Blocker{GPUInstance: gi, ComputeInstance: ci, UUID: uuid})
	}
	for _, l := range []struct {
		letter string
		list   func() ([]nvml.ProcessInfo, nvml.Return)
	}{
		{"C", dev.GetComputeRunningProcesses},
		{"G", dev.GetGraphicsRunningProcesses},
		{"M", dev.GetMPSComputeRunningProcesses},
	} {
		infos, ret := l.list()
		switch ret {
		case nvml.SUCCESS:
		case nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_FUNCTION_NOT_FOUND:
			continue
		default:
			return false, ret
		}
		compute = compute || l.letter == "C"
		for _, p := range infos {
			b := Blocker{
				PID: int(p.Pid), Contexts: l.letter, MemoryMiB: roundMiB(p.UsedGpuMemory),
				GPUInstance: instanceID(p.GpuInstanceId), ComputeInstance: instanceID(p.ComputeInstanceId),
			}
			if b.GPUInstance == None { // an older driver leaves them out
				b.GPUInstance, b.ComputeInstance = gi, ci
			}
			c.add(b)
		}
	}
	return compute, nvml.SUCCESS
}

// add adds what a list says of a process to what others said of it.
func (c *processCensus) add(b Blocker) {
	i := slices.IndexFunc(c.found, func(a Blocker) bool {
		return a.PID == b.PID && a.GPUInstance == b.GPUInstance && a.ComputeInstance == b.ComputeInstance
	})
	if i < 0 {
		c.found = append(c.found, b)
		return
	}
	a := &c.found[i]
	a.MemoryMiB = max(a.MemoryMiB, b.MemoryMiB)
	letters := a.Contexts + b.Contexts
	a.Contexts = ""
	for _, letter := range []string{"C", "G", "M"} {
		if strings.Contains(letters, letter) {
			a.Contexts += "+" + letter
		}
	}
	a.Contexts = a.Contexts[1:]
}

// list returns the processes, sorted. One that the GPU's own list has without
// an instance, and a MIG device's with one, is the same.
func (c *processCensus) list() []Blocker {
	all := slices.DeleteFunc(slices.Clone(c.found), func(b Blocker) bool {
		return b.GPUInstance == None && slices.ContainsFunc(c.found, func(a Blocker) bool {
			return a.PID == b.PID && a.GPUInstance != None
		})
	})
	for i := range all {
		for _, d := range c.devices {
			if d.GPUInstance == all[i].GPUInstance && d.ComputeInstance == all[i].ComputeInstance {
				all[i].UUID = d.UUID
			}
		}
	}
	slices.SortFunc(all, func(a, b Blocker) int {
		return cmp.Or(cmp.Compare(a.GPUInstance, b.GPUInstance), cmp.Compare(a.ComputeInstance, b.ComputeInstance), cmp.Compare(a.PID, b.PID))
	})
	return all
}

// instanceID turns a number of NVML into one of this package: all bits set is none.
func instanceID(n uint32) int {
	if n == math.MaxUint32 {
		return None
	}
	return int(n)
}

// roundMiB rounds bytes up; all bits set is a figure that NVML does not have.
func roundMiB(bytes uint64) int {
	if bytes == math.MaxUint64 {
		return None
	}
	return int(bytes>>20) + min(1, int(bytes&(1<<20-1)))
}
