package device

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/mig"
)

// Mode is the MIG mode of a GPU. Where a change waits for a reset, the two
// differ until then.
type Mode struct {
	Current bool `json:"current"` // true: on
	Pending bool `json:"pending"`
}

// State is what a GPU reported when it was read. It is plain data and belongs to
// the caller.
type State struct {
	GPU       string // UUID
	Mode      Mode
	Instances []Instance // lowest start first

	// Layout holds the same GPU instances as a value of package mig. It is the
	// zero Layout, a GPU that is not cut, while MIG mode is off.
	Layout mig.Layout
}

// At returns the instance that begins at the given memory slice.
func (s State) At(start int) (Instance, bool) {
	for _, in := range s.Instances {
		if in.Start == start {
			return in, true
		}
	}
	return Instance{}, false
}

// String returns the instances in the form of Instance.String, one a line.
func (s State) String() string {
	if !s.Mode.Current {
		return s.Layout.String()
	}
	if len(s.Instances) == 0 {
		return "empty"
	}
	var lines []string
	for _, in := range s.Instances {
		lines = append(lines, in.String())
	}
	return strings.Join(lines, "\n")
}

// Instance is a GPU instance that stood on a GPU when it was read.
type Instance struct {
	mig.Instance // profile, start and size in memory slices

	// ID is the driver's number of the GPU instance. It says nothing about the
	// start, and numbers are used again.
	ID int

	Compute []ComputeInstance // lowest id first
}

// String returns the form "3g.20gb@4 GI 2 [3g.20gb CI 0]".
func (i Instance) String() string {
	var compute []string
	for _, c := range i.Compute {
		compute = append(compute, fmt.Sprintf("%s CI %d", c.Profile, c.ID))
	}
	return fmt.Sprintf("%s GI %d [%s]", i.Instance, i.ID, strings.Join(compute, ", "))
}

// withUUIDs is String with the UUIDs of the MIG devices.
func (i Instance) withUUIDs() string {
	words := []string{i.String()}
	for _, c := range i.Compute {
		words = append(words, c.UUID)
	}
	return strings.Join(words, " ")
}

// restOf reports whether an instance is one that was read before, of which
// compute instances may have gone since. Ids are used again, UUIDs are not: a
// compute instance that was not there before makes it another instance.
func (i Instance) restOf(before Instance) bool {
	if i.ID != before.ID || i.Instance != before.Instance {
		return false
	}
	for _, c := range i.Compute {
		known := func(b ComputeInstance) bool { return b.UUID == c.UUID }
		if !slices.ContainsFunc(before.Compute, known) {
			return false
		}
	}
	return true
}

// ComputeInstance is a compute instance inside a GPU instance: what NVML calls
// a MIG device, and what a program is given to run on.
type ComputeInstance struct {
	ID      int    // inside the GPU instance, from 0
	UUID    string // of the MIG device; another one after each creation
	Profile string // for example "1c.3g.20gb", or "3g.20gb" for the full size
	Index   int    // of the profile, as GetComputeInstanceProfileInfo takes it

	Start, Size int // in compute slices of the GPU instance
	SMs         int // multiprocessors of this compute instance, which may be less than the GPU instance's
}

// State reads the GPU: its MIG mode, GPU instances, compute instances and MIG
// UUIDs. An instance that cannot be expressed in the terms of the table is an
// error, never left out; one that comes or goes while the GPU is read may be in
// the answer or not.
//
// The error is an *OpError; it matches ErrNotSupported on a GPU without MIG,
// and ErrMismatch or a condition of package mig when the device and the table
// disagree.
func (g *GPU) State(ctx context.Context) (State, error) {
	return do(ctx, g, g.step("read state"), func(ctx context.Context) (State, error) {
		st, _, err := g.read(ctx)
		return st, err
	}, nil)
}
