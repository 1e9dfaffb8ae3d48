package nvmlfake_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/nvmlfake"
)

var (
	train   = nvmlfake.Holder{PID: 4242, Name: "train", MemoryMiB: 512}
	monitor = nvmlfake.Holder{PID: 77, Name: "dcgm", Hidden: true}
	module  = nvmlfake.Holder{Name: "nvidia_drm", Hidden: true}
)

// cut returns the handles and ids of an instance of two slices with a compute
// instance.
func cut(t failer, d nvml.Device) (nvml.GpuInstance, nvml.ComputeInstance, int) {
	t.Helper()
	info := must(d.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_2_SLICE))
	gi := must(d.CreateGpuInstance(&info))
	ci := must(gi.CreateComputeInstance(computeInfoOf(gi, nvml.COMPUTE_INSTANCE_PROFILE_2_SLICE)))
	return gi, ci, int(must(gi.GetInfo()).Id)
}

// A process in a MIG device: what it keeps in use, and who lists it.
func TestProcessInAMIGDevice(t *testing.T) {
	t.Parallel()
	s, d := startGPU(t, "a100-40gb")
	gi, ci, id := cut(t, d)
	otherGI, otherCI, _ := cut(t, d)
	release, err := s.HoldCompute(0, id, 0, train)
	require.NoError(t, err)
	require.NoError(t, s.Audit())

	want := []nvml.ProcessInfo{{Pid: 4242, UsedGpuMemory: 512 << 20, GpuInstanceId: uint32(id), ComputeInstanceId: 0}}
	device := must(ci.GetInfo()).Device
	assert.Equal(t, want, must(d.GetComputeRunningProcesses()), "the GPU lists all")
	assert.Equal(t, want, must(device.GetComputeRunningProcesses()))
	assert.Empty(t, must(must(otherCI.GetInfo()).Device.GetComputeRunningProcesses()))
	for _, other := range []nvml.Device{d, device} {
		assert.Empty(t, must(other.GetGraphicsRunningProcesses()))
		assert.Empty(t, must(other.GetMPSComputeRunningProcesses()))
	}
	lib := s.NVML()
	assert.Equal(t, "train", must(lib.SystemGetProcessName(4242)))
	assert.Equal(t, nvml.ERROR_NOT_FOUND, code(lib.SystemGetProcessName(1)))
	assert.Equal(t, nvml.ERROR_NOT_FOUND, code(lib.SystemGetProcessName(0)))
	assert.Equal(t, nvml.Memory{Total: 9856 << 20, Free: 9344 << 20, Used: 512 << 20}, must(device.GetMemoryInfo()))
	assert.Equal(t, uint64(512<<20), must(d.GetMemoryInfo()).Used)
	assert.Equal(t, uint64(512<<20), must(d.GetMemoryInfo_v2()).Used)

	assert.Equal(t, nvml.ERROR_IN_USE, ci.Destroy())
	assert.Equal(t, nvml.ERROR_IN_USE, gi.Destroy())
	assert.Equal(t, nvml.SUCCESS, otherCI.Destroy(), "others are not concerned")
	assert.Equal(t, nvml.SUCCESS, otherGI.Destroy())
	assert.Equal(t, nvml.ERROR_IN_USE, setMode(t, d, off))
	assert.Contains(t, s.String(), "      held by train (pid 4242)\n")

	release()
	release()
	assert.Empty(t, must(d.GetComputeRunningProcesses()))
	assert.Equal(t, nvml.SUCCESS, ci.Destroy())
	assert.Equal(t, nvml.SUCCESS, gi.Destroy())
	assert.Equal(t, nvml.ERROR_NOT_FOUND, code(lib.SystemGetProcessName(4242)))
	require.NoError(t, s.Audit())
}

// Cases of NVIDIA/go-nvml#146 and NVIDIA/DCGM#276: in use, and no process to see.
func TestHiddenHolders(t *testing.T) {
	t.Parallel()
	s, d := startGPU(t, "h100-80gb-sxm5")
	gi, ci, id := cut(t, d)
	releaseCI, err := s.HoldCompute(0, id, 0, monitor)
	require.NoError(t, err)
	_, err = s.HoldInstance(0, id, monitor)
	require.NoError(t, err)
	assert.Empty(t, must(d.GetComputeRunningProcesses()))
	assert.Equal(t, "dcgm", must(s.NVML().SystemGetProcessName(77)))
	assert.Equal(t, nvml.ERROR_IN_USE, ci.Destroy())
	releaseCI()
	assert.Equal(t, nvml.SUCCESS, ci.Destroy(), "the compute instance goes")
	assert.Equal(t, nvml.ERROR_IN_USE, gi.Destroy(), "and the GPU instance is in use")
	assert.Equal(t, 1, s.Kill(77))
	assert.Equal(t, nvml.SUCCESS, gi.Destroy())
	assert.Zero(t, s.Kill(77))
	require.NoError(t, s.Audit())
}

// Cases of NVIDIA/gpu-operator#1845 and #118 and NVIDIA/mig-parted#181: while the
// GPU is held the mode stays pending, on every architecture, and a reset is
// refused.
func TestHeldGPUKeepsItsMode(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"a30-24gb", "a100-80gb", "h100-80gb-sxm5", "b200-180gb", "rtx-pro-6000-96gb"} {
		for _, h := range []nvmlfake.Holder{train, monitor, module} {
			t.Run(model+" "+h.Name, func(t *testing.T) {
				t.Parallel()
				s, lib := start(t, nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: model}}})
				d := must(lib.DeviceGetHandleByIndex(0))
				release, err := s.Hold(0, h)
				require.NoError(t, err)
				var listed []nvml.ProcessInfo
				if !h.Hidden {
					listed = []nvml.ProcessInfo{{Pid: 4242, UsedGpuMemory: 512 << 20, GpuInstanceId: 0xFFFFFFFF, ComputeInstanceId: 0xFFFFFFFF}}
				}
				assert.ElementsMatch(t, listed, must(d.GetComputeRunningProcesses()))
				assert.Equal(t, nvml.ERROR_IN_USE, setMode(t, d, on))
				assert.Equal(t, modes{off, on}, modesOf(t, d))

				err = s.Reset(0)
				var held *nvmlfake.HeldError
				require.ErrorAs(t, err, &held)
				require.ErrorIs(t, err, nvmlfake.ErrHeld)
				assert.Equal(t, &nvmlfake.HeldError{GPU: 0, BusID: "00000000:01:00.0", Holders: []nvmlfake.Holder{h}}, held)
				require.ErrorContains(t, err, "00000000:01:00.0")
				require.ErrorContains(t, err, h.String())
				assert.Equal(t, modes{off, on}, modesOf(t, d), "nothing has changed")

				release()
				require.NoError(t, s.Reset(0))
				assert.Equal(t, modes{on, on}, modesOf(t, d))
				require.NoError(t, s.Audit())
			})
		}
	}
}

func TestHolderText(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "train (pid 4242)", train.String())
	assert.Equal(t, "dcgm (pid 77, hidden)", monitor.String())
	assert.Equal(t, "nvidia_drm (hidden)", module.String())
}

func TestRebootEndsEverybody(t *testing.T) {
	t.Parallel()
	s, d := startGPU(t, "a100-40gb")
	_, _, id := cut(t, d)
	releaseProcess, err := s.HoldCompute(0, id, 0, train)
	require.NoError(t, err)
	releaseModule, err := s.Hold(0, module)
	require.NoError(t, err)
	require.ErrorContains(t, s.Reset(0), "nvidia_drm (hidden), train (pid 4242)")
	s.Reboot()
	require.NoError(t, s.Audit())
	require.NoError(t, s.Reset(0))
	require.Equal(t, nvml.SUCCESS, s.NVML().Init())
	assert.Empty(t, must(d.GetComputeRunningProcesses()))
	// The place is somebody else's now.
	_, err = s.Hold(0, module)
	require.NoError(t, err)
	releaseProcess()
	releaseModule()
	require.ErrorIs(t, s.Reset(0), nvmlfake.ErrHeld)
}

func TestBadHolders(t *testing.T) {
	t.Parallel()
	s, lib := start(t, nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a100-40gb", MIG: true}, {Model: "a100-40gb"}}})
	_, _, id := cut(t, must(lib.DeviceGetHandleByIndex(0)))
	_, err := s.HoldCompute(0, id, 0, train)
	require.NoError(t, err)
	_, err = s.Hold(1, nvmlfake.Holder{PID: 1, Name: "big", MemoryMiB: 40000})
	require.NoError(t, err)
	before := s.String()
	whole := func(gpu int) func(nvmlfake.Holder) (func(), error) {
		return func(h nvmlfake.Holder) (func(), error) { return s.Hold(gpu, h) }
	}
	inside := func(gpu, gi int) func(nvmlfake.Holder) (func(), error) {
		return func(h nvmlfake.Holder) (func(), error) { return s.HoldInstance(gpu, gi, h) }
	}
	process := func(gpu, gi, ci int) func(nvmlfake.Holder) (func(), error) {
		return func(h nvmlfake.Holder) (func(), error) { return s.HoldCompute(gpu, gi, ci, h) }
	}
	rows := []struct {
		name string
		hold func(nvmlfake.Holder) (func(), error)
		h    nvmlfake.Holder
		is   error
		says string
	}{
		{"no GPU", whole(2), train, nvmlfake.ErrNoGPU, "GPU 2"},
		{"no GPU instance", inside(0, 99), monitor, nvmlfake.ErrNoInstance, "GPU instance 99"},
		{"no GPU instance for a process", process(0, 99, 0), train, nvmlfake.ErrNoInstance, "GPU instance 99"},
		{"no compute instance", process(0, id, 5), train, nvmlfake.ErrNoInstance, "compute instance 5"},
		{"MIG off", process(1, 0, 0), train, nvmlfake.ErrNoInstance, "GPU 1"},
		{"the whole GPU, with MIG on", whole(0), nvmlfake.Holder{PID: 5, Name: "x"}, nvmlfake.ErrBadHolder, "MIG is on"},
		{"a GPU instance, visible", inside(0, id), nvmlfake.Holder{PID: 5, Name: "x"}, nvmlfake.ErrBadHolder, "compute instance"},
		{"no name", whole(1), nvmlfake.Holder{PID: 5}, nvmlfake.ErrBadHolder, "no name"},
		{"no process id", whole(1), nvmlfake.Holder{Name: "x"}, nvmlfake.ErrBadHolder, "process id 0"},
		{"a process id below 0", whole(1), nvmlfake.Holder{PID: -3, Name: "x", Hidden: true}, nvmlfake.ErrBadHolder, "process id -3"},
		{"a process id too large", whole(1), nvmlfake.Holder{PID: 1 << 40, Name: "x"}, nvmlfake.ErrBadHolder, "process id 1099511627776"},
		{"memory below 0", whole(1), nvmlfake.Holder{PID: 5, Name: "x", MemoryMiB: -1}, nvmlfake.ErrBadHolder, "-1 MiB"},
		{"another name", whole(1), nvmlfake.Holder{PID: 4242, Name: "x"}, nvmlfake.ErrBadHolder, "train elsewhere"},
		{"twice in one place", process(0, id, 0), train, nvmlfake.ErrBadHolder, "there already"},
		{"more memory than the GPU has left", whole(1), nvmlfake.Holder{PID: 5, Name: "x", MemoryMiB: 961}, nvmlfake.ErrBadHolder, "960 are free"},
		{"more than the GPU instance has left", process(0, id, 0), nvmlfake.Holder{PID: 5, Name: "x", MemoryMiB: 9345}, nvmlfake.ErrBadHolder, "9344 are free"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			release, err := row.hold(row.h)
			require.ErrorIs(t, err, row.is)
			require.ErrorContains(t, err, row.says)
			assert.Nil(t, release)
			assert.Equal(t, before, s.String())
		})
	}
}

func TestOneProcessInTwoPlaces(t *testing.T) {
	t.Parallel()
	s, d := startGPU(t, "a100-40gb")
	_, _, one := cut(t, d)
	_, _, two := cut(t, d)
	for _, id := range []int{one, two} {
		_, err := s.HoldCompute(0, id, 0, train)
		require.NoError(t, err)
	}
	assert.Len(t, must(d.GetComputeRunningProcesses()), 2)
	require.NoError(t, s.Audit())
	assert.Equal(t, 2, s.Kill(4242))
}
