package interop_test

import (
	"slices"
	"testing"

	nvlib "github.com/NVIDIA/go-nvlib/pkg/nvlib/device"
	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/nvmlfake"
)

// serve returns an initialised fake and go-nvlib on top of it.
func serve(t *testing.T, gpus ...nvmlfake.GPU) (*nvmlfake.Server, nvlib.Interface) {
	t.Helper()
	srv, err := nvmlfake.New(nvmlfake.Config{GPUs: gpus})
	require.NoError(t, err)
	lib := srv.NVML()
	require.Equal(t, nvml.SUCCESS, lib.Init())
	return srv, nvlib.New(lib)
}

// one returns the only GPU of a machine, in MIG mode.
func one(t *testing.T, model string) nvlib.Device {
	t.Helper()
	_, lib := serve(t, nvmlfake.GPU{Model: model, MIG: true})
	gpus, err := lib.GetDevices()
	require.NoError(t, err)
	require.Len(t, gpus, 1)
	return gpus[0]
}

// models are those that the fake can be: their geometry is known.
func models() []*mig.Model {
	return slices.DeleteFunc(slices.Collect(mig.Models()), func(m *mig.Model) bool { return m.MemorySlices() == 0 })
}

func forEachModel(t *testing.T, f func(t *testing.T, m *mig.Model)) {
	t.Helper()
	for _, m := range models() {
		t.Run(m.Key(), func(t *testing.T) {
			t.Parallel()
			f(t, m)
		})
	}
}

func TestGPUs(t *testing.T) {
	t.Parallel()
	capability := map[string]string{
		"a30-24gb": "8.0", "a100-40gb": "8.0", "a100-80gb": "8.0", "a800-40gb": "8.0", "a800-80gb": "8.0", "pg506-96gb": "8.0",
		"h100-80gb-sxm5": "9.0", "h100-80gb-pcie": "9.0", "h100-94gb": "9.0", "h800-80gb": "9.0", "h800-nvl": "9.0",
		"h200-141gb": "9.0", "h20-96gb": "9.0", "h20-141gb": "9.0", "gh200-96gb": "9.0", "gh200-144gb": "9.0",
		"b200-180gb": "10.0", "gb200-186gb": "10.0", "gb200-189gb": "10.0", "b300": "10.3", "gb300": "10.3",
		"rtx-pro-6000-96gb": "12.0",
	}
	var gpus []nvmlfake.GPU
	for _, m := range models() {
		gpus = append(gpus, nvmlfake.GPU{Model: m.Key(), MIG: true}, nvmlfake.GPU{Model: m.Key()})
	}
	srv, lib := serve(t, gpus...)
	i := 0
	seen := map[string]bool{}
	err := lib.VisitDevices(func(index int, d nvlib.Device) error {
		model, err := mig.Lookup(gpus[i].Model)
		require.NoError(t, err)
		spec := model.Spec()
		assert.Equal(t, i, index)

		name, ret := d.GetName()
		require.Equal(t, nvml.SUCCESS, ret)
		assert.Contains(t, spec.ProductNames, name)
		uuid, ret := d.GetUUID()
		require.Equal(t, nvml.SUCCESS, ret)
		assert.True(t, nvlib.Identifier(uuid).IsGpuUUID(), uuid)
		assert.False(t, seen[uuid])
		seen[uuid] = true
		architecture, err := d.GetArchitectureAsString()
		require.NoError(t, err)
		assert.Equal(t, spec.Architecture, architecture)
		_, err = d.GetBrandAsString()
		require.NoError(t, err)
		cc, err := d.GetCudaComputeCapabilityAsString()
		require.NoError(t, err)
		require.Contains(t, capability, model.Key())
		assert.Equal(t, capability[model.Key()], cc)
		if !slices.Contains(nvmlfake.Synthetic(model, ""), "Memory.Total") {
			memory, ret := d.GetMemoryInfo()
			require.Equal(t, nvml.SUCCESS, ret)
			assert.EqualValues(t, spec.MemoryMiB, memory.Total>>20)
		}
		capable, err := d.IsMigCapable()
		require.NoError(t, err)
		assert.True(t, capable)
		enabled, err := d.IsMigEnabled()
		require.NoError(t, err)
		assert.Equal(t, gpus[i].MIG, enabled)

		// What the fake does not model, the client takes for an answer.
		attached, err := d.IsFabricAttached()
		require.NoError(t, err)
		assert.False(t, attached)
		coherent, err := d.IsCoherent()
		require.NoError(t, err)
		assert.False(t, coherent)
		mode, err := d.GetAddressingModeAsString()
		require.NoError(t, err)
		assert.Empty(t, mode)

		// Both ways back lead to the same GPU.
		bus, err := d.GetPCIBusID()
		require.NoError(t, err)
		byBus, ret := srv.NVML().DeviceGetHandleByPciBusId(bus)
		require.Equal(t, nvml.SUCCESS, ret)
		again, ret := byBus.GetUUID()
		require.Equal(t, nvml.SUCCESS, ret)
		assert.Equal(t, uuid, again)
		byUUID, err := lib.NewDeviceByUUID(uuid)
		require.NoError(t, err)
		at, ret := byUUID.GetIndex()
		require.Equal(t, nvml.SUCCESS, ret)
		assert.Equal(t, i, at)
		i++
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, len(gpus), i)
}

// The profiles that go-nvlib works out from what the fake reports, with its own
// rule for names and its own guess at the compute instances, are those of the
// table.
func TestProfiles(t *testing.T) {
	t.Parallel()
	forEachModel(t, func(t *testing.T, m *mig.Model) {
		profiles, err := one(t, m.Key()).GetMigProfiles()
		require.NoError(t, err)
		found := map[string]bool{}
		index := map[string]int{}
		for _, p := range profiles {
			found[p.String()] = true
			if info := p.GetInfo(); info.C == info.G {
				index[p.String()] = info.GIProfileID
			}
		}
		want := map[string]bool{}
		indices := map[string]int{}
		for p := range m.Profiles() {
			indices[p.Name] = p.Index
			for c := range m.ComputeProfiles(p.Name) {
				want[c.Name] = true
			}
		}
		if len(want) > 0 {
			assert.Equal(t, want, found)
		}
		assert.Equal(t, indices, index)
	})
}

// fill puts every compute profile of every GPU instance profile on the GPU, one
// GPU instance at a time, and calls f with it there.
func fill(t *testing.T, gpu nvml.Device, m *mig.Model, f func(p mig.Profile, c mig.ComputeProfile)) {
	t.Helper()
	for p := range m.Profiles() {
		info, ret := gpu.GetGpuInstanceProfileInfo(p.Index)
		require.Equal(t, nvml.SUCCESS, ret)
		at := nvml.GpuInstancePlacement{Start: uint32(p.Starts.Lowest()), Size: uint32(p.Size)}
		gi, ret := gpu.CreateGpuInstanceWithPlacement(&info, &at)
		require.Equal(t, nvml.SUCCESS, ret)
		for c := range m.ComputeProfiles(p.Name) {
			info, ret := gi.GetComputeInstanceProfileInfo(c.Index, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
			require.Equal(t, nvml.SUCCESS, ret)
			ci, ret := gi.CreateComputeInstance(&info)
			require.Equal(t, nvml.SUCCESS, ret)
			f(p, c)
			require.Equal(t, nvml.SUCCESS, ci.Destroy())
		}
		require.Equal(t, nvml.SUCCESS, gi.Destroy())
	}
}

func TestMIGDevices(t *testing.T) {
	t.Parallel()
	forEachModel(t, func(t *testing.T, m *mig.Model) {
		srv, lib := serve(t, nvmlfake.GPU{Model: m.Key(), MIG: true})
		gpu, ret := srv.NVML().DeviceGetHandleByIndex(0)
		require.Equal(t, nvml.SUCCESS, ret)
		fill(t, gpu, m, func(p mig.Profile, c mig.ComputeProfile) {
			devices, err := lib.GetMigDevices()
			require.NoError(t, err)
			require.Len(t, devices, 1)
			d := devices[0]
			profile, err := d.GetProfile()
			require.NoError(t, err)
			assert.Equal(t, c.Name, profile.String())
			assert.True(t, profile.Matches(c.Name))
			assert.Equal(t, p.Index, profile.GetInfo().GIProfileID)
			assert.Equal(t, c.Index, profile.GetInfo().CIProfileID)

			attributes, ret := d.GetAttributes()
			require.Equal(t, nvml.SUCCESS, ret)
			assert.EqualValues(t, p.ComputeSlices, attributes.GpuInstanceSliceCount)
			assert.EqualValues(t, c.Slices, attributes.ComputeInstanceSliceCount)
			synthetic := nvmlfake.Synthetic(m, p.Name)
			for _, figure := range []struct {
				field string
				want  int
				got   uint64
			}{
				{"MemorySizeMB", p.MemoryMiB, attributes.MemorySizeMB},
				{"CopyEngineCount", p.Engines.Copy, uint64(attributes.SharedCopyEngineCount)},
				{"DecoderCount", p.Engines.Decoders, uint64(attributes.SharedDecoderCount)},
				{"EncoderCount", p.Engines.Encoders, uint64(attributes.SharedEncoderCount)},
				{"JpegCount", p.Engines.JPEG, uint64(attributes.SharedJpegCount)},
				{"OfaCount", p.Engines.OFA, uint64(attributes.SharedOfaCount)},
			} {
				if !slices.Contains(synthetic, figure.field) {
					assert.EqualValues(t, figure.want, figure.got, "%s %s", p.Name, figure.field)
				}
			}
			if !slices.Contains(nvmlfake.Synthetic(m, c.Name), "MultiprocessorCount") && c.SMs != 0 {
				assert.EqualValues(t, c.SMs, attributes.MultiprocessorCount, c.Name)
			}

			uuid, ret := d.GetUUID()
			require.Equal(t, nvml.SUCCESS, ret)
			assert.True(t, nvlib.Identifier(uuid).IsMigUUID(), uuid)
			again, err := lib.NewMigDeviceByUUID(uuid)
			require.NoError(t, err)
			other, err := again.GetProfile()
			require.NoError(t, err)
			assert.True(t, profile.Equals(other))
		})
		devices, err := lib.GetMigDevices()
		require.NoError(t, err)
		assert.Empty(t, devices)
		require.NoError(t, srv.Audit())
	})
}

// What mig/device creates through a handle that go-nvlib wraps is what go-nvlib
// then walks; holes among the MIG devices are skipped by both.
func TestBothClientsSeeTheSame(t *testing.T) {
	t.Parallel()
	srv, lib := serve(t, nvmlfake.GPU{Model: "a100-40gb", MIG: true}, nvmlfake.GPU{Model: "h100-80gb-sxm5", MIG: true})
	gpus, err := lib.GetDevices()
	require.NoError(t, err)
	a100, err := device.Open(t.Context(), gpus[0])
	require.NoError(t, err)
	var made []device.Instance
	for start := range 7 {
		in, err := a100.Create(t.Context(), mig.Instance{Profile: "1g.5gb", Start: start})
		require.NoError(t, err)
		made = append(made, in)
	}
	for _, start := range []int{1, 4, 5, 6} {
		require.NoError(t, a100.Destroy(t.Context(), made[start]))
	}
	_, err = a100.Create(t.Context(), mig.Instance{Profile: "3g.20gb", Start: 4})
	require.NoError(t, err)
	h100, err := device.Open(t.Context(), gpus[1])
	require.NoError(t, err)
	_, err = h100.Create(t.Context(), mig.Instance{Profile: "1g.20gb", Start: 6})
	require.NoError(t, err)

	got := map[string]string{} // UUID to profile
	err = lib.VisitMigDevices(func(_ int, _ nvlib.Device, _ int, d nvlib.MigDevice) error {
		uuid, ret := d.GetUUID()
		require.Equal(t, nvml.SUCCESS, ret)
		profile, err := d.GetProfile()
		require.NoError(t, err)
		got[uuid] = profile.String()
		return nil
	})
	require.NoError(t, err)
	want := map[string]string{}
	for _, d := range []*device.GPU{a100, h100} {
		st, err := d.State(t.Context())
		require.NoError(t, err)
		for _, in := range st.Instances {
			for _, c := range in.Compute {
				want[c.UUID] = c.Profile
			}
		}
	}
	assert.Equal(t, want, got)
	assert.Len(t, got, 5)
	require.NoError(t, srv.Audit())
}

func libOf(t *testing.T, model string) nvlib.Interface {
	t.Helper()
	_, lib := serve(t, nvmlfake.GPU{Model: model, MIG: true})
	return lib
}
