package placement

import (
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
)

// board lists the cut GPUs of a view by what decides about them (see gpuRater):
//
//	class (model, GPUs of the node, layout) -> nodes that have such a GPU
//	ranking (shape) -> classes by score, those that no node has masked out
//
// The best GPU is then on the first node of the first classes of equal score.
type board struct {
	seat     int
	broken   bool // more classes than there is room for
	version  int64
	tail     *changes // nil: the board is empty
	slots    []boardSlot
	classes  map[gpuClass]uint16
	recent   [256][4]uint16 // by what is used of a GPU: classes, the one found last first
	list     []classList    // by number of the class
	rankings []*ranking
	oldest   int // of the rankings: the next to go
}

// Bounds of a board: classes cost a bit for each slot, rankings some bytes for
// each class.
const (
	mostClasses  = 1 << 13
	boardBits    = 1 << 27 // of all classes: 16 MiB
	mostRankings = 64
	mostTries    = 64 // nodes that lack CPU or memory, looked at in a decision
	treesAfter   = 16 // decisions made without a board where that did not do
)

// gpuClass is what decides about a GPU.
type gpuClass struct {
	model  string
	gpus   int
	layout mig.Layout
}

// noClass is the class of uncut GPUs.
const noClass = 0

// boardSlot is the model of a node, and the classes of its GPUs.
type boardSlot struct {
	model   string
	classes []uint16
}

// classList holds the slots with a GPU of a class.
type classList struct {
	gpuClass
	first int32 // the first slot, none: math.MaxInt32
	set   []uint64
	sums  []uint64 // which words of set are not zero
}

const none = math.MaxInt32

// boards are the boards of an engine, each for one goroutine at a time.
type boards struct {
	seats [mostTrees]struct {
		busy  atomic.Bool
		board *board
		_     [48]byte
	}
}

// claim returns a board that is the caller's until release, nil if all are taken.
func (b *boards) claim() *board {
	for i := range b.seats {
		s := &b.seats[i]
		if s.busy.Load() || !s.busy.CompareAndSwap(false, true) {
			continue
		}
		if s.board == nil {
			s.board = &board{seat: i}
		}
		return s.board
	}
	return nil
}

func (b *boards) release(x *board) { b.seats[x.seat].busy.Store(false) }

// choose returns the best node of a view; nil if it is not known, since there is
// none or many nodes lack CPU or memory: then the tree has to be asked.
func (b *board) choose(v *View, k *kind, t *Task) (*posted, Choice) {
	b.sync(v)
	if b.broken {
		return nil, Choice{}
	}
	r := b.ranking(k)
	shape := &t.Shape
	tries := mostTries
	for at := r.next(0); at < len(r.order); {
		score := r.score[r.order[at]]
		end := r.ends[at]
		for from := int32(0); ; {
			slot := int32(none)
			for i := at; i < end; i = r.next(i + 1) {
				slot = min(slot, b.list[r.order[i]].from(from))
			}
			if slot == none {
				break
			}
			s := v.nodes.at(int(slot))
			if s.cpu >= shape.CPU && s.memory >= shape.Memory {
				return s, b.spot(r, int(slot), score)
			}
			if tries--; tries == 0 {
				return nil, Choice{}
			}
			from = slot + 1
		}
		at = r.next(end)
	}
	return nil, Choice{}
}

// spot returns the first GPU of a node that has the score.
func (b *board) spot(r *ranking, slot int, score int64) Choice {
	for i, c := range b.slots[slot].classes {
		if r.rank[c] != unfit && r.score[c] == score {
			return Choice{Spot: Spot{GPUs: 1 << i, Start: int(r.start[c])}, Score: score}
		}
	}
	return Choice{} // the lists say that there is one
}

// sync brings the board to a view.
func (b *board) sync(v *View) {
	renew := func(c slotChange) { b.renew(v, int(c.slot), c.gpus) }
	known := false
	switch apart := v.version - b.version; {
	case b.tail == nil || v.size > len(b.slots):
		b.fill(v)
		known = true
	case apart > int64(v.size) || -apart > int64(v.size):
	case apart >= 0:
		known = b.tail.walk(b.version, v.version, renew)
	default:
		known = v.tail.walk(v.version, b.version, renew)
	}
	switch {
	case known:
	case b.broken:
		b.fill(v) // perhaps most classes are of the past
	default:
		for slot := range b.slots {
			b.renew(v, slot, allGPUs)
		}
	}
	b.version, b.tail = v.version, v.tail
}

// fill makes the board anew.
func (b *board) fill(v *View) {
	b.broken = false
	b.slots = make([]boardSlot, v.size+v.size/4+2)
	b.classes = map[gpuClass]uint16{}
	clear(b.recent[:])
	b.list = []classList{{first: none}}
	b.rankings = nil
	for slot := range v.size {
		b.renew(v, slot, allGPUs)
	}
}

// renew makes a slot what the view says; of a node with as many GPUs of the same
// model as before only some are looked at.
func (b *board) renew(v *View, slot int, gpus GPUSet) {
	var n *Node
	if slot < v.size {
		if s := v.nodes.at(slot); s != nil {
			n = s.node
		}
	}
	at := &b.slots[slot]
	if b.broken {
		return
	}
	if n == nil || len(at.classes) != len(n.state.GPUs) || at.model != n.state.Model {
		for i := range at.classes {
			b.change(slot, i, noClass)
		}
		*at = boardSlot{}
		if n == nil {
			return
		}
		*at = boardSlot{n.state.Model, make([]uint16, len(n.state.GPUs))}
		gpus = allGPUs
	}
	for gpus &= 1<<len(at.classes) - 1; gpus != 0; gpus &= gpus - 1 {
		i := gpus.First()
		// The classes are in the cache, the state of before mostly is not.
		if b.list[at.classes[i]].layout != n.state.GPUs[i].Layout {
			b.change(slot, i, b.class(&n.state, i))
		}
	}
}

// class returns the number of a GPU's class.
func (b *board) class(s *fragmentation.State, i int) uint16 {
	g := &s.GPUs[i]
	if !g.Cut() || b.broken {
		return noClass
	}
	key := gpuClass{s.Model, len(s.GPUs), g.Layout}
	recent := &b.recent[uint8(g.Layout.Used())]
	for i, c := range recent {
		if l := &b.list[c]; l.layout == key.layout && l.gpuClass == key {
			copy(recent[1:], recent[:i])
			recent[0] = c
			return c
		}
	}
	c, known := b.classes[key]
	if !known {
		words := (len(b.slots) + 63) / 64
		if len(b.list) >= min(mostClasses, max(boardBits/64/words, 2)) {
			b.broken = true
			return noClass
		}
		c = uint16(len(b.list))
		b.classes[key] = c
		b.list = append(b.list, classList{key, none, make([]uint64, words), make([]uint64, (words+63)/64)})
		for _, r := range b.rankings {
			r.add(b, c)
		}
	}
	copy(recent[1:], recent[:])
	recent[0] = c
	return c
}

// change gives a GPU another class.
func (b *board) change(slot, gpu int, c uint16) {
	classes := b.slots[slot].classes
	old := classes[gpu]
	if old == c {
		return
	}
	classes[gpu] = c
	if c != noClass {
		l := &b.list[c]
		l.add(slot)
		if l.first == none {
			b.show(c, true)
		}
		l.first = min(l.first, int32(slot))
	}
	if old == noClass {
		return
	}
	if slices.Contains(classes, old) {
		return
	}
	l := &b.list[old]
	l.drop(slot)
	if l.first == int32(slot) {
		l.first = l.next(int32(slot) + 1)
		if l.first == none {
			b.show(old, false)
		}
	}
}

// show tells the rankings whether any node has a GPU of a class.
func (b *board) show(c uint16, there bool) {
	for _, r := range b.rankings {
		if i := r.rank[c]; i != unfit {
			if there {
				r.there[i>>6] |= 1 << (i & 63)
			} else {
				r.there[i>>6] &^= 1 << (i & 63)
			}
		}
	}
}

func (l *classList) add(slot int) {
	l.set[slot>>6] |= 1 << (slot & 63)
	l.sums[slot>>12] |= 1 << (slot >> 6 & 63)
}

func (l *classList) drop(slot int) {
	l.set[slot>>6] &^= 1 << (slot & 63)
	if l.set[slot>>6] == 0 {
		l.sums[slot>>12] &^= 1 << (slot >> 6 & 63)
	}
}

// from returns the first slot of the list that is not before one.
func (l *classList) from(slot int32) int32 {
	if l.first >= slot {
		return l.first
	}
	return l.next(slot)
}

func (l *classList) next(slot int32) int32 {
	i := int(slot) >> 6
	if i >= len(l.set) {
		return none
	}
	if w := l.set[i] >> (slot & 63); w != 0 {
		return slot + int32(bits.TrailingZeros64(w))
	}
	i++
	for j := i >> 6; j < len(l.sums); j++ {
		w := l.sums[j]
		if j == i>>6 {
			w &= ^uint64(0) << (i & 63)
		}
		if w != 0 {
			i = j<<6 + bits.TrailingZeros64(w)
			return int32(i<<6 + bits.TrailingZeros64(l.set[i]))
		}
	}
	return none
}
