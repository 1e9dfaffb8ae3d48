package fragmentation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/mig"
)

// Whole is the milli-GPU of one GPU.
const Whole = 1000

// State is what is left on one node. It names no node and no task.
type State struct {
	CPU    int64  // milli-vCPU left
	Memory int64  // MiB of main memory left
	Model  string // GPU model that tasks may ask for; empty if there is none
	GPUs   []GPU  // by device index
}

// GPU is what is left on one GPU.
type GPU struct {
	Milli  int64 // milli-GPU left, 0 to 1000; 0 on a cut GPU
	Memory int64 // MiB of device memory left; 0 on a cut GPU
	// Layout holds the instances of a GPU in MIG mode, with or without any. The
	// zero Layout is a GPU that is not cut.
	Layout mig.Layout
}

// Cut reports whether the GPU is in MIG mode: it then takes requests for
// instances and no others.
func (g GPU) Cut() bool { return g.Layout.Model() != nil }

// Takes reports whether the GPU is uncut and has left what the shape asks of one
// GPU: a fraction, or the whole GPU. A request for a MIG instance is taken by
// positions, see the Layout, and never here.
func (g *GPU) Takes(s *Shape) bool {
	return g.Milli >= s.Milli && g.Memory >= s.DeviceMemory && s.Profile == "" && !g.Cut()
}

// Left returns the milli-GPU left: of a cut GPU the share of its memory slices
// that are in no instance, rounded down.
func (g GPU) Left() int64 {
	if !g.Cut() {
		return g.Milli
	}
	units := g.Layout.Model().MemorySlices()
	return SliceMilli(units-g.Layout.Used().Len(), units)
}

// SliceMilli returns what a number of memory slices of a cut GPU counts as, in
// milli-GPU, rounded down. On all known models it is exact for every profile. It
// is 0 for a model without known slices.
func SliceMilli(slices, units int) int64 {
	if units <= 0 {
		return 0
	}
	return Whole * int64(slices) / int64(units)
}

// Left returns the milli-GPU left on all GPUs of the node.
func (s *State) Left() int64 {
	left := int64(0)
	for i := range s.GPUs {
		left += s.GPUs[i].Left()
	}
	return left
}

// CopyTo makes dst equal to s, reusing the memory of dst.GPUs.
func (s *State) CopyTo(dst *State) {
	gpus := append(dst.GPUs[:0], s.GPUs...)
	*dst = *s
	dst.GPUs = gpus
}

// Equal reports whether the two states are equal.
func (s *State) Equal(o *State) bool {
	return s.CPU == o.CPU && s.Memory == o.Memory && s.Model == o.Model && slices.Equal(s.GPUs, o.GPUs)
}

// String describes the state on one line.
func (s *State) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cpu %dm, memory %d MiB, %s [", s.CPU, s.Memory, s.Model)
	for i, g := range s.GPUs {
		if i > 0 {
			b.WriteString("; ")
		}
		if g.Cut() {
			fmt.Fprintf(&b, "%s: %s", g.Layout.Model(), g.Layout)
		} else {
			fmt.Fprintf(&b, "%dm %d MiB", g.Milli, g.Memory)
		}
	}
	b.WriteString("]")
	return b.String()
}
