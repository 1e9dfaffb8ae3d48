package placement

import (
	"cmp"
	"slices"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
)

// place finds spots for the tasks from k on.
func (s *settling) place(k int) verdict {
	if k == len(s.tasks) {
		return settled
	}
	if s.hopeless(k) {
		return noRoom
	}
	t := &s.tasks[k]
	first := len(s.pool)
	s.candidates(t)
	answer, tried := noRoom, first
	for ; tried < len(s.pool); tried++ {
		if s.steps <= 0 {
			answer = gaveUp
			break
		}
		s.steps--
		t.spot = s.pool[tried].spot
		s.apply(t)
		if answer = s.place(k + 1); answer == settled {
			return settled
		}
		s.revert(t)
		if answer == gaveUp {
			break
		}
		*s.ban(t, t.spot.GPUs.First()) |= mig.MaskOf(t.spot.Start)
	}
	for _, c := range s.pool[first:tried] {
		*s.ban(t, c.spot.GPUs.First()) &^= mig.MaskOf(c.spot.Start)
	}
	s.pool = s.pool[:first]
	return answer
}

func (s *settling) ban(t *floating, gpu int) *mig.Mask {
	return &s.banned[t.group*len(s.state.GPUs)+gpu]
}

func (s *settling) apply(t *floating) {
	for i := range t.spot.GPUs.All() {
		s.undo = append(s.undo, s.state.GPUs[i])
	}
	applyGPUs(&s.state, &t.shape, t.spot)
}

func (s *settling) revert(t *floating) {
	from := len(s.undo) - t.spot.GPUs.Len()
	k := from
	for i := range t.spot.GPUs.All() {
		s.state.GPUs[i] = s.undo[k]
		k++
	}
	s.undo = s.undo[:from]
}

// hopeless reports whether the tasks from k on cannot all find room, as sums
// tell: of shares, of device memory, of slices and, for the groups, of how many
// of their kind each GPU could take by itself.
func (s *settling) hopeless(k int) bool {
	n := &s.tasks[k].need
	share, device, slices := int64(0), int64(0), int64(0)
	for i := range s.state.GPUs {
		switch g := &s.state.GPUs[i]; {
		case g.Cut():
			slices += g.Left()
		case g.Milli >= n.smallest: // what is left on others is of no use
			share += g.Milli
			device += g.Memory
		}
	}
	if share < n.share || device < n.device || slices < n.slices {
		return true
	}
	// The room of later groups shrinks with each task of this one, but asking
	// once per group finds most of what there is to find.
	last := s.tasks[k].end
	if k == 0 || s.tasks[k-1].end == k {
		last = len(s.tasks)
	}
	for ; k < last; k = s.tasks[k].end {
		t := &s.tasks[k]
		if room := s.room(&t.shape); room < int64(t.end-k)*int64(t.shape.GPUs) {
			return true
		}
	}
	return false
}

// room returns on how many GPUs of the node, each as often as it could take the
// shape by itself, the shape finds its share.
func (s *settling) room(shape *fragmentation.Shape) int64 {
	room := int64(0)
	for i := range s.state.GPUs {
		g := &s.state.GPUs[i]
		if p, ok := offer(g, shape); ok {
			room += int64(g.Layout.Remaining(p))
		} else if g.Takes(shape) {
			times := g.Milli / shape.Milli
			if shape.DeviceMemory > 0 {
				times = min(times, g.Memory/shape.DeviceMemory)
			}
			room += times
		}
	}
	return room
}

// candidates adds the spots of a task to the pool: the tightest GPU first, and on
// a cut GPU the start that leaves most free pairs.
func (s *settling) candidates(t *floating) {
	first := len(s.pool)
	if t.shape.Milli == fragmentation.Whole {
		if set := wholeGPUs(&s.state, &t.shape); set.Len() == t.shape.GPUs {
			s.pool = append(s.pool, candidate{spot: Spot{GPUs: set}})
		}
		return
	}
	for i := range s.state.GPUs {
		g := &s.state.GPUs[i]
		free := s.free(t, i)
		for j := 0; j < i && free != 0; j++ {
			if s.state.GPUs[j] == *g {
				free &^= s.free(t, j)
			}
		}
		for start := range free.All() {
			s.pool = append(s.pool, candidate{Spot{GPUs: 1 << i, Start: start}, g.Left(), g.Memory, pairsAfter(g, &t.shape, start)})
		}
	}
	slices.SortStableFunc(s.pool[first:], func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.memory, b.memory), cmp.Compare(b.pairs, a.pairs))
	})
}

// free returns the starts on GPU i that a task may be tried at.
func (s *settling) free(t *floating, i int) mig.Mask {
	g := &s.state.GPUs[i]
	free := starts(g, &t.shape)
	if g.Takes(&t.shape) {
		free = 1
	}
	return free &^ *s.ban(t, i)
}
