package placement

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gpushare/gpushare/fragmentation"
)

// settle makes the state what is left with all tasks, and reports whether it
// found room for all those that are placed anywhere. They are taken the largest
// first, each to the tightest spot, and spots are tried again in order where
// that ends nowhere. So the state depends on the tasks alone, not on the order
// in which they came and went, and Without undoes With.
//
// The search gives up after so many steps besides one for each task, and tries
// a task of several GPUs on one set of them; up to there it is exact. Nodes with
// few such tasks never reach its bound.
func (n *Node) settle(steps int) bool {
	var s settling
	for i := range n.tasks {
		if n.tasks[i].Spot.Anywhere {
			s.tasks = append(s.tasks, &n.tasks[i])
		}
	}
	if s.tasks == nil {
		n.state = n.known
		return true
	}
	n.known.CopyTo(&s.state)
	slices.SortStableFunc(s.tasks, func(a, b *placed) int {
		return cmp.Or(
			cmp.Compare(s.size(b), s.size(a)),
			cmp.Compare(b.Task.Shape.DeviceMemory, a.Task.Shape.DeviceMemory),
			cmp.Compare(a.Task.Shape.Profile, b.Task.Shape.Profile),
		)
	})
	s.spots = make([]Spot, len(s.tasks))
	s.steps = steps + len(s.tasks)
	if !s.place(0) {
		return false
	}
	for k, p := range s.tasks {
		p.spot = s.spots[k]
	}
	n.state = s.state
	return true
}

// settleSteps bounds the search in use.
const settleSteps = 2000

// settling is a search for the spots of the tasks placed anywhere.
type settling struct {
	tasks []*placed
	spots []Spot // of the tasks, as far as they are placed
	state fragmentation.State
	steps int // left
}

// size returns the milli-GPU that a task takes at most.
func (s *settling) size(p *placed) int64 {
	most := p.Task.Shape.Demand()
	for i := range s.state.GPUs {
		if _, ok := offer(&s.state.GPUs[i], &p.Task.Shape); ok {
			most = max(most, demand(&s.state, &p.Task.Shape, Spot{GPUs: 1 << i}))
		}
	}
	return most
}

// place finds spots for the tasks from k on.
func (s *settling) place(k int) bool {
	if k == len(s.tasks) {
		return true
	}
	shape := &s.tasks[k].Task.Shape
	for _, spot := range s.candidates(shape) {
		if s.steps <= 0 {
			return false
		}
		s.steps--
		before := slices.Clone(s.state.GPUs)
		applyGPUs(&s.state, shape, spot)
		if s.spots[k] = spot; s.place(k + 1) {
			return true
		}
		s.state.GPUs = before
	}
	return false
}

// candidates returns the spots for a shape, the tightest GPU first, and on a cut
// GPU the start that the driver would choose first. What CPU and memory the task
// takes is booked already.
func (s *settling) candidates(shape *fragmentation.Shape) []Spot {
	gpuPart := *shape
	gpuPart.CPU, gpuPart.Memory = 0, 0
	if refusal(&s.state, &gpuPart) != None {
		return nil
	}
	type ranked struct {
		spot        Spot
		left, pairs int64
	}
	var all []ranked
	c := cursor{state: &s.state, shape: &gpuPart}
	for spot, ok := c.next(); ok; spot, ok = c.next() {
		g := &s.state.GPUs[spot.GPUs.First()]
		r := ranked{spot: spot, left: g.Left()}
		if p, ok := offer(g, shape); ok {
			if after, err := g.Layout.With(p, spot.Start); err == nil {
				r.pairs = int64(after.FreePairs())
			}
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(b.pairs, a.pairs))
	})
	spots := make([]Spot, len(all))
	for i := range all {
		spots[i] = all[i].spot
	}
	return spots
}

// keep is settle for where the search found nothing: every task stays where it
// was in the view before, and task i comes in beside them.
func (n *Node) keep(before *Node, i int) error {
	n.state = fragmentation.State{}
	before.state.CopyTo(&n.state)
	p := &n.tasks[i]
	if p.Spot.Anywhere {
		kind := refusal(&n.state, &p.Task.Shape)
		if kind != None {
			return &RefusedError{Kind: kind, GPU: -1}
		}
		p.spot = plainSpot(&n.state, &p.Task.Shape, tightest)
	}
	if err := take(&n.state, &p.Task.Shape, p.spot); err != nil {
		return fmt.Errorf("no other room for the tasks placed anywhere: %w", err)
	}
	return nil
}
