package placement

import (
	"math"

	"github.com/gpushare/gpushare/fragmentation"
)

// gpuRater is a Policy that decides requests for MIG instances GPU by GPU: its
// Choose refuses what Node.Fits refuses, and else takes the largest rate of the
// node's cut GPUs, that of the first GPU on a tie.
type gpuRater interface {
	Policy
	// ratesGPUs reports whether it does so for tasks of this shape.
	ratesGPUs(shape *fragmentation.Shape) bool
	// rateGPU returns the start and the score on a GPU of a node with so many GPUs
	// of a model that the shape accepts; false if there is no free start. CPU and
	// main memory play no part in it.
	rateGPU(model string, gpus int, g *fragmentation.GPU, shape *fragmentation.Shape) (start int, score int64, ok bool)
}

// stateOnly reports whether a policy is known to look at no more of a node than
// its state and its capacity.
func stateOnly(p Policy) bool {
	switch p := p.(type) {
	case splitMIG:
		return stateOnly(p.instances) && stateOnly(p.others)
	case *ValuePolicy:
		return p.ranks != anyRank
	case *UsedFirstPolicy:
		return p.values.ranks != anyRank
	case *IndexPolicy, firstFit, fit, dotProduct, packing:
		return true
	default:
		return false
	}
}

func (p *ValuePolicy) ratesGPUs(*fragmentation.Shape) bool {
	// It values the GPUs of a node by themselves, and CPU plays no part.
	_, ok := p.value.(*fragmentation.MIGFGD)
	return ok && p.ranks != anyRank
}

func (p *ValuePolicy) rateGPU(model string, gpus int, g *fragmentation.GPU, shape *fragmentation.Shape) (int, int64, bool) {
	// What other GPUs there are matters to no more than their number.
	state := fragmentation.State{Model: model, GPUs: make([]fragmentation.GPU, gpus)}
	state.GPUs[0] = *g
	state.CPU, state.Memory = shape.CPU, shape.Memory
	n := &Node{spec: &NodeSpec{}, state: state}
	n.empty = n
	if starts(g, shape) == 0 {
		return 0, 0, false
	}
	var after fragmentation.State
	best := p.best(n, &Task{Shape: *shape}, p.value, p.value.Of(&state), math.MaxInt64, &after)
	return best.Spot.Start, best.Score, true
}

func (p *UsedFirstPolicy) ratesGPUs(shape *fragmentation.Shape) bool {
	return p.values.ratesGPUs(shape)
}

func (p *UsedFirstPolicy) rateGPU(model string, gpus int, g *fragmentation.GPU, shape *fragmentation.Shape) (int, int64, bool) {
	start, score, ok := p.values.rateGPU(model, gpus, g, shape)
	return start, score + bonus(g), ok
}

func (p *IndexPolicy) ratesGPUs(shape *fragmentation.Shape) bool { return shape.Profile != "" }

func (p *IndexPolicy) rateGPU(_ string, _ int, g *fragmentation.GPU, shape *fragmentation.Shape) (int, int64, bool) {
	return p.rate(g, shape)
}

// blind reports whether a policy is known to leave main memory out of its scores.
func blind(p Policy) bool {
	switch p := p.(type) {
	case *ValuePolicy:
		return blindValue(p.value)
	case *UsedFirstPolicy:
		return blindValue(p.values.value)
	case *IndexPolicy, firstFit, fit, dotProduct, packing:
		return true
	default:
		return false
	}
}

func blindValue(v fragmentation.Value) bool {
	switch v.(type) {
	case *fragmentation.FGD, *fragmentation.MIGFGD, *fragmentation.Fill, *fragmentation.Capped:
		return true
	default:
		return false
	}
}

// shrinks reports whether a value is known never to grow where less is left.
func shrinks(v fragmentation.Value) bool {
	switch v.(type) {
	case *fragmentation.FGD, *fragmentation.Capped:
		return true
	default:
		return false // Fill is greedy: with less it may fill more
	}
}

func (firstFit) ratesGPUs(shape *fragmentation.Shape) bool { return shape.Profile != "" }

func (firstFit) rateGPU(_ string, _ int, g *fragmentation.GPU, shape *fragmentation.Shape) (int, int64, bool) {
	free := starts(g, shape)
	return free.Lowest(), 0, free != 0
}
