package placement

// Improve looks for the move that gains most by the rule's worth, among the next
// candidates in turn, and returns it if it gains enough and the budget pays for
// it. Call it when tasks have left. It changes nothing but where the next search
// begins and the bar that a gain must pass. Every move raises the worth of the cluster, so moves do not go round in
// circles.
func (r *Repairer) Improve() []Move {
	count := len(r.cluster.nodes)
	if r.rule.Worth == nil || count == 0 {
		return nil
	}
	spare := r.Spare()
	r.adjust(spare)
	if spare < 1 {
		return nil
	}
	r.look()
	var best relocation
	bestGain := int64(0)
	looks := r.rule.Looks
	if r.cursor >= count {
		r.cursor = 0 // nodes have been removed
	}
	for range count {
		i := r.cursor
		r.cursor = (r.cursor + 1) % count
		for _, x := range r.on(i) {
			if looks--; looks < 0 {
				break
			}
			if m, gain, ok := r.gain(i, x); ok && gain > bestGain {
				best, bestGain = m, gain
			}
		}
		if looks <= 0 {
			break
		}
	}
	switch {
	case bestGain <= 0 || bestGain < r.rule.Gain:
		return nil
	case r.bar == 0:
		r.bar = bestGain // the first gain seen says how large gains are
	case bestGain < r.bar:
		return nil
	}
	moves, ok := r.inOrder([]relocation{best})
	if !ok || !r.raises(best) {
		return nil
	}
	return moves
}

// savings is how many moves are kept for better chances.
const savings = 3

// adjust moves the bar, so that about as many moves pass it as are paid for.
func (r *Repairer) adjust(spare int) {
	if r.bar == 0 {
		return
	}
	step := max(1, r.bar/500)
	if spare >= savings {
		step = -step
	}
	r.bar = max(1, r.bar+step)
}

// gain returns where a task would go if it left node i, and what that gains.
func (r *Repairer) gain(i int, x *placed) (relocation, int64, bool) {
	n := r.cluster.nodes[i]
	left := n.Without(x.Task.ID)
	now := trial{r: r, changed: []change{{i, left}}}
	to, choice := now.choose(&x.Task)
	if to < 0 || to == i && choice.Spot == x.Spot {
		return relocation{}, 0, false
	}
	before, after := r.rule.Worth(&n.state), int64(0)
	target := now.node(to)
	if to != i {
		before += r.rule.Worth(&target.state)
		after += r.rule.Worth(&left.state)
	}
	target.state.CopyTo(&r.scratch)
	apply(&r.scratch, &x.Task.Shape, choice.Spot) // the policy says that it fits
	after += r.rule.Worth(&r.scratch)
	return relocation{x.Task, i, to, x.Spot, choice.Spot}, after - before, true
}

// raises reports whether a move raises the worth on the books: tasks placed
// anywhere may stand elsewhere after it.
func (r *Repairer) raises(m relocation) bool {
	n := r.cluster.nodes[m.from]
	now := trial{r: r, changed: []change{{m.from, n.Without(m.task.ID)}}}
	next, err := now.node(m.to).With(Assignment{m.task, m.new})
	if err != nil {
		return false
	}
	now.set(m.to, next)
	gain := int64(0)
	for _, c := range now.changed {
		gain += r.rule.Worth(&c.node.state) - r.rule.Worth(&r.cluster.nodes[c.index].state)
	}
	return gain > 0
}
