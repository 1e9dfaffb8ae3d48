package openb

import (
	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// The published arithmetic, for comparison with vectors of it.

// FloatFGD is the published expected fragment of a node.
type FloatFGD struct{ f *floatFGD }

// NewFloatFGD returns it for a target workload.
func NewFloatFGD(mix fragmentation.Mix, traceTasks int) (FloatFGD, error) {
	f, err := newFloatFGD(mix, traceTasks)
	return FloatFGD{f}, err
}

// Amounts returns the amounts by class.
func (f FloatFGD) Amounts(s *fragmentation.State) [7]float64 { return f.f.amounts(s) }

// Fragment returns their sum without Satisfied.
func (f FloatFGD) Fragment(s *fragmentation.State) float64 { return f.f.fragment(s) }

// Decide returns the GPUs and the score.
func (f FloatFGD) Decide(s fragmentation.State, shape fragmentation.Shape) (placement.GPUSet, int64) {
	return f.f.decide(nil, &s, &shape)
}

// Sigmoid100 is the score before it is cut.
func Sigmoid100(gain float64) float64 { return sigmoid100(gain) }

// Decide returns what a policy but FGD and GpuClustering decides on a state.
func Decide(policy string, s fragmentation.State, shape fragmentation.Shape) (placement.GPUSet, int64) {
	return map[string]rule{BestFit: bestFit{}, DotProd: dotProduct{}, GpuPacking: packing{}}[policy].decide(nil, &s, &shape)
}

// ClusteringScore is the score of GpuClustering.
func ClusteringScore(s fragmentation.State, shape fragmentation.Shape, same, others bool) int64 {
	return clusteringScore(left(&s), &shape, same, others)
}

// PublishedShare is the share of a shape in the target workload, to the bit.
func PublishedShare(count, covered int64, traceTasks int) float64 {
	return publishedShare(count, covered, traceTasks)
}
