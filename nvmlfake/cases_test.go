package nvmlfake_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/nvmlfake"
)

// Cases are reports of what went wrong elsewhere, by their number in the
// collection, with the thread. 39, that a change of MIG mode needs a reset on
// Ampere only, is TestModeByArchitecture.

// 40 (NVIDIA/mig-parted#181): a kernel module holds two of four GPUs. They cannot
// be reset, with no process to see, and their mode stays pending.
func TestCaseResetBlockedByModule(t *testing.T) {
	t.Parallel()
	gpu := nvmlfake.GPU{Model: "a100-40gb"}
	s, lib := start(t, nvmlfake.Config{GPUs: []nvmlfake.GPU{gpu, gpu, gpu, gpu}})
	for _, i := range []int{0, 2} {
		_, err := s.Hold(i, module)
		require.NoError(t, err)
	}
	var blocked []string
	for i := range 4 {
		d := must(lib.DeviceGetHandleByIndex(i))
		activation := setMode(t, d, on)
		err := s.Reset(i)
		assert.Empty(t, must(d.GetComputeRunningProcesses()))
		if err == nil {
			assert.Equal(t, nvml.ERROR_RESET_REQUIRED, activation)
			assert.Equal(t, modes{on, on}, modesOf(t, d))
			continue
		}
		var held *nvmlfake.HeldError
		require.ErrorAs(t, err, &held)
		blocked = append(blocked, held.BusID)
		assert.Equal(t, nvml.ERROR_IN_USE, activation)
		assert.Equal(t, modes{off, on}, modesOf(t, d))
		assert.Equal(t, nvml.ERROR_NOT_SUPPORTED, code(d.CreateGpuInstance(infoOf(t, d, "a100-40gb", "1g.5gb"))))
	}
	assert.Equal(t, []string{"00000000:01:00.0", "00000000:03:00.0"}, blocked)
}

// 41 (NVIDIA/DCGM#276): the compute instance itself is in use, by a monitor that no
// list shows, and both instances stay until it lets go.
func TestCaseDestroyBlockedByMonitor(t *testing.T) {
	t.Parallel()
	s, d := startGPU(t, "h100-80gb-sxm5")
	gi, ci, id := cut(t, d)
	release, err := s.HoldCompute(0, id, 0, monitor)
	require.NoError(t, err)
	assert.Equal(t, nvml.ERROR_IN_USE, ci.Destroy())
	assert.Equal(t, nvml.ERROR_IN_USE, gi.Destroy())
	assert.Equal(t, gi, must(d.GetGpuInstanceById(id)), "still listed")
	assert.Equal(t, ci, must(gi.GetComputeInstanceById(0)))
	assert.Empty(t, must(d.GetComputeRunningProcesses()))
	release()
	assert.Equal(t, nvml.SUCCESS, ci.Destroy())
	assert.Equal(t, nvml.SUCCESS, gi.Destroy())
}

// 41 (NVIDIA/go-nvml#146, NVIDIA/DCGM#95): a GPU instance that is in use stays, with
// all that is in it, and so does what it covers.
func TestCaseDestroyInUse(t *testing.T) {
	t.Parallel()
	const model = "h100-80gb-sxm5"
	s, d := startGPU(t, model)
	two, three := infoOf(t, d, model, "2g.20gb"), infoOf(t, d, model, "3g.40gb")
	first := must(d.CreateGpuInstanceWithPlacement(two, &nvml.GpuInstancePlacement{Start: 0, Size: 2}))
	second := must(d.CreateGpuInstanceWithPlacement(two, &nvml.GpuInstancePlacement{Start: 2, Size: 2}))
	third := must(d.CreateGpuInstanceWithPlacement(three, &nvml.GpuInstancePlacement{Start: 4, Size: 4}))
	ids := []uint32{must(first.GetInfo()).Id, must(second.GetInfo()).Id, must(third.GetInfo()).Id}
	require.Equal(t, []uint32{3, 4, 2}, ids)
	ci := must(first.CreateComputeInstance(computeInfoOf(first, 1)))

	assert.Equal(t, nvml.ERROR_IN_USE, first.Destroy())
	require.Equal(t, nvml.SUCCESS, second.Destroy())
	require.Equal(t, nvml.SUCCESS, third.Destroy())
	layout, err := s.Layout(0)
	require.NoError(t, err)
	assert.Equal(t, "2g.20gb@0", layout.String())
	assert.Equal(t, nvml.SUCCESS, code(ci.GetInfo()), "the compute instance is still there")

	one := infoOf(t, d, model, "1g.10gb")
	assert.Equal(t, 5, must(d.GetGpuInstanceRemainingCapacity(one)))
	for start := range uint32(7) {
		want := nvml.SUCCESS
		if start < 2 {
			want = nvml.ERROR_INSUFFICIENT_RESOURCES
		}
		assert.Equal(t, want, code(d.CreateGpuInstanceWithPlacement(one, &nvml.GpuInstancePlacement{Start: start, Size: 1})), "at %d", start)
	}
	require.NoError(t, s.Audit())
}

// sevenDevices returns the handles of seven MIG devices by index.
func sevenDevices(t *testing.T, d nvml.Device) []nvml.GpuInstance {
	t.Helper()
	info := infoOf(t, d, "a100-40gb", "1g.5gb")
	var instances []nvml.GpuInstance
	for range 7 {
		gi := must(d.CreateGpuInstance(info))
		_ = must(gi.CreateComputeInstance(computeInfoOf(gi, 0)))
		instances = append(instances, gi)
	}
	return instances
}

func remove(t *testing.T, gi nvml.GpuInstance) {
	t.Helper()
	require.Equal(t, nvml.SUCCESS, must(gi.GetComputeInstanceById(0)).Destroy())
	require.Equal(t, nvml.SUCCESS, gi.Destroy())
}

func presentIndices(d nvml.Device) []int {
	var present []int
	for i := range must(d.GetMaxMigDeviceCount()) {
		if code(d.GetMigDeviceHandleByIndex(i)) == nvml.SUCCESS {
			present = append(present, i)
		}
	}
	return present
}

// 43 (NVIDIA/go-nvml#60): the count is a maximum, and the indices have holes.
func TestCaseHoles(t *testing.T) {
	t.Parallel()
	s, d := startGPU(t, "a100-40gb")
	assert.Equal(t, 7, must(d.GetMaxMigDeviceCount()), "though there are none")
	instances := sevenDevices(t, d)
	for _, i := range []int{1, 3, 4, 6} {
		remove(t, instances[i])
		assert.Equal(t, nvml.ERROR_NOT_FOUND, code(d.GetMigDeviceHandleByIndex(i)))
	}
	assert.Equal(t, 7, must(d.GetMaxMigDeviceCount()))
	assert.Equal(t, []int{0, 2, 5}, presentIndices(d))
	require.NoError(t, s.Audit())
}

// 44 (NVIDIA/libcudacxx#224): a library that goes on handing out a device that
// somebody else has destroyed. The fake does so on request.
func TestCaseStaleHandles(t *testing.T) {
	t.Parallel()
	for _, stale := range []bool{false, true} {
		s, lib := start(t, nvmlfake.Config{StaleHandles: stale, GPUs: []nvmlfake.GPU{{Model: "a100-40gb", MIG: true}}})
		d := must(lib.DeviceGetHandleByIndex(0))
		instances := sevenDevices(t, d)
		for _, gi := range instances[3:] {
			remove(t, gi)
		}
		require.Equal(t, nvml.SUCCESS, lib.Shutdown())
		require.Equal(t, nvml.SUCCESS, lib.Init())
		require.Equal(t, []int{0, 1, 2}, presentIndices(d), "a new initialisation sees what is there")
		remove(t, instances[1])
		if !stale {
			assert.Equal(t, []int{0, 2}, presentIndices(d))
			continue
		}
		assert.Equal(t, []int{0, 1, 2}, presentIndices(d))
		dead := must(d.GetMigDeviceHandleByIndex(1))
		assert.Equal(t, nvml.ERROR_INVALID_ARGUMENT, code(dead.GetUUID()))
		fillUp(t, d)
		assert.Equal(t, nvml.SUCCESS, code(must(d.GetMigDeviceHandleByIndex(1)).GetUUID()), "the index is taken again")
		require.NoError(t, s.Reset(0))
		assert.Empty(t, presentIndices(d))
		require.NoError(t, s.Audit())
	}
}

// fillUp creates as many of the smallest devices as there is room for.
func fillUp(t *testing.T, d nvml.Device) {
	t.Helper()
	info := infoOf(t, d, "a100-40gb", "1g.5gb")
	for range must(d.GetGpuInstanceRemainingCapacity(info)) {
		gi := must(d.CreateGpuInstance(info))
		_ = must(gi.CreateComputeInstance(computeInfoOf(gi, 0)))
	}
}

// 45 (go-nvml, fix of the buffer for placements): there can be more placements than
// instances.
func TestCasePlacementsOutnumberInstances(t *testing.T) {
	t.Parallel()
	_, d := startGPU(t, "a100-40gb")
	media := infoOf(t, d, "a100-40gb", "1g.5gb+me")
	assert.Equal(t, uint32(1), media.InstanceCount)
	assert.Len(t, must(d.GetGpuInstancePossiblePlacements(media)), 7)
	whole := infoOf(t, d, "a100-40gb", "7g.40gb")
	assert.Equal(t, []nvml.GpuInstancePlacement{{Start: 0, Size: 8}}, must(d.GetGpuInstancePossiblePlacements(whole)))
}

// 47 (kubernetes-sigs/dra-driver-nvidia-gpu#1454, NVIDIA/go-nvlib#85, #102): two
// compute profiles of one slice; the one that has all multiprocessors is told
// by their number. On an A100 the second does not exist.
func TestCaseTwoProfilesOfOneSlice(t *testing.T) {
	t.Parallel()
	const rev1 = nvml.COMPUTE_INSTANCE_PROFILE_1_SLICE_REV1
	_, d := startGPU(t, "h100-80gb-sxm5")
	whole := infoOf(t, d, "h100-80gb-sxm5", "1g.20gb")
	gi := must(d.CreateGpuInstance(whole))
	assert.Less(t, computeInfoOf(gi, 0).MultiprocessorCount, whole.MultiprocessorCount)
	assert.Equal(t, whole.MultiprocessorCount, computeInfoOf(gi, rev1).MultiprocessorCount)
	info := must(must(gi.CreateComputeInstance(computeInfoOf(gi, 0))).GetInfo())
	assert.Equal(t, uint32(16), must(info.Device.GetAttributes()).MultiprocessorCount, "what was created, not what there is")

	_, a100 := startGPU(t, "a100-40gb")
	for _, profile := range []string{"1g.5gb", "1g.10gb", "2g.10gb"} {
		gi := must(a100.CreateGpuInstance(infoOf(t, a100, "a100-40gb", profile)))
		assert.Equal(t, nvml.ERROR_NOT_SUPPORTED, code(gi.GetComputeInstanceProfileInfo(rev1, 0)))
	}
}

// 48 (kubernetes-sigs/dra-driver-nvidia-gpu#1480): a 7g.40gb has one compute profile
// of full size, 7_SLICE; 7_SLICE_NVL is not supported there.
func TestCaseOneFullSizeProfile(t *testing.T) {
	t.Parallel()
	_, d := startGPU(t, "a100-40gb")
	gi := must(d.CreateGpuInstance(infoOf(t, d, "a100-40gb", "7g.40gb")))
	assert.Equal(t, nvml.ERROR_NOT_SUPPORTED, code(gi.GetComputeInstanceProfileInfo(nvml.COMPUTE_INSTANCE_PROFILE_7_SLICE_NVL, 0)))
	assert.Equal(t, nvml.SUCCESS, code(gi.CreateComputeInstance(computeInfoOf(gi, nvml.COMPUTE_INSTANCE_PROFILE_7_SLICE))))
}

// 51 (go-nvml): wrappers that left the version of a struct at zero: the fake takes a
// zero value and fills the version in.
func TestCaseVersionZero(t *testing.T) {
	t.Parallel()
	_, d := startGPU(t, "a100-40gb")
	assert.Equal(t, nvml.ERROR_NOT_SUPPORTED, code(d.GetProcessesUtilizationInfo()), "not an argument mismatch")
	memory := must(d.GetMemoryInfo_v2())
	assert.Equal(t, nvml.STRUCT_VERSION(memory, 2), memory.Version)
}

// 52 (canonical/lxd#9518 and others): two forms of a MIG device's UUID, both looked
// up; what has neither form is invalid, and a shortened one is not completed.
func TestCaseUUIDForms(t *testing.T) {
	t.Parallel()
	s, lib := start(t, nvmlfake.Config{Seed: 5, GPUs: []nvmlfake.GPU{{Model: "a100-40gb", MIG: true}}})
	d := must(lib.DeviceGetHandleByIndex(0))
	c := newChain(t, d)
	gpu := must(d.GetUUID())
	for _, id := range []string{c.uuid, "MIG-" + gpu + "/5/0"} {
		assert.Equal(t, c.mig, must(lib.DeviceGetHandleByUUID(id)), id)
	}
	assert.Equal(t, c.uuid, must(must(lib.DeviceGetHandleByUUID("MIG-"+gpu+"/5/0")).GetUUID()), "the answer is of the new form")
	for id, want := range map[string]nvml.Return{
		"MIG-GPU-662077db-fa3f-0d8f-9502-21ab0ef058a2/10/0": nvml.ERROR_NOT_FOUND,
		"MIG-3eb87630-93d5-b2b6-b8ff-9b359caf4ee2":          nvml.ERROR_NOT_FOUND,
		"GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c":          nvml.ERROR_NOT_FOUND,
		"MIG-00000000-0000-0000-0000-000000000003":          nvml.ERROR_NOT_FOUND,
		"MIG-" + gpu + "/5/1":                               nvml.ERROR_NOT_FOUND,
		"MIG-GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c":      nvml.ERROR_INVALID_ARGUMENT,
		"MIG-foo":                              nvml.ERROR_INVALID_ARGUMENT,
		"4cf8db2d-06c0-7d70-1a51-e59b25b2c16c": nvml.ERROR_INVALID_ARGUMENT,
		"MIG-" + gpu + "/5":                    nvml.ERROR_INVALID_ARGUMENT,
		"MIG-" + gpu + "/5/-1":                 nvml.ERROR_INVALID_ARGUMENT,
		gpu[:12]:                               nvml.ERROR_INVALID_ARGUMENT,
		"0":                                    nvml.ERROR_INVALID_ARGUMENT,
		"":                                     nvml.ERROR_INVALID_ARGUMENT,
	} {
		assert.Equal(t, want, code(lib.DeviceGetHandleByUUID(id)), "%q", id)
	}
	require.NoError(t, s.Audit())
}
