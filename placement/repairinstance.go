package placement

import (
	"cmp"
	"slices"

	"github.com/gpushare/gpushare/mig"
)

// window is a start on a cut GPU with what stands in the way there.
type window struct {
	index    int // node
	spot     Spot
	blockers []*placed // the largest first
	units    int       // their memory slices
}

// evictInstances looks for a start that is free once the instances over it have
// gone elsewhere: those that are fewest and cover least first. Only instances that
// are smaller than the refused one make way, else nothing would be won.
func (r *Repairer) evictInstances(t *Task, most int, looks *int) (Rescue, bool) {
	if !r.roomFor(t) {
		return Rescue{}, false
	}
	var all []window
	for i, n := range r.cluster.nodes {
		if nodeRefusal(&n.state, &t.Shape) != None {
			continue
		}
		for j := range n.state.GPUs {
			all = r.windows(all, t, i, j, most)
		}
	}
	slices.SortStableFunc(all, func(a, b window) int {
		return cmp.Or(cmp.Compare(len(a.blockers), len(b.blockers)), cmp.Compare(a.units, b.units))
	})
	var found rescues
	for _, w := range all {
		if *looks--; *looks < 0 {
			break
		}
		if r.displace(&found, t, w.index, w.blockers, &w.spot) {
			break
		}
	}
	return found.best, found.found
}

// roomFor reports whether the memory slices that are free in the cluster would do
// for an instance, wherever they are.
func (r *Repairer) roomFor(t *Task) bool {
	missing := 0 // the most that is still missing on GPUs of any size
	free := 0
	for _, n := range r.cluster.nodes {
		for j := range n.state.GPUs {
			g := &n.state.GPUs[j]
			if p, ok := offer(g, &t.Shape); ok {
				missing = max(missing, p.Size)
				free += g.Layout.Model().MemorySlices() - g.Layout.Used().Len()
			}
		}
	}
	return missing > 0 && free >= missing
}

// windows adds the starts of one GPU.
func (r *Repairer) windows(all []window, t *Task, index, gpu, most int) []window {
	n := r.cluster.nodes[index]
	g := &n.state.GPUs[gpu]
	p, ok := offer(g, &t.Shape)
	if !ok {
		return all
	}
	standing := instancesOn(n, gpu)
next:
	for start := range p.Starts.All() {
		w := window{index: index, spot: Spot{GPUs: 1 << gpu, Start: start}}
		for _, s := range standing {
			if s.mask&span(start, p.Size) == 0 {
				continue
			}
			if s.mask.Len() >= p.Size || len(w.blockers) == most || !r.movable(s.task) {
				continue next
			}
			w.blockers = append(w.blockers, s.task)
			w.units += s.mask.Len()
		}
		if len(w.blockers) == 0 {
			continue // free, and yet refused: a limit of the model
		}
		slices.SortStableFunc(w.blockers, func(a, b *placed) int {
			return cmp.Compare(sizeOn(g.Layout, b), sizeOn(g.Layout, a))
		})
		all = append(all, w)
	}
	return all
}

// occupant is a task with the memory slices that its instance covers.
type occupant struct {
	task *placed
	mask mig.Mask
}

func instancesOn(n *Node, gpu int) []occupant {
	var all []occupant
	l := n.state.GPUs[gpu].Layout
	for i := range n.tasks {
		p := &n.tasks[i]
		if p.Task.Shape.Profile == "" || p.spot.GPUs != 1<<gpu {
			continue
		}
		all = append(all, occupant{p, span(p.spot.Start, sizeOn(l, p))})
	}
	return all
}

func sizeOn(l mig.Layout, p *placed) int {
	profile, _ := l.Model().Offers(p.Task.Shape.Profile)
	return profile.Size
}

func span(start, size int) mig.Mask { return mig.Mask(1<<size-1) << start }
