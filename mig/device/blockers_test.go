package device_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/nvmlfake"
)

// lists are the processes that a device tells of, in its three lists. A code
// other than SUCCESS stands for a list that it refuses.
type lists struct {
	compute, graphics, mps          []nvml.ProcessInfo
	computeRet, graphicsRet, mpsRet nvml.Return
}

// peopled is a GPU with processes. Those of a MIG device are found by the ids
// of its instances.
type peopled struct {
	nvml.Device
	whole lists
	parts map[[2]int]lists
}

func (d peopled) GetComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return d.whole.compute, d.whole.computeRet
}

func (d peopled) GetGraphicsRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return d.whole.graphics, d.whole.graphicsRet
}

func (d peopled) GetMPSComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return d.whole.mps, d.whole.mpsRet
}

func (d peopled) GetMigDeviceHandleByIndex(i int) (nvml.Device, nvml.Return) {
	dev, ret := d.Device.GetMigDeviceHandleByIndex(i)
	if ret != nvml.SUCCESS {
		return dev, ret
	}
	gi, _ := dev.GetGpuInstanceId()
	ci, _ := dev.GetComputeInstanceId()
	return peopled{Device: dev, whole: d.parts[[2]int{gi, ci}]}, ret
}

const noID = math.MaxUint32

func process(pid uint32, bytes uint64, gi, ci uint32) nvml.ProcessInfo {
	return nvml.ProcessInfo{Pid: pid, UsedGpuMemory: bytes, GpuInstanceId: gi, ComputeInstanceId: ci}
}

func names(pid int) (string, nvml.Return) {
	name, found := map[int]string{1: "systemd", 42: "python3", 43: "trainer"}[pid]
	if !found {
		return "", nvml.ERROR_NOT_FOUND
	}
	return name, nvml.SUCCESS
}

func TestBlockersOfWholeGPU(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, false, "h100-80gb-sxm5")
	d := open(t, peopled{Device: devs[0], whole: lists{
		compute:  []nvml.ProcessInfo{process(42, 512<<20, noID, noID), process(7, math.MaxUint64, noID, noID)},
		graphics: []nvml.ProcessInfo{process(42, 513<<20-1, noID, noID), process(43, 0, noID, noID)},
		mps:      []nvml.ProcessInfo{process(7, 1, noID, noID)},
	}})
	all, err := d.Blockers(t.Context())
	require.NoError(t, err)
	none := device.None
	assert.Equal(t, []device.Blocker{
		{PID: 7, Contexts: "C+M", MemoryMiB: 1, GPUInstance: none, ComputeInstance: none},
		{PID: 42, Contexts: "C+G", MemoryMiB: 513, GPUInstance: none, ComputeInstance: none},
		{PID: 43, Contexts: "G", MemoryMiB: 0, GPUInstance: none, ComputeInstance: none},
	}, all)

	all, err = d.WithProcessNames(names).Blockers(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "(pid 7, C+M, 1 MiB)", all[0].String())
	assert.Equal(t, "python3 (pid 42, C+G, 513 MiB)", all[1].String())
	assert.Equal(t, "trainer (pid 43, G, 0 MiB)", all[2].String())

	// Names are of one value, not of the GPU, and can be taken away again.
	for _, plain := range []*device.GPU{d, d.WithProcessNames(names).WithProcessNames(nil)} {
		all, err = plain.Blockers(t.Context())
		require.NoError(t, err)
		assert.Empty(t, all[1].Name)
	}
}

func TestBlockersOfMIGDevices(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, true, "a100-40gb")
	made := create(t, open(t, devs[0]), "1g.5gb@0", "1g.5gb@1", "3g.20gb@4")
	ids := func(i int) [2]int { return [2]int{made[i].ID, made[i].Compute[0].ID} }
	gi := func(i int) uint32 { return uint32(made[i].ID) }
	d := open(t, peopled{
		Device: devs[0],
		whole: lists{compute: []nvml.ProcessInfo{
			process(42, 5<<20, gi(0), 0),   // with the ids
			process(43, 6<<20, noID, noID), // without, though the MIG device tells
			process(44, 7<<20, noID, noID), // without, and nobody tells
		}},
		parts: map[[2]int]lists{
			ids(0): {compute: []nvml.ProcessInfo{process(42, 5<<20, gi(0), 0)}},
			// As a driver from before MIG lists them.
			ids(2): {compute: []nvml.ProcessInfo{process(43, 6<<20, noID, noID), process(42, math.MaxUint64, noID, noID)}},
			// A list of this device only is empty, as it should be.
			ids(1): {},
		},
	}).WithProcessNames(names)
	all, err := d.Blockers(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []device.Blocker{
		{PID: 44, Contexts: "C", MemoryMiB: 7, GPUInstance: device.None, ComputeInstance: device.None},
		{PID: 42, Name: "python3", Contexts: "C", MemoryMiB: device.None, GPUInstance: made[2].ID, UUID: made[2].Compute[0].UUID},
		{PID: 43, Name: "trainer", Contexts: "C", MemoryMiB: 6, GPUInstance: made[2].ID, UUID: made[2].Compute[0].UUID},
		{PID: 42, Name: "python3", Contexts: "C", MemoryMiB: 5, GPUInstance: made[0].ID, UUID: made[0].Compute[0].UUID},
	}, all)
	assert.Equal(t, "python3 (pid 42, C) on GI 2 CI 0", all[1].String())
}

func TestBlockersWhatCannotBeListed(t *testing.T) {
	t.Parallel()
	const no, gone = nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_FUNCTION_NOT_FOUND
	tests := []struct {
		name  string
		whole lists
		part  lists
		want  error // nil: an answer
	}{
		{"no graphics, no MPS", lists{graphicsRet: no, mpsRet: gone}, lists{graphicsRet: gone, mpsRet: no}, nil},
		{"the GPU tells nothing, its MIG device does", lists{computeRet: no, graphicsRet: no, mpsRet: no}, lists{}, nil},
		{"the MIG device tells nothing, its GPU does", lists{}, lists{computeRet: no, graphicsRet: no, mpsRet: no}, nil},
		{"a MIG device that went away", lists{}, lists{computeRet: nvml.ERROR_INVALID_ARGUMENT}, nil},
		{"nobody tells of compute", lists{computeRet: no}, lists{computeRet: no}, device.ErrNotSupported},
		{"no permission", lists{computeRet: nvml.ERROR_NO_PERMISSION}, lists{}, device.ErrNoPermission},
		{"lost", lists{}, lists{mpsRet: nvml.ERROR_GPU_IS_LOST}, device.ErrLost},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, devs := newServer(t, true, "a100-40gb")
			in := create(t, open(t, devs[0]), "1g.5gb@0")[0]
			d := open(t, peopled{Device: devs[0], whole: tt.whole, parts: map[[2]int]lists{{in.ID, 0}: tt.part}})
			all, err := d.Blockers(t.Context())
			require.ErrorIs(t, err, tt.want)
			assert.Empty(t, all)
			if tt.want != nil {
				var op *device.OpError
				require.ErrorAs(t, err, &op)
				assert.Equal(t, d.UUID(), op.GPU)
			}
		})
	}
	t.Run("context", func(t *testing.T) {
		t.Parallel()
		_, devs := newServer(t, true, "a100-40gb")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := open(t, devs[0]).Blockers(ctx)
		require.ErrorIs(t, err, context.Canceled)
		var zero device.GPU
		_, err = zero.Blockers(t.Context())
		require.ErrorIs(t, err, nvml.ERROR_INVALID_ARGUMENT)
	})
}

// Every call that fails is told, but for those about a MIG device that is gone.
func TestBlockersSurfaceEveryFault(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, true, "a100-40gb")
	create(t, open(t, devs[0]), "1g.5gb@0", "3g.20gb@4")
	for _, call := range []string{
		"GetMigMode", "GetMaxMigDeviceCount", "GetMigDeviceHandleByIndex",
		"MIGDevice.GetGpuInstanceId", "MIGDevice.GetComputeInstanceId", "MIGDevice.GetUUID",
	} {
		f := &faults{}
		d := open(t, hooked{peopled{Device: devs[0]}, f.hook})
		f.set(map[string]nvml.Return{call: nvml.ERROR_GPU_IS_LOST})
		_, err := d.Blockers(t.Context())
		require.ErrorIs(t, err, device.ErrLost, call)
	}
}

// Whatever the lists say: each process of each instance once, none lost, none
// invented, in order, and the same however the lists are ordered.
func TestBlockersProperties(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, true, "a100-40gb")
	in := create(t, open(t, devs[0]), "1g.5gb@0", "2g.10gb@2")
	genList := func(t *rapid.T, label string) []nvml.ProcessInfo {
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) nvml.ProcessInfo {
			gi := rapid.SampledFrom([]uint32{noID, uint32(in[0].ID), uint32(in[1].ID)}).Draw(t, "gi")
			ci := uint32(noID)
			if gi != noID {
				ci = 0
			}
			return process(rapid.Uint32Range(1, 4).Draw(t, "pid"), rapid.SampledFrom([]uint64{0, 1 << 20, math.MaxUint64}).Draw(t, "bytes"), gi, ci)
		}), 0, 5).Draw(t, label)
	}
	rapid.Check(t, func(t *rapid.T) {
		whole := lists{compute: genList(t, "compute"), graphics: genList(t, "graphics"), mps: genList(t, "mps")}
		d, err := device.Open(context.Background(), peopled{Device: devs[0], whole: whole})
		require.NoError(t, err)
		all, err := d.Blockers(context.Background())
		require.NoError(t, err)

		type key struct{ pid, gi int }
		seen := map[key]string{}
		for i, b := range all {
			k := key{b.PID, b.GPUInstance}
			require.NotContains(t, seen, k)
			seen[k] = b.Contexts
			if i > 0 {
				before := all[i-1]
				require.True(t, before.GPUInstance < b.GPUInstance || before.GPUInstance == b.GPUInstance && before.PID < b.PID)
			}
			require.Equal(t, b.GPUInstance == device.None, b.UUID == "")
		}
		want := map[key]string{}
		for letter, list := range map[string][]nvml.ProcessInfo{"C": whole.compute, "G": whole.graphics, "M": whole.mps} {
			for _, p := range list {
				want[key{int(p.Pid), int(int32(p.GpuInstanceId))}] += letter
			}
		}
		for k, letters := range want {
			if k.gi == device.None && (want[key{k.pid, in[0].ID}] != "" || want[key{k.pid, in[1].ID}] != "") {
				require.NotContains(t, seen, k)
				continue
			}
			for letter := range strings.SplitSeq(letters, "") {
				require.Contains(t, seen[k], letter)
			}
			for letter := range strings.SplitSeq(seen[k], "+") {
				require.Contains(t, letters, letter)
			}
			delete(seen, k)
		}
		require.Empty(t, seen)

		for _, l := range [][]nvml.ProcessInfo{whole.compute, whole.graphics, whole.mps} {
			slices.Reverse(l)
		}
		again, err := d.Blockers(context.Background())
		require.NoError(t, err)
		require.Equal(t, all, again)
	})
}

func TestBlockerAsData(t *testing.T) {
	t.Parallel()
	b := device.Blocker{PID: 42, Name: "python3", Contexts: "C", MemoryMiB: 512, GPUInstance: 2, ComputeInstance: 0, UUID: "MIG-1"}
	text, err := json.Marshal(b)
	require.NoError(t, err)
	assert.JSONEq(t, `{"pid":42,"name":"python3","contexts":"C","memoryMiB":512,"gpuInstance":2,"computeInstance":0,"uuid":"MIG-1"}`, string(text))
}

func TestInUseError(t *testing.T) {
	t.Parallel()
	hidden := &device.InUseError{Err: nvml.ERROR_IN_USE}
	require.ErrorIs(t, hidden, device.ErrInUse)
	require.ErrorIs(t, hidden, nvml.ERROR_IN_USE)
	require.NotErrorIs(t, hidden, mig.ErrConflict)
	require.ErrorContains(t, hidden, "does not list")
	known := &device.InUseError{Blockers: []device.Blocker{
		{PID: 42, Name: "python3", Contexts: "C", MemoryMiB: 5, GPUInstance: 2, ComputeInstance: device.None},
		{PID: 43, Contexts: "G", MemoryMiB: device.None, GPUInstance: device.None, ComputeInstance: device.None},
	}}
	known.BusID = "0000:01:00.0"
	require.EqualError(t, known, "0000:01:00.0 is in use by python3 (pid 42, C, 5 MiB) on GI 2, (pid 43, G)")
}

// The processes of a GPU, and the one that NVML does not list. On hardware lib
// is nvml.New().
func ExampleGPU_Blockers() {
	srv, err := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a100-40gb", MIG: true}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	lib := srv.NVML()
	if ret := lib.Init(); ret != nvml.SUCCESS {
		fmt.Println(ret)
		return
	}
	handle, ret := lib.DeviceGetHandleByIndex(0)
	if ret != nvml.SUCCESS {
		fmt.Println(ret)
		return
	}
	ctx := context.Background()
	gpu, err := device.Open(ctx, handle)
	if err != nil {
		fmt.Println(err)
		return
	}
	gpu = gpu.WithProcessNames(lib.SystemGetProcessName)
	in, err := gpu.Create(ctx, mig.Instance{Profile: "3g.20gb", Start: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	// A training job starts on the MIG device, and a monitor opens the GPU.
	_, err1 := srv.HoldCompute(0, in.ID, in.Compute[0].ID, nvmlfake.Holder{PID: 4242, Name: "python3", MemoryMiB: 512})
	_, err2 := srv.HoldInstance(0, in.ID, nvmlfake.Holder{PID: 99, Name: "dcgm", Hidden: true})
	if err1 != nil || err2 != nil {
		fmt.Println(err1, err2)
		return
	}

	blockers, err := gpu.Blockers(ctx)
	fmt.Println(blockers, err)
	srv.Kill(4242)
	blockers, err = gpu.Blockers(ctx)
	fmt.Println(blockers, err)
	fmt.Println("still in use:", errors.Is(gpu.Destroy(ctx, in), device.ErrInUse))
	// Output:
	// [python3 (pid 4242, C, 512 MiB) on GI 2 CI 0] <nil>
	// [] <nil>
	// still in use: true
}
