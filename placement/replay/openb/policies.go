package openb

import (
	"fmt"
	"strings"
	"sync"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// The names of the published policies, as the published results have them.
const (
	FGD           = "FGD"
	BestFit       = "BestFit"
	DotProd       = "DotProd"
	GpuPacking    = "GpuPacking"
	GpuClustering = "GpuClustering"
)

// Policies returns the names of the published policies.
func Policies() []string { return []string{FGD, BestFit, DotProd, GpuPacking, GpuClustering} }

// Policy returns a published policy by name, FGD for the target workload of the
// experiment. The error wraps ErrUnknownPolicy, or is that of PublishedFGD.
func (e *Experiment) Policy(name string) (placement.Policy, error) {
	switch name {
	case FGD:
		return PublishedFGD(e.Mix, e.TraceTasks)
	case BestFit:
		return PublishedBestFit(), nil
	case DotProd:
		return PublishedDotProduct(), nil
	case GpuPacking:
		return PublishedPacking(), nil
	case GpuClustering:
		return PublishedClustering(), nil
	}
	return nil, fmt.Errorf("openb: policy %q: there are %s: %w", name, strings.Join(Policies(), ", "), ErrUnknownPolicy)
}

// rule is a published scoring rule: the GPUs and the integer score for a shape
// that fits on the node. s is a copy of what is left there and may be changed.
type rule interface {
	decide(n *placement.Node, s *fragmentation.State, shape *fragmentation.Shape) (placement.GPUSet, int64)
}

// published makes a policy of a rule. Requests for MIG instances are not known
// to the published rules and are refused.
type published struct {
	rule
	scratch sync.Pool // of *fragmentation.State
}

func newPublished(r rule) *published {
	p := &published{rule: r}
	p.scratch.New = func() any { return new(fragmentation.State) }
	return p
}

// Choose implements placement.Policy.
func (p *published) Choose(n *placement.Node, t *placement.Task) placement.Choice {
	if t.Shape.Profile != "" {
		return placement.Choice{Refusal: placement.Refusal{Kind: placement.NoGPU}}
	}
	if r := n.Fits(t); r.Kind != placement.None {
		return placement.Choice{Refusal: r}
	}
	s := p.scratch.Get().(*fragmentation.State)
	n.CopyState(s)
	gpus, score := p.decide(n, s, &t.Shape)
	p.scratch.Put(s)
	return placement.Choice{Spot: placement.Spot{GPUs: gpus}, Score: score}
}

// firstFitting returns the GPUs of lowest index that fit, as many as asked for.
func firstFitting(s *fragmentation.State, shape *fragmentation.Shape) placement.GPUSet {
	var set placement.GPUSet
	for i := 0; i < len(s.GPUs) && set.Len() < shape.GPUs; i++ {
		if s.GPUs[i].Takes(shape) {
			set |= 1 << i
		}
	}
	return set
}

// tightest returns the GPUs that all published policies but FGD take: for a
// fraction the one with the least left that fits, the lowest index on ties.
func tightest(s *fragmentation.State, shape *fragmentation.Shape) placement.GPUSet {
	if shape.GPUs != 1 {
		return firstFitting(s, shape)
	}
	best := -1
	for i := range s.GPUs {
		if s.GPUs[i].Takes(shape) && (best < 0 || s.GPUs[i].Milli < s.GPUs[best].Milli) {
			best = i
		}
	}
	return placement.GPUs(best)
}

// book takes the shape's CPU and its share of the GPUs.
func book(s *fragmentation.State, shape *fragmentation.Shape, gpus placement.GPUSet) {
	s.CPU -= shape.CPU
	for ; gpus != 0; gpus &= gpus - 1 {
		s.GPUs[gpus.First()].Milli -= shape.Milli
	}
}

// idle is the number of GPUs with the whole share left.
func idle(s *fragmentation.State) int64 {
	n := int64(0)
	for i := range s.GPUs {
		if s.GPUs[i].Milli == fragmentation.Whole {
			n++
		}
	}
	return n
}

// left is the milli-GPU left on the uncut GPUs.
func left(s *fragmentation.State) int64 {
	sum := int64(0)
	for i := range s.GPUs {
		sum += s.GPUs[i].Milli
	}
	return sum
}

var _ placement.Policy = (*published)(nil)
