package placement

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"

	"github.com/gpushare/gpushare/fragmentation"
)

// mostStep is the largest step of ByValue in milli-GPU: that of a whole node.
const mostStep = fragmentation.Whole * fragmentation.MostGPUs

// Order ranks spots that strand the same number of steps: the larger wins. The
// result is at least 0 and less than 1<<24. The view is the one before placing;
// Node.GPU and Node.NumGPUs read it without an allocation. It may look at all of
// the task but its ID.
//
// GPUs that are equal in what is left are one to a policy: the order is asked
// about the one of lowest index, which is the one that is taken.
type Order func(n *Node, t *Task, spot Spot) int64

const orderBits = 24

// NodeOrder ranks all spots alike, so that the first node in order, its first
// GPU and lowest start are taken: near-ties fill nodes one after the other.
func NodeOrder(*Node, *Task, Spot) int64 { return 0 }

// SmallestFirst ranks nodes with fewer GPUs first, which keeps large nodes whole
// for tasks of many GPUs, then GPUs with less left, then starts that leave more
// free (profile, start) pairs on a cut GPU.
func SmallestFirst(n *Node, t *Task, spot Spot) int64 {
	s := &n.state
	rank := int64(fragmentation.MostGPUs-len(s.GPUs)) << 17 // 7 bits
	if t.Shape.GPUs != 1 {
		return rank
	}
	g := &s.GPUs[spot.GPUs.First()]
	rank += (fragmentation.Whole - g.Left()) << 7 // 10 bits
	return rank + pairsAfter(g, &t.Shape, spot.Start)
}

// ValuePolicy takes the spot that strands least by a value. It is safe for
// concurrent use.
type ValuePolicy struct {
	value   fragmentation.Value
	quantum int64 // one step in units of the value
	order   Order
	ranks   ranks
	scratch sync.Pool // of *fragmentation.State
}

// ranks says what an order is known to look at.
type ranks uint8

const (
	anyRank      ranks = iota // no more than Order promises
	noRank                    // NodeOrder: nothing
	smallestRank              // SmallestFirst: the state
)

func ranksOf(o Order) ranks {
	switch reflect.ValueOf(o).Pointer() {
	case reflect.ValueOf(NodeOrder).Pointer():
		return noRank
	case reflect.ValueOf(SmallestFirst).Pointer():
		return smallestRank
	default:
		return anyRank
	}
}

// ByValue returns the policy that takes the spot that strands least. What is
// stranded (fragmentation.Strands) is cut into steps of so many milli-GPU, and
// spots of one step are taken in the given order. A step of 1 is the steepest
// descent; see the package's text for why it is not the best.
//
// Without an order it is NodeOrder. Without a value, for a value whose scale is
// not from 1 to fragmentation.MostScale (0 is that of one from no constructor),
// and for a step that is not from 1 to 64000, the error wraps ErrBadRule.
func ByValue(v fragmentation.Value, step int64, order Order) (*ValuePolicy, error) {
	if v == nil {
		return nil, fmt.Errorf("placement: no value: %w", ErrBadRule)
	}
	if scale := v.Scale(); scale < 1 || scale > fragmentation.MostScale {
		return nil, fmt.Errorf("placement: value of scale %d: not from 1 to %d: %w", scale, int64(fragmentation.MostScale), ErrBadRule)
	}
	if step < 1 || step > mostStep {
		return nil, fmt.Errorf("placement: step of %d milli-GPU: not from 1 to %d: %w", step, mostStep, ErrBadRule)
	}
	if order == nil {
		order = NodeOrder
	}
	p := &ValuePolicy{value: v, quantum: step * v.Scale(), order: order, ranks: ranksOf(order)}
	p.scratch.New = func() any { return new(fragmentation.State) }
	return p, nil
}

// Choose implements Policy. The score is minus the steps stranded, shifted left
// by 24 bits, plus the rank of the order.
func (p *ValuePolicy) Choose(n *Node, t *Task) Choice {
	if r := n.Fits(t); r.Kind != None {
		return Choice{Refusal: r}
	}
	after := p.scratch.Get().(*fragmentation.State)
	best := p.best(n, t, p.value, p.value.Of(&n.state), math.MaxInt64, after)
	p.scratch.Put(after)
	return best
}

// best is Choose for a task that fits. The value is that of the policy, or
// remembers what it says; no score is larger than most; after is scratch.
func (p *ValuePolicy) best(n *Node, t *Task, value fragmentation.Value, before, most int64, after *fragmentation.State) Choice {
	var best Choice
	found := false
	c := cursor{state: &n.state, shape: &t.Shape}
	for spot, ok := c.next(); ok; spot, ok = c.next() {
		if score := p.scoreBy(n, t, spot, value, before, after); !found || score > best.Score {
			best, found = Choice{Spot: spot, Score: score}, true
			if score >= most {
				break // later ones tie at most
			}
		}
	}
	return best
}

// Rank returns every spot that the task can take on the node, the preferred
// first: the order in which to offer a node's devices to an allocator that
// takes the first that fits. The first is what Choose takes. Equal GPUs are all
// listed, with one score; spots of one score are in the order of GPUs and starts.
// For a task of several GPUs there is the one set that Choose takes.
func (p *ValuePolicy) Rank(n *Node, t *Task) []Choice {
	if n.Fits(t).Kind != None {
		return nil
	}
	after := p.scratch.Get().(*fragmentation.State)
	defer p.scratch.Put(after)
	before := p.value.Of(&n.state)
	var all []Choice
	c := cursor{state: &n.state, shape: &t.Shape}
	for spot, ok := c.next(); ok; spot, ok = c.next() {
		choice := Choice{Spot: spot, Score: p.score(n, t, spot, before, after)}
		all = append(all, choice)
		if t.Shape.GPUs != 1 {
			continue
		}
		first := spot.GPUs.First()
		for i := first + 1; i < len(n.state.GPUs); i++ {
			if n.state.GPUs[i] == n.state.GPUs[first] {
				choice.Spot.GPUs = 1 << i
				all = append(all, choice)
			}
		}
	}
	slices.SortFunc(all, func(a, b Choice) int {
		return cmp.Or(
			cmp.Compare(b.Score, a.Score),
			cmp.Compare(a.Spot.GPUs.First(), b.Spot.GPUs.First()),
			cmp.Compare(a.Spot.Start, b.Spot.Start),
		)
	})
	return all
}

// score values one spot; after is scratch.
func (p *ValuePolicy) score(n *Node, t *Task, spot Spot, before int64, after *fragmentation.State) int64 {
	return p.scoreBy(n, t, spot, p.value, before, after)
}

// scoreBy is score with a value that may remember what that of the policy says.
func (p *ValuePolicy) scoreBy(n *Node, t *Task, spot Spot, value fragmentation.Value, before int64, after *fragmentation.State) int64 {
	n.state.CopyTo(after)
	apply(after, &t.Shape, spot)
	stranded := before - value.Of(after) - demand(&n.state, &t.Shape, spot)*p.value.Scale()
	return floorDiv(-stranded, p.quantum)<<orderBits + p.order(n, t, spot)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

var _ Policy = (*ValuePolicy)(nil)
