package parted_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/parted"
)

// node returns GPUs of the given PCI ids, all capable of MIG, of models that the
// table knows by the id alone.
func node(ids ...uint32) []parted.GPU {
	var gpus []parted.GPU
	for i, id := range ids {
		g := parted.GPU{Index: i, PCI: id, Capable: true}
		for m := range mig.Models() {
			if g.Model == nil && slices.Contains(m.Spec().PCIDeviceIDs, id) {
				g.Model = m
			}
		}
		gpus = append(gpus, g)
	}
	return gpus
}

// The ids of a few boards.
const (
	a100x40 = 0x20B010DE
	a100x80 = 0x20B210DE
	a30     = 0x20B710DE
	t4      = 0x1EB810DE
)

// messages returns the texts of findings.
func messages(found []parted.Finding) []string {
	var texts []string
	for _, f := range found {
		texts = append(texts, f.String())
	}
	return texts
}

func TestSelectWarns(t *testing.T) {
	t.Parallel()
	c := parse(t, label(`  - {devices: [0, 7], mig-enabled: false}
  - {devices: all, device-filter: ["0x20B710DE", junk], mig-enabled: false}
  - {devices: [1], device-filter: "0x20B010DE:0x147F10DE", mig-enabled: false}
`))
	gpus := node(a100x40, a100x40, a100x40)
	gpus[1].Subsystem = 0x147F10DE
	s, err := c.Select("", gpus, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{
		`4:5: warning: label "x": there is no GPU 7, only 3 GPUs`,
		`5:5: warning: label "x": the entry matches no GPU`,
		`5:36: warning: label "x": the filter "0x20B710DE" matches no GPU`,
		`5:50: warning: label "x": the filter "junk" matches no GPU`,
	}, messages(s.Warnings))
	entries := c.Labels[0].Entries
	assert.Equal(t, []parted.Target{{gpus[0], &entries[0]}, {gpus[1], &entries[2]}, {gpus[2], nil}}, s.Targets)
}

func TestSelectErrors(t *testing.T) {
	t.Parallel()
	all := parse(t, label("  - {devices: all, mig-enabled: false}\n"))
	twice := node(a100x40, a100x40)
	twice[1].Index = 0
	for _, gpus := range [][]parted.GPU{twice, {{Index: -1}}} {
		_, err := all.Select("x", gpus, nil)
		require.ErrorIs(t, err, parted.ErrInventory)
	}
	_, err := all.Select("y", node(a30), nil)
	require.ErrorIs(t, err, parted.ErrUnknownLabel)
	_, err = all.Select("x", nil, nil)
	require.ErrorIs(t, err, parted.ErrNoMatch)

	full := parse(t, label("  - {devices: all, mig-enabled: true, mig-devices: {1g.10gb: 4, 1g.5gb: 3}}\n"))
	s, err := full.Select("x", node(a100x40), nil)
	require.ErrorIs(t, err, mig.ErrNoFit)
	require.ErrorContains(t, err, "11 memory slices needed")
	assert.Zero(t, s)
	unknown := node(a100x40)
	unknown[0].Model = nil
	_, err = full.Select("x", unknown, nil)
	require.NoError(t, err, "what an unknown model offers is not checked")
}

// TestSelectOracle compares with a plain walk over entries and GPUs, as mig-parted
// does it: every entry on every GPU, the last wins.
func TestSelectOracle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := []uint32{a100x40, a100x80, a30}
		var gpus []parted.GPU
		for i := range rapid.IntRange(0, 4).Draw(t, "GPUs") {
			gpus = append(gpus, parted.GPU{
				Index: i, PCI: rapid.SampledFrom(ids).Draw(t, "id"), Capable: true,
				Subsystem: rapid.Uint32Range(0, 1).Draw(t, "subsystem"),
			})
		}
		l := parted.Label{Name: "x"}
		for range rapid.IntRange(1, 3).Draw(t, "entries") {
			e := parted.Entry{All: rapid.Bool().Draw(t, "all")}
			if !e.All {
				e.Devices = rapid.SliceOfN(rapid.IntRange(0, 4), 0, 3).Draw(t, "devices")
			}
			for range rapid.IntRange(0, 2).Draw(t, "filters") {
				id := parted.ID{PCI: rapid.SampledFrom(ids).Draw(t, "id")}
				if id.HasSubsystem = rapid.Bool().Draw(t, "with subsystem"); id.HasSubsystem {
					id.Subsystem = rapid.Uint32Range(0, 1).Draw(t, "subsystem")
				}
				e.Filters = append(e.Filters, parted.Filter{Text: id.String()})
			}
			l.Entries = append(l.Entries, e)
		}
		c := &parted.Config{Labels: []parted.Label{l}}

		last := map[int]*parted.Entry{}
		twice := false
		for i := range c.Labels[0].Entries {
			e := &c.Labels[0].Entries[i]
			for _, g := range gpus {
				hit := len(e.Filters) == 0
				for _, f := range e.Filters {
					id, err := parted.ParseID(f.Text)
					require.NoError(t, err)
					hit = hit || id.PCI == g.PCI && (!id.HasSubsystem || id.Subsystem == g.Subsystem)
				}
				if !hit || !e.All && !slices.Contains(e.Devices, g.Index) {
					continue
				}
				twice = twice || last[g.Index] != nil
				last[g.Index] = e
			}
		}

		_, err := c.Select("x", gpus, nil)
		s, lastErr := c.Select("x", gpus, &parted.SelectOptions{LastWins: true})
		if len(last) == 0 {
			require.ErrorIs(t, err, parted.ErrNoMatch)
			require.ErrorIs(t, lastErr, parted.ErrNoMatch)
			return
		}
		require.NoError(t, lastErr)
		if twice {
			require.ErrorIs(t, err, parted.ErrOverlap)
		} else {
			require.NoError(t, err)
		}
		require.Len(t, s.Targets, len(gpus))
		for i, target := range s.Targets {
			require.Equal(t, gpus[i], target.GPU)
			require.Same(t, last[target.GPU.Index], target.Entry)
		}
		overlap := slices.ContainsFunc(parted.Lint(c), func(f parted.Finding) bool {
			return strings.Contains(f.Message, "a GPU can match entry")
		})
		if twice {
			require.True(t, overlap, "Lint foresees what Select refuses")
		}
	})
}
