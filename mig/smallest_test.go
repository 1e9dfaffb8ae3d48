package mig_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
)

func TestSmallest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		model string
		need  mig.Need
		want  string // none: no profile
	}{
		{"08 8000 MiB are more than a 1g has", "a100-40gb", mig.Need{MemoryMiB: 8000}, "1g.10gb"},
		{"08 20000 MiB are more than a 3g has", "a100-40gb", mig.Need{MemoryMiB: 20000}, "7g.40gb"},
		{"08 the last MiB", "a100-40gb", mig.Need{MemoryMiB: 19968}, "3g.20gb"},
		{"nothing", "a100-40gb", mig.Need{}, "1g.5gb"},
		{"SMs alone", "a100-40gb", mig.Need{SMs: 15}, "2g.10gb"},
		{"memory of the double, SMs of a 2g", "a100-40gb", mig.Need{MemoryMiB: 9000, SMs: 28}, "2g.10gb"},
		{"the SMs of a 4g", "a100-40gb", mig.Need{MemoryMiB: 19968, SMs: 43}, "4g.20gb"},
		{"media", "a100-40gb", mig.Need{Attrs: mig.MediaExtensions}, "1g.5gb+me"},
		{"no media profile is that large", "a100-40gb", mig.Need{MemoryMiB: 5000, Attrs: mig.MediaExtensions}, ""},
		{"more than the GPU has", "a100-40gb", mig.Need{MemoryMiB: 40193}, ""},
		{"all media engines of a larger one", "rtx-pro-6000-96gb", mig.Need{MemoryMiB: 40000, Attrs: mig.AllMedia}, "2g.48gb+me.all"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := lookup(t, c.model)
			p, err := m.Smallest(c.need)
			if c.want == "" {
				var no *mig.NeedError
				require.ErrorAs(t, err, &no)
				require.ErrorIs(t, err, mig.ErrNoProfile)
				assert.Empty(t, no.Unknown)
				assert.ErrorContains(t, err, c.need.String())
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, p.Name)
		})
	}
}

func TestSmallestRefuses(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	for _, need := range []mig.Need{{MemoryMiB: -1}, {SMs: -1}} {
		_, err := m.Smallest(need)
		assert.ErrorIs(t, err, mig.ErrBadDemand)
	}
}

func TestNeedString(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "8000 MiB, 20 SMs, +me", mig.Need{MemoryMiB: 8000, SMs: 20, Attrs: mig.MediaExtensions}.String())
	assert.Equal(t, "anything", mig.Need{}.String())
}

// TestSmallestUnknown: a figure that nobody has published covers nothing, and the
// refusal names the profile that may do.
func TestSmallestUnknown(t *testing.T) {
	t.Parallel()
	met := false
	for m := range mig.Models() {
		for p := range m.PlainProfiles() {
			if p.SMs != 0 {
				continue
			}
			met = true
			_, err := m.Smallest(mig.Need{SMs: 1000})
			var no *mig.NeedError
			require.ErrorAs(t, err, &no, m.Key())
			assert.Contains(t, no.Unknown, p.Name)
			require.ErrorContains(t, err, p.Name)
		}
	}
	assert.True(t, met, "no profile without SMs in the tables")
}

// TestSmallestIsSmallest: the profile covers the need, and no other that does is
// smaller or, of one size, earlier.
func TestSmallestIsSmallest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := genModel(t)
		like := genProfile(t, m)
		need := mig.Need{
			MemoryMiB: max(0, like.MemoryMiB+rapid.IntRange(-1, 1).Draw(t, "memory off by")),
			SMs:       max(0, like.SMs+rapid.IntRange(-1, 1).Draw(t, "SMs off by")),
			Attrs:     like.Attrs,
		}
		covers := func(p mig.Profile) bool {
			known := (need.MemoryMiB == 0 || p.MemoryMiB > 0) && (need.SMs == 0 || p.SMs > 0)
			attrs := need.Attrs == p.Attrs || need.Attrs != 0 && need.Attrs&^p.Attrs == 0
			return known && attrs && p.MemoryMiB >= need.MemoryMiB && p.SMs >= need.SMs
		}
		got, err := m.Smallest(need)
		for p := range m.Profiles() {
			if !covers(p) {
				continue
			}
			require.NoError(t, err)
			require.True(t, covers(got))
			require.False(t, p.Size < got.Size || p.Size == got.Size && p.ComputeSlices < got.ComputeSlices, "%s before %s", p.Name, got.Name)
		}
		if err != nil {
			require.ErrorIs(t, err, mig.ErrNoProfile)
		}
	})
}
