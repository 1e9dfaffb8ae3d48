package device_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
)

// before returns a hook for faults.then that acts once, before the first call of
// a name that comes after one of another name.
func before(call, after string, act func()) func(string) {
	armed, done := false, false
	return func(name string) {
		if armed && !done && name == call {
			done = true
			act()
		}
		armed = armed || name == after
	}
}

// compute creates a compute instance of one slice without this package.
func compute(t *testing.T, dev nvml.Device, id int) nvml.ComputeInstance {
	t.Helper()
	gi, ret := dev.GetGpuInstanceById(id)
	require.Equal(t, nvml.SUCCESS, ret)
	info, ret := gi.GetComputeInstanceProfileInfo(nvml.COMPUTE_INSTANCE_PROFILE_1_SLICE, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
	require.Equal(t, nvml.SUCCESS, ret)
	ci, ret := gi.CreateComputeInstance(&info)
	require.Equal(t, nvml.SUCCESS, ret)
	return ci
}

// empty destroys all compute instances of a GPU instance.
func empty(t *testing.T, dev nvml.Device, in device.Instance) {
	t.Helper()
	gi, ret := dev.GetGpuInstanceById(in.ID)
	require.Equal(t, nvml.SUCCESS, ret)
	for _, c := range in.Compute {
		ci, ret := gi.GetComputeInstanceById(c.ID)
		require.Equal(t, nvml.SUCCESS, ret)
		require.Equal(t, nvml.SUCCESS, ci.Destroy())
	}
}

// Only the very instance that was read is destroyed.
func TestDestroyOfAnother(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		create string // what is read; then
		act    func(t *testing.T, dev nvml.Device, d *device.GPU, in *device.Instance)
		want   error
	}{
		{"created anew", "3g.20gb@0", func(t *testing.T, _ nvml.Device, d *device.GPU, in *device.Instance) {
			t.Helper()
			require.NoError(t, d.Destroy(t.Context(), *in))
			again := create(t, d, "3g.20gb@0")[0]
			require.Equal(t, in.ID, again.ID)
		}, device.ErrChanged},
		{"another profile of the same placement and id", "3g.20gb@0", func(t *testing.T, _ nvml.Device, d *device.GPU, in *device.Instance) {
			t.Helper()
			require.NoError(t, d.Destroy(t.Context(), *in))
			again := create(t, d, "4g.20gb@0")[0]
			require.Equal(t, in.ID, again.ID)
		}, device.ErrChanged},
		{"another id", "3g.20gb@0", func(_ *testing.T, _ nvml.Device, _ *device.GPU, in *device.Instance) {
			in.ID++
		}, device.ErrChanged},
		{"another size", "3g.20gb@0", func(_ *testing.T, _ nvml.Device, _ *device.GPU, in *device.Instance) {
			in.Size--
		}, device.ErrChanged},
		{"a compute instance more", "3g.20gb@0", func(t *testing.T, dev nvml.Device, d *device.GPU, in *device.Instance) {
			t.Helper()
			empty(t, dev, *in)
			compute(t, dev, in.ID)
			*in = standing(t, d, 0)
			compute(t, dev, in.ID)
		}, device.ErrChanged},
		{"gone", "3g.20gb@0", func(t *testing.T, _ nvml.Device, d *device.GPU, in *device.Instance) {
			t.Helper()
			require.NoError(t, d.Destroy(t.Context(), *in))
		}, mig.ErrNoInstance},
		{"gone, with another on its last slice", "3g.20gb@0", func(t *testing.T, _ nvml.Device, d *device.GPU, in *device.Instance) {
			t.Helper()
			require.NoError(t, d.Destroy(t.Context(), *in))
			create(t, d, "1g.5gb@3")
		}, mig.ErrNoInstance},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, devs := newServer(t, true, "a100-40gb")
			d := open(t, devs[0])
			in := create(t, d, tt.create)[0]
			tt.act(t, devs[0], d, &in)
			then, err := d.State(t.Context())
			require.NoError(t, err)
			err = d.Destroy(t.Context(), in)
			require.ErrorIs(t, err, tt.want)
			var op *device.OpError
			require.ErrorAs(t, err, &op)
			assert.Nil(t, op.Left)
			now, err := d.State(t.Context())
			require.NoError(t, err)
			assert.Equal(t, then, now)
		})
	}
}

// A Destroy that was told of more compute instances than there are still is one
// of that instance.
func TestDestroyOfARest(t *testing.T) {
	t.Parallel()
	srv, devs := newServer(t, true, "a100-40gb")
	d := open(t, devs[0])
	in := create(t, d, "3g.20gb@4")[0]
	empty(t, devs[0], in)
	compute(t, devs[0], in.ID)
	second := compute(t, devs[0], in.ID)
	compute(t, devs[0], in.ID)
	in = standing(t, d, 4)
	require.Len(t, in.Compute, 3)
	require.Equal(t, nvml.SUCCESS, second.Destroy())
	require.NoError(t, d.Destroy(t.Context(), in))
	assert.Zero(t, layout(t, srv).Len())
}

// shifted is a GPU that uses the id of one GPU instance for another placement.
type shifted struct {
	nvml.Device
	to nvml.GpuInstancePlacement
}

type shiftedGI struct {
	nvml.GpuInstance
	to nvml.GpuInstancePlacement
}

func (s shifted) GetGpuInstanceById(id int) (nvml.GpuInstance, nvml.Return) { //nolint:revive // NVML's name
	gi, ret := s.Device.GetGpuInstanceById(id)
	return shiftedGI{gi, s.to}, ret
}

func (g shiftedGI) GetInfo() (nvml.GpuInstanceInfo, nvml.Return) {
	info, ret := g.GpuInstance.GetInfo()
	info.Placement = g.to
	return info, ret
}

func TestDestroyOfAnIDThatIsUsedElsewhere(t *testing.T) {
	t.Parallel()
	for _, to := range []nvml.GpuInstancePlacement{{Start: 4, Size: 4}, {Start: 0, Size: 3}} {
		srv, devs := newServer(t, true, "a100-40gb")
		in := create(t, open(t, devs[0]), "3g.20gb@0")[0]
		empty(t, devs[0], in)
		err := open(t, shifted{devs[0], to}).Destroy(t.Context(), in)
		require.ErrorIs(t, err, device.ErrChanged)
		require.ErrorContains(t, err, "GI 1 has profile id 9")
		assert.Equal(t, 1, layout(t, srv).Len())
	}
}

// Another process destroys the instance and creates another in its place while
// Destroy works. The new one stays, whenever that happens.
func TestDestroyWhileItIsReplaced(t *testing.T) {
	t.Parallel()
	steps := []struct {
		call, after string
		left        bool // the compute instance had already been destroyed
	}{
		{"GetMigMode", "", false},
		{"GetGpuInstanceById", "GetMaxMigDeviceCount", false},
		{"GpuInstance.GetInfo", "GetMaxMigDeviceCount", false},
		{"GetComputeInstanceById", "GetMaxMigDeviceCount", false},
		{"ComputeInstance.GetInfo", "GetMaxMigDeviceCount", false},
		{"MIGDevice.GetUUID", "GetMaxMigDeviceCount", false},
		{"ComputeInstance.Destroy", "GetMaxMigDeviceCount", false},
		{"GetGpuInstanceById", "ComputeInstance.Destroy", true},
		{"GpuInstance.Destroy", "ComputeInstance.Destroy", true},
	}
	for _, by := range []string{"3g.20gb@0", "4g.20gb@0"} {
		for _, tt := range steps {
			t.Run("by "+by+" before "+tt.call+" after "+tt.after, func(t *testing.T) {
				t.Parallel()
				_, devs := newServer(t, true, "a100-40gb")
				other := open(t, devs[0])
				in := create(t, other, "3g.20gb@0")[0]
				f := &faults{}
				d := open(t, hooked{devs[0], f.hook})
				var placed []device.Instance
				f.then = before(tt.call, tt.after, func() {
					require.NoError(t, other.Destroy(t.Context(), in))
					placed = create(t, other, by)
				})
				if tt.after == "" {
					f.then("")
				}
				err := d.Destroy(t.Context(), in)
				if tt.left && by == "3g.20gb@0" {
					// It cannot be told from the old one but by what is in it.
					require.ErrorIs(t, err, device.ErrInUse)
				} else {
					require.ErrorIs(t, err, device.ErrChanged)
				}
				var op *device.OpError
				require.ErrorAs(t, err, &op)
				assert.Equal(t, tt.left, op.Left != nil)
				st, err := other.State(t.Context())
				require.NoError(t, err)
				require.NotEmpty(t, placed)
				assert.Equal(t, placed, st.Instances, "what another process created was destroyed")
				assert.Equal(t, in.ID, placed[0].ID, "the id is used again")
			})
		}
	}
}

// What another process creates where a Destroy has made room is not taken for
// what was there.
func TestDestroyThenCreatedByAnother(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"3g.20gb@0", "4g.20gb@0", "1g.5gb@0"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			srv, devs := newServer(t, true, "a100-40gb")
			other := open(t, devs[0])
			in := create(t, other, "3g.20gb@0")[0]
			f := &faults{}
			f.then = before("GetGpuInstanceById", "GpuInstance.Destroy", func() { create(t, other, by) })
			require.NoError(t, open(t, hooked{devs[0], f.hook}).Destroy(t.Context(), in))
			assert.Equal(t, by, layout(t, srv).String())
		})
	}
}

// A Create that another process interferes with takes back what it created and
// nothing else.
func TestCreateTogetherWithOthers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		call, after string
		act         func(t *testing.T, dev nvml.Device, other *device.GPU)
		want        []error
		left        string
		layout      string
	}{
		{
			"gone before it was identified", "GpuInstance.GetInfo", "CreateGpuInstanceWithPlacement",
			func(t *testing.T, _ nvml.Device, other *device.GPU) { t.Helper(); destroy(t, other, 4) },
			[]error{nvml.ERROR_INVALID_ARGUMENT},
			"", "empty",
		},
		{
			"gone before the compute instance", "CreateComputeInstance", "CreateGpuInstanceWithPlacement",
			func(t *testing.T, _ nvml.Device, other *device.GPU) { t.Helper(); destroy(t, other, 4) },
			[]error{nvml.ERROR_INVALID_ARGUMENT},
			"", "empty",
		},
		{
			"gone before it was read back", "GetMigMode", "CreateComputeInstance",
			func(t *testing.T, _ nvml.Device, other *device.GPU) { t.Helper(); destroy(t, other, 4) },
			[]error{device.ErrUnverified},
			"", "empty",
		},
		{
			"compute instance gone before it was identified", "ComputeInstance.GetInfo", "CreateComputeInstance",
			func(t *testing.T, dev nvml.Device, other *device.GPU) {
				t.Helper()
				empty(t, dev, standing(t, other, 4))
			},
			[]error{nvml.ERROR_INVALID_ARGUMENT},
			"", "empty",
		},
		{
			"compute instance gone before it was read back", "GetMigMode", "CreateComputeInstance",
			func(t *testing.T, dev nvml.Device, other *device.GPU) {
				t.Helper()
				empty(t, dev, standing(t, other, 4))
			},
			[]error{device.ErrUnverified},
			"", "empty",
		},
		{
			"replaced before it was read back", "GetMigMode", "CreateComputeInstance",
			func(t *testing.T, _ nvml.Device, other *device.GPU) {
				t.Helper()
				destroy(t, other, 4)
				create(t, other, "3g.20gb@4")
			},
			[]error{device.ErrUnverified, device.ErrChanged},
			"", "3g.20gb@4",
		},
		{
			"occupied before the compute instance", "CreateComputeInstance", "CreateGpuInstanceWithPlacement",
			func(t *testing.T, dev nvml.Device, other *device.GPU) {
				t.Helper()
				compute(t, dev, standing(t, other, 4).ID)
			},
			[]error{nvml.ERROR_INSUFFICIENT_RESOURCES, device.ErrInUse},
			"3g.20gb@4 GI 2 []", "3g.20gb@4",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv, devs := newServer(t, true, "a100-40gb")
			other := open(t, devs[0])
			f := &faults{}
			f.then = before(tt.call, tt.after, func() { tt.act(t, devs[0], other) })
			_, err := open(t, hooked{devs[0], f.hook}).Create(t.Context(), mig.Instance{Profile: "3g.20gb", Start: 4})
			for _, want := range tt.want {
				require.ErrorIs(t, err, want)
			}
			var op *device.OpError
			require.ErrorAs(t, err, &op)
			if tt.left == "" {
				assert.Nil(t, op.Left)
			} else if assert.NotNil(t, op.Left) {
				assert.Equal(t, tt.left, op.Left.String())
			}
			assert.Equal(t, tt.layout, layout(t, srv).String())
			if tt.layout != "empty" {
				assert.Len(t, standing(t, other, 4).Compute, 1, "another's compute instance was destroyed")
			}
			require.NoError(t, srv.Audit())
		})
	}
}
