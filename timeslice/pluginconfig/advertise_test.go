package pluginconfig_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/timeslice"
	"github.com/gpushare/gpushare/timeslice/pluginconfig"
)

// countsByHand is what the plugin advertises, device by device and without any
// value of the package but the configuration.
func countsByHand(c *pluginconfig.Config, inv pluginconfig.Inventory) map[string]int {
	replicas, rename := map[string]int{}, map[string]string{}
	section := c.TimeSlicing
	if c.MPS != nil {
		section = c.MPS
	}
	if section != nil {
		for _, r := range section.Resources {
			replicas[r.Name] = max(replicas[r.Name], r.Replicas)
			if rename[r.Name] = r.Name; section.RenameByDefault {
				rename[r.Name] += ".shared"
			}
		}
	}
	counts := map[string]int{}
	add := func(name string) {
		if n := replicas[name]; n > 0 {
			counts[rename[name]] += n
		} else {
			counts[name]++
		}
	}
	mig := c.Flags.MIGStrategy == pluginconfig.MIGSingle || c.Flags.MIGStrategy == pluginconfig.MIGMixed
	for _, g := range inv {
		if !g.MIGEnabled || !mig {
			add("nvidia.com/gpu")
			continue
		}
		for _, m := range g.MIG {
			if c.Flags.MIGStrategy == pluginconfig.MIGSingle {
				add("nvidia.com/gpu")
			} else {
				add("nvidia.com/mig-" + strings.ReplaceAll(m.Profile, "+", "."))
			}
		}
	}
	return counts
}

func counts(n *pluginconfig.Node) map[string]int {
	all := map[string]int{}
	for _, a := range n.Resources {
		all[a.Name] = a.Count
	}
	return all
}

func TestAdvertiseCounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, inv := genConfig(t), genInventory(t)
		n, err := pluginconfig.Advertise(c, inv, pluginconfig.AsPlugin)
		if err != nil {
			require.ErrorIs(t, err, pluginconfig.ErrRefused)
			require.Nil(t, n)
			return
		}
		require.Equal(t, countsByHand(c, inv), counts(n))
		for _, a := range n.Resources {
			all, err := timeslice.Expand(a.Devices)
			require.NoError(t, err)
			require.Len(t, all, a.Count)
		}
		require.True(t, slices.IsSortedFunc(n.Resources, func(a, b pluginconfig.Advertised) int { return strings.Compare(a.Name, b.Name) }))
	})
}

// Where nothing is found that is worse than a note, the plugin does what is written.
func TestNoWarningNoSurprise(t *testing.T) {
	t.Parallel()
	clean := 0
	rapid.Check(t, func(t *rapid.T) {
		c, inv := genConfig(t), genInventory(t)
		if slices.ContainsFunc(pluginconfig.Check(c), func(f pluginconfig.Finding) bool { return f.Severity != pluginconfig.Note }) {
			c = c.Effective()
			if slices.ContainsFunc(pluginconfig.Check(c), func(f pluginconfig.Finding) bool { return f.Severity != pluginconfig.Note }) {
				return
			}
		}
		clean++
		plugin, pluginErr := pluginconfig.Advertise(c, inv, pluginconfig.AsPlugin)
		written, writtenErr := pluginconfig.Advertise(c, inv, pluginconfig.AsWritten)
		require.Equal(t, pluginErr, writtenErr)
		require.Equal(t, plugin, written)
	})
	assert.Positive(t, clean)
}

// Starting twice is starting once, and what the start changes is found before it
// and not after it.
func TestEffective(t *testing.T) {
	t.Parallel()
	resets := []pluginconfig.Code{
		pluginconfig.CustomResources, pluginconfig.RenameReset, pluginconfig.DevicesReset, pluginconfig.MPSWins,
		pluginconfig.DuplicateResource, pluginconfig.FailForced,
	}
	require.Equal(t, (&pluginconfig.Config{}).Effective(), (*pluginconfig.Config)(nil).Effective())
	isReset := func(f pluginconfig.Finding) bool { return slices.Contains(resets, f.Code) }
	rapid.Check(t, func(t *rapid.T) {
		c := genConfig(t)
		before := plain(c)
		e := c.Effective()
		require.Equal(t, before, plain(c), "not touched")
		require.Equal(t, e, e.Effective())
		require.False(t, slices.ContainsFunc(pluginconfig.Check(e), isReset))

		again := plain(c)
		again.Flags.MIGStrategy = e.Flags.MIGStrategy // the empty one is none
		changed := false
		for _, s := range []struct{ a, b *pluginconfig.Section }{{again.TimeSlicing, e.TimeSlicing}, {again.MPS, e.MPS}} {
			if s.a == nil || s.b == nil {
				changed = changed || s.a != s.b
				continue
			}
			for i := range s.a.Resources {
				if s.a.RenameByDefault && s.a.Resources[i].Rename == "" {
					s.a.Resources[i].Rename = s.a.Resources[i].Name + ".shared"
				}
				if !s.a.RenameByDefault && s.a.Resources[i].Rename == s.a.Resources[i].Name {
					s.a.Resources[i].Rename = ""
				}
			}
			changed = changed || !assert.ObjectsAreEqual(s.a, s.b)
		}
		changed = changed || len(c.Patterns) > 0
		require.Equal(t, slices.ContainsFunc(pluginconfig.Check(c), isReset), changed)
	})
}

func a100s(n int) pluginconfig.Inventory {
	inv := make(pluginconfig.Inventory, n)
	for i := range inv {
		inv[i] = pluginconfig.GPU{Product: "NVIDIA A100-SXM4-80GB", Memory: 81920, Capability: "8.0", MIGCapable: true}
	}
	return inv
}

func cut(inv pluginconfig.Inventory, profiles ...string) pluginconfig.Inventory {
	for i := range inv {
		inv[i].MIGEnabled = true
		for _, p := range profiles {
			inv[i].MIG = append(inv[i].MIG, pluginconfig.MIGDevice{Profile: p, Memory: 9728})
		}
	}
	return inv
}

func advertise(t *testing.T, text string, inv pluginconfig.Inventory, mode pluginconfig.Mode) (*pluginconfig.Node, error) {
	t.Helper()
	c, findings := pluginconfig.Lint([]byte(text), "")
	require.NotNil(t, c, "%v", findings)
	return pluginconfig.Advertise(c, inv, mode)
}

func TestAdvertiseAsWritten(t *testing.T) {
	t.Parallel()
	known := a100s(3)
	known[2].UUID = uuidA
	for _, test := range []struct {
		name, text string
		inv        pluginconfig.Inventory
		want       map[string]int
		err        error
	}{
		{"a count takes the first ones", shared("devices: 2", "rename: mine"), a100s(3), map[string]int{"nvidia.com/mine": 8, "nvidia.com/gpu": 1}, nil},
		{"without a new name they add up", shared("devices: 2"), a100s(3), map[string]int{"nvidia.com/gpu": 9}, nil},
		{"a list takes what it names", shared("devices: [1, "+uuidA+"]", "rename: mine"), known, map[string]int{"nvidia.com/mine": 8, "nvidia.com/gpu": 1}, nil},
		{"too large a count", shared("devices: 4"), a100s(3), nil, pluginconfig.ErrSelection},
		{"no such index", shared("devices: [3]"), a100s(3), nil, pluginconfig.ErrSelection},
		{"no such UUID", shared("devices: [" + uuidA + "]"), a100s(3), nil, pluginconfig.ErrSelection},
		{
			"two entries for different GPUs", shared("devices: [0]") + "    - {name: gpu, devices: [1], replicas: 2}\n", a100s(3),
			map[string]int{"nvidia.com/gpu": 7},
			nil,
		},
		{"two entries for one GPU", shared("devices: [0]") + "    - {name: gpu, devices: [0], replicas: 2}\n", a100s(3), nil, pluginconfig.ErrSelection},
		{"one GPU both ways", shared() + "  mps: {resources: [{name: gpu, replicas: 2}]}\n", a100s(3), nil, pluginconfig.ErrSelection},
		{
			"some one way, some the other", shared("devices: [0]") + "  mps: {resources: [{name: gpu, rename: gpu.mps, devices: [1], replicas: 2}]}\n", a100s(2),
			map[string]int{"nvidia.com/gpu": 4, "nvidia.com/gpu.mps": 2},
			nil,
		},
		{
			"custom names", "resources: {gpus: [{pattern: '*A100*', name: a100}]}\n" + strings.Replace(shared(), "nvidia.com/gpu", "a100", 1), a100s(2),
			map[string]int{"nvidia.com/a100": 8},
			nil,
		},
		{
			"custom names of profiles", "flags: {migStrategy: mixed}\nresources: {mig: [{pattern: '1g*', name: small}]}\n" + strings.Replace(shared("devices: ['0:0', '1:1']"), "nvidia.com/gpu", "small", 1),
			cut(a100s(2), "1g.10gb", "1g.10gb+me", "3g.40gb"),
			map[string]int{"nvidia.com/small": 10, "nvidia.com/mig-3g.40gb": 2},
			nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n, err := advertise(t, test.text, test.inv, pluginconfig.AsWritten)
			if test.err != nil {
				require.ErrorIs(t, err, test.err)
				assert.Nil(t, n)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, counts(n))
		})
	}
}

// The devices of a resource keep the order of their indices, on which ties depend.
func TestAdvertiseOrder(t *testing.T) {
	t.Parallel()
	n, err := advertise(t, "flags: {migStrategy: mixed}\n"+strings.Replace(shared("devices: ['1:0', '0:1']"), "nvidia.com/gpu", "nvidia.com/mig-1g.10gb", 1),
		cut(a100s(2), "1g.10gb", "1g.10gb", "3g.40gb"), pluginconfig.AsWritten)
	require.NoError(t, err)
	assert.Equal(t, []timeslice.Device{
		{UUID: "MIG-0:0", Parent: "GPU-0", Memory: 9728},
		{UUID: "MIG-0:1", Parent: "GPU-0", Memory: 9728, Replicas: 4},
		{UUID: "MIG-1:0", Parent: "GPU-1", Memory: 9728, Replicas: 4},
		{UUID: "MIG-1:1", Parent: "GPU-1", Memory: 9728},
	}, n.Resources[0].Devices)
}

// So they do where two profiles come under one name.
func TestAdvertiseOrderOfSeveral(t *testing.T) {
	t.Parallel()
	n, err := advertise(t, "flags: {migStrategy: mixed}\nsharing:\n  timeSlicing:\n    resources:\n"+
		"    - {name: mig-3g.40gb, rename: mine, replicas: 2}\n    - {name: mig-1g.10gb, rename: mine, replicas: 3}\n",
		cut(a100s(2), "1g.10gb", "3g.40gb"), pluginconfig.AsWritten)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"nvidia.com/mine": 10}, counts(n))
	var uuids []string
	for _, d := range n.Resources[0].Devices {
		uuids = append(uuids, d.UUID)
	}
	assert.Equal(t, []string{"MIG-0:0", "MIG-0:1", "MIG-1:0", "MIG-1:1"}, uuids)
}

func TestAdvertiseRefuses(t *testing.T) {
	t.Parallel()
	some := cut(a100s(2), "1g.10gb")
	some[1] = a100s(1)[0]
	const mpsRoot = "sharing:\n  mps:\n    resources: [{name: gpu, replicas: 20}]\n"
	unlike := cut(a100s(2), "1g.10gb")
	unlike[1].MIG[0].Memory = 4864
	old := a100s(1)
	old[0].Capability = "7.0"
	for _, test := range []struct {
		name, text string
		inv        pluginconfig.Inventory
		refused    bool
	}{
		{"single, all alike", "flags: {migStrategy: single}\n", cut(a100s(2), "1g.10gb", "1g.10gb"), false},
		{"single, two profiles", "flags: {migStrategy: single}\n", cut(a100s(2), "1g.10gb", "2g.20gb"), true},
		{"single, one profile of two sizes", "flags: {migStrategy: single}\n", unlike, true},
		{"single, one not cut", "flags: {migStrategy: single}\n", some, true},
		{"single, one empty", "flags: {migStrategy: single}\n", cut(a100s(2)), true},
		{"single, none cut", "flags: {migStrategy: single}\n", a100s(2), false},
		{"mixed, one empty", "flags: {migStrategy: mixed}\n", cut(a100s(2)), false},
		{"mixed, some cut", "flags: {migStrategy: mixed}\n", some, false},
		{"mixed, a compute instance", "flags: {migStrategy: mixed}\n", cut(a100s(1), "1c.3g.40gb"), true},
		{"none, a compute instance", "", cut(a100s(1), "1c.3g.40gb"), false},
		{"MPS", mpsRoot, a100s(1), false},
		{"MPS, MIG devices", "flags: {migStrategy: single}\n" + mpsRoot, cut(a100s(1), "1g.10gb"), true},
		{"MPS, MIG devices that are not advertised", mpsRoot, cut(a100s(1), "1g.10gb"), false},
		{"MPS, an old GPU", mpsRoot, old, true},
		{"time-slicing, an old GPU", strings.Replace(mpsRoot, "mps", "timeSlicing", 1), old, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n, err := advertise(t, test.text, test.inv, pluginconfig.AsPlugin)
			if test.refused {
				require.ErrorIs(t, err, pluginconfig.ErrRefused)
				assert.Nil(t, n)
				return
			}
			require.NoError(t, err)
		})
	}
}

func TestAdvertiseInventory(t *testing.T) {
	t.Parallel()
	for name, inv := range map[string]pluginconfig.Inventory{
		"a UUID twice":             {{UUID: "GPU-a"}, {UUID: "GPU-a"}},
		"a given one and a made":   {{}, {UUID: "GPU-0"}},
		"a GPU and a MIG device":   {{UUID: "a", MIGEnabled: true, MIG: []pluginconfig.MIGDevice{{UUID: "a", Profile: "1g.5gb"}}}},
		"no UUID":                  {{UUID: "a::0"}},
		"MIG devices with MIG off": {{MIG: []pluginconfig.MIGDevice{{Profile: "1g.5gb"}}}},
		"no profile":               {{MIGEnabled: true, MIG: []pluginconfig.MIGDevice{{}}}},
		"negative memory":          {{Memory: -1}},
		"no capability":            {{Capability: "eight"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, err := pluginconfig.Advertise(nil, inv, pluginconfig.AsPlugin)
			require.ErrorIs(t, err, pluginconfig.ErrInventory)
			assert.Nil(t, n)
		})
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	n, err := advertise(t, shared("devices: 1", "rename: mine"), a100s(3), pluginconfig.AsWritten)
	require.NoError(t, err)
	require.NoError(t, n.Request("nvidia.com/mine", 1))
	require.NoError(t, n.Request("nvidia.com/gpu", 2))
	for _, bad := range []struct {
		name  string
		count int
	}{{"nvidia.com/gpu", 3}, {"nvidia.com/gpu", 0}, {"nvidia.com/gpu", -1}, {"nvidia.com/mine", 2}, {"nvidia.com/nobody", 1}} {
		require.ErrorIs(t, n.Request(bad.name, bad.count), pluginconfig.ErrRequest, "%v", bad)
	}
	require.ErrorIs(t, n.Request("nvidia.com/mine", 2), timeslice.ErrOnlyOne)
	require.NotErrorIs(t, n.Request("nvidia.com/gpu", 3), timeslice.ErrOnlyOne)

	for _, mode := range []pluginconfig.Mode{pluginconfig.AsPlugin, pluginconfig.AsWritten} {
		n, err := advertise(t, "sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}\n", a100s(1), mode)
		require.NoError(t, err)
		require.ErrorIs(t, n.Request("nvidia.com/gpu", 2), timeslice.ErrOnlyOne, "MPS refuses unless told not to")
		n, err = advertise(t, "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}]}}\n", a100s(1), mode)
		require.NoError(t, err)
		require.NoError(t, n.Request("nvidia.com/gpu", 2), "time-slicing does not")
	}
}
