package placement

import (
	"cmp"

	"github.com/gpushare/gpushare/fragmentation"
)

// gpuShare is what tasks that can change places have in common.
type gpuShare struct {
	gpus          int
	milli, memory int64
}

func shareOf(s *fragmentation.Shape) gpuShare { return gpuShare{s.GPUs, s.Milli, s.DeviceMemory} }

// holder is a task on a node.
type holder struct {
	index int
	task  *placed
}

// holders lists the tasks that may be moved, by what they hold of GPUs.
func (r *Repairer) holders() map[gpuShare][]holder {
	if r.known.holders != nil {
		return r.known.holders
	}
	all := map[gpuShare][]holder{}
	for i := range r.cluster.nodes {
		for _, p := range r.on(i) {
			if s := &p.Task.Shape; s.GPUs > 0 && s.Profile == "" {
				all[shareOf(s)] = append(all[shareOf(s)], holder{i, p})
			}
		}
	}
	r.known.holders = all
	return all
}

// exchange looks for two tasks of equal GPU share that change places, so that
// the refused one finds the CPU and main memory that it lacks on a node. The
// other node is the one with the least GPU left, which needs its CPU least; on a
// tie the tasks differ as little as will do.
func (r *Repairer) exchange(t *Task, lacking []shortage, looks *int) (Rescue, bool) {
	holders := r.holders()
	var all rescues
	for _, lack := range lacking {
		if lack.gpu {
			break // the others lack GPU too
		}
		n := r.cluster.nodes[lack.index]
		for _, x := range r.on(lack.index) {
			s := &x.Task.Shape
			if s.GPUs == 0 || s.Profile != "" || s.CPU < lack.cpu || s.Memory < lack.memory {
				continue
			}
			for _, y := range r.partners(t, n, x, lack.index, holders[shareOf(s)]) {
				if *looks--; *looks < 0 {
					return all.best, all.found
				}
				if r.swap(&all, t, holder{lack.index, x}, y) {
					return all.best, true
				}
			}
		}
	}
	return all.best, all.found
}

// partners returns the best tasks for x on node n to change places with: that on
// the node with the least GPU left, which needs its CPU least, and that which
// takes the least CPU along.
func (r *Repairer) partners(t *Task, n *Node, x *placed, index int, holders []holder) []holder {
	s := &x.Task.Shape
	// What y may take at most, for t to fit beside it.
	cpu := n.state.CPU + s.CPU - t.Shape.CPU
	memory := n.state.Memory + s.Memory - t.Shape.Memory
	var full, light holder
	found := false
	for _, h := range holders {
		y, m := &h.task.Task.Shape, r.cluster.nodes[h.index]
		if h.index == index || y.CPU > cpu || y.Memory > memory ||
			y.CPU+m.state.CPU < s.CPU || y.Memory+m.state.Memory < s.Memory ||
			!s.Models.Accept(m.state.Model) || !y.Models.Accept(n.state.Model) {
			continue
		}
		if !found {
			full, light, found = h, h, true
			continue
		}
		if r.fuller(h, full) {
			full = h
		}
		if less := y.CPU - light.task.Task.Shape.CPU; less < 0 || less == 0 && r.fuller(h, light) {
			light = h
		}
	}
	switch {
	case !found:
		return nil
	case full.index == light.index && full.task == light.task:
		return []holder{full}
	default:
		return []holder{full, light}
	}
}

// fuller reports whether the node of a has less GPU left, or as much and a takes
// less CPU along.
func (r *Repairer) fuller(a, b holder) bool {
	return cmp.Or(
		cmp.Compare(r.cluster.nodes[a.index].state.Left(), r.cluster.nodes[b.index].state.Left()),
		cmp.Compare(a.task.Task.Shape.CPU, b.task.Task.Shape.CPU),
	) < 0
}

// swap tries the exchange of two tasks, each to the other's spot. It reports
// whether the search can end.
func (r *Repairer) swap(all *rescues, t *Task, x, y holder) bool {
	n, err := r.cluster.nodes[x.index].Without(x.task.Task.ID).With(Assignment{y.task.Task, x.task.Spot})
	if err != nil {
		return false
	}
	choice := r.policy.Choose(n, t)
	if !choice.OK() {
		return false
	}
	if n, err = n.With(Assignment{*t, choice.Spot}); err != nil {
		return false
	}
	m, err := r.cluster.nodes[y.index].Without(y.task.Task.ID).With(Assignment{x.task.Task, y.task.Spot})
	if err != nil {
		return false
	}
	moves, ok := r.inOrder([]relocation{
		{x.task.Task, x.index, y.index, x.task.Spot, y.task.Spot},
		{y.task.Task, y.index, x.index, y.task.Spot, x.task.Spot},
	})
	now := trial{r: r}
	now.set(x.index, n)
	now.set(y.index, m)
	return ok && all.add(Rescue{moves, Site{n.Name(), choice.Spot}}, &now)
}
