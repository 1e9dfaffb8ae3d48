package names_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/names"
)

func TestResource(t *testing.T) {
	t.Parallel()
	for profile, want := range map[string]string{
		"1g.10gb":        "nvidia.com/mig-1g.10gb",
		"1c.1g.10gb":     "nvidia.com/mig-1g.10gb",
		"1g.10gb+me":     "nvidia.com/mig-1g.10gb.me",
		"1g.24gb+me.all": "nvidia.com/mig-1g.24gb.me.all",
		"1g.24gb+gfx":    "nvidia.com/mig-1g.24gb.gfx",
		"1g.24gb-me":     "nvidia.com/mig-1g.24gb-me",
		"7g.141gb":       "nvidia.com/mig-7g.141gb",
	} {
		got, err := names.Resource(profile)
		require.NoError(t, err, profile)
		assert.Equal(t, want, got)
		back, err := names.ParseResource(got)
		require.NoError(t, err, got)
		n, err := mig.ParseName(profile)
		require.NoError(t, err)
		assert.Equal(t, n.String(), back)
	}
	for profile, is := range map[string]error{
		"1c.3g.40gb":     names.ErrBadResource,
		"1g.24gb+me,gfx": names.ErrBadResource,
		"1g.24gb.me":     mig.ErrBadName,
		"":               mig.ErrBadName,
	} {
		got, err := names.Resource(profile)
		require.ErrorIs(t, err, is, profile)
		require.ErrorContains(t, err, `"`+profile+`"`)
		assert.Empty(t, got)
	}
}

func TestParseResourceRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "nvidia.com/gpu", "nvidia.com/mig-", "mig-1g.10gb", "amd.com/mig-1g.10gb", "NVIDIA.com/mig-1g.10gb",
		"nvidia.com/mig-1g.10gb+me",    // as it is in the profile, not in the resource
		"nvidia.com/mig-1g.10gb.",      // an attribute without a word
		"nvidia.com/mig-1g.10gb.you",   // that nobody knows
		"nvidia.com/mig-1g.10gb.me.me", // twice
		"nvidia.com/mig-1g.10gb.shared",
		"nvidia.com/mig-1c.3g.40gb", // a part of a GPU instance
		"nvidia.com/mig-1c.1g.10gb", // never written so
		"nvidia.com/mig-1g.10gb.me,gfx",
		"nvidia.com/mig-1g.10gb ", " nvidia.com/mig-1g.10gb", "nvidia.com/mig-01g.10gb",
	} {
		got, err := names.ParseResource(s)
		require.ErrorIs(t, err, names.ErrBadResource, "%q", s)
		require.ErrorContains(t, err, `"`+s+`"`)
		assert.Empty(t, got)
	}
}

// TestResourceOfEveryProfile: all profiles of all models have a resource of
// their own, which leads back.
func TestResourceOfEveryProfile(t *testing.T) {
	t.Parallel()
	forEachModel(t, func(t *testing.T, m *mig.Model) {
		seen := map[string]string{}
		for p := range m.Profiles() {
			r, err := names.Resource(p.Name)
			require.NoError(t, err)
			assert.Empty(t, seen[r], "%s is also %s", r, p.Name)
			seen[r] = p.Name
			assert.Regexp(t, `^nvidia\.com/[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`, r)
			back, err := names.ParseResource(r)
			require.NoError(t, err)
			assert.Equal(t, p.Name, back)
		}
	})
}

func TestResources(t *testing.T) {
	t.Parallel()
	whole := names.NodeGPU{}
	cut := func(devices ...string) names.NodeGPU { return names.NodeGPU{MIG: true, Devices: devices} }
	for _, c := range []struct {
		name     string
		strategy names.Strategy
		gpus     []names.NodeGPU
		want     map[string]int
		says     []string // of an error
	}{
		{"no GPUs", names.StrategyMixed, nil, map[string]int{"nvidia.com/gpu": 0}, nil},
		{"none counts all", names.StrategyNone, []names.NodeGPU{whole, cut("1g.10gb"), cut()}, map[string]int{"nvidia.com/gpu": 3}, nil},
		{"single, none cut", names.StrategySingle, []names.NodeGPU{whole, whole}, map[string]int{"nvidia.com/gpu": 2}, nil},
		{
			"single, alike on two GPUs", names.StrategySingle,
			[]names.NodeGPU{cut("1g.10gb", "1c.1g.10gb"), cut("1g.10gb")},
			map[string]int{"nvidia.com/gpu": 3},
			nil,
		},
		{
			"single, two profiles on two GPUs", names.StrategySingle,
			[]names.NodeGPU{cut("1g.10gb"), cut("1g.10gb+me")},
			nil,
			[]string{"GPU 1", "1g.10gb and", "1g.10gb+me", `"single"`},
		},
		{"single, one not cut", names.StrategySingle, []names.NodeGPU{cut("1g.10gb"), whole}, nil, []string{"1 of 2 GPUs", `"single"`}},
		{"single, one empty", names.StrategySingle, []names.NodeGPU{cut("1g.10gb"), cut()}, nil, []string{"GPU 1", "0 MIG devices"}},
		{"mixed, one empty", names.StrategyMixed, []names.NodeGPU{whole, cut()}, nil, []string{"GPU 1", "0 MIG devices"}},
		{"devices without the mode", names.StrategyMixed, []names.NodeGPU{{Devices: []string{"1g.10gb"}}}, nil, []string{"GPU 0", "MIG mode false"}},
		{
			"mixed, a part of a GPU instance", names.StrategyMixed,
			[]names.NodeGPU{cut("1c.3g.40gb", "1c.3g.40gb")},
			nil,
			[]string{"GPU 0", `"1c.3g.40gb"`, `"mixed"`},
		},
		{
			"mixed with media", names.StrategyMixed,
			[]names.NodeGPU{cut("1g.24gb+me.all", "1g.24gb-me", "1g.24gb-me")},
			map[string]int{"nvidia.com/gpu": 0, "nvidia.com/mig-1g.24gb.me.all": 1, "nvidia.com/mig-1g.24gb-me": 2},
			nil,
		},
		{"unknown strategy", "Mixed", []names.NodeGPU{whole}, nil, []string{`"Mixed"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := names.Resources(c.strategy, c.gpus)
			assert.Equal(t, c.want, got)
			if c.says == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, names.ErrStrategy)
			for _, s := range c.says {
				require.ErrorContains(t, err, s)
			}
		})
	}
	_, err := names.Resources(names.StrategySingle, []names.NodeGPU{whole, cut("1g.10")})
	require.ErrorIs(t, err, mig.ErrBadName)
	require.ErrorContains(t, err, "GPU 1")
}
