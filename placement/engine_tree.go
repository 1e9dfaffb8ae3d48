package placement

import (
	"math"

	"github.com/gpushare/gpushare/fragmentation"
)

// tree remembers what a policy answers about one kind of task on every node of a
// view, and which answer is the best: the first of the largest score. It is
// brought from one view to another by the changes between them, forwards or
// backwards.
type tree struct {
	seat    int
	memory  *memory
	version int64
	tail    *changes // nil: the tree is empty
	leaves  []leaf   // by slot
	blocks  []best   // from first on: the best leaf of each block; below: of two, from 1 on
	first   int
	fitting fitting
	touched int32
	counts  [kinds]int32
	evict   int32                 // refusals that evicting helps
	odd     int32                 // refusals of a kind that is not known
	alike   [1 << alikeBits]int32 // by number: a slot that had it
	scratch fragmentation.State
}

const (
	alikeBits = 10
	leafBits  = 4 // leaves of a block
)

// best is the best leaf of a part of the tree.
type best struct {
	score int64
	slot  int32 // -1: the task fits on none
}

// leaf is what the policy answers about a node.
type leaf struct {
	score int64 // what the choice scores, or at most scores
	gpus  GPUSet
	id    uint32 // of the posted; 0: no node
	start uint8
	kind  Kind // kinds: no node
	flags uint8
}

const (
	flagEvict uint8 = 1 << iota // evicting helps
	flagBound                   // the task fits; the score is at most this
	flagOdd                     // there is no room for all of the answer
)

func (l *leaf) choice() Choice {
	if l.kind != None {
		return Choice{Refusal: Refusal{l.kind, l.flags&flagEvict != 0}}
	}
	return Choice{Spot: Spot{GPUs: l.gpus, Start: int(l.start)}, Score: l.score}
}

// choose returns the best node of a view, or nil and why there is none.
//
// The task is of the kind, but may ask for main memory where the kind does not.
// That decides only where the best node lacks it: then there is no answer.
func (t *tree) choose(v *View, k *kind, task *Task) (s *posted, choice Choice, ok bool) {
	t.sync(v, k)
	for {
		slot := int(t.blocks[1].slot)
		if slot < 0 {
			return nil, Choice{Refusal: t.refusal(v, k, task)}, t.odd == 0
		}
		l := &t.leaves[slot]
		s := v.nodes.at(slot)
		switch l.flags & (flagBound | flagOdd) {
		case 0:
			return s, l.choice(), s.memory >= task.Shape.Memory
		case flagOdd:
			return s, k.policy.Choose(s.node, task), true
		}
		t.ask(slot, s, k)
		t.climb(slot)
	}
}

// refusal returns the refusal that comes closest, where the task fits nowhere.
func (t *tree) refusal(v *View, k *kind, task *Task) Refusal {
	if task.Shape.Memory == k.task.Shape.Memory {
		for kind := kinds - 1; kind > None; kind-- {
			if t.counts[kind] > 0 {
				return Refusal{Kind: kind, Evictable: t.evict > 0}
			}
		}
	}
	// The kind asks for less memory. What it is refused for stands if there is a
	// node of that answer with the memory, and the first ones will do mostly.
	var r Refusal
	closest := Refusal{Evictable: t.evict > 0}
	for kind := kinds - 1; kind > None && closest.Kind == None; kind-- {
		if t.counts[kind] > 0 {
			closest.Kind = kind
		}
	}
	for slot := range v.size {
		l := &t.leaves[slot]
		if l.kind == kinds {
			continue
		}
		s := v.nodes.at(slot)
		one := l.choice().Refusal
		if l.kind > LackMemory && s.memory < task.Shape.Memory {
			one.Kind = LackMemory
		}
		one.Evictable = one.Evictable && s.node.empty.state.Memory >= task.Shape.Memory
		if r = closer(r, one); r == closest {
			return r
		}
	}
	return r
}

// sync brings the tree to a view.
func (t *tree) sync(v *View, k *kind) {
	known := false
	switch apart := v.version - t.version; {
	case t.tail == nil || v.size > len(t.leaves):
		t.grow(v.size, k)
	case apart > int64(v.size) || -apart > int64(v.size):
	case apart >= 0:
		known = t.renew(v, k, t.tail, t.version, v.version)
	default:
		known = t.renew(v, k, v.tail, v.version, t.version)
	}
	if !known {
		t.fill(v, k)
	}
	t.version, t.tail = v.version, v.tail
}

// grow makes room for so many slots.
func (t *tree) grow(size int, k *kind) {
	room := (size + size/4 + 2 + 1<<leafBits - 1) &^ (1<<leafBits - 1)
	t.leaves = make([]leaf, room)
	for t.first = 1; t.first < room>>leafBits; {
		t.first *= 2
	}
	t.blocks = make([]best, 2*t.first)
	t.fitting = newFitting(&k.task.Shape)
}

// fill makes the tree anew.
func (t *tree) fill(v *View, k *kind) {
	t.counts, t.evict, t.odd = [kinds]int32{}, 0, 0
	for i := range t.alike {
		t.alike[i] = 0
	}
	for slot := range t.leaves {
		t.leaves[slot] = leaf{kind: kinds}
		if slot < v.size {
			if s := v.nodes.at(slot); s != nil {
				t.answer(slot, s, k)
			}
		}
	}
	for i := 2*t.first - 1; i > 0; i-- {
		t.blocks[i] = t.best(i)
	}
}

// renew makes leaves what the view says, for the changes from number from up to,
// not including, to; c holds the first. It reports whether they are all there.
func (t *tree) renew(v *View, k *kind, c *changes, from, to int64) bool {
	// What the changes lead to lies all over the memory. All of it is read before
	// any is used, so that the processor waits for many places at once.
	var news [64]struct {
		slot int
		s    *posted
	}
	for from < to {
		n := 0
		for ; from < to && n < len(news); from++ {
			if from-c.first == int64(len(c.list)) {
				if c = c.next.Load(); c == nil {
					return false
				}
			}
			slot := int(c.list[from-c.first].slot)
			news[n].slot = slot
			news[n].s = nil
			if slot < v.size { // else the view is older than the node
				news[n].s = v.nodes.at(slot)
			}
			n++
		}
		changed, touched := 0, int32(0)
		for i := range n {
			x := news[i]
			id := uint32(0)
			if x.s != nil {
				id = x.s.id
			}
			touched += t.blocks[t.first+x.slot>>leafBits].slot
			if t.leaves[x.slot].id != id {
				news[changed] = x
				changed++
			}
		}
		t.touched = touched // else the compiler leaves the reads out
		for _, x := range news[:changed] {
			l := &t.leaves[x.slot]
			switch {
			case x.s == nil:
				t.count(l, -1)
				*l = leaf{kind: kinds}
			case x.s.id == l.id:
				continue // it has changed more than once
			default:
				t.count(l, -1)
				t.answer(x.slot, x.s, k)
				if l.flags&flagBound != 0 && !l.behind(x.slot, &t.blocks[1]) {
					t.ask(x.slot, x.s, k) // it is next to be asked
				}
			}
			t.climb(x.slot)
		}
	}
	return true
}

// count enters a refusal in the counts, or takes it out.
func (t *tree) count(l *leaf, by int32) {
	if l.kind == None || l.kind == kinds {
		return
	}
	t.counts[l.kind] += by
	if l.flags&flagEvict != 0 {
		t.evict += by
	}
	if l.flags&flagOdd != 0 {
		t.odd += by
	}
}

// answer fills in a leaf: with the answer of the policy or, where that would cost
// a valuation, a bound for it.
func (t *tree) answer(slot int, s *posted, k *kind) {
	l := &t.leaves[slot]
	l.id = s.id
	switch p, ok := k.policy.(*ValuePolicy); {
	case !ok:
		t.ask(slot, s, k)
	default:
		if r := t.fitting.fits(s, &k.task); r.Kind != None {
			l.set(Choice{Refusal: r})
		} else {
			l.kind, l.flags, l.score = None, flagBound, p.atMost(s, &k.task, k.part)
		}
	}
	t.count(l, 1)
}

func (l *leaf) set(c Choice) {
	l.score, l.gpus, l.start, l.kind, l.flags = c.Score, c.Spot.GPUs, uint8(c.Spot.Start), c.Refusal.Kind, 0
	if c.Refusal.Evictable {
		l.flags = flagEvict
	}
	switch {
	case l.kind >= kinds:
		l.kind, l.flags = BadShape, l.flags|flagOdd
	case l.kind == None && l.choice() != c:
		l.flags = flagOdd
	}
}

// ask puts the answer of the policy into a leaf.
func (t *tree) ask(slot int, s *posted, k *kind) {
	l := &t.leaves[slot]
	same := &t.alike[s.id&(1<<alikeBits-1)]
	if s.again { // else there is none to look for, far away in memory
		if like := &t.leaves[*same]; int(*same) != slot && like.id == s.id && like.flags&flagBound == 0 {
			*l = *like
			return
		}
	}
	*same = int32(slot)
	p, ok := k.policy.(*ValuePolicy)
	if !ok {
		l.set(k.policy.Choose(s.node, &k.task))
		return
	}
	value := t.memory.values[k.part]
	l.set(p.best(s.node, &k.task, value, s.worth[k.part], l.score, &t.scratch)) // the score is a bound
}

// climb finds what is best above a leaf that has changed.
func (t *tree) climb(slot int) {
	i := t.first + slot>>leafBits
	l, b := &t.leaves[slot], &t.blocks[i]
	if int(b.slot) != slot && (l.kind != None || l.behind(slot, b)) {
		return // it was not the best of its block, and is not
	}
	for ; i > 0; i /= 2 {
		x := t.best(i)
		if x == t.blocks[i] && int(x.slot) != slot {
			return
		}
		t.blocks[i] = x
	}
}

// behind reports whether the best of a part of the tree beats a leaf.
func (l *leaf) behind(slot int, b *best) bool {
	return b.slot >= 0 && (l.score < b.score || l.score == b.score && slot > int(b.slot))
}

// best returns the best leaf below a place of the tree.
func (t *tree) best(i int) best {
	x := best{slot: -1}
	if i < t.first {
		a, b := &t.blocks[2*i], &t.blocks[2*i+1]
		if b.slot >= 0 && (a.slot < 0 || b.score > a.score) {
			return *b
		}
		return *a
	}
	from := (i - t.first) << leafBits
	for slot := from; slot < min(from+1<<leafBits, len(t.leaves)); slot++ {
		if l := &t.leaves[slot]; l.kind == None && (x.slot < 0 || l.score > x.score) {
			x = best{l.score, int32(slot)}
		}
	}
	return x
}

// atMost returns a bound for the score of a task that fits: a state is worth no
// more than what is left, so no choice strands less than minus what the node has
// left and is worth nothing. Where no task adds to the value of a node, none
// strands less than minus what it takes.
func (p *ValuePolicy) atMost(s *posted, t *Task, part int) int64 {
	fragment := int64(s.left)*p.value.Scale() - s.worth[part]
	if t.Shape.Profile == "" && shrinks(p.value) {
		fragment = min(fragment, t.Shape.TotalMilli()*p.value.Scale())
	}
	steps := floorDiv(fragment, p.quantum) << orderBits
	switch p.ranks {
	case noRank:
		return steps
	case smallestRank:
		rank := int64(fragmentation.MostGPUs-len(s.node.state.GPUs)) << 17
		if t.Shape.GPUs == 1 {
			rank |= 1<<17 - 1
		}
		return steps + rank
	default:
		if steps > math.MaxInt64-(1<<orderBits-1) {
			return math.MaxInt64
		}
		return steps + 1<<orderBits - 1
	}
}
