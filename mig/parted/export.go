package parted

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gpushare/gpushare/mig"
)

// Export returns a configuration with one label that describes what stands on a
// node; an empty label is "current". GPUs in the same state share an entry. As
// few filters and indices are written as tell the entries apart: with one model
// in the node no filter, and "devices: all" where an entry is for every GPU that
// its filters match.
//
// The result is valid input of Parse and of mig-parted, and Assert finds no
// difference between it and the states, save for Remnants, which the format
// cannot express and which are left out. Starts are not kept either.
//
// The error wraps ErrInventory where two GPUs have one index, where a GPU has
// instances with the mode off, or where there is none; and ErrFormat where an
// instance's name is malformed.
func Export(states []State, label string) (*Config, error) {
	if label == "" {
		label = "current"
	}
	if len(states) == 0 {
		return nil, fmt.Errorf("parted: no GPU to export: %w", ErrInventory)
	}
	states = slices.Clone(states)
	slices.SortStableFunc(states, func(a, b State) int { return cmp.Compare(a.Index, b.Index) })
	gpusWith := map[uint32]int{} // by PCI id
	for i, s := range states {
		if err := exportable(states, i); err != nil {
			return nil, err
		}
		gpusWith[s.PCI]++
	}

	var groups []exported
	for _, s := range states {
		have := normal(s.Instances)
		i := slices.IndexFunc(groups, func(g exported) bool {
			return g.enabled == s.Enabled && maps.Equal(g.have, have)
		})
		if i < 0 {
			i = len(groups)
			groups = append(groups, exported{enabled: s.Enabled, have: have, gpusWith: map[uint32]int{}})
		}
		groups[i].devices = append(groups[i].devices, s.Index)
		groups[i].gpusWith[s.PCI]++
	}

	l := Label{Name: label}
	for _, g := range groups {
		l.Entries = append(l.Entries, g.entry(gpusWith, len(groups) == 1))
	}
	return &Config{Labels: []Label{l}}, nil
}

func exportable(states []State, i int) error {
	s := states[i]
	if s.Index < 0 || i > 0 && states[i-1].Index == s.Index {
		return fmt.Errorf("parted: index %d is negative or that of two GPUs: %w", s.Index, ErrInventory)
	}
	if !s.Enabled && len(normal(s.Instances)) > 0 {
		return fmt.Errorf("parted: GPU %d has %s with MIG off: %w", s.Index, s.Instances, ErrInventory)
	}
	if s.Enabled && !s.Capable {
		return fmt.Errorf("parted: GPU %d has MIG on and cannot do it: %w", s.Index, ErrInventory)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Instances)) {
		if _, err := parseName(name); err != nil {
			return fmt.Errorf("parted: GPU %d: instance %q: %w: %w", s.Index, name, err, ErrFormat)
		}
		if s.Instances[name] < 0 {
			return fmt.Errorf("parted: GPU %d: %d of %s: %w", s.Index, s.Instances[name], name, ErrInventory)
		}
	}
	return nil
}

// exported is a group of GPUs in the same state.
type exported struct {
	enabled  bool
	have     mig.Demand
	devices  []int
	gpusWith map[uint32]int // of the group, by PCI id
}

func (g *exported) entry(all map[uint32]int, only bool) Entry {
	e := Entry{Enabled: g.enabled, Devices: g.devices}
	_, unknown := all[0] // a filter for it would match by chance only
	every := true
	for id, n := range g.gpusWith {
		every = every && n == all[id]
	}
	switch {
	case only:
		e.All, e.Devices = true, nil
	case len(all) == 1 || unknown:
	default:
		for _, id := range slices.Sorted(maps.Keys(g.gpusWith)) {
			e.Filters = append(e.Filters, Filter{Text: ID{PCI: id}.String()})
		}
		if every {
			e.All, e.Devices = true, nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.have)) {
		e.Instances = append(e.Instances, Count{Profile: name, Count: g.have[name]})
	}
	return e
}
