package mig

import (
	"fmt"
	"slices"
)

// NewModel returns a model of any table: one that a live device has answered, or
// one for a GPU that this package does not know. It answers every question as
// the models of this package do. It keeps no part of the Spec, and is another
// model than every other, also than one of the same key: a model compares by
// pointer, and so do its layouts.
//
// The error wraps ErrBadSpec and names the field and the value. A table is
// refused when
//   - the key is empty, a figure is negative, or slices exceed MaxUnits;
//   - a name is not canonical, does not agree with ComputeSlices and Attrs, or
//     appears twice, as do an Index or a known ID;
//   - a start lies outside, only one of Size and Starts is known, either is known
//     though MemorySlices is not, or MaxInstances is below 1;
//   - a compute profile belongs to no GPU instance profile or has more slices;
//   - the legal starts allow instances that together have more compute slices
//     than the GPU: on real GPUs they never do, so that overlap and the limits of
//     instances are the whole rule;
//   - there are more than 250 profiles, or no profile at all.
//
// A table with MemorySlices 0 is of unknown geometry and answers no question
// about layouts.
func NewModel(s Spec) (*Model, error) {
	m := &Model{spec: s}
	m.spec = m.Spec() // copies of the lists
	if err := m.spec.check(); err != nil {
		return nil, err
	}
	m.cache.Store(newIndex(&m.spec))
	return m, nil
}

// check returns what is wrong with a table, nil if nothing is.
func (s *Spec) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("mig: table %q: %s: %w", s.Key, fmt.Sprintf(format, args...), ErrBadSpec)
	}
	switch {
	case s.Key == "":
		return bad("Key is empty")
	case s.MemorySlices < 0 || s.MemorySlices > MaxUnits:
		return bad("MemorySlices is %d, not 0 to %d", s.MemorySlices, MaxUnits)
	case s.ComputeSlices < 1 || s.ComputeSlices > MaxUnits:
		return bad("ComputeSlices is %d, not 1 to %d", s.ComputeSlices, MaxUnits)
	case s.MemoryMiB < 0 || s.NameMemoryGB < 0 || s.SMs < 0:
		return bad("MemoryMiB %d, NameMemoryGB %d and SMs %d: one is negative", s.MemoryMiB, s.NameMemoryGB, s.SMs)
	case s.Confidence > Exact:
		return bad("Confidence is %d, not 0 to %d", s.Confidence, Exact)
	case len(s.Profiles) == 0:
		return bad("there are no Profiles")
	case len(s.Profiles) > maxProfiles:
		return bad("there are %d Profiles, more than %d", len(s.Profiles), maxProfiles)
	}
	for i := range s.Profiles {
		if why := s.checkProfile(i); why != "" {
			return bad("Profiles[%d] %q: %s", i, s.Profiles[i].Name, why)
		}
	}
	for i := range s.ComputeProfiles {
		if why := s.checkCompute(i); why != "" {
			return bad("ComputeProfiles[%d] %q: %s", i, s.ComputeProfiles[i].Name, why)
		}
	}
	if most := s.mostCompute(); most > s.ComputeSlices {
		return bad("ComputeSlices is %d, but by their Starts instances with %d fit together", s.ComputeSlices, most)
	}
	return nil
}

// checkProfile returns what is wrong with a row.
func (s *Spec) checkProfile(i int) string {
	p := &s.Profiles[i]
	n, err := ParseName(p.Name)
	switch {
	case err != nil:
		return fmt.Sprintf("Name: %v", err)
	case n.String() != p.Name:
		return fmt.Sprintf("Name is not canonical, %q is", n)
	case n.ComputeSlices != n.GPUSlices:
		return "Name is that of a compute instance"
	case n.GPUSlices != p.ComputeSlices:
		return fmt.Sprintf("ComputeSlices is %d, the name says %d", p.ComputeSlices, n.GPUSlices)
	case n.Attrs != p.Attrs:
		return fmt.Sprintf("Attrs is %q, the name says %q", p.Attrs, n.Attrs)
	case p.Index < 0:
		return fmt.Sprintf("Index is %d", p.Index)
	case p.ID < NotKnown:
		return fmt.Sprintf("ID is %d", p.ID)
	case p.ComputeSlices > s.ComputeSlices:
		return fmt.Sprintf("ComputeSlices is %d, the GPU has %d", p.ComputeSlices, s.ComputeSlices)
	case p.MaxInstances < 1:
		return fmt.Sprintf("MaxInstances is %d", p.MaxInstances)
	case p.MemoryMiB < 0:
		return fmt.Sprintf("MemoryMiB is %d", p.MemoryMiB)
	case p.SMs < 0:
		return fmt.Sprintf("SMs is %d", p.SMs)
	case min(p.Engines.Copy, p.Engines.Decoders, p.Engines.Encoders, p.Engines.JPEG, p.Engines.OFA) < NotKnown:
		return fmt.Sprintf("Engines %+v: one is less than %d", p.Engines, NotKnown)
	case p.Confidence > Exact:
		return fmt.Sprintf("Confidence is %d, not 0 to %d", p.Confidence, Exact)
	case p.Geometry > Exact:
		return fmt.Sprintf("Geometry is %d, not 0 to %d", p.Geometry, Exact)
	}
	for j := range s.Profiles[:i] {
		q := &s.Profiles[j]
		switch {
		case q.Name == p.Name:
			return fmt.Sprintf("Name is that of Profiles[%d]", j)
		case q.Index == p.Index:
			return fmt.Sprintf("Index %d is that of Profiles[%d] %q", p.Index, j, q.Name)
		case q.ID == p.ID && p.ID != NotKnown:
			return fmt.Sprintf("ID %d is that of Profiles[%d] %q", p.ID, j, q.Name)
		}
	}
	return checkStarts(p.Size, p.Starts, s.MemorySlices, "memory slices")
}

// checkStarts returns what is wrong with placements in that many units.
func checkStarts(size int, starts Mask, units int, what string) string {
	if size == 0 && starts == 0 {
		return "" // unknown
	}
	if size <= 0 || starts == 0 {
		return fmt.Sprintf("Size is %d and Starts has %d: both are known or none is", size, starts.Len())
	}
	for start := range starts.All() {
		if size > units-start {
			return fmt.Sprintf("Starts has %d, where Size %d ends beyond the %d %s", start, size, units, what)
		}
	}
	return ""
}

// checkCompute returns what is wrong with a row of the compute profiles.
func (s *Spec) checkCompute(i int) string {
	c := &s.ComputeProfiles[i]
	k := slices.IndexFunc(s.Profiles, func(p Profile) bool { return p.Name == c.GPUInstance })
	if k < 0 {
		return fmt.Sprintf("GPUInstance %q is no profile of the table", c.GPUInstance)
	}
	p := &s.Profiles[k]
	n, err := ParseName(c.Name)
	switch {
	case err != nil:
		return fmt.Sprintf("Name: %v", err)
	case n.String() != c.Name:
		return fmt.Sprintf("Name is not canonical, %q is", n)
	case Name{GPUSlices: n.GPUSlices, MemoryGB: n.MemoryGB, Attrs: n.Attrs}.String() != p.Name:
		return fmt.Sprintf("Name is of another GPU instance than %s", p.Name)
	case n.ComputeSlices != c.Slices:
		return fmt.Sprintf("Slices is %d, the name says %d", c.Slices, n.ComputeSlices)
	case c.Index < 0:
		return fmt.Sprintf("Index is %d", c.Index)
	case c.MaxInstances < 1:
		return fmt.Sprintf("MaxInstances is %d", c.MaxInstances)
	case c.SMs < 0:
		return fmt.Sprintf("SMs is %d", c.SMs)
	case c.Confidence > Exact:
		return fmt.Sprintf("Confidence is %d, not 0 to %d", c.Confidence, Exact)
	}
	for j := range s.ComputeProfiles[:i] {
		if q := &s.ComputeProfiles[j]; q.GPUInstance == c.GPUInstance && q.Index == c.Index {
			return fmt.Sprintf("Index %d of a %s is that of ComputeProfiles[%d] %q", c.Index, c.GPUInstance, j, q.Name)
		}
	}
	return checkStarts(c.Size, c.Starts, p.ComputeSlices, "compute slices of a "+p.Name)
}

// mostCompute returns the most compute slices that instances without overlap
// have, limits of instances aside.
func (s *Spec) mostCompute() int {
	var most [MaxUnits + 1]int // of what begins at a slice or later
	for u := s.MemorySlices - 1; u >= 0; u-- {
		most[u] = most[u+1]
		for i := range s.Profiles {
			if p := &s.Profiles[i]; p.Starts.Has(u) {
				most[u] = max(most[u], p.ComputeSlices+most[u+p.Size])
			}
		}
	}
	return most[0]
}
