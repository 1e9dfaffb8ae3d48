package mig

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
)

// ErrNoProfile says that no profile is known to cover a need.
var ErrNoProfile = errors.New("no profile covers the need")

// Need is what a workload needs of one GPU instance.
type Need struct {
	MemoryMiB int   // device memory; 0: any
	SMs       int   // multiprocessors; 0: any
	Attrs     Attrs // attributes that the profile must have; none: a plain profile
}

// String returns the form "8000 MiB, 20 SMs, +me".
func (n Need) String() string {
	var parts []string
	if n.MemoryMiB > 0 {
		parts = append(parts, fmt.Sprintf("%d MiB", n.MemoryMiB))
	}
	if n.SMs > 0 {
		parts = append(parts, fmt.Sprintf("%d SMs", n.SMs))
	}
	if n.Attrs != 0 {
		parts = append(parts, n.Attrs.String())
	}
	if parts == nil {
		return "anything"
	}
	return strings.Join(parts, ", ")
}

// NeedError says why no profile was chosen; it wraps ErrNoProfile.
type NeedError struct {
	Model *Model
	Need  Need
	// Unknown names the profiles that may cover the need, were the figures that
	// are missing in the table known. If there are none, no profile covers it.
	Unknown []string
}

// Error names the need, the model and the profiles with missing figures.
func (e *NeedError) Error() string {
	s := fmt.Sprintf("mig: model %s: no profile is known to cover %s", e.Model, e.Need)
	if len(e.Unknown) > 0 {
		s += " (figures are missing of " + strings.Join(e.Unknown, ", ") + ")"
	}
	return s
}

// Unwrap returns ErrNoProfile.
func (e *NeedError) Unwrap() error { return ErrNoProfile }

// Smallest returns the smallest profile whose memory and multiprocessors cover a
// need: the one of fewest memory slices, then of fewest compute slices, then of
// fewest attributes, then the first of the table. A need without attributes is
// for a plain profile; any other is for a profile that has them all.
//
// The memory is what an instance has, not the number in the name: 20000 MiB are
// more than the 19968 of a 3g.20gb. It is the table's default, which a live
// device overrides, so leave a margin or use a model built from the device. A
// profile whose figure is unknown does not cover a need for it, even though a
// larger one may then be chosen.
//
// The error is a *NeedError, which wraps ErrNoProfile and names the profiles that
// might do if their figures were known, or wraps ErrBadDemand for a negative need.
func (m *Model) Smallest(need Need) (Profile, error) {
	if need.MemoryMiB < 0 || need.SMs < 0 {
		return Profile{}, fmt.Errorf("mig: need of %d MiB and %d SMs is negative: %w", need.MemoryMiB, need.SMs, ErrBadDemand)
	}
	var best Profile
	var unknown []string
	for p := range m.Profiles() {
		if p.Attrs&need.Attrs != need.Attrs || need.Attrs == 0 && p.Attrs != 0 {
			continue
		}
		if p.MemoryMiB < need.MemoryMiB && p.MemoryMiB != 0 || p.SMs < need.SMs && p.SMs != 0 {
			continue
		}
		if p.MemoryMiB < need.MemoryMiB || p.SMs < need.SMs {
			unknown = append(unknown, p.Name)
			continue
		}
		if best.Name == "" || smaller(p, best) {
			best = p
		}
	}
	if best.Name == "" {
		return Profile{}, &NeedError{Model: m, Need: need, Unknown: unknown}
	}
	return best, nil
}

func smaller(p, q Profile) bool {
	if p.Size != q.Size {
		return p.Size < q.Size
	}
	if p.ComputeSlices != q.ComputeSlices {
		return p.ComputeSlices < q.ComputeSlices
	}
	return bits.OnesCount8(uint8(p.Attrs)) < bits.OnesCount8(uint8(q.Attrs))
}
