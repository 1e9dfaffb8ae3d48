package nvmlfake_test

import (
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/nvmlfake"
)

// modelHold is a holder: of the GPU, of a GPU instance or of a compute instance.
type modelHold struct {
	nvmlfake.Holder
	gi      *modelGI
	ci      *modelCI
	release func()
}

func (x *machine) held(match func(*modelHold) bool) bool { return slices.ContainsFunc(x.holds, match) }

// Hold lets somebody hold the GPU or something of it, which works whether the
// library is initialised or not.
func (x *machine) Hold(t *rapid.T) {
	x.pids++
	h := &modelHold{Holder: nvmlfake.Holder{
		PID: x.pids, Name: "process", Hidden: rapid.Bool().Draw(t, "hidden"),
		MemoryMiB: rapid.IntRange(0, 300).Draw(t, "MiB"),
	}}
	if h.Hidden && rapid.Bool().Draw(t, "a kernel module") {
		h.PID = 0
	}
	var err error
	allowed := true
	switch g := x.anyGI(t); {
	case g == nil:
		allowed = h.Hidden || !x.current
		h.release, err = x.s.Hold(0, h.Holder)
	case len(g.cis) == 0:
		h.gi, allowed = g, h.Hidden
		h.release, err = x.s.HoldInstance(0, int(g.id), h.Holder)
	default:
		h.gi, h.ci = g, rapid.SampledFrom(g.cis).Draw(t, "compute instance")
		h.release, err = x.s.HoldCompute(0, int(g.id), int(h.ci.id), h.Holder)
	}
	require.Equal(t, allowed, err == nil, "%v", err)
	if allowed {
		x.holds = append(x.holds, h)
	}
}

func (x *machine) Release(t *rapid.T) {
	if len(x.holds) == 0 {
		return
	}
	h := rapid.SampledFrom(x.holds).Draw(t, "holder")
	if h.release == nil || h.PID > 0 && rapid.Bool().Draw(t, "kill") {
		require.Equal(t, 1, x.s.Kill(h.PID))
	} else {
		h.release()
	}
	x.holds = slices.DeleteFunc(x.holds, func(o *modelHold) bool { return o == h })
}

// Restart goes on with a machine that a file brought back. All handles are new,
// and all else is as it was.
func (x *machine) Restart(t *rapid.T) {
	if x.held(func(h *modelHold) bool { return h.PID == 0 }) {
		return // nobody could release it afterwards
	}
	s := throughJSON(t, x.s)
	lib := s.NVML()
	for range max(x.refs, 1) {
		require.Equal(t, nvml.SUCCESS, lib.Init())
	}
	x.s, x.lib, x.d = s, lib, must(lib.DeviceGetHandleByIndex(0))
	x.deadGIs, x.deadCIs, x.deadMIGs = nil, nil, nil
	for _, g := range x.gis {
		g.handle = must(x.d.GetGpuInstanceById(int(g.id)))
		for _, c := range g.cis {
			c.handle = must(g.handle.GetComputeInstanceById(int(c.id)))
			c.mig = must(c.handle.GetInfo()).Device
		}
	}
	for _, h := range x.holds {
		h.release = nil
	}
	if x.refs == 0 {
		require.Equal(t, nvml.SUCCESS, lib.Shutdown())
	}
}

// checkHolders compares the processes and the memory in use.
func (x *machine) checkHolders(t *rapid.T) {
	var all []nvml.ProcessInfo
	perCI, used := map[*modelCI][]nvml.ProcessInfo{}, 0
	for _, h := range x.holds {
		used += h.MemoryMiB
		if h.PID > 0 {
			require.Equal(t, h.Name, must(x.lib.SystemGetProcessName(h.PID)))
		}
		if h.Hidden {
			continue
		}
		p := nvml.ProcessInfo{Pid: uint32(h.PID), UsedGpuMemory: uint64(h.MemoryMiB) << 20, GpuInstanceId: 0xFFFFFFFF, ComputeInstanceId: 0xFFFFFFFF}
		if h.ci != nil {
			p.GpuInstanceId, p.ComputeInstanceId = h.gi.id, h.ci.id
		}
		all, perCI[h.ci] = append(all, p), append(perCI[h.ci], p)
	}
	require.ElementsMatch(t, all, must(x.d.GetComputeRunningProcesses()))
	require.Equal(t, uint64(used)<<20, must(x.d.GetMemoryInfo()).Used)
	for _, g := range x.gis {
		for _, c := range g.cis {
			require.ElementsMatch(t, perCI[c], must(c.mig.GetComputeRunningProcesses()))
		}
	}
}
