package mps_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mps"
)

// TestParseLimitAsLogged: what servers logged, in bytes, after they were sent these.
func TestParseLimitAsLogged(t *testing.T) {
	t.Parallel()
	for text, logged := range map[string]string{
		"5120M": "0x140000000",
		"1919M": "0x77f00000",
		"10G":   "0x280000000",
	} {
		mib, err := mps.ParseLimit(text)
		require.NoError(t, err)
		assert.Equal(t, logged, "0x"+strconv.FormatInt(mib<<20, 16), text)
	}
}

func TestParseLimitRefuses(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		"":                     "empty",
		"G":                    "want a whole number",
		"1T":                   "unit T",
		"1K":                   "unit K",
		"512MB":                "write 512M",
		"2GiB":                 "write 2G",
		"4g":                   "write 4G",
		"8589934592":           "no unit",
		"8589934592MB":         "unit MB",
		"0M":                   "zero",
		"007M":                 "leading zero",
		"-1G":                  "want a whole number",
		"+1G":                  "want a whole number",
		"1.5G":                 "want a whole number",
		"1 G":                  "blank",
		" 1G":                  "blank",
		"1G\n":                 "blank",
		"“1G”":                 "quotation mark",
		"1G'":                  "quotation mark",
		"١G":                   "character",
		"1G\x00":               "character",
		"9223372036854775808M": "too large",
		"8796093022208M":       "too large",
		"8589934592G":          "too large",
	} {
		mib, err := mps.ParseLimit(text)
		require.ErrorIs(t, err, mps.ErrInput, "%q", text)
		require.ErrorContains(t, err, why, "%q", text)
		assert.Zero(t, mib)
	}
	mib, err := mps.ParseLimit("8796093022207M")
	require.NoError(t, err)
	assert.Equal(t, int64(8796093022207), mib, "the most that int64 holds in bytes")
}

func TestParseDeviceLimits(t *testing.T) {
	t.Parallel()
	const uuid = "GPU-8f7e2b1a-0000-1111-2222-333344445555"
	for _, c := range []struct {
		text, canonical string
		want            []mps.DeviceLimit
	}{
		{"0=8G,1=2048M", "0=8192M,1=2048M", []mps.DeviceLimit{{"0", 8192}, {"1", 2048}}},
		{"1=1G,0=512M", "1=1024M,0=512M", []mps.DeviceLimit{{"1", 1024}, {"0", 512}}},
		{uuid + "=4G", uuid + "=4096M", []mps.DeviceLimit{{uuid, 4096}}},
		{"GPU-8f=1G,0=1G", "GPU-8f=1024M,0=1024M", []mps.DeviceLimit{{"GPU-8f", 1024}, {"0", 1024}}},
		{"MIG-GPU-8f7e2b1a/1/0=1G", "MIG-GPU-8f7e2b1a/1/0=1024M", []mps.DeviceLimit{{"MIG-GPU-8f7e2b1a/1/0", 1024}}},
	} {
		got, err := mps.ParseDeviceLimits(c.text)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.want, got)
		text, err := mps.FormatDeviceLimits(got)
		require.NoError(t, err)
		assert.Equal(t, c.canonical, text)
	}
	for text, where := range map[string]string{
		"":                      "entry 1",
		"0=1G,":                 "entry 2",
		",0=1G":                 "entry 1",
		"0=1G,1=512MB":          "entry 2",
		"1G":                    "want <device>=<limit>",
		"0=":                    "entry 1",
		"=1G":                   "entry 1",
		"0==1G":                 "entry 1",
		"0=1G,0=2G":             "entry 2: device 0 is that of entry 1",
		"GPU-8F7e=1G,GPU-8f=1G": "entry 2",
		"00=1G":                 "neither an ordinal nor a UUID",
		"-1=1G":                 "neither an ordinal nor a UUID",
		"a=1G":                  "neither an ordinal nor a UUID",
		"GPU-=1G":               "neither an ordinal nor a UUID",
		"0=1G 1=2G":             "blank",
		"0=1G, 1=2G":            "blank",
		"0=1G;1=2G":             "entry 1",
		"”0=1G,1=512MB”":        "quotation mark",
		"\"0=1G\"":              "quotation mark",
		"0=1G,1=1G,2=1T":        "entry 3",
	} {
		got, err := mps.ParseDeviceLimits(text)
		require.ErrorIs(t, err, mps.ErrInput, "%q", text)
		require.ErrorContains(t, err, where, "%q", text)
		assert.Nil(t, got)
	}
	for _, limits := range [][]mps.DeviceLimit{
		nil, {{"0", 0}}, {{"0", -1}}, {{"0", 1 << 43}}, {{"x", 1}}, {{"", 1}}, {{"0=1G,1", 1}}, {{"0", 1}, {"0", 1}},
	} {
		text, err := mps.FormatDeviceLimits(limits)
		require.ErrorIs(t, err, mps.ErrInput, "%v", limits)
		assert.Empty(t, text)
	}
}

// TestDeviceLimitsRoundTrip: what is written is read back the same.
func TestDeviceLimitsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limits := genDeviceLimits(t)
		text, err := mps.FormatDeviceLimits(limits)
		require.NoError(t, err)
		got, err := mps.ParseDeviceLimits(text)
		require.NoError(t, err)
		require.Equal(t, limits, got)
	})
}

func FuzzParseDeviceLimits(f *testing.F) {
	for _, seed := range []string{"0=1G,1=512MB", "0=8G,1=2048M", "”0=1G”", "1G", "0=", "GPU-1=1G,GPU-12=2G", "0=8796093022207M"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		limits, err := mps.ParseDeviceLimits(text)
		if err != nil {
			require.ErrorIs(t, err, mps.ErrInput)
			require.Nil(t, limits)
			return
		}
		require.NotEmpty(t, limits)
		canonical, err := mps.FormatDeviceLimits(limits)
		require.NoError(t, err)
		again, err := mps.ParseDeviceLimits(canonical)
		require.NoError(t, err)
		require.Equal(t, limits, again)
		require.Len(t, strings.Split(text, ","), len(limits))
	})
}
