package placement_test

import (
	"slices"
	"strings"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
)

// The rules of the package in the plainest way: lists of tasks at spots, all
// sets of GPUs and all starts, no increments.

func accepts(models fragmentation.Models, model string) bool {
	parts := slices.DeleteFunc(strings.Split(string(models), "|"), func(p string) bool { return p == "" })
	return len(parts) == 0 || slices.Contains(parts, model)
}

// booking is a shape at a spot that is not Anywhere.
type booking struct {
	shape fragmentation.Shape
	spot  placement.Spot
}

// sound reports whether a node could hold all bookings at once: nothing of it
// is taken twice.
func sound(spec placement.NodeSpec, all []booking) bool {
	cpu, memory := int64(0), int64(0)
	milli, device := make([]int64, len(spec.GPUs)), make([]int64, len(spec.GPUs))
	instances := make([][]mig.Instance, len(spec.GPUs))
	for _, b := range all {
		cpu += b.shape.CPU
		memory += b.shape.Memory
		if b.spot.GPUs.Len() != b.shape.GPUs || b.shape.Profile == "" && b.spot.Start != 0 {
			return false
		}
		if b.shape.GPUs > 0 && !accepts(b.shape.Models, spec.Model) {
			return false
		}
		for i := range 64 {
			if !b.spot.GPUs.Has(i) {
				continue
			}
			if i >= len(spec.GPUs) {
				return false
			}
			m := spec.GPUs[i].MIG
			if (m != nil) != (b.shape.Profile != "") {
				return false
			}
			if m != nil {
				p, err := m.Profile(b.shape.Profile)
				if err != nil || int64(p.MemoryMiB) < b.shape.DeviceMemory {
					return false
				}
				instances[i] = append(instances[i], mig.Instance{Profile: b.shape.Profile, Start: b.spot.Start})
				continue
			}
			if spec.GPUs[i].Memory < b.shape.DeviceMemory {
				return false
			}
			milli[i] += b.shape.Milli
			device[i] += b.shape.DeviceMemory
		}
	}
	if cpu > spec.CPU || memory > spec.Memory {
		return false
	}
	for i, g := range spec.GPUs {
		if g.MIG != nil {
			if g.MIG.Validate(instances[i]...) != nil || tooMany(g.MIG, instances[i]) {
				return false
			}
		} else if milli[i] > fragmentation.Whole || device[i] > g.Memory {
			return false
		}
	}
	return true
}

// tooMany counts instances against the limit of each profile, which Validate
// sees in pairs.
func tooMany(m *mig.Model, instances []mig.Instance) bool {
	count := map[string]int{}
	for _, in := range instances {
		count[in.Profile]++
	}
	for p := range m.Profiles() {
		if count[p.Name] > p.MaxInstances {
			return true
		}
	}
	return false
}

// allSpots returns every spot that a shape could be given on a node with so
// many GPUs: all sets of GPUs and, for a MIG instance, all starts.
func allSpots(gpus int, shape fragmentation.Shape) []placement.Spot {
	var spots []placement.Spot
	for set := range placement.GPUSet(1) << gpus {
		if set.Len() != shape.GPUs {
			continue
		}
		starts := 1
		if shape.Profile != "" {
			starts = mig.MaxUnits
		}
		for start := range starts {
			spots = append(spots, placement.Spot{GPUs: set, Start: start})
		}
	}
	return spots
}

// freeSpots returns the spots at which a node takes a shape beside what is
// there, as it stands.
func freeSpots(n *placement.Node, shape fragmentation.Shape) []placement.Spot {
	var free []placement.Spot
	for _, spot := range allSpots(n.NumGPUs(), shape) {
		if fitsState(n.State(), shape, spot) {
			free = append(free, spot)
		}
	}
	return free
}

// fitsState reports whether a shape can be booked at a spot of a state.
func fitsState(s fragmentation.State, shape fragmentation.Shape, spot placement.Spot) bool {
	if s.CPU < shape.CPU || s.Memory < shape.Memory || shape.GPUs > 0 && !accepts(shape.Models, s.Model) {
		return false
	}
	for i, g := range s.GPUs {
		if !spot.GPUs.Has(i) {
			continue
		}
		m := g.Layout.Model()
		if (m != nil) != (shape.Profile != "") {
			return false
		}
		if m == nil {
			if g.Milli < shape.Milli || g.Memory < shape.DeviceMemory {
				return false
			}
			continue
		}
		p, err := m.Profile(shape.Profile)
		if err != nil || int64(p.MemoryMiB) < shape.DeviceMemory || !g.Layout.FreeStarts(p).Has(spot.Start) {
			return false
		}
	}
	return true
}

// feasible reports whether spots exist for the tasks placed anywhere, beside
// those at known spots, by trying all.
func feasible(spec placement.NodeSpec, known []booking, floating []fragmentation.Shape) bool {
	if !sound(spec, known) {
		return false
	}
	if len(floating) == 0 {
		return true
	}
	for _, spot := range allSpots(len(spec.GPUs), floating[0]) {
		if feasible(spec, append(slices.Clip(known), booking{floating[0], spot}), floating[1:]) {
			return true
		}
	}
	return false
}

// split returns the assignments as bookings and floating shapes.
func split(all []placement.Assignment) (known []booking, floating []fragmentation.Shape) {
	for _, a := range all {
		if a.Spot.Anywhere {
			floating = append(floating, a.Task.Shape)
		} else {
			known = append(known, booking{a.Task.Shape, a.Spot})
		}
	}
	return known, floating
}

// stateOf recomputes what is left with the given bookings.
func stateOf(spec placement.NodeSpec, all []booking) fragmentation.State {
	s := fragmentation.State{CPU: spec.CPU, Memory: spec.Memory, Model: spec.Model}
	for i, g := range spec.GPUs {
		left := fragmentation.GPU{Milli: fragmentation.Whole, Memory: g.Memory}
		if g.MIG != nil {
			left = fragmentation.GPU{Layout: g.MIG.Empty()}
		}
		for _, b := range all {
			switch {
			case !b.spot.GPUs.Has(i):
			case g.MIG != nil:
				p, _ := g.MIG.Profile(b.shape.Profile)
				left.Layout, _ = left.Layout.With(p, b.spot.Start)
			case b.shape.Milli == fragmentation.Whole:
				left.Milli, left.Memory = 0, 0
			default:
				left.Milli -= b.shape.Milli
				left.Memory -= b.shape.DeviceMemory
			}
		}
		s.GPUs = append(s.GPUs, left)
	}
	for _, b := range all {
		s.CPU -= b.shape.CPU
		s.Memory -= b.shape.Memory
	}
	return s
}

// explains reports whether a state is what is left with the known tasks and
// with the floating ones on some spots, by trying all.
func explains(spec placement.NodeSpec, s fragmentation.State, known []booking, floating []fragmentation.Shape) bool {
	if !sound(spec, known) {
		return false
	}
	if len(floating) == 0 {
		want := stateOf(spec, known)
		return want.Equal(&s)
	}
	for _, spot := range allSpots(len(spec.GPUs), floating[0]) {
		if explains(spec, s, append(slices.Clip(known), booking{floating[0], spot}), floating[1:]) {
			return true
		}
	}
	return false
}
