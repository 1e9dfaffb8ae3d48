package placement

import (
	"cmp"
	"slices"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
)

// verdict is what a search for spots found.
type verdict uint8

const (
	settled verdict = iota // spots for all
	noRoom                 // there are none, which is proven
	gaveUp                 // not known: the search reached its bound
)

// The bounds of the search, in spots tried: some milliseconds where one task
// comes or goes, and a fraction of a second where a node is rebuilt, which happens
// once and must not lose a task that runs.
const (
	settleSteps  = 2_000
	rebuildSteps = 200_000
)

// settle makes the state what is left with all tasks, if there is room for all
// those that are placed anywhere; else it changes nothing. They are taken the
// largest first, each to the tightest spot, and spots are tried again in order
// where that ends nowhere. So the state depends on the tasks alone, not on the
// order in which they came and went, and Without undoes With.
//
// The search gives up after so many steps besides one for each task, and takes
// what it used off them; up to there it is exact.
func (n *Node) settle(steps *int) verdict {
	var s settling
	for i := range n.tasks {
		if n.tasks[i].Spot.Anywhere {
			s.tasks = append(s.tasks, floating{placed: &n.tasks[i]})
		}
	}
	if s.tasks == nil {
		n.state, n.adrift = n.known, false
		return settled
	}
	n.known.CopyTo(&s.state)
	s.prepare()
	s.steps = *steps + len(s.tasks)
	answer := s.place(0)
	*steps = min(*steps, s.steps)
	if answer != settled {
		return answer
	}
	for i := range s.tasks {
		s.tasks[i].placed.spot = s.tasks[i].spot
	}
	n.state, n.adrift = s.state, false
	return settled
}

// settling is a search for the spots of the tasks placed anywhere.
//
// It is exact though it does not try everything. Equal GPUs are tried once.
// Equal tasks can change places, so where one of them found no answer at a spot
// none of the rest is tried there. Whole GPUs are those of least device memory:
// a GPU with more serves whatever one with less does.
type settling struct {
	tasks  []floating
	state  fragmentation.State
	steps  int         // left
	banned []mig.Mask  // by group and GPU: the starts not to try again; bit 0 on an uncut GPU
	pool   []candidate // the spots of the tasks under way, one after the other
	undo   []fragmentation.GPU
}

// floating is a task to find a spot for.
type floating struct {
	placed *placed
	shape  fragmentation.Shape // without CPU and main memory, which are booked already
	size   int64               // milli-GPU that it takes at most
	spot   Spot
	group  int // of tasks of one shape
	end    int // the first task after the group
	need   need
}

// need is what a task and those after it take at least.
type need struct {
	share    int64 // milli-GPU of uncut GPUs
	device   int64 // MiB of device memory of uncut GPUs
	smallest int64 // the least milli-GPU that one of them takes of an uncut GPU
	slices   int64 // milli-GPU of cut GPUs
}

// candidate is a spot with what ranks it.
type candidate struct {
	spot                Spot
	left, memory, pairs int64
}

// prepare brings the tasks in order and sums up what they need.
func (s *settling) prepare() {
	for i := range s.tasks {
		t := &s.tasks[i]
		t.shape = t.placed.Task.Shape
		t.shape.CPU, t.shape.Memory, t.shape.Models = 0, 0, ""
		t.size = s.most(&t.shape)
	}
	slices.SortFunc(s.tasks, func(a, b floating) int {
		return cmp.Or(
			cmp.Compare(b.size, a.size),
			cmp.Compare(b.shape.DeviceMemory, a.shape.DeviceMemory),
			cmp.Compare(a.shape.Profile, b.shape.Profile),
			cmp.Compare(a.placed.Task.ID, b.placed.Task.ID),
		)
	})
	groups := 0
	for i := range s.tasks {
		if i > 0 && s.tasks[i].shape != s.tasks[i-1].shape {
			groups++
		}
		s.tasks[i].group = groups
	}
	s.banned = make([]mig.Mask, (groups+1)*len(s.state.GPUs))
	after := need{smallest: fragmentation.Whole}
	for i := len(s.tasks) - 1; i >= 0; i-- {
		t := &s.tasks[i]
		t.end = i + 1
		if i+1 < len(s.tasks) && s.tasks[i+1].group == t.group {
			t.end = s.tasks[i+1].end
		}
		if t.shape.Profile != "" {
			after.slices += s.least(&t.shape)
		} else {
			after.share += t.shape.TotalMilli()
			after.device += t.shape.DeviceMemory * int64(t.shape.GPUs)
			after.smallest = min(after.smallest, t.shape.Milli)
		}
		t.need = after
	}
}

// most returns the milli-GPU that a shape takes at most on the node, least what
// it takes at least.
func (s *settling) most(shape *fragmentation.Shape) int64 {
	most := shape.TotalMilli()
	for i := range s.state.GPUs {
		if _, ok := offer(&s.state.GPUs[i], shape); ok {
			most = max(most, demand(&s.state, shape, Spot{GPUs: 1 << i}))
		}
	}
	return most
}

func (s *settling) least(shape *fragmentation.Shape) int64 {
	least := int64(fragmentation.Whole)
	for i := range s.state.GPUs {
		if _, ok := offer(&s.state.GPUs[i], shape); ok {
			least = min(least, demand(&s.state, shape, Spot{GPUs: 1 << i}))
		}
	}
	return least
}
