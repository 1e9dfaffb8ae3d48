package pluginconfig

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/timeslice"
)

// Mode says which of two readings of a configuration is meant.
type Mode uint8

// The modes.
const (
	// AsPlugin is what the device plugin does: with [Config.Effective].
	AsPlugin Mode = iota

	// AsWritten is what the file says: both sections, custom names, new names and
	// selections of devices are honoured. A count selects those with the lowest
	// indices. No plugin does this; it is what a reader of the file expects.
	AsWritten
)

// Node is what a node advertises.
type Node struct {
	Resources []Advertised      // by name
	Labels    map[string]string // see [Advertise]
	Remarks   []string          // sentences about what is left open, or comes out unexpectedly
}

// Advertised is a resource of a node.
type Advertised struct {
	Name     string
	Count    int    // what the node's capacity shows
	Strategy string // "none", "time-slicing" or "mps"

	// OnlyOne says that a request for more than one replica is refused, after it
	// was scheduled: the pod fails and is not moved.
	OnlyOne bool

	// Devices are the devices behind it in the order of indices, each with its
	// number of replicas: input of timeslice.Expand and timeslice.Allocate.
	Devices []timeslice.Device
}

// share is an entry of a section, with what comes with the section.
type share struct {
	Resource
	name     string // of the replicas
	strategy string
	onlyOne  bool
	renamed  bool
	field    string
}

const (
	strategyNone        = "none"
	strategyTimeSlicing = "time-slicing"
	strategyMPS         = "mps"
)

// Advertise says what a node with these GPUs advertises under a configuration: the
// resources of the device plugin, and those labels of GPU feature discovery that
// depend on sharing or tell the GPUs: nvidia.com/<resource>.product, .count,
// .replicas, .sharing-strategy, .memory, nvidia.com/gpu.family and .compute.major,
// .compute.minor, nvidia.com/mig.capable, mig.strategy and mps.capable. The labels
// of a resource keep its name when its replicas are called otherwise.
//
// The error wraps [ErrFormat] for a configuration that [Check] finds an [Error] in,
// [ErrInventory] for one of the GPUs, [ErrRefused] where the plugin would not start,
// and, as written only, [ErrSelection] where devices that a file selects are not
// there, or two entries select the same.
func Advertise(c *Config, inv Inventory, mode Mode) (*Node, error) {
	if c == nil {
		c = &Config{}
	}
	if err := asError(c.Name, Check(c), Error); err != nil {
		return nil, err
	}
	inv, err := inv.check()
	if err != nil {
		return nil, err
	}
	if mode == AsPlugin {
		c = c.Effective()
	}
	base, err := inv.serve(c.Flags.strategy(), c.Patterns)
	if err != nil {
		return nil, err
	}
	shares := c.shares()
	n := &Node{}
	resources, err := n.divide(base, shares)
	if err != nil {
		return nil, err
	}
	if mode == AsPlugin && c.MPS != nil {
		if err := inv.mpsPossible(base, shares); err != nil {
			return nil, err
		}
	}
	n.Resources = resources
	n.label(c, inv, base, shares)
	return n, nil
}

// shares lists the entries of the sections.
func (c *Config) shares() []share {
	var all []share
	for _, w := range c.ways() {
		s := share{strategy: strategyTimeSlicing, onlyOne: w.FailRequests != nil && *w.FailRequests}
		if w.Section == c.MPS {
			s.strategy = strategyMPS
			s.onlyOne = s.onlyOne || w.FailRequests == nil
		}
		for i, r := range w.Resources {
			s.Resource, s.name, s.field = r, w.named(r), w.resource(i)
			s.renamed = s.name != r.Name
			all = append(all, s)
		}
	}
	return all
}

// divide shares the devices.
func (n *Node) divide(base *served, shares []share) ([]Advertised, error) {
	byName := map[string]*Advertised{}
	add := func(name string, d timeslice.Device, s share) {
		a := byName[name]
		if a == nil {
			a = &Advertised{Name: name, Strategy: strategyNone}
			byName[name] = a
		}
		a.Devices = append(a.Devices, d)
		a.Count += max(d.Replicas, 1)
		if d.Replicas > 0 {
			a.Strategy, a.OnlyOne = s.strategy, a.OnlyOne || s.onlyOne
		}
	}
	taken := map[string]string{} // field of the entry that has a device
	for _, s := range shares {
		devices, there := base.devices[s.Name]
		if !there {
			n.Remarks = append(n.Remarks, fmt.Sprintf("%s: no device of the node is %s, so nothing is shared", s.field, s.Name))
			continue
		}
		selected, err := s.selection(devices)
		if err != nil {
			return nil, err
		}
		for _, d := range selected {
			if other, twice := taken[d.UUID]; twice {
				return nil, fmt.Errorf("pluginconfig: %s: device %s (%s) is shared by %s already: %w", s.field, d.index, d.UUID, other, ErrSelection)
			}
			taken[d.UUID] = s.field
			d.Replicas = s.Replicas
			add(s.name, d.Device, s)
		}
	}
	for _, name := range base.names {
		for _, d := range base.devices[name] {
			if _, shared := taken[d.UUID]; !shared {
				add(name, d.Device, share{})
			}
		}
	}
	order := base.order()
	var all []Advertised
	for _, a := range byName {
		slices.SortFunc(a.Devices, func(a, b timeslice.Device) int { return cmp.Compare(order[a.UUID], order[b.UUID]) })
		all = append(all, *a)
	}
	slices.SortFunc(all, func(a, b Advertised) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// selection returns the devices that an entry is for, in the order of indices.
func (s share) selection(devices []device) ([]device, error) {
	switch d := s.Devices; {
	case d.All():
		return devices, nil
	case d.Count > len(devices):
		return nil, fmt.Errorf("pluginconfig: %s: %s of %s selected, the node has %d: %w",
			s.field, plural(d.Count, "device"), s.Name, len(devices), ErrSelection)
	case d.Count > 0:
		return devices[:d.Count], nil
	}
	chosen := make([]bool, len(devices))
	for _, ref := range s.Devices.List {
		i := slices.IndexFunc(devices, func(d device) bool { return d.index == ref || d.UUID == ref })
		if i < 0 {
			return nil, fmt.Errorf("pluginconfig: %s: no device %s among those of %s: %w", s.field, ref, s.Name, ErrSelection)
		}
		if chosen[i] {
			return nil, fmt.Errorf("pluginconfig: %s: device %s (%s) is selected twice, once as %s: %w",
				s.field, devices[i].index, devices[i].UUID, ref, ErrSelection)
		}
		chosen[i] = true
	}
	var selected []device
	for i, d := range devices {
		if chosen[i] {
			selected = append(selected, d)
		}
	}
	return selected, nil
}

// mpsPossible checks what the plugin finds out when it starts with MPS.
func (inv Inventory) mpsPossible(base *served, shares []share) error {
	for _, name := range base.names {
		for _, d := range base.devices[name] {
			if d.Parent != "" {
				return fmt.Errorf("pluginconfig: MPS cannot share MIG devices, and %s is one: %w", d.index, ErrRefused)
			}
			for _, s := range shares {
				if s.Name == name && s.Replicas > mpsOldClients && oldForMPS(inv[d.gpu].Capability) {
					return fmt.Errorf("pluginconfig: %s: %d replicas of GPU %s; with compute capability %s MPS takes %d: %w",
						s.field, s.Replicas, d.index, inv[d.gpu].Capability, mpsOldClients, ErrRefused)
				}
			}
		}
	}
	return nil
}

// oldForMPS is the plugin's border, which Volta (7.0) is on the wrong side of.
func oldForMPS(c string) bool {
	major, minor, ok := version(c)
	return ok && (major < 7 || major == 7 && minor < 5)
}

// Count is how many there are of a resource; 0 if it is not advertised.
func (n *Node) Count(name string) int {
	if i := n.find(name); i >= 0 {
		return n.Resources[i].Count
	}
	return 0
}

func (n *Node) find(name string) int {
	return slices.IndexFunc(n.Resources, func(a Advertised) bool { return a.Name == name })
}

// Request says whether a container on an otherwise empty node can have so many of
// a resource: nil, or an error that wraps [ErrRequest], and timeslice.ErrOnlyOne
// where more than one replica is refused.
func (n *Node) Request(name string, count int) error {
	i := n.find(name)
	switch {
	case i < 0:
		names := make([]string, len(n.Resources))
		for i, a := range n.Resources {
			names[i] = a.Name
		}
		return fmt.Errorf("pluginconfig: %s is not advertised, only %q are: %w", name, names, ErrRequest)
	case count < 1 || count > n.Resources[i].Count:
		return fmt.Errorf("pluginconfig: %d of %s: there are %d: %w", count, name, n.Resources[i].Count, ErrRequest)
	case count > 1 && n.Resources[i].OnlyOne:
		return fmt.Errorf("pluginconfig: %d of %s: %w: %w", count, name, ErrRequest, timeslice.ErrOnlyOne)
	}
	return nil
}
