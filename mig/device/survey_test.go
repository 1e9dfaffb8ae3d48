package device_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/nvmlfake"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

// tableServer is newServer for one GPU in MIG mode of a table of the test's own.
func tableServer(t tb, m *mig.Model) (*nvmlfake.Server, nvml.Device) {
	t.Helper()
	srv, err := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{{Table: m, MIG: true}}})
	require.NoError(t, err)
	require.Equal(t, nvml.SUCCESS, srv.NVML().Init())
	dev, ret := srv.NVML().DeviceGetHandleByIndex(0)
	require.Equal(t, nvml.SUCCESS, ret)
	return srv, dev
}

// placed iterates over the models that the fake can be.
func placed(yield func(*mig.Model) bool) {
	for m := range mig.Models() {
		if m.MemorySlices() > 0 && !yield(m) {
			return
		}
	}
}

// surveyed returns the model that a survey leads to.
func surveyed(t testing.TB, dev nvml.Device) (mig.Spec, *mig.Model) {
	t.Helper()
	spec, err := device.Survey(t.Context(), dev)
	require.NoError(t, err)
	m, err := mig.NewModel(spec)
	require.NoError(t, err)
	return spec, m
}

// For every model, with MIG on and off: what the fake says leads to the table
// that the fake was made from, figures that the table lacks aside.
func TestSurveyOfEveryModel(t *testing.T) {
	t.Parallel()
	for m := range placed {
		t.Run(m.Key(), func(t *testing.T) {
			t.Parallel()
			for _, on := range []bool{false, true} {
				_, devs := newServer(t, on, m.Key())
				spec, got := surveyed(t, devs[0])
				table := m.Spec()
				assert.Equal(t, table.Key, spec.Key)
				require.Len(t, spec.Profiles, len(table.Profiles))
				for i, p := range spec.Profiles {
					assert.Equal(t, table.Profiles[i].Name, p.Name, "the order of the table")
					assert.Equal(t, mig.Exact, p.Confidence)
					assert.Equal(t, mig.Exact, p.Geometry)
				}
				require.Len(t, spec.ComputeProfiles, len(table.ComputeProfiles))
				for i, c := range spec.ComputeProfiles {
					assert.Equal(t, mig.Derived, c.Confidence, "nothing exists to read it from")
					c.Confidence = table.ComputeProfiles[i].Confidence
					assert.Equal(t, table.ComputeProfiles[i], c)
				}
				for _, d := range mig.Compare(table, spec) {
					assert.Equal(t, mig.TableUnknown, d.Verdict, d)
				}
				assert.Equal(t, m.Census(nil), got.Census(nil))
			}
		})
	}
}

// Where a GPU instance exists, its compute profiles are read and not derived.
func TestSurveyReadsComputeProfiles(t *testing.T) {
	t.Parallel()
	for m := range placed {
		t.Run(m.Key(), func(t *testing.T) {
			t.Parallel()
			for p := range m.Profiles() {
				_, devs := newServer(t, true, m.Key())
				create(t, open(t, devs[0]), mig.Instance{Profile: p.Name, Start: p.Starts.Lowest()}.String())
				spec, _ := surveyed(t, devs[0])
				var got []mig.ComputeProfile
				for _, c := range spec.ComputeProfiles {
					if c.GPUInstance != p.Name {
						assert.Equal(t, mig.Derived, c.Confidence, c.Name)
						continue
					}
					assert.Equal(t, mig.Exact, c.Confidence, c.Name)
					got = append(got, c)
				}
				for i, want := range slices.Collect(m.ComputeProfiles(p.Name)) {
					if !assert.Less(t, i, len(got), p.Name) {
						break
					}
					want.Confidence = mig.Exact
					if want.SMs == 0 {
						want.SMs = got[i].SMs // a figure of the fake's own
					}
					assert.Equal(t, want, got[i])
				}
			}
		})
	}
}

// The model of a survey answers as the table does.
func TestSurveyedModelAnswersAsTheTable(t *testing.T) {
	t.Parallel()
	models := map[*mig.Model]*mig.Model{}
	for m := range placed {
		_, devs := newServer(t, true, m.Key())
		_, models[m] = surveyed(t, devs[0])
	}
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(slices.Collect(placed)).Draw(t, "model")
		got := models[m]
		instances := genInstances(t, m, 8)
		a, b := m.Validate(instances...), got.Validate(instances...)
		require.Equal(t, fmt.Sprint(a), fmt.Sprint(b))
		l, list := genLayout(t, m)
		live, err := got.Layout(list...)
		require.NoError(t, err)
		want := mig.Demand{genProfile(t, m).Name: 1, genProfile(t, m).Name: rapid.IntRange(1, 2).Draw(t, "count")}
		fit, why := l.Fit(want)
		liveFit, liveWhy := live.Fit(want)
		require.Equal(t, fmt.Sprint(fit, why), fmt.Sprint(liveFit, liveWhy))
		require.Equal(t, l.FreePairs(), live.FreePairs())
		for p := range m.Profiles() {
			q, found := got.Offers(p.Name)
			require.True(t, found)
			require.Equal(t, l.FreeStarts(p), live.FreeStarts(q))
			require.Equal(t, l.Remaining(p), live.Remaining(q))
			start, ok := l.DefaultStart(p)
			liveStart, liveOK := live.DefaultStart(q)
			require.Equal(t, []any{start, ok}, []any{liveStart, liveOK})
		}
	})
}

// A GPU that no table knows can be opened, asked and cut all the same.
func TestSurveyOfUnknownGPU(t *testing.T) {
	t.Parallel()
	srv, devs := newServer(t, true, "a100-40gb")
	stranger := disguised{devs[0], 0x123410DE, "NVIDIA X9 Ultra", 40960 << 20}
	_, err := device.Open(t.Context(), stranger)
	require.ErrorIs(t, err, mig.ErrUnknownModel)

	create(t, open(t, devs[0]), "3g.20gb@4")
	spec, m := surveyed(t, stranger)
	assert.Equal(t, "x9-ultra-40gb", spec.Key)
	assert.Equal(t, []string{"NVIDIA X9 Ultra"}, spec.ProductNames)
	assert.Equal(t, "Ampere", spec.Architecture)
	assert.Equal(t, 40, spec.NameMemoryGB)
	assert.True(t, spec.ModeNeedsReset)
	assert.Zero(t, spec.SMs, "no call tells them")
	var compute []string
	for _, c := range spec.ComputeProfiles {
		compute = append(compute, c.Name)
	}
	assert.Equal(t, []string{"1c.3g.20gb", "2c.3g.20gb", "3g.20gb"}, compute, "of what exists, and of nothing else")

	d, err := device.OpenModel(t.Context(), stranger, m)
	require.NoError(t, err)
	create(t, d, "2g.10gb@0")
	assert.Equal(t, "2g.10gb@0 3g.20gb@4", layout(t, srv).String())
	st, err := d.State(t.Context())
	require.NoError(t, err)
	assert.Same(t, m, st.Layout.Model())
}

// Without a table the architecture tells whether a change of mode needs a reset,
// as far as that is known of all GPUs of it.
func TestSurveyOfModeWithoutTable(t *testing.T) {
	t.Parallel()
	for key, want := range map[string][2]bool{"a30-24gb": {true, true}, "h100-80gb-sxm5": {false, true}, "b200-180gb": {false, false}} {
		_, devs := newServer(t, false, key)
		spec, _ := surveyed(t, disguised{devs[0], 1, "NVIDIA X9", 40 << 40})
		assert.Equal(t, want, [2]bool{spec.ModeNeedsReset, spec.ModeNeedsResetKnown}, key)
	}
}

func TestSurveyKeys(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, true, "a100-40gb")
	for name, want := range map[string]string{
		"NVIDIA A200-SXM6-40GB":   "a200-sxm6-40gb",
		"NVIDIA":                  "nvidia-40gb",
		"":                        "gpu-40gb",
		"Graphics  Device / (x)":  "graphics-device-x-40gb",
		"nvidia\x00 Ünï 9 - 40gb": "n-9-40gb",
	} {
		spec, _ := surveyed(t, disguised{devs[0], 1, name, 40960 << 20})
		assert.Equal(t, want, spec.Key, name)
	}
}

// The memory decides between boards of one PCI id or one name, and a name alone
// finds a table too.
func TestSurveyFindsTheTable(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, true, "a100-40gb")
	spec, _ := surveyed(t, disguised{devs[0], 1, "nvidia a100-sxm4-40gb", 40960 << 20})
	assert.Equal(t, "a100-40gb", spec.Key)
	assert.Equal(t, 108, spec.SMs)
	spec, _ = surveyed(t, disguised{devs[0], 1, "NVIDIA A100-SXM4-40GB", 41 << 30})
	assert.Equal(t, "a100-sxm4-40gb-41gb", spec.Key, "of that name, but of other memory")
}

// A driver that does not tell placements while MIG is off leaves the geometry
// unknown, which no question takes for an empty GPU.
func TestSurveyWithoutPlacements(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, false, "a100-40gb")
	spec, m := surveyed(t, faulty(t, devs[0], fault.Rule{Method: "Device.GetGpuInstancePossiblePlacements", Effect: fault.Refuse, Return: nvml.ERROR_NOT_SUPPORTED}))
	assert.Zero(t, spec.MemorySlices)
	for _, p := range spec.Profiles {
		assert.False(t, p.HasGeometry())
		assert.Equal(t, mig.Unknown, p.Geometry)
	}
	_, err := m.Layout(mig.Instance{Profile: "3g.20gb", Start: 4})
	require.ErrorIs(t, err, mig.ErrUnknownGeometry)

	_, err = device.Survey(t.Context(), faulty(t, devs[0], fault.Rule{Method: "Device.GetGpuInstanceProfileInfo", Effect: fault.Refuse, Return: nvml.ERROR_NOT_SUPPORTED}))
	require.ErrorIs(t, err, device.ErrNotSupported)
	require.ErrorContains(t, err, "older driver")
}

// faulty puts rules between the test and a device.
func faulty(t testing.TB, dev nvml.Device, rules ...fault.Rule) nvml.Device {
	t.Helper()
	r, err := fault.New(1, rules...)
	require.NoError(t, err)
	return fault.WrapDevice(dev, r)
}

// altered returns a model's table with changes, as a model.
func altered(t tb, key string, change func(*mig.Spec)) *mig.Model {
	t.Helper()
	m, err := mig.Lookup(key)
	require.NoError(t, err)
	s := m.Spec()
	change(&s)
	m, err = mig.NewModel(s)
	require.NoError(t, err)
	return m
}

func TestSurveyRefuses(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, true, "a100-40gb")
	create(t, open(t, devs[0]), "1g.5gb@0")
	part, ret := devs[0].GetMigDeviceHandleByIndex(0)
	require.Equal(t, nvml.SUCCESS, ret)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context //nolint:containedctx // one row has another
		dev  nvml.Device
		want error
		text string
	}{
		{"no handle", t.Context(), nil, nvml.ERROR_INVALID_ARGUMENT, "no device handle"},
		{"MIG device", t.Context(), part, nvml.ERROR_INVALID_ARGUMENT, "MIG device"},
		{"context", ended, devs[0], context.Canceled, "survey"},
		{"more memory than there is", t.Context(), odd{devs[0], func(i int, info *nvml.GpuInstanceProfileInfo) {
			if i == nvml.GPU_INSTANCE_PROFILE_2_SLICE {
				info.MemorySizeMB = 1 << 40
			}
		}}, device.ErrMismatch, "id 14"},
		{"no slices", t.Context(), odd{devs[0], func(_ int, info *nvml.GpuInstanceProfileInfo) { info.SliceCount = 0 }}, device.ErrMismatch, "0 slices"},
		{"many slices", t.Context(), odd{devs[0], func(_ int, info *nvml.GpuInstanceProfileInfo) { info.SliceCount = 1 << 31 }}, device.ErrMismatch, "2147483648 slices"},
		{"placement beyond all", t.Context(), placing{devs[0], []nvml.GpuInstancePlacement{{Start: 15, Size: 2}}}, device.ErrMismatch, "15:2"},
		{"placement without size", t.Context(), placing{devs[0], []nvml.GpuInstancePlacement{{Start: 1}}}, device.ErrMismatch, "1:0"},
		{"two sizes", t.Context(), placing{devs[0], []nvml.GpuInstancePlacement{{Start: 0, Size: 2}, {Start: 2, Size: 4}}}, device.ErrMismatch, "2:4"},
		{"lost", t.Context(), faulty(t, devs[0], fault.Rule{Method: "Device.GetPciInfo", Effect: fault.Lose}), device.ErrLost, "PCI id"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec, err := device.Survey(tt.ctx, tt.dev)
			require.ErrorIs(t, err, tt.want)
			require.ErrorContains(t, err, tt.text)
			var op *device.OpError
			require.ErrorAs(t, err, &op)
			assert.Equal(t, mig.Spec{}, spec)
		})
	}
}

// placing is a GPU with other placements.
type placing struct {
	nvml.Device
	places []nvml.GpuInstancePlacement
}

func (p placing) GetGpuInstancePossiblePlacements(*nvml.GpuInstanceProfileInfo) ([]nvml.GpuInstancePlacement, nvml.Return) {
	return p.places, nvml.SUCCESS
}

// newer is a GPU with one more profile, which no header of today knows.
type newer struct{ nvml.Device }

func (n newer) GetGpuInstanceProfileInfo(i int) (nvml.GpuInstanceProfileInfo, nvml.Return) {
	if i == nvml.GPU_INSTANCE_PROFILE_COUNT {
		return nvml.GpuInstanceProfileInfo{Id: 99, SliceCount: 5, InstanceCount: 1, MemorySizeMB: 20000}, nvml.SUCCESS
	}
	if i > nvml.GPU_INSTANCE_PROFILE_COUNT {
		i = -1
	}
	return n.Device.GetGpuInstanceProfileInfo(i)
}

// What cannot be expressed is left out by name, and the rest stays usable.
func TestSurveyLeavesOut(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, true, "a100-40gb")
	const rev2 = nvml.GPU_INSTANCE_PROFILE_1_SLICE_REV2
	tests := []struct {
		name    string
		dev     nvml.Device
		missing string // profile; empty: none of those known
		source  string
	}{
		{"index of a newer driver", newer{devs[0]}, "", "left out: profile index 18 (id 99, 5 slices, 20000 MiB)"},
		{"a name twice", odd{devs[0], func(i int, info *nvml.GpuInstanceProfileInfo) {
			if i == rev2 {
				info.MemorySizeMB = 4864
			}
		}}, "1g.10gb", "left out: profile index 9, 1g.5gb with id 15, since index 0 is 1g.5gb"},
		{"an id twice", odd{devs[0], func(i int, info *nvml.GpuInstanceProfileInfo) {
			if i == rev2 {
				info.Id = 14
			}
		}}, "1g.10gb", "left out: profile index 9, 1g.10gb with id 14, since index 1 is 2g.10gb"},
		{"no instances", odd{devs[0], func(i int, info *nvml.GpuInstanceProfileInfo) {
			if i == rev2 {
				info.InstanceCount = 0
			}
		}}, "1g.10gb", "left out: profile index 9, 1g.10gb with id 15, of which no instance can exist"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec, m := surveyed(t, tt.dev)
			assert.Contains(t, strings.Join(spec.Sources, "\n"), tt.source)
			_, err := m.Profile("3g.20gb")
			require.NoError(t, err)
			if tt.missing != "" {
				_, err := m.Profile(tt.missing)
				require.ErrorIs(t, err, mig.ErrUnknownProfile)
			}
		})
	}
}
