package placement

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gpushare/gpushare/fragmentation"
)

// ErrBadRule says that ByValue cannot make a policy of its arguments.
var ErrBadRule = errors.New("bad rule")

// Order ranks spots that strand the same number of steps: the larger wins. The
// result is at least 0 and less than 1<<24; s is the state before placing and
// must not be kept or changed.
type Order func(s *fragmentation.State, shape *fragmentation.Shape, spot Spot) int64

const orderBits = 24

// NodeOrder ranks all spots alike, so that the first node in order, its first
// GPU and lowest start are taken: near-ties fill nodes one after the other.
func NodeOrder(*fragmentation.State, *fragmentation.Shape, Spot) int64 { return 0 }

// SmallestFirst ranks nodes with fewer GPUs first, which keeps large nodes whole
// for tasks of many GPUs, then GPUs with less left, then starts that leave more
// free (profile, start) pairs on a cut GPU.
func SmallestFirst(s *fragmentation.State, shape *fragmentation.Shape, spot Spot) int64 {
	rank := int64(fragmentation.MostGPUs-len(s.GPUs)) << 17 // 7 bits
	if shape.GPUs != 1 {
		return rank
	}
	g := &s.GPUs[spot.GPUs.First()]
	rank += (fragmentation.Whole - g.Left()) << 7 // 10 bits
	if p, ok := offer(g, shape); ok {
		if after, err := g.Layout.With(p, spot.Start); err == nil {
			rank += int64(after.FreePairs())
		}
	}
	return rank
}

// ValuePolicy takes the spot that strands least by a value. It is safe for
// concurrent use.
type ValuePolicy struct {
	value   fragmentation.Value
	quantum int64 // one step in units of the value
	order   Order
	scratch sync.Pool // of *fragmentation.State
}

// ByValue returns the policy that takes the spot that strands least. What is
// stranded (fragmentation.Strands) is cut into steps of so many milli-GPU, and
// spots of one step are taken in the given order. A step of 1 is the steepest
// descent; see the package's text for why it is not the best.
//
// Without an order it is NodeOrder. Without a value, and for a step that is not
// from 1 to 64000, the error wraps ErrBadRule.
func ByValue(v fragmentation.Value, step int64, order Order) (*ValuePolicy, error) {
	if v == nil {
		return nil, fmt.Errorf("placement: no value: %w", ErrBadRule)
	}
	if step < 1 || step > fragmentation.Whole*fragmentation.MostGPUs {
		return nil, fmt.Errorf("placement: step of %d milli-GPU: not from 1 to %d: %w", step, fragmentation.Whole*fragmentation.MostGPUs, ErrBadRule)
	}
	if order == nil {
		order = NodeOrder
	}
	p := &ValuePolicy{value: v, quantum: step * v.Scale(), order: order}
	p.scratch.New = func() any { return new(fragmentation.State) }
	return p, nil
}

// Choose implements Policy. The score is minus the steps stranded, shifted left
// by 24 bits, plus the rank of the order.
func (p *ValuePolicy) Choose(n *Node, t *Task) Choice {
	if r := n.Fits(&t.Shape); r.Kind != None {
		return Choice{Refusal: r}
	}
	var best Choice
	found := false
	after := p.scratch.Get().(*fragmentation.State)
	before := p.value.Of(&n.state)
	c := cursor{state: &n.state, shape: &t.Shape}
	for spot, ok := c.next(); ok; spot, ok = c.next() {
		if score := p.score(n, t, spot, before, after); !found || score > best.Score {
			best, found = Choice{Spot: spot, Score: score}, true
		}
	}
	p.scratch.Put(after)
	return best
}

// Rank returns every spot that the task can take on the node, the preferred
// first: the order in which to offer a node's devices to an allocator that
// takes the first that fits. Equal GPUs are all listed; for a task of several
// GPUs there is the one set that Choose takes.
func (p *ValuePolicy) Rank(n *Node, t *Task) []Choice {
	if n.Fits(&t.Shape).Kind != None {
		return nil
	}
	after := p.scratch.Get().(*fragmentation.State)
	defer p.scratch.Put(after)
	before := p.value.Of(&n.state)
	var all []Choice
	c := cursor{state: &n.state, shape: &t.Shape, repeats: true}
	for spot, ok := c.next(); ok; spot, ok = c.next() {
		all = append(all, Choice{Spot: spot, Score: p.score(n, t, spot, before, after)})
	}
	slices.SortStableFunc(all, func(a, b Choice) int { return cmp.Compare(b.Score, a.Score) })
	return all
}

// score values one spot; after is scratch.
func (p *ValuePolicy) score(n *Node, t *Task, spot Spot, before int64, after *fragmentation.State) int64 {
	n.state.CopyTo(after)
	apply(after, &t.Shape, spot)
	stranded := before - p.value.Of(after) - demand(&n.state, &t.Shape, spot)*p.value.Scale()
	return floorDiv(-stranded, p.quantum)<<orderBits + p.order(&n.state, &t.Shape, spot)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

var _ Policy = (*ValuePolicy)(nil)
