package placement

import (
	"fmt"
	"slices"
)

// Site is a spot on a node. The zero Site is nowhere: the task is stopped.
type Site struct {
	Node string
	Spot Spot
}

// Move takes a task from one site to another. Where two tasks change places, one
// is stopped first: its move to nowhere, that of the other and its own from
// nowhere follow one another.
type Move struct {
	Task     string // ID
	From, To Site
}

// Moved returns how many tasks a list moves. One that is stopped on its way
// counts once.
func Moved(moves []Move) int {
	n := 0
	for _, m := range moves {
		if m.To.Node != "" {
			n++
		}
	}
	return n
}

// Apply carries out moves in order; the books are legal after each of them. The
// error names the move, and wraps ErrBadMove where it does not start where the
// task is or the list ends with a task that is nowhere, and else that of Place.
// Nothing is changed then.
func (c *Cluster) Apply(moves []Move) error {
	type before struct {
		index int
		node  *Node
	}
	var undo []before // in order
	stopped := map[string]Task{}
	fail := func(i int, err error) error {
		for _, b := range undo {
			for a := range c.nodes[b.index].Assignments() {
				delete(c.at, a.Task.ID)
			}
		}
		for _, b := range slices.Backward(undo) {
			c.nodes[b.index] = b.node
		}
		for _, b := range undo {
			for a := range c.nodes[b.index].Assignments() {
				c.at[a.Task.ID] = b.index
			}
		}
		return fmt.Errorf("placement: move %d of %d: %w", i+1, len(moves), err)
	}
	for i, m := range moves {
		task, off := stopped[m.Task]
		if m.From.Node == "" != off {
			return fail(i, fmt.Errorf("task %q from node %q: it is not there: %w", m.Task, m.From.Node, ErrBadMove))
		}
		if !off {
			at, found := c.at[m.Task]
			if !found || c.nodes[at].Name() != m.From.Node {
				return fail(i, fmt.Errorf("task %q from node %q: it is not there: %w", m.Task, m.From.Node, ErrBadMove))
			}
			a, _ := c.nodes[at].Assignment(m.Task)
			if a.Spot != m.From.Spot {
				return fail(i, fmt.Errorf("task %q from GPUs %s, start %d of node %q: it is on %s, start %d: %w",
					m.Task, m.From.Spot.GPUs, m.From.Spot.Start, m.From.Node, a.Spot.GPUs, a.Spot.Start, ErrBadMove))
			}
			task = a.Task
			undo = append(undo, before{at, c.nodes[at]})
			c.Release(m.Task)
		}
		delete(stopped, m.Task)
		if m.To.Node == "" {
			stopped[m.Task] = task
			continue
		}
		if at, found := c.byName[m.To.Node]; found {
			undo = append(undo, before{at, c.nodes[at]})
		}
		if err := c.Place(m.To.Node, Assignment{Task: task, Spot: m.To.Spot}); err != nil {
			return fail(i, err)
		}
	}
	for i, m := range slices.Backward(moves) {
		if _, off := stopped[m.Task]; off {
			return fail(i, fmt.Errorf("task %q: is nowhere at the end: %w", m.Task, ErrBadMove))
		}
	}
	return nil
}

// relocation is where a task is and where it is to go.
type relocation struct {
	task     Task
	from, to int // nodes
	old, new Spot
}

// inOrder makes a list of moves of relocations that are legal together: a task
// goes when its new spot is free; where none is, one is stopped first. Every
// round moves or stops one, so it ends.
func (r *Repairer) inOrder(all []relocation) ([]Move, bool) {
	views := map[int]*Node{}
	view := func(i int) *Node {
		if n, found := views[i]; found {
			return n
		}
		return r.cluster.nodes[i]
	}
	type pending struct {
		relocation
		off bool
	}
	queue := make([]pending, len(all))
	for i, m := range all {
		queue[i].relocation = m
	}
	site := func(i int, s Spot) Site { return Site{r.cluster.nodes[i].Name(), s} }
	var moves []Move
	for len(queue) > 0 {
		progress := false
		for i, p := range queue {
			source := view(p.from)
			if !p.off {
				source = source.Without(p.task.ID)
			}
			target := view(p.to)
			if p.to == p.from {
				target = source
			}
			next, err := target.With(Assignment{p.task, p.new})
			if err != nil {
				continue
			}
			m := Move{Task: p.task.ID, To: site(p.to, p.new)}
			if !p.off {
				m.From = site(p.from, p.old)
				views[p.from] = source
			}
			views[p.to] = next
			moves = append(moves, m)
			queue = append(queue[:i:i], queue[i+1:]...)
			progress = true
			break
		}
		if progress {
			continue
		}
		stop := -1
		for i, p := range queue {
			if !p.off {
				stop = i
				break
			}
		}
		if stop < 0 {
			return nil, false // they are not legal together
		}
		p := &queue[stop]
		moves = append(moves, Move{Task: p.task.ID, From: site(p.from, p.old)})
		views[p.from] = view(p.from).Without(p.task.ID)
		p.off = true
	}
	return moves, true
}
