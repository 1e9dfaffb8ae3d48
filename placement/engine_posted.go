package placement

import (
	"slices"

	"github.com/gpushare/gpushare/fragmentation"
)

// posted is a node in a View, with what most decisions need of it in one line of
// the cache.
type posted struct {
	node     *Node
	worth    [2]int64 // by part that decides by value: what the state is worth
	cpu      int64
	memory   int64
	left     int32  // milli-GPU
	id       uint32 // equal numbers say equal answers; not 0
	capacity uint8  // number of the capacity, or unnumbered
	model    uint8  // number of the GPU model, or unnumbered
	whole    uint8  // uncut GPUs that nobody uses
	uncut    bool   // whether there are uncut GPUs
	most     int16  // most milli-GPU left on one of them
	again    bool   // whether the number was given before
}

const unnumbered = 0

// stand returns a node as it stands in a view. It is for the writer.
func (m *memory) stand(n *Node) *posted {
	s := &posted{node: n, cpu: n.state.CPU, memory: n.state.Memory, left: int32(n.state.Left())}
	for i := range n.state.GPUs {
		if g := &n.state.GPUs[i]; !g.Cut() {
			s.uncut = true
			s.most = max(s.most, int16(g.Milli))
			if g.Milli == fragmentation.Whole {
				s.whole++
			}
		}
	}
	s.model = numberOf(&m.models, n.state.Model, func(a, b string) bool { return a == b })
	s.capacity = numberOf(&m.capacities, n.empty, func(a, b *Node) bool { return a == b || a.state.Equal(&b.state) })
	s.id, s.again = m.number(n, s.capacity)
	for i, v := range m.values {
		switch {
		case v == nil:
		case i == 1 && v == m.values[0]:
			s.worth[1] = s.worth[0]
		default:
			v.learn(n.state.Model)
			s.worth[i] = v.Of(&n.state)
		}
	}
	return s
}

// cutAnew returns the GPUs that have another layout than before; all where there
// are more or fewer of them.
func cutAnew(before, after *posted) GPUSet {
	if before == nil || after == nil || len(before.node.state.GPUs) != len(after.node.state.GPUs) {
		return allGPUs
	}
	var set GPUSet
	for i := range after.node.state.GPUs {
		if before.node.state.GPUs[i].Layout != after.node.state.GPUs[i].Layout {
			set |= 1 << i
		}
	}
	return set
}

const allGPUs = ^GPUSet(0)

// numberOf returns the number, from 1 on, of something in a list, to which it is
// added; unnumbered where there are too many.
func numberOf[T any](list *[]T, x T, equal func(a, b T) bool) uint8 {
	i := slices.IndexFunc(*list, func(y T) bool { return equal(x, y) })
	if i < 0 {
		if len(*list) == mostNumbered {
			return unnumbered
		}
		i = len(*list)
		*list = append(*list, x)
	}
	return uint8(i + 1)
}

const mostNumbered = 64 // bits of a word

// fitting answers for a kind of task what Node.Fits does.
type fitting struct {
	shape    *fragmentation.Shape
	plain    bool      // decided by what a posted node says
	accepted [2]uint64 // by number of the model: known, accepted
	lasting  [2]uint64 // by number of the capacity: known, fits an empty node
}

func newFitting(shape *fragmentation.Shape) fitting {
	return fitting{shape: shape, plain: wellFormed(shape) && shape.Profile == "" && shape.DeviceMemory == 0}
}

func (f *fitting) fits(s *posted, t *Task) Refusal {
	if !f.plain || s.capacity == unnumbered || s.model == unnumbered {
		return s.node.Fits(t)
	}
	kind := f.kind(s)
	if kind == None {
		return Refusal{}
	}
	bit := uint64(1) << (s.capacity - 1)
	if f.lasting[0]&bit == 0 {
		f.lasting[0] |= bit
		if refusal(&s.node.empty.state, f.shape) == None {
			f.lasting[1] |= bit
		}
	}
	return Refusal{Kind: kind, Evictable: f.lasting[1]&bit != 0}
}

func (f *fitting) kind(s *posted) Kind {
	shape := f.shape
	if shape.GPUs > 0 {
		bit := uint64(1) << (s.model - 1)
		if f.accepted[0]&bit == 0 {
			f.accepted[0] |= bit
			if shape.Models.Accept(s.node.state.Model) {
				f.accepted[1] |= bit
			}
		}
		switch {
		case !s.uncut:
			return NoGPU
		case f.accepted[1]&bit == 0:
			return WrongModel
		}
	}
	switch {
	case s.cpu < shape.CPU:
		return LackCPU
	case s.memory < shape.Memory:
		return LackMemory
	case int64(s.most) < shape.Milli || shape.GPUs > 1 && int(s.whole) < shape.GPUs:
		return LackGPU
	default:
		return None
	}
}
