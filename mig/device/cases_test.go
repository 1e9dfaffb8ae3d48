package device_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/nvmlfake"
)

// Rows from public reports, by number.

func TestCase23ProfileOfAnotherModel(t *testing.T) {
	t.Parallel()
	srv, d := fake(t, "a100-80gb")
	for _, name := range []string{"2g.10gb", "1g.5gb"} {
		_, err := d.Create(t.Context(), mig.Instance{Profile: name, Start: 0})
		require.ErrorIs(t, err, mig.ErrUnknownProfile)
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, "a100-80gb")
		require.ErrorContains(t, err, "2g.20gb", "the error says what there is")
	}
	assert.Zero(t, layout(t, srv).Len())
}

// renumbered is a GPU whose printed profile ids are one more than its twin's.
type renumbered struct{ nvml.Device }

type renumberedGI struct{ nvml.GpuInstance }

func less(info *nvml.GpuInstanceProfileInfo) *nvml.GpuInstanceProfileInfo {
	own := *info
	own.Id--
	return &own
}

func (r renumbered) GetGpuInstanceProfileInfo(i int) (nvml.GpuInstanceProfileInfo, nvml.Return) {
	info, ret := r.Device.GetGpuInstanceProfileInfo(i)
	info.Id++
	return info, ret
}

func (r renumbered) GetGpuInstancePossiblePlacements(info *nvml.GpuInstanceProfileInfo) ([]nvml.GpuInstancePlacement, nvml.Return) {
	return r.Device.GetGpuInstancePossiblePlacements(less(info))
}

func (r renumbered) GetGpuInstances(info *nvml.GpuInstanceProfileInfo) ([]nvml.GpuInstance, nvml.Return) {
	all, ret := r.Device.GetGpuInstances(less(info))
	for i := range all {
		all[i] = renumberedGI{all[i]}
	}
	return all, ret
}

func (r renumbered) GetGpuInstanceById(id int) (nvml.GpuInstance, nvml.Return) { //nolint:revive // NVML's name
	gi, ret := r.Device.GetGpuInstanceById(id)
	return renumberedGI{gi}, ret
}

func (r renumbered) CreateGpuInstanceWithPlacement(info *nvml.GpuInstanceProfileInfo, at *nvml.GpuInstancePlacement) (nvml.GpuInstance, nvml.Return) {
	gi, ret := r.Device.CreateGpuInstanceWithPlacement(less(info), at)
	return renumberedGI{gi}, ret
}

func (g renumberedGI) GetInfo() (nvml.GpuInstanceInfo, nvml.Return) {
	info, ret := g.GpuInstance.GetInfo()
	info.ProfileId++
	return info, ret
}

func TestCase24SameNameOtherID(t *testing.T) {
	t.Parallel()
	srv, devs := newServer(t, true, "a30-24gb", "a30-24gb")
	plain, other := open(t, devs[0]), open(t, renumbered{devs[1]})
	for start := range 4 {
		in, err := other.Create(t.Context(), mig.Instance{Profile: "1g.6gb", Start: start})
		require.NoError(t, err)
		assert.Equal(t, "1g.6gb", in.Profile)
	}
	st, err := other.State(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb@3", st.Layout.String())
	destroy(t, other, 2)
	assert.Zero(t, layout(t, srv).Len(), "the first GPU is untouched")
	create(t, plain, "1g.6gb@3")
}

func TestCase41DestroyInUse(t *testing.T) {
	t.Parallel()
	srv, devs := newServer(t, true, "h100-80gb-sxm5")
	plain := open(t, devs[0])
	made := create(t, plain, "2g.20gb@0", "2g.20gb@2", "3g.40gb@4")
	assert.Equal(t, []int{3, 4, 2}, []int{made[0].ID, made[1].ID, made[2].ID})
	f := &faults{codes: map[string]nvml.Return{"ComputeInstance.Destroy": nvml.ERROR_IN_USE}}
	held := open(t, hooked{devs[0], f.hook})
	err := held.Destroy(t.Context(), made[0])
	require.ErrorIs(t, err, device.ErrInUse)
	require.ErrorContains(t, err, "GI 3, CI 0")
	require.ErrorContains(t, err, plain.UUID())
	_, err = plain.Create(t.Context(), mig.Instance{Profile: "1g.10gb", Start: 0})
	require.ErrorIs(t, err, mig.ErrConflict, "nothing is created where it sits")
	require.NoError(t, plain.Destroy(t.Context(), made[1]))
	require.NoError(t, plain.Destroy(t.Context(), made[2]))
	assert.Equal(t, "2g.20gb@0", layout(t, srv).String())
	create(t, plain, "1g.10gb@2", "1g.10gb@3", "1g.10gb@4", "1g.10gb@5", "1g.10gb@6")
}

func TestCase43HolesAmongMIGDevices(t *testing.T) {
	t.Parallel()
	srv, d := fake(t, "a100-40gb")
	create(t, d, "1g.5gb@0", "1g.5gb@1", "1g.5gb@2", "1g.5gb@3", "1g.5gb@4", "1g.5gb@5")
	destroy(t, d, 1, 3, 4)
	dev, ret := srv.NVML().DeviceGetHandleByIndex(0)
	require.Equal(t, nvml.SUCCESS, ret)
	count, ret := dev.GetMaxMigDeviceCount()
	require.Equal(t, nvml.SUCCESS, ret)
	require.Equal(t, 7, count, "a bound, not a count")
	st, err := d.State(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "1g.5gb@0 1g.5gb@2 1g.5gb@5", st.Layout.String())
}

// ghosts is a GPU whose MIG device handles outlive their devices and go on
// telling their numbers.
type ghosts struct {
	nvml.Device
	handles []nvml.Device
}

func (g ghosts) GetMigDeviceHandleByIndex(i int) (nvml.Device, nvml.Return) {
	if i < len(g.handles) {
		return g.handles[i], nvml.SUCCESS
	}
	return nil, nvml.ERROR_NOT_FOUND
}

type ghost struct {
	nvml.Device
	gi, ci int
}

func (g ghost) GetGpuInstanceId() (int, nvml.Return)     { return g.gi, nvml.SUCCESS } //nolint:revive // NVML's name
func (g ghost) GetComputeInstanceId() (int, nvml.Return) { return g.ci, nvml.SUCCESS } //nolint:revive // NVML's name

func TestCase44HandlesAfterDeletion(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"fresh", "stale", "ghosts"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			srv, err := nvmlfake.New(nvmlfake.Config{
				GPUs:         []nvmlfake.GPU{{Model: "a100-40gb", MIG: true}},
				StaleHandles: kind == "stale",
			})
			require.NoError(t, err)
			require.Equal(t, nvml.SUCCESS, srv.NVML().Init())
			gpu, ret := srv.NVML().DeviceGetHandleByIndex(0)
			require.Equal(t, nvml.SUCCESS, ret)
			plain := open(t, gpu)
			g := ghosts{Device: gpu}
			for _, in := range create(t, plain, "1g.5gb@0", "1g.5gb@1", "1g.5gb@2") {
				g.handles = append(g.handles, ghost{gpu, in.ID, in.Compute[0].ID})
			}
			destroy(t, plain, 1)
			if kind == "ghosts" {
				gpu = g
			}
			st, err := open(t, gpu).State(t.Context())
			require.NoError(t, err)
			assert.Equal(t, "1g.5gb@0 1g.5gb@2", st.Layout.String())
		})
	}
}

func TestCase45MorePlacementsThanInstances(t *testing.T) {
	t.Parallel()
	for start := range 7 {
		_, d := fake(t, "a100-40gb")
		create(t, d, "1g.5gb+me@"+string(rune('0'+start)))
	}
	_, d := fake(t, "a100-40gb")
	create(t, d, "7g.40gb@0")
}

// offering is a GPU whose GPU instances offer other compute instance profiles.
type offering struct {
	nvml.Device
	change func(index int, info nvml.ComputeInstanceProfileInfo, ret nvml.Return) (nvml.ComputeInstanceProfileInfo, nvml.Return)
	chosen *uint32
}

type offeringGI struct {
	nvml.GpuInstance
	of offering
}

func (o offering) CreateGpuInstanceWithPlacement(info *nvml.GpuInstanceProfileInfo, at *nvml.GpuInstancePlacement) (nvml.GpuInstance, nvml.Return) {
	gi, ret := o.Device.CreateGpuInstanceWithPlacement(info, at)
	return offeringGI{gi, o}, ret
}

func (g offeringGI) GetComputeInstanceProfileInfo(i, engine int) (nvml.ComputeInstanceProfileInfo, nvml.Return) {
	info, ret := g.GpuInstance.GetComputeInstanceProfileInfo(i, engine)
	return g.of.change(i, info, ret)
}

func (g offeringGI) CreateComputeInstance(info *nvml.ComputeInstanceProfileInfo) (nvml.ComputeInstance, nvml.Return) {
	*g.of.chosen = info.Id
	return nil, nvml.ERROR_UNKNOWN
}

func TestCase47And48ComputeInstanceOfFullSize(t *testing.T) {
	t.Parallel()
	row := func(id, slices, sms uint32) nvml.ComputeInstanceProfileInfo {
		return nvml.ComputeInstanceProfileInfo{Id: id, SliceCount: slices, InstanceCount: 1, MultiprocessorCount: sms}
	}
	tests := []struct {
		name   string
		offers map[int]nvml.ComputeInstanceProfileInfo
		want   uint32
	}{
		{"47: two of one name, the second has all multiprocessors", map[int]nvml.ComputeInstanceProfileInfo{0: row(0, 1, 18), 7: row(7, 1, 30)}, 7},
		{"48: the variant of other boards comes second", map[int]nvml.ComputeInstanceProfileInfo{0: row(0, 1, 14), 4: row(4, 7, 98), 8: row(8, 7, 98)}, 4},
		{"no multiprocessor counts", map[int]nvml.ComputeInstanceProfileInfo{0: row(0, 1, 0), 1: row(1, 2, 0), 4: row(4, 7, 0)}, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv, devs := newServer(t, true, "a100-40gb")
			chosen := ^uint32(0)
			d := open(t, offering{devs[0], func(i int, _ nvml.ComputeInstanceProfileInfo, ret nvml.Return) (nvml.ComputeInstanceProfileInfo, nvml.Return) {
				if info, found := tt.offers[i]; found {
					return info, nvml.SUCCESS
				}
				if ret == nvml.SUCCESS {
					ret = nvml.ERROR_NOT_SUPPORTED
				}
				return nvml.ComputeInstanceProfileInfo{}, ret
			}, &chosen})
			_, err := d.Create(t.Context(), mig.Instance{Profile: "7g.40gb", Start: 0})
			require.ErrorIs(t, err, nvml.ERROR_UNKNOWN)
			assert.Equal(t, tt.want, chosen)
			assert.Zero(t, layout(t, srv).Len())
		})
	}
}

// On every model, the compute instance that is created has the multiprocessors
// of its GPU instance, as far as the table knows them.
func TestCase47AdvertisedMultiprocessorsAreThoseCreated(t *testing.T) {
	t.Parallel()
	for _, m := range models() {
		t.Run(m.Key(), func(t *testing.T) {
			t.Parallel()
			srv, d := fake(t, m.Key())
			for p := range m.Profiles() {
				in, err := d.Create(t.Context(), mig.Instance{Profile: p.Name, Start: p.Starts.Lowest()})
				require.NoError(t, err)
				for c := range m.ComputeProfiles(p.Name) {
					if c.Default {
						assert.Equal(t, c.Index, in.Compute[0].Index, p.Name)
						assert.Equal(t, c.Name, in.Compute[0].Profile, p.Name)
						if c.SMs != 0 {
							assert.Equal(t, c.SMs, in.Compute[0].SMs, p.Name)
						}
					}
				}
				require.NoError(t, srv.Reset(0))
			}
		})
	}
}
