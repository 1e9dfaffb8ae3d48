package nvmlfake_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/nvmlfake"
)

// failer is what *testing.T, *testing.B and *rapid.T have in common.
type failer interface {
	require.TestingT
	Helper()
}

// start returns a server and its library, initialised.
func start(t failer, cfg nvmlfake.Config) (*nvmlfake.Server, nvml.Interface) {
	t.Helper()
	s, err := nvmlfake.New(cfg)
	require.NoError(t, err)
	lib := s.NVML()
	require.Equal(t, nvml.SUCCESS, lib.Init())
	return s, lib
}

// startGPU is start with one GPU in MIG mode.
func startGPU(t failer, model string) (*nvmlfake.Server, nvml.Device) {
	t.Helper()
	s, lib := start(t, nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: model, MIG: true}}})
	return s, must(lib.DeviceGetHandleByIndex(0))
}

// must returns the value of a call that has to succeed.
func must[T any](v T, ret nvml.Return) T {
	if ret != nvml.SUCCESS {
		panic(fmt.Sprintf("unexpected %v", ret))
	}
	return v
}

// code returns the code of a call.
func code[T any](_ T, ret nvml.Return) nvml.Return { return ret }

// infoOf returns what NVML says of a profile that the model offers.
func infoOf(t failer, d nvml.Device, model, profile string) *nvml.GpuInstanceProfileInfo {
	t.Helper()
	m, err := mig.Lookup(model)
	require.NoError(t, err)
	p, err := m.Profile(profile)
	require.NoError(t, err)
	info := must(d.GetGpuInstanceProfileInfo(p.Index))
	return &info
}

// computeInfoOf returns what NVML says of a compute profile, by its index.
func computeInfoOf(gi nvml.GpuInstance, index int) *nvml.ComputeInstanceProfileInfo {
	info := must(gi.GetComputeInstanceProfileInfo(index, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED))
	return &info
}

// models are those whose geometry is known.
func models() []*mig.Model {
	return slices.DeleteFunc(slices.Collect(mig.Models()), func(m *mig.Model) bool { return m.MemorySlices() == 0 })
}

func genModel(t *rapid.T) *mig.Model {
	return rapid.SampledFrom(models()).Draw(t, "model")
}

func genProfile(t *rapid.T, m *mig.Model) mig.Profile {
	return rapid.SampledFrom(slices.Collect(m.Profiles())).Draw(t, "profile")
}

// genInstances draws instances at legal starts that may or may not stand
// together: mostly each beside what came before, sometimes anywhere.
func genInstances(t *rapid.T, m *mig.Model) []mig.Instance {
	layout := m.Empty()
	var instances []mig.Instance
	for range rapid.IntRange(1, 7).Draw(t, "count") {
		p := genProfile(t, m)
		starts := slices.Collect(layout.FreeStarts(p).All())
		if len(starts) == 0 || rapid.IntRange(0, 9).Draw(t, "anywhere") == 0 {
			starts = slices.Collect(p.Starts.All())
		}
		at := rapid.SampledFrom(starts).Draw(t, "start")
		instances = append(instances, mig.Instance{Profile: p.Name, Start: at})
		if next, err := layout.With(p, at); err == nil {
			layout = next
		} else if rapid.Bool().Draw(t, "give up the invalid one") {
			instances = instances[:len(instances)-1]
		}
	}
	return instances
}

// createAll creates instances with explicit placements and returns the code of
// the first that fails.
func createAll(t failer, d nvml.Device, m *mig.Model, instances []mig.Instance) nvml.Return {
	t.Helper()
	for _, in := range instances {
		p, err := m.Profile(in.Profile)
		require.NoError(t, err)
		at := nvml.GpuInstancePlacement{Start: uint32(in.Start), Size: uint32(p.Size)}
		if _, ret := d.CreateGpuInstanceWithPlacement(infoOf(t, d, m.Key(), in.Profile), &at); ret != nvml.SUCCESS {
			return ret
		}
	}
	return nvml.SUCCESS
}

// throughJSON writes a machine down and returns one that is read from that.
func throughJSON(t failer, s *nvmlfake.Server) *nvmlfake.Server {
	t.Helper()
	snap := s.Snapshot()
	text, err := json.Marshal(snap)
	require.NoError(t, err)
	read, err := nvmlfake.ReadSnapshot(bytes.NewReader(text))
	require.NoError(t, err)
	require.Equal(t, snap, read)
	restored, err := nvmlfake.Restore(read)
	require.NoError(t, err)
	require.NoError(t, restored.Audit())
	require.Equal(t, snap, restored.Snapshot())
	return restored
}
