package names_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig/names"
)

// Reports about identifiers; the numbers go on from those of package mig.

// TestCase15Patterns: a pattern is anchored at both ends.
func TestCase15Patterns(t *testing.T) {
	t.Parallel()
	list := []string{"1g.24gb", "1g.24gb-me", "1g.24gb+me.all", "1g.24gb+gfx", "x1g.24gb"}
	for pattern, want := range map[string][]string{
		"1g.24gb":        {"1g.24gb"},
		"1g.24gb-me":     {"1g.24gb-me"},
		"1g.24gb+me.all": {"1g.24gb+me.all"},
		"1g.24gb+gfx":    {"1g.24gb+gfx"},
		"1g.*":           {"1g.24gb", "1g.24gb-me", "1g.24gb+me.all", "1g.24gb+gfx"},
		"*gb":            {"1g.24gb", "x1g.24gb"},
		"*":              list,
	} {
		var got []string
		for _, n := range list {
			if names.Match(pattern, n) {
				got = append(got, n)
			}
		}
		assert.Equal(t, want, got, pattern)
	}
}

// TestCase52: both forms of a MIG UUID, and what is none.
func TestCase52UUIDsOldAndNew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		kind     names.UUIDKind // 0: refused
	}{
		{"52 before R470", "MIG-GPU-662077db-fa3f-0d8f-9502-21ab0ef058a2/10/0", names.UUIDOfMIGOld},
		{"52 since R470", "MIG-3eb87630-93d5-b2b6-b8ff-9b359caf4ee2", names.UUIDOfMIG},
		{"52 old form without numbers", "MIG-GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c", 0},
		{"52 a GPU", "GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c", names.UUIDOfGPU},
		{"52 no id", "MIG-foo", 0},
		{"52 no kind", "4cf8db2d-06c0-7d70-1a51-e59b25b2c16c", 0},
		{"52 old form with one number", "MIG-GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c/0", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u, err := names.ParseUUID(c.in)
			assert.Equal(t, c.kind, u.Kind)
			if c.kind == 0 {
				require.ErrorIs(t, err, names.ErrBadDevice)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.in, u.String())
		})
	}
	u, err := names.ParseUUID("MIG-GPU-662077db-fa3f-0d8f-9502-21ab0ef058a2/10/0")
	require.NoError(t, err)
	gpu, known := u.GPU()
	assert.True(t, known)
	assert.Equal(t, "GPU-662077db-fa3f-0d8f-9502-21ab0ef058a2", gpu)
	assert.Equal(t, 10, u.GPUInstance)
	assert.Equal(t, 0, u.ComputeInstance)
}

// TestCase53: one number is a GPU, two with a colon a MIG device, the rest nothing.
func TestCase53IndexForms(t *testing.T) {
	t.Parallel()
	got, err := names.ParseIndex("0")
	require.NoError(t, err)
	assert.Equal(t, names.Index{GPU: 0, MIG: -1}, got)
	got, err = names.ParseIndex("0:0")
	require.NoError(t, err)
	assert.Equal(t, names.Index{GPU: 0, MIG: 0}, got)
	for _, in := range []string{"-1", "0:0:0", "0:0.0", "-1:0", "0:-1", "0:foo", "foo:0", ""} {
		_, err := names.ParseIndex(in)
		require.ErrorIs(t, err, names.ErrBadDevice, "53 %q", in)
	}
}

// TestCase54: what CUDA makes of a list, with its order, its early end, and nothing
// at all for a repetition.
func TestCase54VisibleDevices(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, list string
		want       []int
		is         error
	}{
		{"54 ends at -1", "0,1,2,3,-1,5,6,7", []int{0, 1, 2, 3}, names.ErrNoDevice},
		{"54 repeated", "0, 1, 2, 1", nil, names.ErrRepeatedDevice},
		{"54 letters behind the number", "1gpu2,2ampere", []int{1, 2}, nil},
		{"54 signs", "2, +3, -0, 5", []int{2, 3, 0, 5}, nil},
		{"54 words first", "one,two,3,4", nil, names.ErrNoDevice},
		{"54 words last", "4,3,two,one", []int{4, 3}, names.ErrNoDevice},
		{"54 shortened UUID", "GPU-9e8d35e3", []int{0}, nil},
		{"54 one order", "0,1", []int{0, 1}, nil},
		{"54 the other", "1,0", []int{1, 0}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := names.VisibleDevices(c.list, eight())
			require.ErrorIs(t, err, c.is)
			assert.Equal(t, c.want, got)
		})
	}
}

// TestCase55: a shortened UUID must fit one device.
func TestCase55ShortenedUUIDs(t *testing.T) {
	t.Parallel()
	present := []string{"GPU-5a88edbe-0000-0000-0000-000000000002", "GPU-5a88f000-0000-0000-0000-000000000001"}
	got, err := names.FindDevice("GPU-5a88edbe", present)
	require.NoError(t, err)
	assert.Equal(t, 0, got)
	_, err = names.FindDevice("GPU-5a88", present)
	require.ErrorIs(t, err, names.ErrAmbiguousDevice)
	for _, u := range present {
		require.ErrorContains(t, err, u)
	}
	_, err = names.FindDevice("MIG-00000000-0000-0000-0000-000000000003", present)
	require.ErrorIs(t, err, names.ErrNoDevice)
	_, err = names.VisibleDevices("MIG-00000000-0000-0000-0000-000000000003", present)
	require.ErrorIs(t, err, names.ErrNoDevice)
}

// TestCase56: the identity in a DRA name is GPU, profile id and start.
func TestCase56DRANames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     names.DRA
		is       error
	}{
		{"56 hyphen in the profile", "gpu-0-mig-1g24gb-me-20-5", names.DRA{MIG: true, ProfileID: 20, Start: 5}, nil},
		{"56 double memory", "gpu-0-mig-1g47gb-15-6", names.DRA{MIG: true, ProfileID: 15, Start: 6}, nil},
		{"56 two slices", "gpu-0-mig-2g47gb-14-2", names.DRA{MIG: true, ProfileID: 14, Start: 2}, nil},
		{"56 a GPU", "gpu-0", names.DRA{}, nil},
		{"56 no start", "gpu-0-mig-1g24gb-20", names.DRA{}, names.ErrBadDevice},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := names.ParseDRA(c.in)
			require.ErrorIs(t, err, c.is)
			assert.Equal(t, c.want, got)
		})
	}
	// One text, two profiles.
	m := lookup(t, "rtx-pro-6000-96gb")
	for in, want := range map[string]string{"gpu-0-mig-1g24gb-me-21-0": "1g.24gb+me@0", "gpu-0-mig-1g24gb-me-67-0": "1g.24gb-me@0"} {
		d, err := names.ParseDRA(in)
		require.NoError(t, err)
		got, err := d.Instance(m)
		require.NoError(t, err)
		assert.Equal(t, want, got.String())
	}
}

// TestCases58And60: what a node advertises.
func TestCases58And60Resources(t *testing.T) {
	t.Parallel()
	cut := func(devices ...string) names.NodeGPU { return names.NodeGPU{MIG: true, Devices: devices} }
	node60 := []names.NodeGPU{{}, {}, cut("1g.10gb", "1g.10gb", "2g.20gb", "2g.20gb")}
	for _, c := range []struct {
		name     string
		strategy names.Strategy
		gpus     []names.NodeGPU
		want     map[string]int // nil: refused
	}{
		{"58 two profiles, single", names.StrategySingle, []names.NodeGPU{cut("1g.6gb", "1g.6gb", "2g.12gb")}, nil},
		{
			"58 two profiles, mixed", names.StrategyMixed,
			[]names.NodeGPU{cut("1g.6gb", "1g.6gb", "2g.12gb")},
			map[string]int{"nvidia.com/gpu": 0, "nvidia.com/mig-1g.6gb": 2, "nvidia.com/mig-2g.12gb": 1},
		},
		{"58 four alike, single", names.StrategySingle, []names.NodeGPU{cut("1g.6gb", "1g.6gb", "1g.6gb", "1g.6gb")}, map[string]int{"nvidia.com/gpu": 4}},
		{
			"60 two whole, one cut", names.StrategyMixed, node60,
			map[string]int{"nvidia.com/gpu": 2, "nvidia.com/mig-1g.10gb": 2, "nvidia.com/mig-2g.20gb": 2},
		},
		{
			"60 all cut: none whole is said, not left out", names.StrategyMixed,
			[]names.NodeGPU{cut("7g.80gb"), cut("7g.80gb"), node60[2]},
			map[string]int{"nvidia.com/gpu": 0, "nvidia.com/mig-7g.80gb": 2, "nvidia.com/mig-1g.10gb": 2, "nvidia.com/mig-2g.20gb": 2},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := names.Resources(c.strategy, c.gpus)
			if c.want == nil {
				require.ErrorIs(t, err, names.ErrStrategy)
				require.ErrorContains(t, err, "1g.6gb")
				require.ErrorContains(t, err, "2g.12gb")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}
