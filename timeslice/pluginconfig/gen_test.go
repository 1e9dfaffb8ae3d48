package pluginconfig_test

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/timeslice/pluginconfig"
)

const (
	uuidA = "GPU-b1028956-cfa2-0990-bf4a-5da9abb51763"
	uuidB = "MIG-3eb87630-93d5-b2b6-b8ff-9b359caf4ee2"
)

// genInventory draws nodes of one kind of GPU, cut or not, some of them mixed.
func genInventory(t *rapid.T) pluginconfig.Inventory {
	inv := make(pluginconfig.Inventory, rapid.IntRange(0, 5).Draw(t, "GPUs"))
	cut := rapid.SampledFrom([]string{"none", "all", "some"}).Draw(t, "cut")
	for i := range inv {
		inv[i] = pluginconfig.GPU{Product: "NVIDIA A100-SXM4-80GB", Memory: 81920, Capability: "8.0", MIGCapable: true}
		if cut == "all" || cut == "some" && rapid.Bool().Draw(t, "MIG on") {
			inv[i].MIGEnabled = true
			for range rapid.IntRange(0, 3).Draw(t, "MIG devices") {
				inv[i].MIG = append(inv[i].MIG, pluginconfig.MIGDevice{
					Profile: rapid.SampledFrom([]string{"1g.10gb", "1g.10gb", "1g.10gb", "3g.40gb", "1g.10gb+me"}).Draw(t, "profile"),
					Memory:  9728,
				})
			}
		}
	}
	return inv
}

// genConfig draws configurations without an error in them.
func genConfig(t *rapid.T) *pluginconfig.Config {
	c := &pluginconfig.Config{}
	c.Flags.MIGStrategy = rapid.SampledFrom([]pluginconfig.MIGStrategy{"", "none", "single", "mixed"}).Draw(t, "strategy")
	if rapid.IntRange(0, 3).Draw(t, "custom") == 0 {
		c.Patterns = []pluginconfig.Pattern{{Pattern: "*A100*", Name: "nvidia.com/a100"}, {MIG: true, Pattern: "1g.*", Name: "nvidia.com/small"}}
	}
	if rapid.IntRange(0, 4).Draw(t, "time-slicing") > 0 {
		c.TimeSlicing = genSection(t)
	}
	if c.Flags.MIGStrategy != pluginconfig.MIGMixed && rapid.IntRange(0, 2).Draw(t, "mps") == 0 {
		c.MPS = genSection(t)
	}
	return c
}

func genSection(t *rapid.T) *pluginconfig.Section {
	s := &pluginconfig.Section{RenameByDefault: rapid.Bool().Draw(t, "rename by default")}
	if rapid.Bool().Draw(t, "fail set") {
		v := rapid.Bool().Draw(t, "fail")
		s.FailRequests = &v
	}
	for range rapid.IntRange(1, 3).Draw(t, "resources") {
		r := pluginconfig.Resource{
			Name: "nvidia.com/" + rapid.SampledFrom([]string{
				"gpu", "gpu", "mig-1g.10gb", "mig-3g.40gb", "mig-1g.10gb.me", "a100", "small", "nothing",
			}).Draw(t, "name"),
			Replicas: rapid.IntRange(2, 16).Draw(t, "replicas"),
		}
		if rapid.IntRange(0, 2).Draw(t, "renamed") == 0 {
			r.Rename = "nvidia.com/" + rapid.SampledFrom([]string{"mine", "gpu", "gpu.shared", "yours"}).Draw(t, "rename")
		}
		switch rapid.IntRange(0, 3).Draw(t, "selection") {
		case 0:
			r.Devices.Count = rapid.IntRange(1, 6).Draw(t, "count")
		case 1:
			r.Devices.List = rapid.SliceOfNDistinct(
				rapid.SampledFrom([]string{"0", "1", "2", "0:0", "0:1", "1:0", uuidA, uuidB}), 1, 3, rapid.ID,
			).Draw(t, "list")
		}
		s.Resources = append(s.Resources, r)
	}
	return s
}

// write is the configuration as a file.
func write(c *pluginconfig.Config) string {
	var b strings.Builder
	b.WriteString("version: v1\nflags:\n")
	if c.Flags.MIGStrategy != "" {
		fmt.Fprintf(&b, "  migStrategy: %s\n", c.Flags.MIGStrategy)
	}
	if c.Flags.MPSRoot != "" {
		fmt.Fprintf(&b, "  mpsRoot: %q\n", c.Flags.MPSRoot)
	}
	fmt.Fprintf(&b, "  plugin: {sharedDevicesAllocationPolicy: %s}\n", c.Flags.AllocationPolicy)
	b.WriteString("resources:\n")
	for _, mig := range []bool{false, true} {
		fmt.Fprintf(&b, "  %s:\n", map[bool]string{false: "gpus", true: "mig"}[mig])
		for _, p := range c.Patterns {
			if p.MIG == mig {
				fmt.Fprintf(&b, "  - {pattern: %q, name: %s}\n", p.Pattern, p.Name)
			}
		}
	}
	b.WriteString("sharing:\n")
	for _, s := range []struct {
		name string
		*pluginconfig.Section
	}{{"timeSlicing", c.TimeSlicing}, {"mps", c.MPS}} {
		if s.Section == nil {
			continue
		}
		fmt.Fprintf(&b, "  %s:\n    renameByDefault: %v\n", s.name, s.RenameByDefault)
		if s.FailRequests != nil {
			fmt.Fprintf(&b, "    failRequestsGreaterThanOne: %v\n", *s.FailRequests)
		}
		b.WriteString("    resources:\n")
		for _, r := range s.Resources {
			fmt.Fprintf(&b, "    - name: %s\n      replicas: %d\n", r.Name, r.Replicas)
			if r.Rename != "" {
				fmt.Fprintf(&b, "      rename: %s\n", r.Rename)
			}
			if r.Devices.Count > 0 {
				fmt.Fprintf(&b, "      devices: %d\n", r.Devices.Count)
			}
			if len(r.Devices.List) > 0 {
				fmt.Fprintf(&b, "      devices: [%q]\n", strings.Join(r.Devices.List, `", "`))
			}
		}
	}
	return strings.ReplaceAll(b.String(), `\"`, `"`)
}

// plain forgets where everything stood.
func plain(c *pluginconfig.Config) *pluginconfig.Config {
	p := &pluginconfig.Config{Flags: c.Flags}
	for _, x := range c.Patterns {
		x.Pos = pluginconfig.Pos{}
		p.Patterns = append(p.Patterns, x)
	}
	section := func(s *pluginconfig.Section) *pluginconfig.Section {
		if s == nil {
			return nil
		}
		q := *s
		q.Pos, q.Resources = pluginconfig.Pos{}, nil
		for _, r := range s.Resources {
			r.Pos, r.RenamePos, r.DevicesPos = pluginconfig.Pos{}, pluginconfig.Pos{}, pluginconfig.Pos{}
			q.Resources = append(q.Resources, r)
		}
		return &q
	}
	p.TimeSlicing, p.MPS = section(c.TimeSlicing), section(c.MPS)
	return p
}
