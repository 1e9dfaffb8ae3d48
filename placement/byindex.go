package placement

import (
	"fmt"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
)

// IndexPolicy puts requests for MIG instances where they lose least by the value
// index of the GPU's model. It is immutable and safe for concurrent use.
type IndexPolicy struct {
	tables []indexTable
	used   bool // empty GPUs come last
}

// indexTable holds the answers for the GPUs of one model.
type indexTable struct {
	states *fragmentation.States
	rates  []gpuRate // by state and kind
}

// gpuRate is where a request goes on a GPU, and what that scores.
type gpuRate struct {
	score int64
	start int8 // -1: no room
}

// ByIndex returns the policy that decides with one index for each GPU model of a
// fleet. The GPU is what is decided about, not the node: a node scores as its best
// GPU does. Where several lose the same, a GPU with less left goes first, then a
// start that leaves more free (profile, start) pairs, then the lower start.
//
// GPUs of different models compare by the currency of the indexes, in which a
// whole GPU is worth the same on every model; that is why all must have one gamma.
// A request that several models offer so goes where it takes the smaller share,
// until that is what the others need more. Relative values are never set against
// milli-GPU: a GPU of a model without an index comes after all others, tightest
// first.
//
// The node's CPU and main memory decide whether it takes a request, and not what
// it scores. Tasks that ask for no MIG instance score the same everywhere, as by
// FirstFit: join the policy for them with SplitMIG. A whole GPU of a cut fleet is
// asked for by its largest profile, and competes with the others as such.
//
// Without an index, for two of one model and for different gammas the error wraps
// ErrBadRule.
func ByIndex(indexes ...*fragmentation.Index) (*IndexPolicy, error) {
	if len(indexes) == 0 {
		return nil, fmt.Errorf("placement: no index: %w", ErrBadRule)
	}
	p := &IndexPolicy{}
	for i, x := range indexes {
		if x == nil || x.States() == nil {
			return nil, fmt.Errorf("placement: index %d is none: %w", i, ErrBadRule)
		}
		m := x.States().Model()
		if p.table(m) != nil {
			return nil, fmt.Errorf("placement: index %d: a second one for %s: %w", i, m, ErrBadRule)
		}
		if gamma, first := x.Params().Gamma, indexes[0].Params().Gamma; gamma != first {
			return nil, fmt.Errorf("placement: index %d: gamma %v beside %v: losses do not compare: %w", i, gamma, first, ErrBadRule)
		}
		p.tables = append(p.tables, newIndexTable(x))
	}
	return p, nil
}

func newIndexTable(x *fragmentation.Index) indexTable {
	s := x.States()
	t := indexTable{states: s, rates: make([]gpuRate, 0, s.Len()*s.Kinds())}
	for state := range s.Len() {
		l := s.Layout(state)
		for kind := range s.Kinds() {
			start, loss, ok := x.Loss(state, kind)
			if !ok {
				t.rates = append(t.rates, gpuRate{start: -1})
				continue
			}
			after := s.Layout(s.With(state, kind, start))
			t.rates = append(t.rates, gpuRate{
				score: -min(max(loss, -mostLoss), mostLoss)<<tieBits + tieRank(&l, &after, start),
				start: int8(start),
			})
		}
	}
	return t
}

// A score is at most 1<<59 on either side of zero, and less by these.
const (
	tieBits  = 7 + 8 + 4 // of tieRank
	mostLoss = 1<<40 - 1 // more is as bad
	unranked = 1 << 60   // for a GPU without an index, which has no loss
	opening  = 1 << 61   // for an empty GPU, where used ones go first
)

// UsedFirst returns the policy that opens no empty GPU while a used one takes the
// request, on any node. That costs next to nothing where the mix is known, and
// keeps a table that the mix has left behind from doing worse than first fit.
func (p *IndexPolicy) UsedFirst() *IndexPolicy { return &IndexPolicy{tables: p.tables, used: true} }

// tieRank ranks choices that lose the same: less left first, then more free pairs
// afterwards, then the lower start.
func tieRank(before, after *mig.Layout, start int) int64 {
	units := before.Model().MemorySlices()
	left := int64(120 * (units - before.Used().Len()) / units)
	pairs := int64(min(after.FreePairs(), 255))
	return (127-left)<<12 + pairs<<4 + int64(mig.MaxUnits-1-start)
}

func (p *IndexPolicy) table(m *mig.Model) *indexTable {
	for i := range p.tables {
		if p.tables[i].states.Model() == m {
			return &p.tables[i]
		}
	}
	return nil
}

// Choose implements Policy. The score is minus what is lost, with the order of ties
// in the lowest bits.
func (p *IndexPolicy) Choose(n *Node, t *Task) Choice {
	if r := n.Fits(t); r.Kind != None {
		return Choice{Refusal: r}
	}
	c := cursor{state: &n.state, shape: &t.Shape}
	if t.Shape.Profile == "" {
		spot, _ := c.next()
		return Choice{Spot: spot}
	}
	var best Choice
	found := false
	for i := range n.state.GPUs {
		if c.repeated(i) {
			continue
		}
		start, score, ok := p.rate(&n.state.GPUs[i], &t.Shape)
		if ok && (!found || score > best.Score) {
			best, found = Choice{Spot: Spot{GPUs: 1 << i, Start: start}, Score: score}, true
		}
	}
	return best
}

// rate returns where a request goes on a GPU and what that scores, and false where
// it does not fit.
func (p *IndexPolicy) rate(g *fragmentation.GPU, shape *fragmentation.Shape) (start int, score int64, ok bool) {
	free := starts(g, shape)
	if free == 0 {
		return 0, 0, false
	}
	penalty := int64(0)
	if p.used && g.Layout.Used() == 0 {
		penalty = opening
	}
	if t := p.table(g.Layout.Model()); t != nil {
		state, kind := t.states.Number(g.Layout), t.states.Kind(shape.Profile)
		if state >= 0 && kind >= 0 {
			r := &t.rates[state*t.states.Kinds()+kind]
			if r.start >= 0 && free.Has(int(r.start)) {
				return int(r.start), r.score - penalty, true
			}
		}
	}
	profile, _ := offer(g, shape)
	start, _ = g.Layout.DefaultStart(profile)
	after, _ := g.Layout.With(profile, start) // the start is free
	return start, tieRank(&g.Layout, &after, start) - unranked - penalty, true
}

var _ Policy = (*IndexPolicy)(nil)
