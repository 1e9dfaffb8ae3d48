package device_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
)

func TestStateReadsWhatIsThere(t *testing.T) {
	t.Parallel()
	srv, devs := newServer(t, true, "a100-40gb")
	dev := devs[0]
	d := open(t, dev)

	// Three kinds of filling, made without this package: none, one compute
	// instance of full size, several of part size.
	add := func(index, start, size int) nvml.GpuInstance {
		info, ret := dev.GetGpuInstanceProfileInfo(index)
		require.Equal(t, nvml.SUCCESS, ret)
		gi, ret := dev.CreateGpuInstanceWithPlacement(&info, &nvml.GpuInstancePlacement{Start: uint32(start), Size: uint32(size)})
		require.Equal(t, nvml.SUCCESS, ret)
		return gi
	}
	fill := func(gi nvml.GpuInstance, index int) {
		info, ret := gi.GetComputeInstanceProfileInfo(index, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
		require.Equal(t, nvml.SUCCESS, ret)
		_, ret = gi.CreateComputeInstance(&info)
		require.Equal(t, nvml.SUCCESS, ret)
	}
	add(nvml.GPU_INSTANCE_PROFILE_1_SLICE, 2, 1)
	fill(add(nvml.GPU_INSTANCE_PROFILE_2_SLICE, 0, 2), nvml.COMPUTE_INSTANCE_PROFILE_2_SLICE)
	half := add(nvml.GPU_INSTANCE_PROFILE_3_SLICE, 4, 4)
	for range 3 {
		fill(half, nvml.COMPUTE_INSTANCE_PROFILE_1_SLICE)
	}

	st, err := d.State(t.Context())
	require.NoError(t, err)
	assert.Equal(t, device.Mode{Current: true, Pending: true}, st.Mode)
	assert.Equal(t, layout(t, srv), st.Layout)
	assert.Equal(t, "2g.10gb@0 1g.5gb@2 3g.20gb@4", st.Layout.String())
	require.Len(t, st.Instances, 3)
	assert.Empty(t, st.Instances[1].Compute)

	full, found := st.At(0)
	require.True(t, found)
	require.Len(t, full.Compute, 1)
	assert.Equal(t, "2g.10gb", full.Compute[0].Profile)
	assert.Equal(t, 28, full.Compute[0].SMs)

	parts, found := st.At(4)
	require.True(t, found)
	require.Len(t, parts.Compute, 3)
	starts := map[int]bool{}
	for i, c := range parts.Compute {
		assert.Equal(t, i, c.ID)
		assert.Equal(t, "1c.3g.20gb", c.Profile)
		assert.Equal(t, 14, c.SMs)
		assert.Equal(t, 1, c.Size)
		starts[c.Start] = true
		// The UUID leads back to the very instance.
		handle, ret := srv.NVML().DeviceGetHandleByUUID(c.UUID)
		require.Equal(t, nvml.SUCCESS, ret)
		gi, ret := handle.GetGpuInstanceId()
		require.Equal(t, nvml.SUCCESS, ret)
		ci, ret := handle.GetComputeInstanceId()
		require.Equal(t, nvml.SUCCESS, ret)
		assert.Equal(t, []int{parts.ID, c.ID}, []int{gi, ci})
	}
	assert.Len(t, starts, 3)
	_, found = st.At(5)
	assert.False(t, found)

	// All of them go with their GPU instance.
	require.NoError(t, d.Destroy(t.Context(), parts))
	assert.Equal(t, "2g.10gb@0 1g.5gb@2", layout(t, srv).String())
}

func TestStateOfMode(t *testing.T) {
	t.Parallel()
	tests := []struct {
		model          string
		current, after bool // right after enabling, and after a reset
	}{
		{"a100-40gb", false, true},
		{"h100-80gb-sxm5", true, true},
	}
	for _, tt := range tests {
		t.Run(tt.model, func(t *testing.T) {
			t.Parallel()
			srv, devs := newServer(t, false, tt.model)
			d := open(t, devs[0])
			st, err := d.State(t.Context())
			require.NoError(t, err)
			assert.Equal(t, device.State{GPU: d.UUID()}, st)
			assert.Equal(t, "not cut", st.String())

			_, ret := devs[0].SetMigMode(nvml.DEVICE_MIG_ENABLE)
			require.Equal(t, nvml.SUCCESS, ret)
			st, err = d.State(t.Context())
			require.NoError(t, err)
			assert.Equal(t, device.Mode{Current: tt.current, Pending: true}, st.Mode)

			require.NoError(t, srv.Reset(0))
			st, err = d.State(t.Context())
			require.NoError(t, err)
			assert.Equal(t, device.Mode{Current: tt.after, Pending: true}, st.Mode)
			assert.Equal(t, d.Model().Empty(), st.Layout)
			assert.Equal(t, "empty", st.String())
		})
	}
}

// odd is a GPU whose profile infos are changed on the way.
type odd struct {
	nvml.Device
	change func(index int, info *nvml.GpuInstanceProfileInfo)
}

func (o odd) GetGpuInstanceProfileInfo(i int) (nvml.GpuInstanceProfileInfo, nvml.Return) {
	info, ret := o.Device.GetGpuInstanceProfileInfo(i)
	if ret == nvml.SUCCESS {
		o.change(i, &info)
	}
	return info, ret
}

func TestMismatchIsNamedWhenUsed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(i int, info *nvml.GpuInstanceProfileInfo)
		text   []string
	}{
		{"slices", func(i int, info *nvml.GpuInstanceProfileInfo) {
			if i == nvml.GPU_INSTANCE_PROFILE_2_SLICE {
				info.SliceCount = 3
			}
		}, []string{"2g.10gb", "2 slices", "3 slices", "id 14"}},
		{"memory of another name", func(i int, info *nvml.GpuInstanceProfileInfo) {
			if i == nvml.GPU_INSTANCE_PROFILE_2_SLICE {
				info.MemorySizeMB *= 2
			}
		}, []string{"2g.10gb", "19712", "20gb"}},
		{"one id twice", func(i int, info *nvml.GpuInstanceProfileInfo) {
			if i == nvml.GPU_INSTANCE_PROFILE_1_SLICE_REV2 {
				info.Id = 14
			}
		}, []string{"14", "1 and 9"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv, devs := newServer(t, true, "a100-40gb")
			d := open(t, odd{devs[0], tt.change})
			_, err := d.Create(t.Context(), mig.Instance{Profile: "2g.10gb", Start: 0})
			require.ErrorIs(t, err, device.ErrMismatch)
			for _, want := range tt.text {
				require.ErrorContains(t, err, want)
			}
			// Another profile is none the worse for it.
			create(t, d, "3g.20gb@4")
			assert.Equal(t, "3g.20gb@4", layout(t, srv).String())
			// But an instance of the odd one is not left out of a reading.
			create(t, open(t, devs[0]), "2g.10gb@0")
			_, err = d.State(t.Context())
			require.ErrorIs(t, err, device.ErrMismatch)
			require.ErrorContains(t, err, "memory slice 0")
		})
	}
}

// blind is a GPU that does not list the instances of one profile.
type blind struct {
	nvml.Device
	id uint32
}

func (b blind) GetGpuInstances(info *nvml.GpuInstanceProfileInfo) ([]nvml.GpuInstance, nvml.Return) {
	if info.Id == b.id {
		return nil, nvml.SUCCESS
	}
	return b.Device.GetGpuInstances(info)
}

func TestStateDropsNoInstance(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, true, "a100-40gb")
	in := create(t, open(t, devs[0]), "2g.10gb@0", "3g.20gb@4")
	_, err := open(t, blind{devs[0], 14}).State(t.Context())
	require.ErrorIs(t, err, device.ErrMismatch)
	var op *device.OpError
	require.ErrorAs(t, err, &op)
	assert.Equal(t, in[0].ID, op.GPUInstance)
	assert.Equal(t, 0, op.ComputeInstance)
}

// An instance that another process destroys while the GPU is read is absent,
// and one that it creates then is there; neither is an error.
func TestStateWhileOthersAct(t *testing.T) {
	t.Parallel()
	calls := []string{
		"GpuInstance.GetInfo", "GetComputeInstanceProfileInfo", "GetComputeInstances",
		"ComputeInstance.GetInfo", "GetMaxMigDeviceCount", "GetMigDeviceHandleByIndex",
	}
	for _, at := range calls {
		t.Run("destroyed before "+at, func(t *testing.T) {
			t.Parallel()
			_, devs := newServer(t, true, "a100-40gb")
			other := open(t, devs[0])
			made := create(t, other, "1g.5gb@0", "3g.20gb@4")
			done := false
			f := &faults{then: func(call string) {
				if call == at && !done {
					done = true
					assert.NoError(t, other.Destroy(t.Context(), made[0]))
				}
			}}
			st, err := open(t, hooked{devs[0], f.hook}).State(t.Context())
			require.NoError(t, err)
			require.True(t, done)
			_, found := st.Layout.At(4)
			assert.True(t, found)
			for _, in := range st.Instances {
				assert.Len(t, in.Compute, 1, "%v: half of it was read after it was gone", in)
			}
		})
	}
	t.Run("replaced between two lists", func(t *testing.T) {
		t.Parallel()
		_, devs := newServer(t, true, "a100-40gb")
		other := open(t, devs[0])
		small := create(t, other, "1g.5gb@4")[0]
		lists := 0
		f := &faults{then: func(call string) {
			if call != "GetGpuInstances" {
				return
			}
			if lists++; lists == 2 { // the first was of 1g.5gb
				require.NoError(t, other.Destroy(t.Context(), small))
				create(t, other, "3g.20gb@4")
			}
		}}
		st, err := open(t, hooked{devs[0], f.hook}).State(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "3g.20gb@4", st.Layout.String())
		require.Len(t, st.Instances, 1)
		assert.Equal(t, "3g.20gb@4", st.Instances[0].Instance.String())
	})
	t.Run("created before the cross-check", func(t *testing.T) {
		t.Parallel()
		_, devs := newServer(t, true, "a100-40gb")
		other := open(t, devs[0])
		done := false
		f := &faults{then: func(call string) {
			if call == "GetMaxMigDeviceCount" && !done {
				done = true
				_, err := other.Create(t.Context(), mig.Instance{Profile: "1g.5gb", Start: 3})
				assert.NoError(t, err)
			}
		}}
		st, err := open(t, hooked{devs[0], f.hook}).State(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "1g.5gb@3", st.Layout.String())
	})
}

// double is a GPU that lists every GPU instance twice.
type double struct{ nvml.Device }

func (d double) GetGpuInstances(info *nvml.GpuInstanceProfileInfo) ([]nvml.GpuInstance, nvml.Return) {
	all, ret := d.Device.GetGpuInstances(info)
	return append(all, all...), ret
}

// What cannot be, however often it is read, is an error.
func TestStateRefusesAnIllegalLayout(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, true, "a100-40gb")
	create(t, open(t, devs[0]), "3g.20gb@4")
	_, err := open(t, double{devs[0]}).State(t.Context())
	var conflict *mig.ConflictError
	require.ErrorAs(t, err, &conflict)
	assert.Equal(t, "3g.20gb@4", conflict.A.String())
	require.ErrorContains(t, err, "read the layout")
}

// A MIG device that went away is no concern of a reading; one that cannot be
// asked is.
func TestStateAsksEveryMIGDevice(t *testing.T) {
	t.Parallel()
	tests := []struct {
		call   string
		hidden bool // the instance is missing in the lists
		code   nvml.Return
		want   error
	}{
		{"MIGDevice.GetGpuInstanceId", false, nvml.ERROR_NOT_FOUND, nil},
		{"MIGDevice.GetGpuInstanceId", false, nvml.ERROR_INVALID_ARGUMENT, nil},
		{"MIGDevice.GetGpuInstanceId", false, nvml.ERROR_GPU_IS_LOST, device.ErrLost},
		{"MIGDevice.GetComputeInstanceId", false, nvml.ERROR_NOT_FOUND, nil},
		{"MIGDevice.GetComputeInstanceId", false, nvml.ERROR_INVALID_ARGUMENT, nil},
		{"MIGDevice.GetComputeInstanceId", false, nvml.ERROR_GPU_IS_LOST, device.ErrLost},
		{"GetGpuInstanceById", true, nvml.ERROR_NOT_FOUND, nil},
		{"GetGpuInstanceById", true, nvml.ERROR_GPU_IS_LOST, device.ErrLost},
		{"GetComputeInstanceById", true, nvml.ERROR_INVALID_ARGUMENT, nil},
		{"GetComputeInstanceById", true, nvml.ERROR_GPU_IS_LOST, device.ErrLost},
	}
	for _, tt := range tests {
		t.Run(tt.call+" "+tt.code.String(), func(t *testing.T) {
			t.Parallel()
			_, devs := newServer(t, true, "a100-40gb")
			create(t, open(t, devs[0]), "2g.10gb@0")
			dev := devs[0]
			if tt.hidden {
				dev = blind{dev, 14}
			}
			f := &faults{codes: map[string]nvml.Return{tt.call: tt.code}}
			st, err := open(t, hooked{dev, f.hook}).State(t.Context())
			require.ErrorIs(t, err, tt.want)
			if tt.want == nil {
				assert.Equal(t, tt.hidden, st.Layout.Len() == 0)
			}
		})
	}
}

// Every call of a reading that fails makes the reading fail, or changes nothing
// about what it says.
func TestStateSurfacesEveryFault(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, true, "h100-80gb-sxm5")
	f := &faults{code: nvml.ERROR_UNKNOWN}
	d := open(t, hooked{devs[0], f.hook})
	create(t, d, "1g.20gb@0", "2g.20gb@2", "3g.40gb@4")
	f.calls = 0
	want, err := d.State(t.Context())
	require.NoError(t, err)
	total := f.calls
	for n := 1; n <= total; n++ {
		f.calls, f.nth = 0, n
		_, err := d.State(t.Context())
		require.ErrorIs(t, err, nvml.ERROR_UNKNOWN, "call %d of %d", n, total)
	}
	f.nth = 0
	got, err := d.State(t.Context())
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestStateOfGPUWithoutMIG(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, true, "a100-40gb")
	f := &faults{codes: map[string]nvml.Return{"GetMigMode": nvml.ERROR_NOT_SUPPORTED}}
	_, err := open(t, hooked{devs[0], f.hook}).State(t.Context())
	require.ErrorIs(t, err, device.ErrNotSupported)
	require.NotErrorIs(t, err, mig.ErrUnknownModel)
}
