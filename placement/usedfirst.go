package placement

import "github.com/gpushare/gpushare/fragmentation"

// UsedFirst returns a policy that decides by value, but never opens an empty GPU
// for a task of one GPU while a used one takes it, on any node. With MIGFGD, step
// 1 and SmallestFirst it is the simple rule for cut GPUs that is safe under every
// mix: without it, MIGFGD spends empty GPUs where few requests for whole ones meet
// many small ones.
//
// A GPU is used if a task holds anything of it; an instance that no task asked for
// counts as well. The error is that of ByValue.
func UsedFirst(v fragmentation.Value, step int64, order Order) (*UsedFirstPolicy, error) {
	p, err := ByValue(v, step, order)
	if err != nil {
		return nil, err
	}
	return &UsedFirstPolicy{p}, nil
}

// UsedFirstPolicy prefers GPUs that are in use. It is safe for concurrent use.
type UsedFirstPolicy struct{ values *ValuePolicy }

// usedBonus is more than scores by value differ.
const usedBonus = 1 << 56

// Choose implements Policy. The score is that of the policy by value, and larger
// by 1<<56 on a used GPU.
func (p *UsedFirstPolicy) Choose(n *Node, t *Task) Choice {
	if r := n.Fits(t); r.Kind != None {
		return Choice{Refusal: r}
	}
	var best Choice
	found := false
	after := p.values.scratch.Get().(*fragmentation.State)
	before := p.values.value.Of(&n.state)
	c := cursor{state: &n.state, shape: &t.Shape}
	for spot, ok := c.next(); ok; spot, ok = c.next() {
		score := p.values.score(n, t, spot, before, after)
		if t.Shape.GPUs == 1 {
			score += bonus(&n.state.GPUs[spot.GPUs.First()])
		}
		if !found || score > best.Score {
			best, found = Choice{Spot: spot, Score: score}, true
		}
	}
	p.values.scratch.Put(after)
	return best
}

func bonus(g *fragmentation.GPU) int64 {
	if g.Cut() && g.Layout.Used() != 0 || !g.Cut() && g.Milli < fragmentation.Whole {
		return usedBonus
	}
	return 0
}

var _ Policy = (*UsedFirstPolicy)(nil)
