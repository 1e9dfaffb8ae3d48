package names_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/names"
)

func FuzzParseUUID(f *testing.F) {
	for _, s := range []string{"GPU-" + idA, "MIG-" + idB, "MIG-GPU-" + idA + "/10/0", "MIG-GPU-" + idA, "MIG-foo", idA, "GPU-" + strings.ToUpper(idA)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := names.ParseUUID(s)
		if err != nil {
			require.ErrorIs(t, err, names.ErrBadDevice)
			assert.Zero(t, u)
			return
		}
		assert.True(t, strings.EqualFold(s, u.String()), "%q became %q", s, u)
		again, err := names.ParseUUID(u.String())
		require.NoError(t, err)
		assert.Equal(t, u, again)
	})
}

func FuzzParseIndex(f *testing.F) {
	for _, s := range []string{"0", "0:0", "0:0:0", "-1", "00", ":", "12:6"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		i, err := names.ParseIndex(s)
		if err != nil {
			require.ErrorIs(t, err, names.ErrBadDevice)
			assert.Zero(t, i)
			return
		}
		assert.Equal(t, s, i.String())
	})
}

// FuzzVisibleDevices: whatever the list, what is visible is distinct and there, and
// it ends early exactly where an error says so.
func FuzzVisibleDevices(f *testing.F) {
	for _, s := range []string{"0,1,2,3,-1,5", "0, 1, 2, 1", "1gpu2,2ampere", "GPU-9e8d35e3", "GPU-9", "MIG-", ",", "+,-", "MIG-b1,MIG-b"} {
		f.Add(s)
	}
	uuids := append(eight(), "MIG-b1", "MIG-b2")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := names.VisibleDevices(s, uuids)
		for k, i := range got {
			require.True(t, 0 <= i && i < len(uuids))
			require.NotContains(t, got[:k], i)
			assert.Equal(t, strings.HasPrefix(s, "MIG-"), strings.HasPrefix(uuids[i], "MIG-"))
		}
		items := strings.Count(s, ",") + 1
		if s == "" {
			items = 0
		}
		assert.Equal(t, err == nil, len(got) == items)
		assert.LessOrEqual(t, len(got), items)
		if len(got) > 0 {
			// The list up to what is visible selects the same.
			pieces := strings.Split(s, ",")
			again, err := names.VisibleDevices(strings.Join(pieces[:len(got)], ","), uuids)
			require.NoError(t, err)
			assert.Equal(t, got, again)
		}
	})
}

func FuzzParseResource(f *testing.F) {
	for _, s := range []string{"nvidia.com/mig-1g.10gb", "nvidia.com/mig-1g.10gb.me", "nvidia.com/mig-1g.24gb.me.all", "nvidia.com/mig-1g.24gb-me", "nvidia.com/gpu", "nvidia.com/mig-1g.10gb+me"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		profile, err := names.ParseResource(s)
		if err != nil {
			require.ErrorIs(t, err, names.ErrBadResource)
			assert.Empty(t, profile)
			return
		}
		again, err := names.Resource(profile)
		require.NoError(t, err)
		assert.Equal(t, s, again)
	})
}

func FuzzParseDRA(f *testing.F) {
	for _, s := range []string{"gpu-0", "gpu-0-mig-1g24gb-me-20-5", "gpu-0-mig-1g47gb-15-6", "gpu-0-mig-1g24gb-20", "gpu-vfio-0", "gpu-0-mig-1g24gb-meall-65-3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := names.ParseDRA(s)
		if err != nil {
			require.ErrorIs(t, err, names.ErrBadDevice)
			assert.Zero(t, d)
			return
		}
		for m := range mig.Models() {
			in, err := d.Instance(m)
			if err != nil {
				continue
			}
			name, err := names.FormatDRA(m, d.Minor, in)
			require.NoError(t, err)
			again, err := names.ParseDRA(name)
			require.NoError(t, err)
			assert.Equal(t, d, again, "the text in the middle may differ, the identity not")
		}
	})
}

func FuzzMatch(f *testing.F) {
	f.Add("1g.*", "1g.5gb+me")
	f.Add("*gb", "1g.24gb")
	f.Add("a*b*c", "abcabc")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 12 || len(name) > 12 {
			return // the definition takes long for many stars
		}
		assert.Equal(t, matches(pattern, name), names.Match(pattern, name))
	})
}
