package placement

import (
	"fmt"
	"slices"

	"github.com/gpushare/gpushare/fragmentation"
)

// With returns the view with one more task. The error wraps ErrBadTask,
// ErrDuplicate, ErrBadSpot, ErrRefused (a *RefusedError; where the start of a MIG
// instance is taken, also the error of mig.Layout.With) or ErrGaveUp; the view is
// unchanged.
//
// Tasks placed anywhere stand on spots of the node's choice, which are chosen
// anew with every GPU task that comes or goes and depend on the tasks alone. They
// make way for a task at a spot; it is refused where they cannot. The search for
// their spots is exact but bounded: with ErrGaveUp it is not known whether there
// is room. That takes a node with some twenty such tasks and hardly anything
// left; a task that Fits is never refused so.
func (n *Node) With(a Assignment) (*Node, error) {
	next, err := n.with(a, settleSteps)
	if err != nil {
		return nil, n.taskError(&a.Task, err)
	}
	return next, nil
}

func (n *Node) taskError(t *Task, err error) error {
	return fmt.Errorf("placement: task %q on node %q: %w", t.ID, n.spec.Name, err)
}

// with is With with a bound for settle.
func (n *Node) with(a Assignment, steps int) (*Node, error) {
	next, i, err := n.book(a)
	switch {
	case err != nil:
		return nil, err
	case a.Task.Shape.GPUs == 0:
		next.state.CPU -= a.Task.Shape.CPU
		next.state.Memory -= a.Task.Shape.Memory
		return next, nil
	}
	switch next.settle(&steps) {
	case settled:
		return next, nil
	case noRoom:
		return nil, next.keep(n, i)
	default:
		if next.keep(n, i) == nil {
			return next, nil
		}
		return nil, fmt.Errorf("spots of the tasks placed anywhere: %w", ErrGaveUp)
	}
}

// book returns the view with one more task, and the task's place in the list. The
// state is still that of before. A task placed anywhere has CPU and main memory,
// but no GPU share yet; the error then means that it finds none beside the tasks
// at known spots.
func (n *Node) book(a Assignment) (*Node, int, error) {
	if a.Task.ID == "" {
		return nil, 0, fmt.Errorf("no ID: %w", ErrBadTask)
	}
	shape := &a.Task.Shape
	if err := shape.Validate(); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrBadTask, err)
	}
	i, found := n.find(a.Task.ID)
	if found {
		return nil, 0, ErrDuplicate
	}
	if a.Spot.Anywhere && shape.GPUs == 0 {
		a.Spot = Spot{} // there is no GPU to be unknown
	}
	next := *n
	next.known = fragmentation.State{}
	n.known.CopyTo(&next.known)
	if a.Spot.Anywhere {
		if kind := refusal(&next.known, shape); kind != None {
			return nil, 0, &RefusedError{Kind: kind, GPU: -1}
		}
		next.known.CPU -= shape.CPU
		next.known.Memory -= shape.Memory
	} else if err := take(&next.known, shape, a.Spot); err != nil {
		return nil, 0, err
	}
	next.tasks = slices.Insert(slices.Clip(n.tasks), i, placed{a, a.Spot})
	next.groups = countGroup(n.groups, shape, 1)
	return &next, i, nil
}

// keep is settle for where the search found nothing: every task stays where it
// was in the view before, and task i comes in beside them.
func (n *Node) keep(before *Node, i int) error {
	n.state = fragmentation.State{}
	before.state.CopyTo(&n.state)
	p := &n.tasks[i]
	if p.Spot.Anywhere {
		if kind := refusal(&n.state, &p.Task.Shape); kind != None {
			return &RefusedError{Kind: kind, GPU: -1}
		}
		p.spot = plainSpot(&n.state, &p.Task.Shape, tightest)
	}
	if err := take(&n.state, &p.Task.Shape, p.spot); err != nil {
		return fmt.Errorf("no other room for the tasks placed anywhere: %w", err)
	}
	return nil
}

// Without returns the view without a task: the exact inverse of With. It is
// idempotent: without the task on the node it returns the view itself.
func (n *Node) Without(taskID string) *Node { return n.without(taskID, settleSteps) }

// without is Without with a bound for settle.
func (n *Node) without(taskID string, steps int) *Node {
	i, found := n.find(taskID)
	if !found {
		return n
	}
	p := n.tasks[i]
	shape := &p.Task.Shape
	next := *n
	next.tasks = slices.Delete(slices.Clone(n.tasks), i, i+1)
	next.groups = countGroup(n.groups, shape, -1)
	next.known = fragmentation.State{}
	n.known.CopyTo(&next.known)
	if p.Spot.Anywhere {
		next.known.CPU += shape.CPU
		next.known.Memory += shape.Memory
	} else {
		give(&next.known, shape, p.spot, n.empty.state.GPUs)
	}
	switch {
	case shape.GPUs == 0:
		next.state.CPU += shape.CPU
		next.state.Memory += shape.Memory
	case next.settle(&steps) == settled:
	case n.adrift:
		next.withhold()
	default: // the spots of before will do
		next.state = fragmentation.State{}
		n.state.CopyTo(&next.state)
		give(&next.state, shape, p.spot, n.empty.state.GPUs)
	}
	return &next
}

// withhold is settle for a node whose tasks have no spots that anybody knows: it
// offers its CPU and main memory alone.
func (n *Node) withhold() {
	n.adrift = true
	n.state = fragmentation.State{}
	n.known.CopyTo(&n.state)
	for i := range n.state.GPUs {
		n.state.GPUs[i] = full(n.state.GPUs[i])
	}
}

// full returns the GPU with nothing left.
func full(g fragmentation.GPU) fragmentation.GPU {
	if !g.Cut() {
		return fragmentation.GPU{}
	}
	l := g.Layout.Model().Empty()
	for _, p := range slices.Backward(slices.Collect(l.Model().Profiles())) { // the largest first
		for start, ok := l.DefaultStart(p); ok; start, ok = l.DefaultStart(p) {
			l, _ = l.With(p, start)
		}
	}
	return fragmentation.GPU{Layout: l}
}
