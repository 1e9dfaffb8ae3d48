package placement

import (
	"sync/atomic"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
)

// Bounds of what an engine remembers.
const (
	memoryBytes = 256 << 20 // of trees
	leafBytes   = 32        // a leaf and its share of the tree above
	kindSets    = 1 << 8
	kindWays    = 8 // kinds that a hash leads to
)

// memory is what the decisions of an engine remember, for one policy and one
// numbering of nodes. Readers share it without a lock: the table of kinds is
// replaced word by word, and a tree belongs to one goroutine at a time.
type memory struct {
	policy  Policy
	perTask bool
	parts   [2]Policy      // what decides about other tasks, and about requests for MIG instances
	values  [2]*remembered // of parts by value, else nil
	alike   bool           // equal states of equal capacity get equal answers
	blind   [2]bool        // by part: main memory plays no part in scores
	kinds   [kindSets]kindSet
	boards  boards
	room    int // slots for which the memory was made

	trees     atomic.Int64 // in all seats of all kinds
	mostTrees int64

	// Of the writer.
	oldest     *changes // that are not cut off
	ids        uint32
	states     map[uint64]numbered
	capacities []*Node // of the nodes, by number from 1 on
	models     []string
}

// numbered is a state that was given a number.
type numbered struct {
	node *Node
	id   uint32
}

// kindSet holds the kinds of one hash, in no order.
type kindSet [kindWays]atomic.Pointer[kind]

func newMemory(p Policy, nodes int) *memory {
	m := &memory{policy: p, perTask: perTask(p), alike: stateOnly(p), states: map[uint64]numbered{}}
	m.parts = [2]Policy{partOf(p, false), partOf(p, true)}
	m.room = 2*nodes + 64
	m.mostTrees = int64(max(memoryBytes/leafBytes/(nodes+nodes/4+2), 1))
	for i, part := range m.parts {
		m.blind[i] = m.alike && blind(part)
		p, ok := part.(*ValuePolicy)
		if !ok {
			continue
		}
		if i == 1 && part == m.parts[0] {
			m.values[1] = m.values[0]
			continue
		}
		m.values[i] = newRemembered(p.value, nodes)
	}
	return m
}

// outgrown reports whether a list of so many slots and nodes wants a new memory:
// there are too many, or most are of nodes that are gone, or numbers run out.
func (m *memory) outgrown(slots, nodes int) bool {
	return slots > m.room || slots > 2*nodes+64 || m.ids > 1<<32-1<<16
}

// partOf returns the policy that decides about the tasks that ask for a MIG
// instance, or about the others.
func partOf(p Policy, instances bool) Policy {
	s, ok := p.(splitMIG)
	switch {
	case !ok:
		return p
	case instances:
		return partOf(s.instances, true)
	default:
		return partOf(s.others, false)
	}
}

// number returns a number that no other view has, or only views that answer
// alike; again tells the latter. Numbers are never given to others, so what is
// remembered of one stays true.
func (m *memory) number(n *Node, capacity uint8) (id uint32, again bool) {
	if !m.alike {
		m.ids++
		return m.ids, false
	}
	h := hashState(&n.state, 0)
	h = mixBits(h + uint64(capacity))
	if is, found := m.states[h]; found && sameStates(is.node, n) {
		return is.id, true
	}
	if len(m.states) > 2*m.room {
		clear(m.states) // later views share no number with these: that costs time only
	}
	m.ids++
	m.states[h] = numbered{n, m.ids}
	return m.ids, false
}

func sameStates(a, b *Node) bool {
	return a == b || a.state.Equal(&b.state) && (a.empty == b.empty || a.empty.state.Equal(&b.empty.state))
}

func hashState(s *fragmentation.State, h uint64) uint64 {
	h = mixBits(h + uint64(s.CPU))
	h = hash(mixBits(h+uint64(s.Memory)), s.Model)
	for i := range s.GPUs {
		h = mixBits(h + hashGPU(&s.GPUs[i]))
	}
	return h
}

func hashGPU(g *fragmentation.GPU) uint64 {
	if !g.Cut() {
		return uint64(g.Milli) ^ uint64(g.Memory)<<12
	}
	h := uint64(g.Layout.Used())
	for start := range mig.MaxUnits {
		if in, ok := g.Layout.At(start); ok {
			h = h<<7 ^ h>>50 ^ uint64(in.Profile[0])<<8 ^ uint64(len(in.Profile))<<4 ^ uint64(start)
		}
	}
	return h
}
