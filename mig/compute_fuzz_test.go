package mig_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
)

func FuzzParseDeviceName(f *testing.F) {
	for _, s := range []string{"MIG 1g.5gb", "NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb", "MIG", "1g.5gb", "MIG MIG 1g.5gb+me"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := mig.ParseDeviceName(s)
		if err != nil {
			require.ErrorIs(t, err, mig.ErrBadName)
			assert.Zero(t, n)
			return
		}
		again, err := mig.ParseDeviceName("MIG " + n.String())
		require.NoError(t, err)
		assert.Equal(t, n, again)
	})
}

// FuzzFurnish: whatever the demand, what comes out can stand and holds what was
// asked.
func FuzzFurnish(f *testing.F) {
	f.Add("a100-40gb", "1c.3g.20gb=4")
	f.Add("a100-40gb", "1c.7g.40gb=1,2c.7g.40gb=1,3c.7g.40gb=1")
	f.Add("h100-80gb-sxm5", "1g.20gb=1,1c.2g.20gb=3")
	f.Add("rtx-pro-6000-96gb", "1c.2g.48gb+gfx=4,1g.24gb-me=1")
	f.Add("a30-24gb", "1c.4g.24gb=999")
	f.Fuzz(func(t *testing.T, key, text string) {
		m, err := mig.Lookup(key)
		if err != nil {
			return
		}
		want, err := mig.ParseDemand(text)
		if err != nil {
			return
		}
		got, err := m.Furnish(want)
		if err != nil {
			assert.Nil(t, got)
			return
		}
		held := mig.Demand{}
		for _, g := range got {
			require.NoError(t, m.ValidateCompute(g.Profile, g.Compute...))
			for _, c := range g.Compute {
				held[c.Profile]++
			}
		}
		assert.Equal(t, want.String(), held.String())
		assert.True(t, slices.IsSortedFunc(got, func(a, b mig.Furnished) int {
			return profile(t, m, b.Profile).Size - profile(t, m, a.Profile).Size
		}), "largest first")
	})
}
