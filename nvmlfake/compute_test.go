package nvmlfake_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func instance(t *testing.T, d nvml.Device, model, profile string) nvml.GpuInstance {
	t.Helper()
	return must(d.CreateGpuInstance(infoOf(t, d, model, profile)))
}

// What a GPU instance offers: index to instances and multiprocessors, as in
// listings of compute profiles.
func TestPublishedComputeProfiles(t *testing.T) {
	t.Parallel()
	rows := []struct {
		model, profile string
		counts         map[int]uint32 // instances by index
		sms            map[int]uint32 // where a listing shows them
	}{
		{"a100-40gb", "1g.5gb", map[int]uint32{0: 1}, map[int]uint32{0: 14}},
		{"a100-40gb", "1g.10gb", map[int]uint32{0: 1}, map[int]uint32{0: 14}},
		{"a100-40gb", "2g.10gb", map[int]uint32{0: 2, 1: 1}, map[int]uint32{0: 14, 1: 28}},
		{"a100-40gb", "3g.20gb", map[int]uint32{0: 3, 1: 1, 2: 1}, map[int]uint32{0: 14, 1: 28, 2: 42}},
		{"a100-40gb", "4g.20gb", map[int]uint32{0: 4, 1: 2, 3: 1}, map[int]uint32{0: 14, 1: 28, 3: 56}},
		{"a100-40gb", "7g.40gb", map[int]uint32{0: 7, 1: 3, 2: 2, 3: 1, 4: 1}, map[int]uint32{0: 14, 1: 28, 2: 42, 3: 56, 4: 98}},
		{"h100-80gb-sxm5", "2g.20gb", map[int]uint32{0: 2, 1: 1, 7: 1}, map[int]uint32{0: 16, 1: 32, 7: 26}},
		{"h100-80gb-sxm5", "1g.20gb", map[int]uint32{0: 1, 7: 1}, map[int]uint32{7: 26}},
		{"a30-24gb", "4g.24gb", map[int]uint32{0: 4, 1: 2, 3: 1}, map[int]uint32{0: 14, 3: 56}},
	}
	for _, row := range rows {
		t.Run(row.model+" "+row.profile, func(t *testing.T) {
			t.Parallel()
			_, d := startGPU(t, row.model)
			gi := instance(t, d, row.model, row.profile)
			parent := infoOf(t, d, row.model, row.profile)
			counts := map[int]uint32{}
			for index := range nvml.COMPUTE_INSTANCE_PROFILE_COUNT {
				info, ret := gi.GetComputeInstanceProfileInfo(index, 0)
				if ret == nvml.ERROR_NOT_SUPPORTED {
					continue
				}
				require.Equal(t, nvml.SUCCESS, ret)
				counts[index] = info.InstanceCount
				assert.Equal(t, uint32(index), info.Id)
				if sms, known := row.sms[index]; known {
					assert.Equal(t, sms, info.MultiprocessorCount, "index %d", index)
				}
				assert.Equal(t, parent.CopyEngineCount, info.SharedCopyEngineCount)
				assert.Equal(t, parent.DecoderCount, info.SharedDecoderCount)
			}
			assert.Equal(t, row.counts, counts)
		})
	}
}

// Without a placement the driver keeps room for large ones.
func TestComputeDefaultPlacement(t *testing.T) {
	t.Parallel()
	rows := []struct {
		profile string
		indices []int
		starts  []int
	}{
		{"2g.10gb", []int{0, 0, 0}, []int{0, 1, full}},
		{"3g.20gb", []int{0, 0, 0}, []int{2, 0, 1}},
		{"4g.20gb", []int{0, 0, 1, 0}, []int{0, 1, 2, full}},
		{"7g.40gb", []int{4, 0}, []int{0, full}},
		{"7g.40gb", []int{0, 3, 0, 0}, []int{6, 0, 4, 5}},
	}
	for _, row := range rows {
		t.Run(row.profile, func(t *testing.T) {
			t.Parallel()
			s, d := startGPU(t, "a100-40gb")
			gi := instance(t, d, "a100-40gb", row.profile)
			var starts []int
			for _, index := range row.indices {
				ci, ret := gi.CreateComputeInstance(computeInfoOf(gi, index))
				require.NoError(t, s.Audit())
				if ret == nvml.ERROR_INSUFFICIENT_RESOURCES {
					starts = append(starts, full)
					continue
				}
				require.Equal(t, nvml.SUCCESS, ret)
				starts = append(starts, int(must(ci.GetInfo()).Placement.Start))
			}
			assert.Equal(t, row.starts, starts)
		})
	}
}

// A compute instance of kind 1_SLICE_REV1 stands alone.
func TestRev1StandsAlone(t *testing.T) {
	t.Parallel()
	s, d := startGPU(t, "h100-80gb-sxm5")
	gi := instance(t, d, "h100-80gb-sxm5", "2g.20gb")
	one, rev1 := computeInfoOf(gi, 0), computeInfoOf(gi, nvml.COMPUTE_INSTANCE_PROFILE_1_SLICE_REV1)
	ci := must(gi.CreateComputeInstance(rev1))
	assert.Equal(t, uint32(26), must(must(ci.GetInfo()).Device.GetAttributes()).MultiprocessorCount)
	assert.Zero(t, must(gi.GetComputeInstanceRemainingCapacity(one)))
	assert.Equal(t, nvml.ERROR_INSUFFICIENT_RESOURCES, code(gi.CreateComputeInstance(one)))
	require.Equal(t, nvml.SUCCESS, ci.Destroy())
	assert.Equal(t, 2, must(gi.GetComputeInstanceRemainingCapacity(one)))
	_ = must(gi.CreateComputeInstance(one))
	assert.Equal(t, nvml.ERROR_INSUFFICIENT_RESOURCES, code(gi.CreateComputeInstance(rev1)))
	require.NoError(t, s.Audit())
}

// Ids begin at 0 in each GPU instance and are used again; a list is sorted.
func TestComputeIDs(t *testing.T) {
	t.Parallel()
	s, d := startGPU(t, "a100-40gb")
	for _, profile := range []string{"3g.20gb", "2g.10gb"} {
		gi := instance(t, d, "a100-40gb", profile)
		info := computeInfoOf(gi, 0)
		var all []nvml.ComputeInstance
		for id := range info.InstanceCount {
			ci := must(gi.CreateComputeInstance(info))
			assert.Equal(t, id, must(ci.GetInfo()).Id)
			all = append(all, ci)
		}
		require.Equal(t, nvml.SUCCESS, all[0].Destroy())
		assert.Equal(t, nvml.ERROR_NOT_FOUND, code(gi.GetComputeInstanceById(0)))
		again := must(gi.CreateComputeInstance(info))
		assert.Zero(t, must(again.GetInfo()).Id)
		all[0] = again
		assert.Equal(t, all, must(gi.GetComputeInstances(info)))
	}
	require.NoError(t, s.Audit())
}

// A MIG device shows its compute instance's processors, and the memory and
// engines that it shares.
func TestMIGDevice(t *testing.T) {
	t.Parallel()
	s, d := startGPU(t, "a100-40gb")
	gi := instance(t, d, "a100-40gb", "3g.20gb")
	small := must(must(gi.CreateComputeInstance(computeInfoOf(gi, 0))).GetInfo()).Device
	large := must(must(gi.CreateComputeInstance(computeInfoOf(gi, 1))).GetInfo()).Device
	assert.Equal(t, "NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb", must(small.GetName()))
	assert.Equal(t, "NVIDIA A100-SXM4-40GB MIG 2c.3g.20gb", must(large.GetName()))
	assert.Equal(t, nvml.DeviceAttributes{
		MultiprocessorCount: 28, SharedCopyEngineCount: 3, SharedDecoderCount: 2,
		GpuInstanceSliceCount: 3, ComputeInstanceSliceCount: 2, MemorySizeMB: 19968,
	}, must(large.GetAttributes()))
	assert.Equal(t, uint64(19968)<<20, must(small.GetMemoryInfo()).Total)
	assert.Equal(t, uint64(19968)<<20, must(small.GetMemoryInfo_v2()).Total)
	assert.True(t, must(small.IsMigDeviceHandle()))
	assert.Equal(t, 2, must(small.GetGpuInstanceId()))
	assert.Equal(t, []int{0, 1}, []int{must(small.GetComputeInstanceId()), must(large.GetComputeInstanceId())})
	assert.Equal(t, []int{0, 1}, []int{must(small.GetIndex()), must(large.GetIndex())})
	assert.Equal(t, must(d.GetPciInfo()), must(small.GetPciInfo()))
	assert.Equal(t, must(d.GetArchitecture()), must(small.GetArchitecture()))
	assert.Equal(t, must(d.GetBrand()), must(small.GetBrand()))
	major, minor, ret := small.GetCudaComputeCapability()
	assert.Equal(t, []any{8, 0, nvml.SUCCESS}, []any{major, minor, ret})
	require.NoError(t, s.Audit())
}
