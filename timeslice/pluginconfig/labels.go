package pluginconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// label fills in the labels that GPU feature discovery puts on the node.
func (n *Node) label(c *Config, inv Inventory, base *served, shares []share) {
	n.Labels = map[string]string{}
	if len(inv) == 0 {
		return
	}
	cut := slices.ContainsFunc(inv, func(g GPU) bool { return g.MIGEnabled })
	if c.MPS != nil && cut {
		n.Remarks = append(n.Remarks, "GPU feature discovery sets no labels with MPS while a GPU has MIG on")
		return
	}
	n.Labels[prefix+"mps.capable"] = strconv.FormatBool(c.MPS != nil)
	n.Labels[prefix+"mig.capable"] = strconv.FormatBool(slices.ContainsFunc(inv, func(g GPU) bool { return g.MIGCapable }))
	n.gpuLabels(inv, shares)
	if strategy := c.Flags.strategy(); strategy != MIGNone {
		n.Labels[prefix+"mig.strategy"] = string(strategy)
		n.migLabels(base, shares, strategy)
	}
}

// gpuLabels are those of nvidia.com/gpu. They have room for one product; which of
// several the program takes is chance, except that one with MIG off comes before
// one with MIG on.
func (n *Node) gpuLabels(inv Inventory, shares []share) {
	chosen := slices.IndexFunc(inv, func(g GPU) bool { return !g.MIGEnabled })
	shared := chosen >= 0 // of a GPU with MIG on the program does not look at sharing
	if !shared {
		chosen = 0
	}
	g := inv[chosen]
	count := 0
	for _, o := range inv {
		switch {
		case o.Product == g.Product:
			count++
		case o.MIGEnabled == g.MIGEnabled:
			const chance = "the GPUs are of several products: the labels tell one of them, which one is not fixed; here it is the first"
			if !slices.Contains(n.Remarks, chance) {
				n.Remarks = append(n.Remarks, chance)
			}
		}
	}
	n.resourceLabels(resourceGPU, sanitise(g.Product), count, shares, shared)
	if g.Memory > 0 {
		n.Labels[resourceGPU+".memory"] = strconv.FormatInt(g.Memory, 10)
	}
	if major, minor, ok := version(g.Capability); ok && major > 0 {
		n.Labels[resourceGPU+".family"] = family(major, minor)
		n.Labels[resourceGPU+".compute.major"] = itoa(major)
		n.Labels[resourceGPU+".compute.minor"] = itoa(minor)
	}
}

// migLabels are those of the MIG devices, by profile.
func (n *Node) migLabels(base *served, shares []share, strategy MIGStrategy) {
	counts := map[string]int{}
	var firsts []device
	for _, name := range base.names {
		for _, d := range base.devices[name] {
			if d.profile == "" {
				continue
			}
			if counts[d.profile]++; counts[d.profile] == 1 {
				firsts = append(firsts, d)
			}
		}
	}
	for _, d := range firsts {
		profile := strings.ReplaceAll(d.profile, "+", ".")
		name := resourceGPU
		if strategy == MIGMixed {
			name = prefix + "mig-" + profile
		}
		product := sanitise(d.product)
		if product != "" {
			product += "-MIG-" + sanitise(profile)
		}
		n.resourceLabels(name, product, counts[d.profile], shares, true)
		delete(n.Labels, name+".memory")
		if d.Memory > 0 {
			n.Labels[name+".memory"] = strconv.FormatInt(d.Memory, 10)
		}
	}
}

func (n *Node) resourceLabels(name, product string, count int, shares []share, shared bool) {
	known := product != ""
	replicas, strategy := 0, strategyNone // 0: sharing was not looked at
	if shared {
		replicas = 1
		if i := slices.IndexFunc(shares, func(s share) bool { return s.Name == name }); i >= 0 {
			replicas, strategy = shares[i].Replicas, shares[i].strategy
			if !shares[i].renamed {
				product += "-SHARED"
			}
		}
	}
	if known {
		n.Labels[name+".product"] = product
	}
	n.Labels[name+".count"] = itoa(count)
	n.Labels[name+".replicas"] = itoa(replicas)
	n.Labels[name+".sharing-strategy"] = strategy
}

// sanitise drops what cannot stand in a label and puts dashes for blanks.
func sanitise(product string) string {
	kept := strings.Map(func(c rune) rune {
		switch {
		case c == '-' || c == '_' || c == '.' || c == ' ',
			'0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			return c
		}
		return -1
	}, product)
	return strings.Join(strings.Fields(kept), "-")
}

func version(c string) (major, minor int, ok bool) {
	n, err := fmt.Sscanf(c, "%d.%d", &major, &minor)
	return major, minor, err == nil && n == 2
}

func family(major, minor int) string {
	switch {
	case major == 1:
		return "tesla"
	case major == 2:
		return "fermi"
	case major == 3:
		return "kepler"
	case major == 5:
		return "maxwell"
	case major == 6:
		return "pascal"
	case major == 7 && minor < 5:
		return "volta"
	case major == 7:
		return "turing"
	case major == 8 && minor < 9:
		return "ampere"
	case major == 8:
		return "ada-lovelace"
	case major == 9:
		return "hopper"
	case major == 10 || major == 12:
		return "blackwell"
	case major == 13:
		return "rubin"
	}
	return "undefined"
}
