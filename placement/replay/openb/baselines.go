package openb

import (
	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// The published scores are relative to the largest node, as two constants, not
// to the node's own capacity.
const (
	largestCPU = 128_000 // milli-vCPU
	largestGPU = 8 * fragmentation.Whole
)

// PublishedBestFit returns the published best fit: 100 points less half of what
// would be left of CPU and half of what would be left of GPU, cut to an integer.
// The halves are added first: taken off one by one, some sums come out a hair
// higher, and a whole point with them.
func PublishedBestFit() placement.Policy { return newPublished(bestFit{}) }

type bestFit struct{}

func (bestFit) decide(_ *placement.Node, s *fragmentation.State, shape *fragmentation.Shape) (placement.GPUSet, int64) {
	cpu := 0.5 * float64(s.CPU-shape.CPU) / largestCPU
	gpu := 0.5 * float64(left(s)-shape.TotalMilli()) / largestGPU
	return tightest(s, shape), int64(100 * (1 - (cpu + gpu)))
}

// PublishedDotProduct returns the published dot product, GPUs merged into one
// dimension: the better what is left and what is asked for align, the lower the
// score, which is the opposite sign of the heuristic that it is named after.
func PublishedDotProduct() placement.Policy { return newPublished(dotProduct{}) }

type dotProduct struct{}

func (dotProduct) decide(_ *placement.Node, s *fragmentation.State, shape *fragmentation.Shape) (placement.GPUSet, int64) {
	cpu := float64(s.CPU) / largestCPU * (float64(shape.CPU) / largestCPU)
	gpu := float64(left(s)) / largestGPU * (float64(shape.TotalMilli()) / largestGPU)
	product := (float64(cpu) + float64(gpu)) / 2 // converted: not fused, see floatFGD
	return tightest(s, shape), int64(100 * (1 - product))
}

// PublishedPacking returns the published GPU packing: shared GPUs first, then
// idle GPUs of a node in use, then an idle node.
func PublishedPacking() placement.Policy { return newPublished(packing{}) }

type packing struct{}

func (packing) decide(_ *placement.Node, s *fragmentation.State, shape *fragmentation.Shape) (placement.GPUSet, int64) {
	gpus := tightest(s, shape)
	if shape.GPUs == 0 {
		return gpus, 0
	}
	free := idle(s)
	if free == int64(len(s.GPUs)) {
		return gpus, max(33-free, free)
	}
	idleUsed, sharedLeft := int64(0), int64(0)
	for i := range s.GPUs {
		switch milli := s.GPUs[i].Milli; {
		case !gpus.Has(i):
		case milli == fragmentation.Whole:
			idleUsed++
		default:
			sharedLeft += milli * 100 / fragmentation.Whole
		}
	}
	if idleUsed > 0 {
		return gpus, max(50-idleUsed, 33)
	}
	return gpus, max(100-sharedLeft/10, 50)
}

// PublishedClustering returns the published GPU clustering: nodes that hold
// tasks of the same kind alone come first, then those that hold it among
// others, then those without GPU tasks.
func PublishedClustering() placement.Policy { return newPublished(clustering{}) }

type clustering struct{}

func (clustering) decide(n *placement.Node, s *fragmentation.State, shape *fragmentation.Shape) (placement.GPUSet, int64) {
	same, others := false, false
	for a := range n.Assignments() {
		if resident := a.Task.Shape; resident.GPUs > 0 {
			if label(&resident) == label(shape) {
				same = true
			} else {
				others = true
			}
		}
	}
	return tightest(s, shape), clusteringScore(left(s), shape, same, others)
}

// label is the kind of a GPU task: 0 for a fraction, else its number of GPUs.
func label(shape *fragmentation.Shape) int {
	if shape.Milli < fragmentation.Whole {
		return 0
	}
	return shape.GPUs
}

func clusteringScore(left int64, shape *fragmentation.Shape, same, others bool) int64 {
	if shape.GPUs == 0 {
		return 0
	}
	used := 25 * (largestGPU - left) / largestGPU
	switch {
	case same && !others:
		return used + 75
	case same:
		return used + 50
	case !others:
		return used + 25
	}
	return used
}
