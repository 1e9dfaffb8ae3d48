package mig_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
)

func TestParseName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want mig.Name
		text string // canonical, if it is not what was read
	}{
		{"1g.5gb", mig.Name{1, 1, 5, 0}, ""},
		{"1c.1g.5gb", mig.Name{1, 1, 5, 0}, "1g.5gb"},
		{"1c.3g.20gb", mig.Name{1, 3, 20, 0}, ""},
		{"3c.3g.20gb", mig.Name{3, 3, 20, 0}, "3g.20gb"},
		{"7g.141gb", mig.Name{7, 7, 141, 0}, ""},
		{"8g.9999gb", mig.Name{8, 8, 9999, 0}, ""},
		{"1g.0gb", mig.Name{1, 1, 0, 0}, ""}, // memory of the CPU
		{"1g.10gb+me", mig.Name{1, 1, 10, mig.MediaExtensions}, ""},
		{"1g.24gb+me.all", mig.Name{1, 1, 24, mig.AllMedia}, ""},
		{"2g.48gb-me", mig.Name{2, 2, 48, mig.NoMedia}, ""},
		{"1c.2g.48gb+gfx", mig.Name{1, 2, 48, mig.Graphics}, ""},
		{"1g.24gb+gfx,me", mig.Name{1, 1, 24, mig.Graphics | mig.MediaExtensions}, "1g.24gb+me,gfx"},
		{"1g.24gb+me,gfx", mig.Name{1, 1, 24, mig.Graphics | mig.MediaExtensions}, ""},
	} {
		t.Run(c.in, func(t *testing.T) {
			t.Parallel()
			got, err := mig.ParseName(c.in)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
			if c.text == "" {
				c.text = c.in
			}
			assert.Equal(t, c.text, got.String())
		})
	}
}

func TestParseNameRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", ".", "g", "gb", "1g", "1g.", ".5gb", "5gb", "1g.5", "1g.5g", "1g.5b", "1g.gb", "g.5gb", "1.5gb", "1g5gb",
		" 1g.5gb", "1g.5gb ", "1g. 5gb", "1g.5 gb", "\t1g.5gb", "1g.5gb\n", "1g.5gb\x00",
		"1G.5gb", "1g.5GB", "1g.5Gb", "MIG 1g.5gb", "mig-1g.5gb",
		"+1g.5gb", "-1g.5gb", "1g.+5gb", "1g.-5gb", "0x1g.5gb", "1_0g.5gb", "1e0g.5gb", "١g.5gb",
		"01g.5gb", "00g.5gb", "1g.05gb", "1g.00gb", "01c.1g.5gb",
		"0g.0gb", "0g.5gb", "9g.5gb", "10g.5gb", "99999999999999999999g.5gb", "1g.10000gb", "1g.99999999999999999999gb",
		"0c.1g.5gb", "2c.1g.5gb", "8c.7g.40gb", "9c.8g.40gb", "c.1g.5gb", "1c.g.5gb", "1c.5gb", "1c1g.5gb", "1r.1g.5gb",
		"1c.f1g.5gb", "1c.1c.1g.5gb", "1g.1g.5gb", "1c.1g.5gb.me", "1g.5gb.me", "1g.5.5gb",
		"1g.5gb+", "1g.5gb-", "1g.5gb+me+me", "1g.5gb+me,me", "1g.5gb+me,", "1g.5gb+,me", "1g.5gb+me.", "1g.5gb+me.some",
		"1g.5gb+ME", "1g.5gb+me,you", "1g.5gb+foo", "1g.5gb-gfx", "1g.5gb-me.all", "1g.5gb-me,me", "1g.5gb+me-me",
		"1g.5gb-me+gfx", "1g.5gb+-me", "1g.5gb me",
	} {
		t.Run(in, func(t *testing.T) {
			t.Parallel()
			got, err := mig.ParseName(in)
			require.ErrorIs(t, err, mig.ErrBadName)
			assert.Zero(t, got)
			assert.ErrorContains(t, err, "name ")
		})
	}
}

// TestParseNameSaysWhere: the error names the part that is wrong.
func TestParseNameSaysWhere(t *testing.T) {
	t.Parallel()
	for in, says := range map[string]string{
		"9g.5gb":        `GPU slices "9g" is more than 8`,
		"01g.5gb":       `GPU slices "01g" has a leading zero`,
		"2c.1g.5gb":     "2 compute slices in 1 GPU slices",
		"0c.1g.5gb":     "no compute slices",
		"0g.0gb":        "no GPU slices",
		"1g.5g":         `memory "5g" does not end in "gb"`,
		"1g.xgb":        `memory "xgb" is not a number before "gb"`,
		"1g.5gb+me,you": `"you" is unknown; the driver knows me, me.all, gfx`,
		"1g.5gb+me,me":  `"me" stands there twice`,
		"1g.5gb-gfx":    "the driver knows -me",
		"1g":            `not of the form "1g.5gb"`,
	} {
		_, err := mig.ParseName(in)
		require.Error(t, err, in)
		assert.Contains(t, err.Error(), says)
		assert.Contains(t, err.Error(), `"`+in+`"`)
	}
}

func TestParseUndoesFormat(t *testing.T) {
	t.Parallel()
	t.Run("name", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			n := genName(t)
			got, err := mig.ParseName(n.String())
			require.NoError(t, err)
			assert.Equal(t, n, got)
		})
	})
	t.Run("instance", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			in := mig.Instance{Profile: genName(t).String(), Start: rapid.IntRange(0, 999).Draw(t, "start")}
			got, err := mig.ParseInstance(in.String())
			require.NoError(t, err)
			assert.Equal(t, in, got)
		})
	})
	t.Run("demand", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			d := mig.Demand{}
			for range rapid.IntRange(1, 5).Draw(t, "profiles") {
				d[genName(t).String()] = rapid.IntRange(1, 999).Draw(t, "count")
			}
			got, err := mig.ParseDemand(d.String())
			require.NoError(t, err)
			assert.Equal(t, d, got)
		})
	})
}

func TestParseInstance(t *testing.T) {
	t.Parallel()
	got, err := mig.ParseInstance("1c.1g.5gb+me@6")
	require.NoError(t, err)
	assert.Equal(t, mig.Instance{Profile: "1g.5gb+me", Start: 6}, got)

	for in, says := range map[string]string{
		"":              `no "@start"`,
		"1g.5gb":        `no "@start"`,
		"1g.5gb@":       "is missing",
		"@0":            `name ""`,
		"1g.5gb@-1":     `"-1" is not a number`,
		"1g.5gb@+1":     `"+1" is not a number`,
		"1g.5gb@00":     "leading zero",
		"1g.5gb@1000":   "from 0 to 999",
		"1g.5gb@0@1":    `"0@1"`,
		"1g.5gb @0":     `name "1g.5gb "`,
		"1g.5gb@ 0":     `" 0"`,
		"1g.5gb@0,":     `"0,"`,
		"2c.1g.5gb@0":   "2 compute slices",
		"MIG 1g.5gb@0":  "MIG 1g.5gb",
		"1g.5gb@0x1":    `"0x1"`,
		"1g.5gb@1e1":    `"1e1"`,
		"1g.5gb+meme@0": `"meme"`,
	} {
		got, err := mig.ParseInstance(in)
		require.ErrorIs(t, err, mig.ErrBadInstance, in)
		assert.Zero(t, got, in)
		assert.Contains(t, err.Error(), says)
	}
	_, err = mig.ParseInstance("1g@0")
	assert.ErrorIs(t, err, mig.ErrBadName, "the name is at fault")
}

func TestParseDemand(t *testing.T) {
	t.Parallel()
	got, err := mig.ParseDemand("3g.20gb=1,1c.1g.5gb=2,7g.40gb=0")
	require.NoError(t, err)
	assert.Equal(t, mig.Demand{"3g.20gb": 1, "1g.5gb": 2, "7g.40gb": 0}, got)
	assert.Equal(t, "1g.5gb=2,3g.20gb=1", got.String(), "zero counts are not written")
	assert.Equal(t, 3, got.Total())
	assert.Empty(t, mig.Demand(nil).String())

	got, err = mig.ParseDemand("1g.24gb+gfx,me=1,2g.48gb=1,1g.24gb+me,gfx,me.all=2")
	require.NoError(t, err, "a comma between attributes belongs to the name")
	assert.Equal(t, mig.Demand{"1g.24gb+me,gfx": 1, "2g.48gb": 1, "1g.24gb+me,me.all,gfx": 2}, got)

	for in, says := range map[string]string{
		"1g.24gb+gfx,me":       `item "1g.24gb+gfx,me" has no "=count"`,
		"me=1":                 `name "me"`,
		"1g.5gb=1,me=1":        `name "me"`,
		"":                     `item "" has no "=count"`,
		"1g.5gb":               `item "1g.5gb" has no "=count"`,
		"1g.5gb=1,":            `item "" has no "=count"`,
		",1g.5gb=1":            `item "" has no "=count"`,
		"1g.5gb=":              `count "" of 1g.5gb is missing`,
		"=1":                   `name ""`,
		"3g.20gb=-1":           `count "-1" of 3g.20gb`,
		"3g.20gb=1.5":          `count "1.5" of 3g.20gb`,
		"3g.20gb=1=1":          `count "1=1" of 3g.20gb`,
		"3g.20gb=01":           "leading zero",
		"3g.20gb=1000":         "from 0 to 999",
		"3g.20gb=NaN":          `"NaN"`,
		"3g.20gb=1;1g.5gb=1":   `"1;1g.5gb=1"`,
		"1g.5gb=1, 2g.10gb=1":  `name " 2g.10gb"`,
		"1g.5gb=1,1c.1g.5gb=1": "profile 1g.5gb stands there twice",
		"0g.0gb=1":             "no GPU slices",
	} {
		got, err := mig.ParseDemand(in)
		require.ErrorIs(t, err, mig.ErrBadDemand, in)
		assert.Nil(t, got, in)
		assert.Contains(t, err.Error(), says)
	}
	_, err = mig.ParseDemand("1g=1")
	assert.ErrorIs(t, err, mig.ErrBadName, "the name is at fault")
}

// TestMemoryGB holds published pairs of memory and name.
func TestMemoryGB(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		instance, total int // MiB
		want            int
	}{
		{"A100 80GB whole", 80896, 81920, 80},
		{"A100 40GB 3g", 19968, 40960, 20},
		{"A100 40GB 3g, another driver", 20096, 40960, 20},
		{"H200 1g", 16384, 141 * 1024, 18},
		{"H200 2g", 33024, 141 * 1024, 35},
		{"H200 3g", 71168, 141 * 1024, 71},
		{"B300 1g", 269 * 1024 / 8, 269 * 1024, 34},
		{"B300 2g", 2 * 269 * 1024 / 8, 269 * 1024, 67},
		{"B300 3g", 4 * 269 * 1024 / 8, 269 * 1024, 135},
		{"GB200 1g of 186 GiB", 22 * 1024, 189471, 23},
		{"GB200 2g of 186 GiB", 2 * 22 * 1024, 189471, 47},
		{"GB200 3g of 186 GiB", 4 * 22 * 1024, 189471, 93},
		{"GB200 1g of 189 GiB", 20 * 1024, 193000, 24},
		{"GB200 2g of 189 GiB", 2 * 20 * 1024, 193000, 47},
		{"GB200 3g of 189 GiB", 4 * 20 * 1024, 193000, 95},
		{"H100 NVL 1g", 94 * 128, 94 * 1024, 12},
		{"H100 NVL 2g", 2 * 94 * 128, 94 * 1024, 24},
		{"H100 NVL 3g", 4 * 94 * 128, 94 * 1024, 47},
		{"RTX PRO 6000 1g", 24192, 97887, 24},
		{"RTX PRO 6000 1g, another driver", 23680, 97887, 24},
		{"RTX PRO 6000 2g", 48512, 97887, 48},
		{"RTX PRO 6000 4g", 97408, 97887, 96},
		{"B200 1g", 22528, 183359, 23},
		{"B200 1g, another driver", 20992, 183359, 23},
		{"B200 2g", 45312, 183359, 45},
		{"nominal memory of a mock on a real total", 10240, 81559, 20},
		{"all of it", 1024, 1024, 1},
		{"a sliver is an eighth", 1, 8 * 1024, 1},
		{"one MiB more than an eighth", 1025, 8 * 1024, 2},
		{"nothing", 0, 1024, 0},
		{"negative", -1, 1024, 0},
		{"no total", 1024, 0, 0},
		{"negative total", 1024, -1, 0},
		{"more than there is", 1025, 1024, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, mig.MemoryGB(c.instance, c.total))
		})
	}
}

func TestStrings(t *testing.T) {
	t.Parallel()
	for c, want := range map[mig.Confidence]string{mig.Unknown: "unknown", mig.Derived: "derived", mig.Exact: "exact", 99: "unknown"} {
		assert.Equal(t, want, c.String())
	}
	assert.Empty(t, mig.Attrs(0).String())
	assert.Equal(t, "+me,me.all,gfx", (mig.MediaExtensions | mig.AllMedia | mig.Graphics).String())
	assert.Equal(t, "-me", mig.NoMedia.String())
}

func TestParseDeviceName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"MIG 1g.5gb":                          "1g.5gb",
		"MIG 1c.3g.20gb":                      "1c.3g.20gb",
		"NVIDIA A100-SXM4-40GB MIG 1g.5gb+me": "1g.5gb+me",
		"NVIDIA MIG Tester MIG 2g.10gb":       "2g.10gb",
	} {
		got, err := mig.ParseDeviceName(in)
		require.NoError(t, err, in)
		assert.Equal(t, want, got.String())
	}
	for _, in := range []string{
		"", "1g.5gb", "MIG", "MIG ", "MIG  1g.5gb", "MIG 1g.5gb ", "MIG-1g.5gb", "xMIG 1g.5gb", "mig 1g.5gb",
		"NVIDIA A100-SXM4-40GB", "MIG 1g.5gb MIG", "MIG 9g.5gb",
	} {
		got, err := mig.ParseDeviceName(in)
		require.ErrorIs(t, err, mig.ErrBadName, "%q", in)
		require.ErrorContains(t, err, `device name "`+in+`"`)
		assert.Zero(t, got)
	}
}
