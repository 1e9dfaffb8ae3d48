package nvmlfake_test

import (
	"slices"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/nvmlfake"
)

// tableOf returns a model like another one after a change.
func tableOf(t *testing.T, key string, change func(*mig.Spec)) *mig.Model {
	t.Helper()
	m, err := mig.Lookup(key)
	require.NoError(t, err)
	spec := m.Spec()
	spec.Key = "like-" + key
	change(&spec)
	table, err := mig.NewModel(spec)
	require.NoError(t, err)
	return table
}

// forget removes all figures that a source may lack.
func forget(s *mig.Spec) {
	s.MemoryMiB, s.SMs, s.ComputeProfiles = 0, 0, nil
	for i := range s.Profiles {
		p := &s.Profiles[i]
		p.ID, p.MemoryMiB, p.SMs = mig.NotKnown, 0, 0
		p.Engines = mig.Engines{Copy: mig.NotKnown, Decoders: mig.NotKnown, Encoders: mig.NotKnown, JPEG: mig.NotKnown, OFA: mig.NotKnown}
	}
}

// startTable is startGPU for a table.
func startTable(t *testing.T, table *mig.Model) (*nvmlfake.Server, nvml.Device) {
	t.Helper()
	s, lib := start(t, nvmlfake.Config{GPUs: []nvmlfake.GPU{{Table: table, MIG: true}}})
	return s, must(lib.DeviceGetHandleByIndex(0))
}

// A model whose table says where instances may stand and nothing more: the fake
// has a figure everywhere, says so, and the ids are those of the family.
func TestTableThatKnowsLittle(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"a30-24gb", "a100-40gb", "h100-80gb-sxm5", "b200-180gb", "rtx-pro-6000-96gb"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			known, err := mig.Lookup(key)
			require.NoError(t, err)
			table := tableOf(t, key, forget)
			s, d := startTable(t, table)
			total := int(must(d.GetMemoryInfo()).Total >> 20)
			assert.Equal(t, []string{"Memory.Total"}, nvmlfake.Synthetic(table, ""))
			for p := range known.Profiles() {
				info := must(d.GetGpuInstanceProfileInfo(p.Index))
				assert.Equal(t, uint32(p.ID), info.Id, p.Name)
				name, err := mig.ParseName(p.Name)
				require.NoError(t, err)
				assert.Equal(t, name.MemoryGB, mig.MemoryGB(int(info.MemorySizeMB), total), p.Name)
				assert.Positive(t, info.MultiprocessorCount)
				assert.Positive(t, info.CopyEngineCount)
				assert.Equal(t, []string{
					"Id", "MultiprocessorCount", "CopyEngineCount", "DecoderCount", "EncoderCount", "JpegCount", "OfaCount", "MemorySizeMB",
				}, nvmlfake.Synthetic(table, p.Name))

				gi := must(d.CreateGpuInstance(&info))
				for c := range known.ComputeProfiles(p.Name) {
					if c.Index == nvml.COMPUTE_INSTANCE_PROFILE_1_SLICE_REV1 {
						continue // no rule gives it
					}
					one := computeInfoOf(gi, c.Index)
					var starts mig.Mask
					for _, at := range must(gi.GetComputeInstancePossiblePlacements(one)) {
						assert.Equal(t, uint32(c.Size), at.Size)
						starts |= mig.MaskOf(int(at.Start))
					}
					assert.Equal(t, c.Starts, starts, c.Name)
					assert.Equal(t, uint32(c.MaxInstances), one.InstanceCount, c.Name)
					assert.Equal(t, uint32(c.Slices), one.SliceCount, c.Name)
					assert.LessOrEqual(t, one.MultiprocessorCount, info.MultiprocessorCount)
					if c.Name != p.Name {
						assert.Equal(t, []string{"MultiprocessorCount"}, nvmlfake.Synthetic(table, c.Name))
					}
				}
				require.NoError(t, s.Audit())
				assert.Equal(t, nvml.SUCCESS, gi.Destroy())
			}
			assert.Empty(t, nvmlfake.Synthetic(table, "no such profile"))
		})
	}
}

// Figures per slice where no profile has one: by architecture.
func TestProcessorsOfASlice(t *testing.T) {
	t.Parallel()
	for architecture, want := range map[string]uint32{"Ampere": 98, "Hopper": 112, "Blackwell": 126} {
		_, d := startTable(t, tableOf(t, "a100-40gb", func(s *mig.Spec) { forget(s); s.Architecture = architecture }))
		assert.Equal(t, want, must(d.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_7_SLICE)).MultiprocessorCount, architecture)
	}
	_, d := startTable(t, tableOf(t, "a100-40gb", func(s *mig.Spec) { forget(s); s.Profiles[0].SMs = 20 }))
	assert.Equal(t, uint32(140), must(d.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_7_SLICE)).MultiprocessorCount)
}

// An id of the family that the table gives to another profile stays there.
func TestSyntheticIDsDoNotCollide(t *testing.T) {
	t.Parallel()
	table := tableOf(t, "a100-40gb", func(s *mig.Spec) { forget(s); s.Profiles[0].ID = 14 })
	_, d := startTable(t, table)
	var ids []uint32
	for p := range table.Profiles() {
		id := must(d.GetGpuInstanceProfileInfo(p.Index)).Id
		assert.NotContains(t, ids, id)
		ids = append(ids, id)
	}
	assert.Contains(t, ids, uint32(201))
}

// A GPU of a table of one's own: a name, and a snapshot that JSON does not carry
// whole.
func TestTableOfOnesOwn(t *testing.T) {
	t.Parallel()
	table := tableOf(t, "a100-40gb", func(s *mig.Spec) { s.ProductNames = []string{"NVIDIA Prototype"} })
	s, d := startTable(t, table)
	assert.Equal(t, "NVIDIA Prototype", must(d.GetName()))
	cut(t, d)
	snap := s.Snapshot()
	restored, err := nvmlfake.Restore(snap)
	require.NoError(t, err)
	assert.Equal(t, snap, restored.Snapshot())
	snap.GPUs[0].Table = nil
	_, err = nvmlfake.Restore(snap)
	require.ErrorIs(t, err, mig.ErrUnknownModel)

	nameless := tableOf(t, "a100-40gb", func(s *mig.Spec) { s.ProductNames, s.PCIDeviceIDs, s.Description = nil, nil, "a prototype" })
	_, d = startTable(t, nameless)
	assert.Equal(t, "a prototype", must(d.GetName()))
	assert.Zero(t, must(d.GetPciInfo()).PciDeviceId)
}

// Every model of package mig is a GPU, but for those whose placements nobody has
// published.
func TestEveryModelOrARefusal(t *testing.T) {
	t.Parallel()
	for m := range mig.Models() {
		_, err := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: m.Key()}}})
		if m.MemorySlices() > 0 {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, mig.ErrUnknownGeometry)
		require.ErrorContains(t, err, m.Key())
	}
	unplaced := tableOf(t, "a100-40gb", func(s *mig.Spec) {
		s.MemorySlices = 0
		for i := range s.Profiles {
			s.Profiles[i].Size, s.Profiles[i].Starts = 0, 0
		}
	})
	_, err := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a100-40gb"}, {Table: unplaced}}})
	require.ErrorIs(t, err, mig.ErrUnknownGeometry)
	require.ErrorContains(t, err, "GPU 1")
	strange := tableOf(t, "a100-40gb", func(s *mig.Spec) {
		at := slices.IndexFunc(s.ComputeProfiles, func(c mig.ComputeProfile) bool { return c.Name == "1c.7g.40gb" })
		s.ComputeProfiles[at].Index = 9
	})
	_, err = nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{{Table: strange}}})
	require.ErrorContains(t, err, "index 9")
}
