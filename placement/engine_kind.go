package placement

import (
	"sync/atomic"

	"github.com/gpushare/gpushare/fragmentation"
)

// kind is a Task without its ID, with the trees that remember the answers about
// it.
type kind struct {
	task   Task
	policy Policy
	part   int
	byGPU  bool // decided from lists of GPUs
	hash   uint64
	asked  atomic.Int64 // the latest version that was asked about
	gone   atomic.Bool  // no longer in the table
	trees  atomic.Int64 // in the seats, or about to be
	passes atomic.Int64 // decisions to be made without a board
	seats  [mostTrees]seat
}

// mostTrees is how many goroutines find a tree of their own at one time.
const mostTrees = 16

// seat holds a tree, and is busy while a goroutine uses it. A goroutine whose
// policy panics leaves its seat busy, so that nobody meets the tree in between.
type seat struct {
	busy atomic.Bool
	tree *tree
	_    [48]byte // no two in one cache line
}

func (s *seat) take() bool { return !s.busy.Load() && s.busy.CompareAndSwap(false, true) }

// kind returns the kind of a shape, which it makes if there is none. Where there
// are too many, one of those asked for longest ago goes.
func (m *memory) kind(shape *fragmentation.Shape, version int64) *kind {
	h := hashShape(shape)
	set := &m.kinds[h%kindSets]
	for {
		oldest, at := int64(0), -1
		var old *kind
		for i := range set {
			k := set[i].Load()
			if k == nil {
				old, at = nil, i
				break
			}
			if k.hash == h && k.task.Shape == *shape {
				if k.asked.Load() < version {
					k.asked.Store(version)
				}
				return k
			}
			if asked := k.asked.Load(); at < 0 || asked < oldest {
				oldest, at, old = asked, i, k
			}
		}
		k := m.newKind(*shape, h, version)
		if set[at].CompareAndSwap(old, k) {
			if old != nil {
				old.gone.Store(true)
				old.drop(m)
			}
			return k
		}
	}
}

func (m *memory) newKind(shape fragmentation.Shape, h uint64, version int64) *kind {
	k := &kind{task: Task{Shape: shape}, hash: h, part: partIndex(&shape)}
	k.policy = m.parts[k.part]
	k.asked.Store(version)
	if r, ok := k.policy.(gpuRater); ok && stateOnly(k.policy) { // else one that is made of another policy
		k.byGPU = wellFormed(&k.task.Shape) && r.ratesGPUs(&k.task.Shape)
	}
	return k
}

// claim returns a tree that is the caller's until release; nil where all are
// taken and there can be no more.
func (k *kind) claim(m *memory) *tree {
	for i := range k.seats {
		s := &k.seats[i]
		if !s.take() {
			continue
		}
		if s.tree == nil {
			if !m.another(k) {
				s.busy.Store(false)
				return nil
			}
			s.tree = &tree{seat: i, memory: m}
		}
		return s.tree
	}
	return nil
}

func (k *kind) release(m *memory, t *tree) {
	k.seats[t.seat].busy.Store(false)
	if k.gone.Load() { // who made it so did not get at this seat
		k.drop(m)
	}
}

// drop frees the trees that nobody uses, and reports whether there were any.
func (k *kind) drop(m *memory) bool {
	dropped := false
	for i := range k.seats {
		if s := &k.seats[i]; s.take() {
			if s.tree != nil {
				s.tree = nil
				k.trees.Add(-1)
				m.trees.Add(-1)
				dropped = true
			}
			s.busy.Store(false)
		}
	}
	return dropped
}

// another books one more tree for a kind, and frees those of the kinds that were
// asked for longest ago if there are too many.
func (m *memory) another(k *kind) bool {
	for m.trees.Add(1) > m.mostTrees {
		m.trees.Add(-1)
		if !m.forget(k) {
			return false
		}
	}
	k.trees.Add(1)
	return true
}

// forget frees trees of the kind asked for longest ago that has any to spare.
func (m *memory) forget(but *kind) bool {
	for after, at := int64(-1), 0; ; {
		var oldest *kind
		asked, place := int64(0), 0
		for i := range kindSets * kindWays {
			k := m.kinds[i/kindWays][i%kindWays].Load()
			if k == nil || k == but || k.trees.Load() == 0 {
				continue
			}
			x := k.asked.Load()
			if tried := x < after || x == after && i <= at; !tried && (oldest == nil || x < asked) {
				oldest, asked, place = k, x, i
			}
		}
		if oldest == nil {
			return false
		}
		if oldest.drop(m) {
			return true
		}
		after, at = asked, place
	}
}

// partIndex returns which part of a policy decides about a shape.
func partIndex(s *fragmentation.Shape) int {
	if s.Profile != "" {
		return 1
	}
	return 0
}

func hashShape(s *fragmentation.Shape) uint64 {
	h := mixBits(uint64(s.CPU) + 1)
	h = mixBits(h + uint64(s.Memory))
	h = mixBits(h + uint64(s.Milli)<<7 + uint64(s.GPUs))
	h = mixBits(h + uint64(s.DeviceMemory))
	if s.Profile != "" {
		h = hash(h, s.Profile)
	}
	if s.Models != "" {
		h = hash(h, string(s.Models))
	}
	return h
}
