package placement

import (
	"math/bits"
	"slices"

	"github.com/gpushare/gpushare/fragmentation"
)

// ranking is the order of the classes of a board for a shape.
type ranking struct {
	rater gpuRater
	kind  *kind               // the last one that asked
	shape fragmentation.Shape // without CPU and main memory, which are the node's
	order []uint16            // the classes that take it, the largest score first
	ends  []int               // by place in the order: the first place of a lower score
	rank  []uint16            // by class: its place in the order, or unfit
	score []int64             // by class
	start []uint8             // by class
	there []uint64            // by place: whether any node has a GPU of the class
}

const unfit = 1<<16 - 1

// ranking returns the ranking of a kind of task.
func (b *board) ranking(k *kind) *ranking {
	for _, r := range b.rankings {
		if r.kind == k {
			return r
		}
	}
	shape := k.task.Shape
	shape.CPU, shape.Memory = 0, 0
	for _, r := range b.rankings {
		if r.shape == shape {
			r.kind = k
			return r
		}
	}
	r := &ranking{rater: k.policy.(gpuRater), kind: k, shape: shape} // a kind that is decided by GPU has one
	for c := range b.list {
		r.rate(b, uint16(c))
	}
	r.sort(b)
	if len(b.rankings) < mostRankings {
		b.rankings = append(b.rankings, r)
	} else {
		b.rankings[b.oldest] = r
		b.oldest = (b.oldest + 1) % mostRankings
	}
	return r
}

// add ranks a class that is new to the board.
func (r *ranking) add(b *board, c uint16) {
	before := len(r.order)
	r.rate(b, c)
	if len(r.order) > before {
		r.sort(b)
	}
}

// rate appends a class.
func (r *ranking) rate(b *board, c uint16) {
	start, score, ok := 0, int64(0), false
	if l := &b.list[c]; c != noClass && r.shape.Models.Accept(l.model) {
		start, score, ok = r.rater.rateGPU(l.model, l.gpus, &fragmentation.GPU{Layout: l.layout}, &r.shape)
	}
	r.rank = append(r.rank, unfit)
	r.score = append(r.score, score)
	r.start = append(r.start, uint8(start))
	if !ok {
		return
	}
	at, _ := slices.BinarySearchFunc(r.order, score, func(x uint16, score int64) int {
		if r.score[x] >= score {
			return -1
		}
		return 1
	})
	r.order = slices.Insert(r.order, at, c)
}

// sort makes the rest what the order says.
func (r *ranking) sort(b *board) {
	r.ends = slices.Grow(r.ends[:0], len(r.order))[:len(r.order)]
	r.there = slices.Grow(r.there[:0], len(r.order)/64+1)[:len(r.order)/64+1]
	clear(r.there)
	for i, c := range slices.Backward(r.order) {
		r.rank[c] = uint16(i)
		r.ends[i] = i + 1
		if i+1 < len(r.order) && r.score[r.order[i+1]] == r.score[c] {
			r.ends[i] = r.ends[i+1]
		}
		if b.list[c].first != none {
			r.there[i>>6] |= 1 << (i & 63)
		}
	}
}

// next returns the first place from i on that any node has a GPU for; at least
// the length of the order if there is none.
func (r *ranking) next(i int) int {
	for w := i >> 6; w < len(r.there); w++ {
		there := r.there[w]
		if w == i>>6 {
			there &= ^uint64(0) << (i & 63)
		}
		if there != 0 {
			return w<<6 + bits.TrailingZeros64(there)
		}
	}
	return len(r.order)
}
