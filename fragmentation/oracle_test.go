package fragmentation_test

import (
	"strings"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
)

// The rules of the package once more, in the plainest way and in floating
// point, from the published definitions.

func naiveAccept(models fragmentation.Models, model string) bool {
	parts := 0
	for part := range strings.SplitSeq(string(models), "|") {
		if part == "" {
			continue
		}
		parts++
		if part == model {
			return true
		}
	}
	return parts == 0
}

// naiveUsable returns how much of each uncut GPU a task of the shape could use
// as the next one on the node.
func naiveUsable(s *fragmentation.State, shape fragmentation.Shape) float64 {
	if shape.GPUs == 0 || s.CPU < shape.CPU || !naiveAccept(shape.Models, s.Model) {
		return 0
	}
	var fitting []int64
	for _, g := range s.GPUs {
		if g.Layout.Model() == nil && g.Milli >= shape.Milli && g.Memory >= shape.DeviceMemory {
			fitting = append(fitting, g.Milli)
		}
	}
	if len(fitting) < shape.GPUs {
		return 0
	}
	sum := 0.0
	for _, milli := range fitting {
		sum += float64(milli)
	}
	return sum
}

// naiveFGD returns the expected milli-GPU of use.
func naiveFGD(mix fragmentation.Mix, s *fragmentation.State) float64 {
	worth, total := 0.0, 0.0
	for _, e := range mix {
		worth += float64(e.Count) * naiveUsable(s, e.Shape)
		total += float64(e.Count)
	}
	return worth / total
}

// uncutLeft returns what is left on uncut GPUs, cutLeft on the others.
func uncutLeft(s *fragmentation.State) int64 {
	left := int64(0)
	for _, g := range s.GPUs {
		if g.Layout.Model() == nil {
			left += g.Milli
		}
	}
	return left
}

func cutLeft(s *fragmentation.State) int64 { return s.Left() - uncutLeft(s) }

// mostInstances returns how many more instances of a profile fit, by trying all
// sets of starts.
func mostInstances(l mig.Layout, p mig.Profile) int {
	most := 0
	for start := range l.Model().MemorySlices() {
		if next, err := l.With(p, start); err == nil {
			most = max(most, 1+mostInstances(next, p))
		}
	}
	return most
}

// naiveMIGFragment is the published F(m) of a node's cut GPUs: for each profile
// its share of the mix times the free units that no instances of it could
// cover, in milli-GPU.
func naiveMIGFragment(mix fragmentation.Mix, s *fragmentation.State) float64 {
	f, total := 0.0, 0.0
	for _, e := range mix {
		total += float64(e.Count)
	}
	for _, g := range s.GPUs {
		m := g.Layout.Model()
		if m == nil {
			continue
		}
		units := float64(m.MemorySlices())
		free := units - float64(g.Layout.Used().Len())
		for _, e := range mix {
			covered := 0.0
			if p, err := m.Profile(e.Shape.Profile); err == nil && naiveAccept(e.Shape.Models, s.Model) {
				covered = float64(mostInstances(g.Layout, p) * p.Size)
			}
			f += float64(e.Count) / total * (free - covered) / units * 1000
		}
	}
	return f
}

// place returns the state with a task of a plain shape on the given GPUs.
func place(s *fragmentation.State, shape fragmentation.Shape, gpus ...int) *fragmentation.State {
	var after fragmentation.State
	s.CopyTo(&after)
	after.CPU -= shape.CPU
	after.Memory -= shape.Memory
	for _, i := range gpus {
		after.GPUs[i].Milli -= shape.Milli
		after.GPUs[i].Memory -= shape.DeviceMemory
	}
	return &after
}

// firstFitting returns the lowest GPUs that take the shape, nil if too few do.
func firstFitting(s *fragmentation.State, shape fragmentation.Shape) []int {
	if s.CPU < shape.CPU {
		return nil
	}
	var gpus []int
	for i, g := range s.GPUs {
		if len(gpus) < shape.GPUs && g.Layout.Model() == nil && g.Milli >= shape.Milli && g.Memory >= shape.DeviceMemory {
			gpus = append(gpus, i)
		}
	}
	if len(gpus) < shape.GPUs {
		return nil
	}
	return gpus
}
