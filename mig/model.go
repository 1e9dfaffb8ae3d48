package mig

import (
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
)

// Spec is a model's table as plain data.
type Spec struct {
	Key           string   // short key: "a100-40gb", "h100-80gb-sxm5"
	Description   string   // for people: "A100 40GB (SXM4, PCIe)"
	ProductNames  []string // names that NVML reports
	Architecture  string   // "Ampere", "Hopper", "Blackwell"
	PCIDeviceIDs  []uint32 // NVML packing: device in the high half, vendor 0x10DE in the low
	MemoryMiB     int      // what NVML reports for the whole GPU; 0: unknown
	NameMemoryGB  int      // the total in whole GiB that profile names are computed from
	MemorySlices  int      // placement units of GPU instances; 0: unknown
	ComputeSlices int
	SMs           int // of the whole GPU; 0: unknown
	// ModeNeedsReset says whether a change of MIG mode waits for a GPU reset.
	// ModeNeedsResetKnown is false where no source says.
	ModeNeedsReset, ModeNeedsResetKnown bool
	MinDriver                           string

	// MediaAlone forbids a plain profile beside the +me profile of the same compute
	// and memory slices, in either order: no 1g.5gb beside a 1g.5gb+me. Public
	// sources disagree. The vendor's guide allows one media instance and says
	// nothing of the others, the built-in A100 model of mig-parted counts a 1g+me
	// with no other 1g, and no published tool output settles it. False, which every
	// table of this package has, allows the pair; a table made from a device that
	// refuses it sets the field.
	MediaAlone bool

	Confidence Confidence
	Sources    []string

	// Profiles are smallest first, each plain profile before its media variants.
	Profiles        []Profile
	ComputeProfiles []ComputeProfile
}

// Model is the immutable table of one GPU model. Obtain one from Lookup,
// LookupPCI, Models or NewModel; compare models by pointer: two of the same key
// are two models. It is safe for concurrent use.
type Model struct {
	spec  Spec
	cache atomic.Pointer[index] // made at the first question
}

// Key returns the model's short key, for example "a100-40gb".
func (m *Model) Key() string { return m.spec.Key }

// String returns the key.
func (m *Model) String() string { return m.spec.Key }

// HasGeometry reports whether the legal placements of the model are known. Where
// they are not, no question about layouts has an answer: those that return an
// error return ErrUnknownGeometry, and the others the empty value that their
// comments name.
func (m *Model) HasGeometry() bool { return m.spec.MemorySlices > 0 }

// MemorySlices returns the number of placement units of a GPU: 8, 4 or 12 on
// the known models, 0 where the geometry is unknown.
func (m *Model) MemorySlices() int { return m.spec.MemorySlices }

// ComputeSlices returns the number of compute slices of a GPU.
func (m *Model) ComputeSlices() int { return m.spec.ComputeSlices }

// Spec returns a copy of the whole table.
func (m *Model) Spec() Spec {
	s := m.spec
	s.ProductNames = slices.Clone(s.ProductNames)
	s.PCIDeviceIDs = slices.Clone(s.PCIDeviceIDs)
	s.Sources = slices.Clone(s.Sources)
	s.Profiles = slices.Clone(s.Profiles)
	s.ComputeProfiles = slices.Clone(s.ComputeProfiles)
	return s
}

// Profiles iterates over the profiles in table order: smallest first, each
// plain profile before its media variants.
func (m *Model) Profiles() iter.Seq[Profile] { return slices.Values(m.spec.Profiles) }

// PlainProfiles iterates over the profiles without media or graphics
// attributes. A variant takes the same slices as its plain profile.
func (m *Model) PlainProfiles() iter.Seq[Profile] {
	return func(yield func(Profile) bool) {
		for _, p := range m.spec.Profiles {
			if p.Attrs == 0 && !yield(p) {
				return
			}
		}
	}
}

// Profile returns the profile with that name. The name is matched as a whole
// after parsing, so "1c.1g.5gb" finds "1g.5gb" and an order of attributes does
// not matter. The error wraps ErrBadName or ErrUnknownProfile and then names
// the profiles that do exist.
func (m *Model) Profile(name string) (Profile, error) {
	if i := m.position(name); i >= 0 {
		return m.spec.Profiles[i], nil
	}
	n, err := ParseName(name)
	if err != nil {
		return Profile{}, err
	}
	if n.ComputeSlices == n.GPUSlices {
		if i := m.position(n.String()); i >= 0 {
			return m.spec.Profiles[i], nil
		}
	}
	return Profile{}, &ProfileError{Model: m, Profile: name}
}

// ComputeProfiles iterates over the compute-instance profiles that a GPU
// instance of the given profile offers, in table order.
func (m *Model) ComputeProfiles(gpuInstance string) iter.Seq[ComputeProfile] {
	return func(yield func(ComputeProfile) bool) {
		for _, c := range m.spec.ComputeProfiles {
			if c.GPUInstance == gpuInstance && !yield(c) {
				return
			}
		}
	}
}

// position returns the place of the profile in the table, or -1.
func (m *Model) position(name string) int { return m.index().position(name) }

// geometry returns an error if the legal placements of the model are unknown.
func (m *Model) geometry() error {
	if m.spec.MemorySlices == 0 {
		return fmt.Errorf("mig: model %s: %w", m.spec.Key, ErrUnknownGeometry)
	}
	return nil
}

// Offers returns the profile with that canonical name and whether there is one.
// It is Profile for hot paths: it does not parse, and it does not allocate.
func (m *Model) Offers(name string) (Profile, bool) {
	if i := m.position(name); i >= 0 {
		return m.spec.Profiles[i], true
	}
	return Profile{}, false
}
