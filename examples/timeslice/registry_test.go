package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRegistryText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want []string }{
		{[]string{"0x00180011"}, []string{
			"RmPVMRL 0x00180011",
			"  by the header: fixed-share, ARR on, 384 Hz (fixed-share, ARR on, 384 Hz, factor 33), turns of 2.604ms",
			"  by the guide:  fixed-share, ARR off, slice 24ms, turns of 24ms; 0x00180013 says that alone",
			"warning: bit 1 is clear, so by the header this is a frequency of 384 Hz; the vendor's guide describes such values as a slice of 24 ms",
		}},
		{[]string{"1", "-max-vgpus", "16"}, []string{
			"RmPVMRL 0x00000001",
			"  by the header: equal-share, ARR on (equal-share, ARR on, 960 Hz, factor 33), turns of 1.042ms",
		}},
		{[]string{"0"}, []string{"RmPVMRL 0x00000000", "  by the header: best-effort"}},
		{[]string{"-policy", "equal", "-slice", "3ms"}, []string{"RmPVMRL 0x00030003", "  by the header: equal-share, ARR off, slice 3ms, turns of 3ms"}},
		{[]string{"-policy", "fixed-share", "-frequency", "480"}, []string{"RmPVMRL 0x211e0011", "  by the header: fixed-share, ARR on, 480 Hz, factor 33, turns of 2.083ms"}},
		{[]string{"-policy", "besteffort"}, []string{"RmPVMRL 0x00000000", "  by the header: best-effort"}},
	} {
		want := ""
		for _, line := range c.want {
			want += line + "\n"
		}
		assert.Equal(t, want, done(t, append([]string{"registry"}, c.args...)...))
	}
}

func TestRegistryJSON(t *testing.T) {
	t.Parallel()
	a := answer[registryAnswer](t, exitDone, "registry", "0x00030001")
	assert.Equal(t, schema, a.Schema)
	assert.Equal(t, "0x00030001", a.Value)
	assert.EqualValues(t, 48, a.Header.Frequency)
	assert.EqualValues(t, 63, a.Header.Effective.Frequency)
	assert.EqualValues(t, 1_000_000_000/63, a.Header.SliceNs)
	require.NotNil(t, a.Guide)
	assert.Equal(t, "0x00030003", a.Guide.Value)
	assert.EqualValues(t, 3_000_000, a.Guide.Slice)
	assert.Len(t, a.Warnings, 2)
	meant := answer[registryAnswer](t, exitDone, "registry", a.Guide.Value)
	assert.Nil(t, meant.Guide)
	assert.Equal(t, a.Guide.registryReading, meant.Header)
	assert.Equal(t, []string{}, meant.Warnings)
	assert.Equal(t, "unknown", answer[registryAnswer](t, exitDone, "registry", "0x00030021").Header.Policy)
}

func TestRegistryBadInput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"nothing", nil, []string{"a value or -policy is missing"}},
		{"both", []string{"1", "-factor", "3"}, []string{"-factor and a value exclude each other"}},
		{"no number", []string{"0xyz"}, []string{`"0xyz" is no number of 32 bits`}},
		{"too large", []string{"0x100000000"}, []string{"0x100000000"}},
		{"negative", []string{"--", "-1"}, []string{`"-1"`}},
		{"two values", []string{"1", "2"}, []string{`unexpected argument "2"`}},
		{"slice without policy", []string{"-slice", "3ms"}, []string{"-policy is missing"}},
		{"unknown policy", []string{"-policy", "fair"}, []string{"-policy", `"fair"`, "besteffort, equal, fixed"}},
		{"slice and frequency", []string{"-policy", "equal", "-slice", "3ms", "-frequency", "100"}, []string{"frequency 100"}},
		{"slice with ARR", []string{"-policy", "equal", "-slice", "3ms", "-arr", "on"}, []string{"slice 3000000 ns with adaptive round robin"}},
		{"slice of best effort", []string{"-policy", "besteffort", "-slice", "3ms"}, []string{"best effort takes no parameters"}},
		{"slice between ms", []string{"-policy", "equal", "-slice", "2500us"}, []string{"whole number of milliseconds"}},
		{"too long a slice", []string{"-policy", "equal", "-slice", "31ms"}, []string{"slice 31000000 ns outside"}},
		{"too high a frequency", []string{"-policy", "equal", "-frequency", "961"}, []string{"frequency 961 Hz outside 63 to 960"}},
		{"frequency beyond 32 bits", []string{"-policy", "equal", "-frequency", "4294967776"}, []string{"-frequency: 4294967776"}},
		{"neither on nor off", []string{"-policy", "equal", "-arr", "yes"}, []string{"-arr", `"yes"`}},
		{"no vGPUs", []string{"1", "-max-vgpus", "0"}, []string{"-max-vgpus: 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			refuses(t, append([]string{"registry"}, c.args...), c.says)
		})
	}
}
