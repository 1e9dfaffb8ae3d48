package placement

import (
	"cmp"
	"slices"

	"github.com/gpushare/gpushare/fragmentation"
)

// Rescue is the way in which a refused task finds room: the moves, and then the
// site for it.
type Rescue struct {
	Moves []Move
	Site
}

// Admit looks for moves that make room for a task which the policy refuses. The
// task itself is not placed. It changes nothing; the budget must pay for the
// moves. A task that fits as it is needs none.
//
// Tried are, in this order: one or more tasks that go elsewhere, those first that
// are fewest and smallest; and two tasks of equal GPU share and unlike CPU that
// change places, where only CPU or main memory is lacking.
func (r *Repairer) Admit(t *Task) (Rescue, bool) {
	if t.Shape.Validate() != nil || t.ID == "" || r.cluster.Locate(t.ID) != nil {
		return Rescue{}, false
	}
	r.look()
	plain := trial{r: r}
	if at, choice := plain.choose(t); at >= 0 {
		return Rescue{Site: Site{r.cluster.nodes[at].Name(), choice.Spot}}, true
	}
	most := min(r.rule.Moves, r.Spare())
	if r.rule.Least > 0 {
		most = int(min(int64(most), r.asked(t)/r.rule.Least))
	}
	if most < 1 {
		return Rescue{}, false
	}
	if failed, known := r.known.failed[t.Shape]; known && most <= failed {
		return Rescue{}, false
	}
	found, ok := r.search(t, most)
	if !ok {
		r.known.failed[t.Shape] = most
	}
	return found, ok
}

func (r *Repairer) search(t *Task, most int) (Rescue, bool) {
	looks := r.rule.Looks
	if t.Shape.Profile != "" {
		return r.evictInstances(t, most, &looks)
	}
	lacking := r.lacking(t)
	if found, ok := r.evict(t, lacking, &looks); ok {
		return found, true
	}
	if most >= 2 {
		looks = r.rule.Looks
		return r.exchange(t, lacking, &looks)
	}
	return Rescue{}, false
}

// asked returns the milli-GPU that a task asks for, a MIG instance on the GPU where
// that is most.
func (r *Repairer) asked(t *Task) int64 {
	if t.Shape.Profile == "" {
		return t.Shape.TotalMilli()
	}
	most := int64(0)
	for _, n := range r.cluster.nodes {
		for j := range n.empty.state.GPUs {
			g := &n.empty.state.GPUs[j]
			if p, ok := offer(g, &t.Shape); ok {
				most = max(most, fragmentation.SliceMilli(p.Size, g.Layout.Model().MemorySlices()))
			}
		}
	}
	return most
}

// rescues keeps the best of the rescues that a search finds: the one that leaves
// most worth, and without a worth the first.
type rescues struct {
	best  Rescue
	worth int64
	found bool
}

// add takes a rescue with the trial that it ends in, and reports whether the
// search can end.
func (s *rescues) add(found Rescue, after *trial) (enough bool) {
	worth := after.r.rule.Worth
	if worth == nil {
		s.best, s.found = found, true
		return true
	}
	gain := int64(0)
	for _, c := range after.changed {
		gain += worth(&c.node.state) - worth(&after.r.cluster.nodes[c.index].state)
	}
	if after.r.rule.Keep && gain < 0 {
		return false
	}
	if !s.found || gain > s.worth {
		s.best, s.worth, s.found = found, gain, true
	}
	return false
}

// shortage is what a node lacks of a task that it could take if it were empty.
type shortage struct {
	index       int
	gpu         bool  // the GPUs do not suffice
	cpu, memory int64 // lacking
}

// lacking lists the nodes that a task could go to, those first whose GPUs
// suffice, by what they lack.
func (r *Repairer) lacking(t *Task) []shortage {
	var all []shortage
	shape := &t.Shape
	for i, n := range r.cluster.nodes {
		if refusal(&n.empty.state, shape) != None {
			continue
		}
		taking := 0
		for j := range n.state.GPUs {
			if n.state.GPUs[j].Takes(shape) {
				taking++
			}
		}
		all = append(all, shortage{
			i, taking < shape.GPUs, max(0, shape.CPU-n.state.CPU), max(0, shape.Memory-n.state.Memory),
		})
	}
	slices.SortStableFunc(all, func(a, b shortage) int {
		if a.gpu != b.gpu {
			if a.gpu {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(a.cpu, b.cpu), cmp.Compare(a.memory, b.memory))
	})
	return all
}

// evict looks for one task whose going elsewhere makes room.
func (r *Repairer) evict(t *Task, lacking []shortage, looks *int) (Rescue, bool) {
	var all rescues
	for _, lack := range lacking {
		n := r.cluster.nodes[lack.index]
		var fitting []*placed
		for _, x := range r.on(lack.index) {
			if x.Task.Shape.CPU >= lack.cpu && x.Task.Shape.Memory >= lack.memory &&
				(!lack.gpu || freesEnough(&n.state, &t.Shape, &x.Task.Shape, x.spot)) {
				fitting = append(fitting, x)
			}
		}
		slices.SortStableFunc(fitting, func(a, b *placed) int {
			return cmp.Or(
				cmp.Compare(a.Task.Shape.TotalMilli(), b.Task.Shape.TotalMilli()),
				cmp.Compare(a.Task.Shape.CPU, b.Task.Shape.CPU),
			)
		})
		for _, x := range fitting {
			if r.stuck(x) && (!lack.gpu || !roomBeside(&n.state, x)) {
				continue
			}
			if *looks--; *looks < 0 {
				return all.best, all.found
			}
			if r.displace(&all, t, lack.index, []*placed{x}, nil) {
				return all.best, true
			}
		}
	}
	return all.best, all.found
}

// roomBeside reports whether another GPU of the node has what a task holds on one.
func roomBeside(s *fragmentation.State, x *placed) bool {
	if x.Task.Shape.GPUs != 1 {
		return false
	}
	for i := range s.GPUs {
		if !x.spot.GPUs.Has(i) && takes(&s.GPUs[i], &x.Task.Shape) {
			return true
		}
	}
	return false
}

// freesEnough reports whether the GPUs suffice for a shape once a task of
// another has left its spot.
func freesEnough(s *fragmentation.State, shape, leaving *fragmentation.Shape, spot Spot) bool {
	taking := 0
	for i := range s.GPUs {
		g := s.GPUs[i]
		if spot.GPUs.Has(i) && !g.Cut() {
			g.Milli += leaving.Milli
			g.Memory += leaving.DeviceMemory
			if leaving.Milli == fragmentation.Whole {
				g.Memory = max(g.Memory, shape.DeviceMemory) // of an empty GPU: looked at later
			}
		}
		if g.Takes(shape) {
			taking++
		}
	}
	return taking >= shape.GPUs
}

// displace tries a rescue on a node: tasks leave it, the refused one comes in (at
// a spot, or where the policy says), and the others go where the policy says, the
// largest first. It reports whether the search can end.
func (r *Repairer) displace(all *rescues, t *Task, index int, leaving []*placed, at *Spot) bool {
	n := r.cluster.nodes[index]
	for _, x := range leaving {
		n = n.Without(x.Task.ID)
	}
	var spot Spot
	if at != nil {
		spot = *at
	} else {
		choice := r.policy.Choose(n, t)
		if !choice.OK() {
			return false
		}
		spot = choice.Spot
	}
	n, err := n.With(Assignment{*t, spot})
	if err != nil {
		return false
	}
	now := trial{r: r}
	now.set(index, n)
	going := make([]relocation, len(leaving))
	for i, x := range leaving {
		to, choice := now.choose(&x.Task)
		if to < 0 {
			return false
		}
		next, err := now.node(to).With(Assignment{x.Task, choice.Spot})
		if err != nil {
			return false
		}
		now.set(to, next)
		going[i] = relocation{x.Task, index, to, x.Spot, choice.Spot}
	}
	moves, ok := r.inOrder(going)
	return ok && all.add(Rescue{moves, Site{n.Name(), spot}}, &now)
}
