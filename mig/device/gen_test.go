package device_test

import (
	"slices"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/nvmlfake"
)

// tb is what *testing.T and *rapid.T have in common for the helpers here.
type tb interface {
	require.TestingT
	Helper()
}

// newServer returns an initialised fake with one GPU of each model.
func newServer(t tb, on bool, models ...string) (*nvmlfake.Server, []nvml.Device) {
	t.Helper()
	var cfg nvmlfake.Config
	for _, m := range models {
		cfg.GPUs = append(cfg.GPUs, nvmlfake.GPU{Model: m, MIG: on})
	}
	srv, err := nvmlfake.New(cfg)
	require.NoError(t, err)
	lib := srv.NVML()
	require.Equal(t, nvml.SUCCESS, lib.Init())
	var devs []nvml.Device
	for i := range models {
		dev, ret := lib.DeviceGetHandleByIndex(i)
		require.Equal(t, nvml.SUCCESS, ret)
		devs = append(devs, dev)
	}
	return srv, devs
}

// open opens a GPU that must be known.
func open(t testing.TB, dev nvml.Device) *device.GPU {
	t.Helper()
	d, err := device.Open(t.Context(), dev)
	require.NoError(t, err)
	return d
}

// fake returns one GPU in MIG mode.
func fake(t testing.TB, model string) (*nvmlfake.Server, *device.GPU) {
	t.Helper()
	srv, devs := newServer(t, true, model)
	return srv, open(t, devs[0])
}

// create creates instances given as "3g.20gb@4".
func create(t testing.TB, d *device.GPU, instances ...string) []device.Instance {
	t.Helper()
	var all []device.Instance
	for _, s := range instances {
		want, err := mig.ParseInstance(s)
		require.NoError(t, err)
		in, err := d.Create(t.Context(), want)
		require.NoError(t, err)
		all = append(all, in)
	}
	return all
}

// standing reads the instance that begins at a memory slice.
func standing(t testing.TB, d *device.GPU, start int) device.Instance {
	t.Helper()
	st, err := d.State(t.Context())
	require.NoError(t, err)
	in, there := st.At(start)
	require.True(t, there, "nothing begins at %d of %v", start, st)
	return in
}

// destroy destroys the instances that begin at the given memory slices.
func destroy(t testing.TB, d *device.GPU, starts ...int) {
	t.Helper()
	for _, start := range starts {
		require.NoError(t, d.Destroy(t.Context(), standing(t, d, start)))
	}
}

// layout returns what the fake's own books hold.
func layout(t tb, srv *nvmlfake.Server) mig.Layout {
	t.Helper()
	l, err := srv.Layout(0)
	require.NoError(t, err)
	return l
}

// models are those that a GPU can be made of: their placements are known.
func models() []*mig.Model {
	return slices.DeleteFunc(slices.Collect(mig.Models()), func(m *mig.Model) bool { return m.MemorySlices() == 0 })
}

func genModel(t *rapid.T) *mig.Model {
	return rapid.SampledFrom(models()).Draw(t, "model")
}

func genProfile(t *rapid.T, m *mig.Model) mig.Profile {
	return rapid.SampledFrom(slices.Collect(m.Profiles())).Draw(t, "profile")
}

// genInstances draws up to n instances, each at a legal start; together they
// may well be impossible.
func genInstances(t *rapid.T, m *mig.Model, n int) []mig.Instance {
	var all []mig.Instance
	for range rapid.IntRange(1, n).Draw(t, "instances") {
		p := genProfile(t, m)
		start := rapid.SampledFrom(slices.Collect(p.Starts.All())).Draw(t, "start")
		all = append(all, mig.Instance{Profile: p.Name, Start: start, Size: p.Size})
	}
	return all
}

// genLayout draws a legal layout as the list of its instances.
func genLayout(t *rapid.T, m *mig.Model) (mig.Layout, []mig.Instance) {
	l := m.Empty()
	for _, in := range genInstances(t, m, m.MemorySlices()) {
		p, err := m.Profile(in.Profile)
		require.NoError(t, err)
		if next, err := l.With(p, in.Start); err == nil {
			l = next
		}
	}
	return l, slices.Collect(l.Instances())
}
