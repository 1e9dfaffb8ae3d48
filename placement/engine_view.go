package placement

import (
	"iter"
	"sync/atomic"
)

// View is the state of an Engine at one moment: immutable, and safe for any
// number of goroutines. Decisions about the latest view are the cheapest; those
// about an older one are right for that one. The zero View has no nodes.
type View struct {
	memory  *memory
	nodes   nodeList
	size    int      // slots, those of nodes that are gone included
	live    int      // nodes
	version int64    // changes since the memory was new
	tail    *changes // holds change number version, or ends just before it
}

// Len returns the number of nodes.
func (v *View) Len() int { return v.live }

// Nodes iterates over the node views in order.
func (v *View) Nodes() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for i := range v.size {
			if s := v.nodes.at(i); s != nil && !yield(s.node) {
				return
			}
		}
	}
}

// Choose returns what Cluster.Choose returned for the nodes of the view.
func (v *View) Choose(t *Task) (*Node, Choice) {
	if v.live == 0 {
		return nil, Choice{Refusal: Refusal{Kind: NoGPU}}
	}
	m := v.memory
	if m.perTask {
		return v.scan(m.policy, t)
	}
	shape := t.Shape
	if part := partIndex(&shape); m.blind[part] {
		shape.Memory = min(shape.Memory, 0) // the kind, unless it is a bad one
	}
	k := m.kind(&shape, v.version)
	if k.byGPU {
		if k.passes.Load() > 0 {
			k.passes.Add(-1)
		} else if b := m.boards.claim(); b != nil {
			s, choice := b.choose(v, k, t)
			m.boards.release(b)
			if s != nil {
				return s.node, choice
			}
			k.passes.Store(treesAfter)
		}
	}
	s, choice, ok := v.ask(k, t)
	if !ok && shape != t.Shape {
		// There are too few trees, or the best node for the kind without main
		// memory lacks it.
		s, choice, ok = v.ask(m.kind(&t.Shape, v.version), t)
	}
	switch {
	case !ok:
		return v.scan(k.policy, t)
	case s == nil:
		return nil, choice
	default:
		return s.node, choice
	}
}

// ask asks a tree; false if there is none, or no answer.
func (v *View) ask(k *kind, t *Task) (*posted, Choice, bool) {
	tree := k.claim(v.memory)
	if tree == nil {
		return nil, Choice{}, false
	}
	s, choice, ok := tree.choose(v, k, t)
	k.release(v.memory, tree)
	return s, choice, ok
}

// scan is Choose without a memory; there are nodes.
func (v *View) scan(p Policy, t *Task) (*Node, Choice) {
	var best Choice
	var at *Node
	var refused Refusal
	for n := range v.Nodes() {
		switch c := p.Choose(n, t); {
		case !c.OK():
			refused = closer(refused, c.Refusal)
		case at == nil || c.Score > best.Score:
			at, best = n, c
		}
	}
	if at != nil {
		return at, best
	}
	return nil, Choice{Refusal: refused}
}

// nodeList is a list of nodes in which changing one copies little.
type nodeList struct {
	blocks []*nodeBlock
}

const blockBits = 7

type nodeBlock [1 << blockBits]*posted

func newNodeList(list []*posted) nodeList {
	var l nodeList
	for len(list) > 0 {
		b := new(nodeBlock)
		list = list[copy(b[:], list):]
		l.blocks = append(l.blocks, b)
	}
	return l
}

// at returns what stands at a slot, nil if the node there is gone.
func (l *nodeList) at(slot int) *posted {
	return l.blocks[slot>>blockBits][slot&(1<<blockBits-1)]
}

// with returns the list with another node at a slot, which may be one more.
func (l *nodeList) with(slot int, s *posted) nodeList {
	blocks := make([]*nodeBlock, max(len(l.blocks), slot>>blockBits+1))
	copy(blocks, l.blocks)
	b := new(nodeBlock)
	if old := blocks[slot>>blockBits]; old != nil {
		*b = *old
	}
	b[slot&(1<<blockBits-1)] = s
	blocks[slot>>blockBits] = b
	return nodeList{blocks}
}

// changes is a piece of the list of changed slots. One who has read up to some
// point holds the piece of that point, so that what all have read goes away. So
// does what lies further back than anybody reads on: the writer cuts it off.
type changes struct {
	first int64 // number of the first change
	list  [254]slotChange
	next  atomic.Pointer[changes] // nil: the latest piece, or cut off
}

// slotChange is a slot with another node than before.
type slotChange struct {
	slot int32
	gpus GPUSet // of which the layout may be another one
}

// add appends the change of that number and returns the piece for the next one.
// A reader looks no further than the version of a view that it holds, so it never
// looks at what is being written.
func (c *changes) add(number int64, what slotChange) *changes {
	i := number - c.first
	c.list[i] = what
	if i+1 < int64(len(c.list)) {
		return c
	}
	next := &changes{first: number + 1}
	c.next.Store(next)
	return next
}

// cut cuts off the pieces before those of the last so many changes, and returns
// the first that is left. It is for the writer.
func (c *changes) cut(number, last int64) *changes {
	for number-c.first > last+2*int64(len(c.list)) {
		next := c.next.Load()
		c.next.Store(nil)
		c = next
	}
	return c
}

// walk calls f for the changes from number from up to, not including, to; c holds
// the first. It reports whether they are all there.
func (c *changes) walk(from, to int64, f func(slotChange)) bool {
	for ; from < to; from++ {
		if from-c.first == int64(len(c.list)) {
			if c = c.next.Load(); c == nil {
				return false
			}
		}
		f(c.list[from-c.first])
	}
	return true
}
