package device_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
)

func TestCreateAndDestroy(t *testing.T) {
	t.Parallel()
	srv, d := fake(t, "a100-40gb")
	made := create(t, d, "3g.20gb@4", "1g.5gb@1", "2g.10gb@2")
	assert.Equal(t, "1g.5gb@1 2g.10gb@2 3g.20gb@4", layout(t, srv).String())
	for _, in := range made {
		require.Len(t, in.Compute, 1)
		assert.Equal(t, in.Profile, in.Compute[0].Profile, "full size")
		_, ret := srv.NVML().DeviceGetHandleByUUID(in.Compute[0].UUID)
		assert.Equal(t, nvml.SUCCESS, ret)
	}
	st, err := d.State(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []device.Instance{made[1], made[2], made[0]}, st.Instances)
	assert.Equal(t, made[1].String()+"\n"+made[2].String()+"\n"+made[0].String(), st.String())

	require.NoError(t, d.Destroy(t.Context(), made[0]))
	assert.Equal(t, "1g.5gb@1 2g.10gb@2", layout(t, srv).String())
	again := create(t, d, "3g.20gb@4")
	assert.NotEqual(t, made[0].Compute[0].UUID, again[0].Compute[0].UUID, "another device, another UUID")
	destroy(t, d, 1, 2, 4)
	assert.Zero(t, layout(t, srv).Len())
	require.NoError(t, srv.Audit())
	assert.Empty(t, srv.Unmodelled())
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		profile string
		start   int
		want    error
		text    string
	}{
		{"unknown profile", "3g.40gb", 4, mig.ErrUnknownProfile, `"3g.40gb"`},
		{"compute instance profile", "1c.3g.20gb", 4, mig.ErrUnknownProfile, `"1c.3g.20gb"`},
		{"no name", "0g.0gb", 0, mig.ErrBadName, `"0g.0gb"`},
		{"start between the legal ones", "3g.20gb", 2, mig.ErrIllegalStart, "2"},
		{"start before the first", "1g.5gb", -1, mig.ErrIllegalStart, "-1"},
		{"start after the last", "1g.5gb", 7, mig.ErrIllegalStart, "7"},
		{"start far out", "1g.5gb", 1 << 40, mig.ErrIllegalStart, "1099511627776"},
		{"occupied", "4g.20gb", 0, mig.ErrConflict, "1g.5gb@3"},
		{"occupied by itself", "1g.5gb", 3, mig.ErrConflict, "1g.5gb@3"},
		{"second with media extensions", "1g.5gb+me", 0, mig.ErrConflict, "1g.5gb+me@6"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv, d := fake(t, "a100-40gb")
			create(t, d, "1g.5gb@3", "1g.5gb+me@6")
			before := layout(t, srv)
			_, err := d.Create(t.Context(), mig.Instance{Profile: tt.profile, Start: tt.start})
			require.ErrorIs(t, err, tt.want)
			require.ErrorContains(t, err, tt.text)
			require.ErrorContains(t, err, d.UUID())
			require.NotErrorIs(t, err, device.ErrNoRoom)
			var op *device.OpError
			require.ErrorAs(t, err, &op)
			assert.Equal(t, tt.profile, op.Profile)
			assert.Equal(t, tt.start, op.Start)
			assert.Nil(t, op.Left)
			assert.Equal(t, before, layout(t, srv))
		})
	}
}

func TestConflictNamesTheInstanceInTheWay(t *testing.T) {
	t.Parallel()
	_, d := fake(t, "a100-40gb")
	create(t, d, "1g.5gb@6")
	_, err := d.Create(t.Context(), mig.Instance{Profile: "3g.20gb", Start: 4})
	var conflict *mig.ConflictError
	require.ErrorAs(t, err, &conflict)
	assert.Equal(t, "1g.5gb@6", conflict.A.String())
	assert.Equal(t, "3g.20gb@4", conflict.B.String())
	assert.ErrorIs(t, err, nvml.ERROR_INSUFFICIENT_RESOURCES)
}

func TestNoRoomThoughNothingIsInTheWay(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, true, "a100-40gb")
	f := &faults{codes: map[string]nvml.Return{"CreateGpuInstanceWithPlacement": nvml.ERROR_INSUFFICIENT_RESOURCES}}
	d := open(t, hooked{devs[0], f.hook})
	_, err := d.Create(t.Context(), mig.Instance{Profile: "3g.20gb", Start: 4})
	require.ErrorIs(t, err, device.ErrNoRoom)
	require.NotErrorIs(t, err, mig.ErrConflict)
	require.ErrorIs(t, err, nvml.ERROR_INSUFFICIENT_RESOURCES)
}

func TestCreateWhileMIGIsOff(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, false, "a100-40gb")
	d := open(t, devs[0])
	_, err := d.Create(t.Context(), mig.Instance{Profile: "3g.20gb", Start: 4})
	require.ErrorIs(t, err, device.ErrDisabled)
	require.NotContains(t, err.Error(), "reset")
	_, ret := devs[0].SetMigMode(nvml.DEVICE_MIG_ENABLE)
	require.Equal(t, nvml.SUCCESS, ret)
	_, err = d.Create(t.Context(), mig.Instance{Profile: "3g.20gb", Start: 4})
	require.ErrorIs(t, err, device.ErrDisabled)
	require.ErrorContains(t, err, "reset")
	err = d.Destroy(t.Context(), device.Instance{Instance: mig.Instance{Profile: "3g.20gb", Start: 4, Size: 4}, ID: 2})
	require.ErrorIs(t, err, device.ErrDisabled)
	require.ErrorIs(t, err, mig.ErrNoInstance)
}

func TestCreateOfProfileThatTheDeviceLacks(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, true, "a100-40gb")
	d := open(t, lacking{devs[0]})
	_, err := d.Create(t.Context(), mig.Instance{Profile: "1g.10gb", Start: 0})
	require.ErrorIs(t, err, device.ErrMismatch)
	require.ErrorIs(t, err, device.ErrNotSupported)
	_, err = d.Create(t.Context(), mig.Instance{Profile: "2g.10gb", Start: 0})
	require.ErrorIs(t, err, device.ErrMismatch)
	require.ErrorContains(t, err, "2:2 4:2")
}

// lacking has no double-memory profile, and one start less for 2g.
type lacking struct{ nvml.Device }

func (l lacking) GetGpuInstanceProfileInfo(i int) (nvml.GpuInstanceProfileInfo, nvml.Return) {
	if i == nvml.GPU_INSTANCE_PROFILE_1_SLICE_REV2 {
		return nvml.GpuInstanceProfileInfo{}, nvml.ERROR_NOT_SUPPORTED
	}
	return l.Device.GetGpuInstanceProfileInfo(i)
}

func (l lacking) GetGpuInstancePossiblePlacements(info *nvml.GpuInstanceProfileInfo) ([]nvml.GpuInstancePlacement, nvml.Return) {
	all, ret := l.Device.GetGpuInstancePossiblePlacements(info)
	if info.Id == 14 && ret == nvml.SUCCESS {
		all = all[1:]
	}
	return all, ret
}

// Whichever call of a Create fails, the GPU is afterwards as before, or the
// instance is complete and was returned.
func TestCreateIsTakenBackAtEveryFault(t *testing.T) {
	t.Parallel()
	for _, code := range []nvml.Return{nvml.ERROR_UNKNOWN, nvml.ERROR_INSUFFICIENT_RESOURCES, nvml.ERROR_NOT_FOUND, nvml.ERROR_INVALID_ARGUMENT} {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			srv, devs := newServer(t, true, "a100-40gb")
			f := &faults{code: code}
			d := open(t, hooked{devs[0], f.hook})
			create(t, d, "1g.5gb@0")
			f.calls = 0
			create(t, d, "3g.20gb@4")
			total := f.calls
			destroy(t, d, 4)
			before := layout(t, srv)
			failed := 0
			for n := 1; n <= total; n++ {
				f.calls, f.nth = 0, n
				in, err := d.Create(t.Context(), mig.Instance{Profile: "3g.20gb", Start: 4})
				f.nth = 0
				if err == nil {
					st, err := d.State(t.Context())
					require.NoError(t, err)
					got, _ := st.At(4)
					require.Equal(t, in, got, "call %d", n)
					require.NoError(t, d.Destroy(t.Context(), in))
					continue
				}
				failed++
				var op *device.OpError
				require.ErrorAs(t, err, &op, "call %d", n)
				require.Nil(t, op.Left, "call %d: %v", n, err)
				require.Equal(t, before, layout(t, srv), "call %d: %v", n, err)
			}
			assert.Positive(t, failed)
			require.NoError(t, srv.Audit())
		})
	}
}

func TestTakeBackThatFails(t *testing.T) {
	t.Parallel()
	srv, devs := newServer(t, true, "a100-40gb")
	f := &faults{}
	d := open(t, hooked{devs[0], f.hook})
	f.set(map[string]nvml.Return{
		"CreateComputeInstance": nvml.ERROR_INSUFFICIENT_RESOURCES,
		"GpuInstance.Destroy":   nvml.ERROR_IN_USE,
	})
	_, err := d.Create(t.Context(), mig.Instance{Profile: "3g.20gb", Start: 4})
	require.ErrorIs(t, err, nvml.ERROR_INSUFFICIENT_RESOURCES, "why it failed")
	require.ErrorIs(t, err, device.ErrInUse, "why it could not be taken back")
	var op *device.OpError
	require.ErrorAs(t, err, &op)
	require.NotNil(t, op.Left)
	assert.Equal(t, "3g.20gb@4", op.Left.Instance.String())
	assert.Empty(t, op.Left.Compute)
	assert.Equal(t, op.GPUInstance, op.Left.ID)
	assert.Equal(t, "3g.20gb@4", layout(t, srv).String())
	// What is left can be destroyed later.
	f.set(nil)
	require.NoError(t, d.Destroy(t.Context(), *op.Left))
	assert.Zero(t, layout(t, srv).Len())
}

// liar is a GPU that says yes to a creation and does nothing.
type liar struct{ nvml.Device }

type lie struct{ nvml.GpuInstance }

func (l liar) CreateGpuInstanceWithPlacement(*nvml.GpuInstanceProfileInfo, *nvml.GpuInstancePlacement) (nvml.GpuInstance, nvml.Return) {
	gi, ret := l.GetGpuInstanceById(1)
	return lie{gi}, ret
}

func (lie) CreateComputeInstance(*nvml.ComputeInstanceProfileInfo) (nvml.ComputeInstance, nvml.Return) {
	return nil, nvml.SUCCESS
}

func (lie) Destroy() nvml.Return { return nvml.SUCCESS }

func TestSuccessIsReadBack(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, true, "a100-40gb")
	in := create(t, open(t, devs[0]), "3g.20gb@0")
	require.Equal(t, 1, in[0].ID)
	for _, want := range []mig.Instance{{Profile: "3g.20gb", Start: 4}, {Profile: "4g.20gb", Start: 0}} {
		_, err := open(t, liar{devs[0]}).Create(t.Context(), want)
		require.ErrorIs(t, err, device.ErrUnverified)
		require.ErrorContains(t, err, want.String())
		require.ErrorContains(t, err, "the GPU holds 3g.20gb@0")
	}
}

// stingy is a GPU that gives a GPU instance the first compute instance profile
// that there is, whatever is asked for.
type stingy struct{ nvml.Device }

type stingyGI struct{ nvml.GpuInstance }

func (s stingy) CreateGpuInstanceWithPlacement(info *nvml.GpuInstanceProfileInfo, at *nvml.GpuInstancePlacement) (nvml.GpuInstance, nvml.Return) {
	gi, ret := s.Device.CreateGpuInstanceWithPlacement(info, at)
	return stingyGI{gi}, ret
}

func (g stingyGI) CreateComputeInstance(*nvml.ComputeInstanceProfileInfo) (nvml.ComputeInstance, nvml.Return) {
	info, ret := g.GetComputeInstanceProfileInfo(0, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	return g.GpuInstance.CreateComputeInstance(&info)
}

func TestComputeInstanceIsReadBack(t *testing.T) {
	t.Parallel()
	srv, devs := newServer(t, true, "a100-40gb")
	_, err := open(t, stingy{devs[0]}).Create(t.Context(), mig.Instance{Profile: "3g.20gb", Start: 4})
	require.ErrorIs(t, err, device.ErrUnverified)
	require.ErrorContains(t, err, "1c.3g.20gb")
	var op *device.OpError
	require.ErrorAs(t, err, &op)
	assert.Nil(t, op.Left)
	assert.Zero(t, layout(t, srv).Len())
}
