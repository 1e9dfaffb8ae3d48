package openb_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay/openb"
)

// uncutScore is what the rule becomes if the published score is not cut to an
// integer: the floating gain itself decides, with the noise of its sums.
type uncutScore struct{ f openb.FloatFGD }

func uncut(t *testing.T, e *openb.Experiment, _ int64) placement.Policy {
	t.Helper()
	f, err := openb.NewFloatFGD(e.Mix, e.TraceTasks)
	require.NoError(t, err)
	return uncutScore{f}
}

// Choose implements placement.Policy.
func (p uncutScore) Choose(n *placement.Node, t *placement.Task) placement.Choice {
	if r := n.Fits(t); r.Kind != placement.None {
		return placement.Choice{Refusal: r}
	}
	s, shape := n.State(), t.Shape
	if shape.GPUs != 1 || shape.Milli == fragmentation.Whole {
		gpus, _ := p.f.Decide(n.State(), shape)
		var taken []int
		for i := range gpus.All() {
			taken = append(taken, i)
		}
		return placement.Choice{Spot: placement.Spot{GPUs: gpus}, Score: p.gain(s, shape, taken...)}
	}
	best := placement.Choice{Score: math.MinInt64}
	for i := range s.GPUs {
		if !s.GPUs[i].Takes(&shape) {
			continue
		}
		if x := p.gain(s, shape, i); x > best.Score {
			best = placement.Choice{Spot: placement.Spot{GPUs: placement.GPUs(i)}, Score: x}
		}
	}
	return best
}

// gain returns the gain as an integer of the same order.
func (p uncutScore) gain(s fragmentation.State, shape fragmentation.Shape, gpus ...int) int64 {
	after := placed(s, shape, gpus...)
	gain := p.f.Fragment(&s) - p.f.Fragment(&after)
	bits := int64(math.Float64bits(math.Abs(gain)))
	if gain < 0 {
		return -bits
	}
	return bits
}
