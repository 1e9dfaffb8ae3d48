package names_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/names"
)

func TestFormatDRA(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model, instance, want string
		minor                 int
	}{
		{"a100-40gb", "1g.5gb@6", "gpu-0-mig-1g5gb-19-6", 0},
		{"a100-40gb", "1g.5gb+me@0", "gpu-12-mig-1g5gb-me-20-0", 12},
		{"a100-40gb", "7g.40gb@0", "gpu-1-mig-7g40gb-0-0", 1},
		{"rtx-pro-6000-96gb", "1g.24gb-me@3", "gpu-0-mig-1g24gb-me-67-3", 0},
		{"rtx-pro-6000-96gb", "1g.24gb+me@3", "gpu-0-mig-1g24gb-me-21-3", 0},
		{"rtx-pro-6000-96gb", "1g.24gb+me.all@3", "gpu-0-mig-1g24gb-meall-65-3", 0},
	} {
		t.Run(c.want, func(t *testing.T) {
			t.Parallel()
			m := lookup(t, c.model)
			in, err := mig.ParseInstance(c.instance)
			require.NoError(t, err)
			got, err := names.FormatDRA(m, c.minor, in)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
			d, err := names.ParseDRA(got)
			require.NoError(t, err)
			assert.Equal(t, c.minor, d.Minor)
			back, err := d.Instance(m)
			require.NoError(t, err)
			assert.Equal(t, c.instance, back.String())
			assert.Positive(t, back.Size)
		})
	}
}

func TestFormatDRARefuses(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	for _, c := range []struct {
		minor int
		in    mig.Instance
		is    error
	}{
		{-1, mig.Instance{Profile: "1g.5gb"}, names.ErrBadDevice},
		{1000, mig.Instance{Profile: "1g.5gb"}, names.ErrBadDevice},
		{0, mig.Instance{Profile: "1g.5gb", Start: 7}, mig.ErrIllegalStart},
		{0, mig.Instance{Profile: "1g.5gb", Start: 0, Size: 2}, mig.ErrBadInstance},
		{0, mig.Instance{Profile: "1g.6gb"}, mig.ErrUnknownProfile},
		{0, mig.Instance{Profile: ""}, mig.ErrBadName},
	} {
		got, err := names.FormatDRA(m, c.minor, c.in)
		require.ErrorIs(t, err, c.is)
		assert.Empty(t, got)
	}
	for name, is := range map[string]error{
		"gpu-0":                 names.ErrBadDevice,
		"gpu-0-mig-1g5gb-18-0":  mig.ErrUnknownProfile,
		"gpu-0-mig-1g5gb-19-7":  mig.ErrIllegalStart,
		"gpu-0-mig-2g10gb-14-1": mig.ErrIllegalStart,
	} {
		d, err := names.ParseDRA(name)
		require.NoError(t, err, name)
		in, err := d.Instance(m)
		require.ErrorIs(t, err, is, name)
		assert.Zero(t, in)
	}
	_, err := names.FormatDRA(nil, 0, mig.Instance{Profile: "1g.5gb"})
	require.ErrorIs(t, err, mig.ErrUnknownModel)
	_, err = names.DRA{MIG: true, ProfileID: 19}.Instance(nil)
	require.ErrorIs(t, err, mig.ErrUnknownModel)
}

func TestParseDRARefuses(t *testing.T) {
	t.Parallel()
	for in, says := range map[string]string{
		"":                             "does not begin with gpu-",
		"gpu":                          "does not begin",
		"GPU-0":                        "does not begin",
		"gpu-":                         `minor number ""`,
		"gpu-00":                       "leading zero",
		"gpu--1":                       `minor number "-1"`,
		"gpu-vfio-0":                   `minor number "vfio-0"`,
		"gpu-0-counter-set":            `minor number "0-counter-set"`,
		"gpu-0-mig-":                   `"" is not a profile, its id and a start`,
		"gpu-0-mig-20-5":               "is not a profile, its id and a start",
		"gpu-0-mig-1g24gb-20":          "is not a profile, its id and a start",
		"gpu-0-mig-1g24gb-me-20":       `profile id "me"`,
		"gpu-0-mig-1g24gb-20-":         `start ""`,
		"gpu-0-mig-1g24gb-20-05":       "leading zero",
		"gpu-0-mig-1g24gb-20-5-6":      `"1g24gb-20" is not the text of a profile`,
		"gpu-0-mig--20-5":              `"" is not the text`,
		"gpu-0-mig-1g.24gb-20-5":       "is not the text",
		"gpu-0-mig-1g24gb--20-5":       "is not the text",
		"gpu-0-mig-0g24gb-20-5":        "is not the text",
		"gpu-0-mig-1g24gb+me-20-5":     "is not the text",
		"gpu-0-mig-1g24gb-20-5-mig-1g": `start "1g"`,
		"gpu-1000-mig-1g24gb-20-5":     `minor number "1000"`,
	} {
		got, err := names.ParseDRA(in)
		require.ErrorIs(t, err, names.ErrBadDevice, "%q", in)
		require.ErrorContains(t, err, says)
		assert.Zero(t, got)
	}
}

// TestDRANamesAreDistinct: every instance of every model has a name of its own, and
// the name leads back to it.
func TestDRANamesAreDistinct(t *testing.T) {
	t.Parallel()
	forEachModel(t, func(t *testing.T, m *mig.Model) {
		seen := map[string]string{}
		for p := range m.Profiles() {
			for start := range p.Starts.All() {
				in := mig.Instance{Profile: p.Name, Start: start, Size: p.Size}
				name, err := names.FormatDRA(m, 3, in)
				if p.ID < 0 || !p.HasGeometry() {
					require.Error(t, err)
					continue
				}
				require.NoError(t, err)
				assert.Empty(t, seen[name], "%s is also %s", name, in)
				seen[name] = in.String()
				assert.Regexp(t, `^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`, name, "a DNS label")
				d, err := names.ParseDRA(name)
				require.NoError(t, err)
				back, err := d.Instance(m)
				require.NoError(t, err)
				assert.Equal(t, in, back)
			}
		}
	})
}
