package mig_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
)

// lines returns differences in print.
func lines(list []mig.Difference) []string {
	var all []string
	for _, d := range list {
		all = append(all, d.String())
	}
	return all
}

// TestCompareWithItself: a table agrees with itself, unknown figures included.
func TestCompareWithItself(t *testing.T) {
	t.Parallel()
	forEachModel(t, func(t *testing.T, m *mig.Model) {
		assert.Empty(t, mig.Compare(m.Spec(), m.Spec()))
	})
}

func TestCompare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, model string
		device      func(*mig.Spec)
		says        []string
		verdict     mig.Verdict
	}{
		{
			"memory of another driver", "a100-40gb",
			func(s *mig.Spec) { s.Profiles[4].MemoryMiB = 20096 },
			[]string{"3g.20gb: memory: table 19968 MiB, device 20096 MiB"},
			mig.Contradiction,
		},
		{
			"only the device knows", "b200-180gb",
			func(s *mig.Spec) { s.Profiles[4].MemoryMiB, s.Profiles[4].Engines.JPEG = 90112, 3 },
			[]string{"3g.90gb: memory: table unknown, device 90112 MiB", "3g.90gb: JPEG engines: table unknown, device 3"},
			mig.TableUnknown,
		},
		{
			"only the table knows", "a100-40gb",
			func(s *mig.Spec) { s.SMs, s.Profiles[0].SMs, s.ModeNeedsResetKnown = 0, 0, false },
			[]string{"SMs: table 108, device unknown", "mode change needs reset: table true, device unknown", "1g.5gb: SMs: table 14, device unknown"},
			mig.DeviceUnknown,
		},
		{
			"the GPU", "a100-40gb",
			func(s *mig.Spec) {
				s.ProductNames, s.PCIDeviceIDs = []string{"nvidia a100-sxm4-40gb", "NVIDIA A100X"}, []uint32{0x20B010DE, 0x20B810DE}
				s.Architecture, s.MemoryMiB, s.NameMemoryGB, s.MediaAlone, s.ModeNeedsReset = "Hopper", 81920, 80, true, false
			},
			[]string{
				"product name: table NVIDIA A100-SXM4-40GB, NVIDIA A100-PCIE-40GB, A100-SXM4-40GB, A100-PCIE-40GB, device NVIDIA A100X",
				"architecture: table Ampere, device Hopper",
				"PCI id: table 0x20B010DE, 0x20B110DE, 0x20F110DE, device 0x20B810DE",
				"memory: table 40960 MiB, device 81920 MiB",
				"memory in names: table 40 GiB, device 80 GiB",
				"mode change needs reset: table true, device false",
				"media alone: table false, device true",
			},
			mig.Contradiction,
		},
		{
			"geometry", "a100-40gb",
			func(s *mig.Spec) {
				s.Profiles[0].ID, s.Profiles[0].Starts, s.Profiles[0].MaxInstances = 20, mig.MaskOf(0, 1), 2
				s.Profiles[4].Size, s.Profiles[4].Index = 3, 17
			},
			[]string{
				"1g.5gb: id: table 19, device 20",
				"1g.5gb: starts: table 0, 1, 2, 3, 4, 5, 6, device 0, 1",
				"1g.5gb: most instances: table 7, device 2",
				"3g.20gb: index: table 2, device 17",
				"3g.20gb: size: table 4, device 3",
			},
			mig.Contradiction,
		},
		{
			"an older driver", "a100-40gb",
			func(s *mig.Spec) { s.Profiles = append(s.Profiles[:2:2], s.Profiles[3:]...) },
			[]string{"1g.10gb: profile: table 1g.10gb, device absent"},
			mig.Contradiction,
		},
		{
			"a newer driver", "a100-40gb",
			func(s *mig.Spec) {
				s.Profiles = append(s.Profiles, mig.Profile{Name: "1g.5gb-me", Index: 13})
			},
			[]string{"1g.5gb-me: profile: table absent, device 1g.5gb-me"},
			mig.Contradiction,
		},
		{
			"compute profiles that the device lists only inside an instance", "pg506-96gb",
			func(s *mig.Spec) {
				s.ComputeProfiles = []mig.ComputeProfile{{GPUInstance: "2g.24gb", Name: "1c.2g.24gb"}, {GPUInstance: "2g.24gb", Name: "2g.24gb", Index: 1}}
			},
			[]string{"2g.24gb: compute profiles: table unknown, device 1c.2g.24gb, 2g.24gb"},
			mig.TableUnknown,
		},
		{
			"a compute profile that the device lacks", "h100-80gb-sxm5",
			func(s *mig.Spec) {
				s.ComputeProfiles = slices.DeleteFunc(s.ComputeProfiles, func(c mig.ComputeProfile) bool { return c.Index == 7 })
			},
			[]string{
				"1g.20gb: 1g.20gb (index 7): compute profile: table 1g.20gb, device absent",
				"2g.20gb: 1c.2g.20gb (index 7): compute profile: table 1c.2g.20gb, device absent",
			},
			mig.Contradiction,
		},
		{
			"compute profiles of one name", "h100-80gb-sxm5",
			func(s *mig.Spec) {
				for i := range s.ComputeProfiles {
					if c := &s.ComputeProfiles[i]; c.Name == "1c.2g.20gb" && c.Index == 7 {
						c.SMs, c.MaxInstances = 24, 2
					}
				}
				s.ComputeProfiles = append(s.ComputeProfiles, mig.ComputeProfile{GPUInstance: "7g.80gb", Name: "7g.80gb", Index: 8})
			},
			[]string{
				"2g.20gb: 1c.2g.20gb (index 7): most instances: table 1, device 2",
				"2g.20gb: 1c.2g.20gb (index 7): SMs: table 26, device 24",
				"7g.80gb: 7g.80gb (index 8): compute profile: table absent, device 7g.80gb",
			},
			mig.Contradiction,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			table, device := lookup(t, c.model).Spec(), lookup(t, c.model).Spec()
			c.device(&device)
			got := mig.Compare(table, device)
			assert.Equal(t, c.says, lines(got))
			for _, d := range got {
				assert.Equal(t, c.verdict, d.Verdict, d.String())
			}
		})
	}
}

// TestCompareOtherNames: names follow from the total memory, so the rows of a
// board with more of it are matched by index, and each says so once.
func TestCompareOtherNames(t *testing.T) {
	t.Parallel()
	got := lines(mig.Compare(lookup(t, "gb200-186gb").Spec(), lookup(t, "gb200-189gb").Spec()))
	assert.Equal(t, []string{
		"memory: table 189471 MiB, device unknown",
		"memory in names: table 186 GiB, device 189 GiB",
		"1g.23gb: name: table 1g.23gb, device 1g.24gb",
		"1g.23gb: memory: table 22528 MiB, device 20480 MiB",
	}, got[:4])
	assert.Contains(t, got, "3g.93gb: name: table 3g.93gb, device 3g.95gb")
	assert.NotContains(t, got, "absent")
}

func TestDifferenceJSON(t *testing.T) {
	t.Parallel()
	table, device := lookup(t, "a100-40gb").Spec(), lookup(t, "a100-40gb").Spec()
	device.Profiles[4].MemoryMiB = 20096
	text, err := json.Marshal(mig.Compare(table, device))
	require.NoError(t, err)
	assert.JSONEq(t, `[{"profile":"3g.20gb","index":2,"field":"memory","table":"19968 MiB","device":"20096 MiB","verdict":"contradiction"}]`, string(text))
}

// TestCompareFindsEveryChange: one figure changed is one difference, and seen
// from the other side it is the same with the sides exchanged.
func TestCompareFindsEveryChange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := genModel(t)
		table, device := m.Spec(), m.Spec()
		p := &device.Profiles[rapid.IntRange(0, len(device.Profiles)-1).Draw(t, "row")]
		figures := []*int{
			&p.Index, &p.ID, &p.ComputeSlices, &p.Size, &p.MaxInstances, &p.MemoryMiB, &p.SMs,
			&p.Engines.Copy, &p.Engines.Decoders, &p.Engines.Encoders, &p.Engines.JPEG, &p.Engines.OFA,
			&device.MemoryMiB, &device.NameMemoryGB, &device.MemorySlices, &device.ComputeSlices, &device.SMs,
		}
		*rapid.SampledFrom(figures).Draw(t, "figure") += rapid.IntRange(1000, 2000).Draw(t, "more")
		there, back := mig.Compare(table, device), mig.Compare(device, table)
		require.Len(t, there, 1)
		require.Len(t, back, 1)
		d := there[0]
		d.Table, d.Device = d.Device, d.Table
		switch d.Verdict {
		case mig.TableUnknown:
			d.Verdict = mig.DeviceUnknown
		case mig.DeviceUnknown:
			d.Verdict = mig.TableUnknown
		default:
		}
		if d.Field == "index" {
			d.Index = p.Index // where it stands in the other table
		}
		assert.Equal(t, back[0], d)
	})
}
