package plan

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"

	"github.com/gpushare/gpushare/mig"
)

// choice is a set of instances to keep and the layout that results.
type choice struct {
	kept      uint
	destroyed int
	loss      int64 // seconds of work times memory slices
	created   []mig.Furnished
	layout    mig.Layout
	pairs     int
}

// solve finds the best choice that keeps the pinned instances. It goes through the
// sets of instances to destroy, smallest first: at most seven or eight instances
// stand on a GPU.
func (q *question) solve(pinned uint) (choice, bool) {
	all := uint(1)<<len(q.from.Instances) - 1
	idle, must := all&^pinned, uint(0)
	if q.exact {
		must = q.misfit
	}
	if must&pinned != 0 {
		return choice{}, false
	}
	var best choice
	found := false
	counts := make([]int, len(q.names))
	for n := bits.OnesCount(must); n <= bits.OnesCount(idle); n++ {
		for set := range subsets(idle&^must, n-bits.OnesCount(must)) {
			gone := set | must
			c := choice{kept: all &^ gone, destroyed: n}
			if !q.missing(c.kept, pinned, counts) {
				continue
			}
			for k, in := range q.from.Instances {
				if gone&(1<<k) != 0 {
					c.loss += in.LossSeconds * int64(in.Size)
				}
			}
			if found && c.loss > best.loss || !q.room(c.kept, counts) {
				continue
			}
			if q.place(&c, counts) && (!found || q.better(&c, &best)) {
				best, found = c, true
			}
		}
		if found {
			break
		}
	}
	return best, found
}

// place finds the best layout of what is missing beside what is kept.
func (q *question) place(c *choice, counts []int) bool {
	var ok bool
	if c.created, ok = q.furnish(counts); !ok {
		return false
	}
	c.layout = q.layout(c.kept)
	if len(c.created) > 0 {
		var err error
		if c.layout, err = c.layout.Fit(demandOf(c.created)); err != nil {
			return false
		}
	}
	c.pairs = c.layout.FreePairs()
	return true
}

// layout returns the layout of the given instances alone.
func (q *question) layout(kept uint) mig.Layout {
	l := q.have
	for k, in := range q.from.Instances {
		if kept&(1<<k) == 0 {
			if next, err := l.Without(in.Start); err == nil {
				l = next
			}
		}
	}
	return l
}

// better reports whether a comes before b, by the order that Repartition
// documents.
func (q *question) better(a, b *choice) bool {
	first := cmp.Or(
		cmp.Compare(a.destroyed, b.destroyed),
		cmp.Compare(a.loss, b.loss),
		cmp.Compare(len(a.created), len(b.created)),
		cmp.Compare(b.pairs, a.pairs),
	)
	if first == 0 {
		first = cmp.Or(
			slices.Compare(q.starts(a, false), q.starts(b, false)),
			slices.Compare(q.starts(a, true), q.starts(b, true)),
		)
	}
	return first < 0
}

// starts returns the starts of what is kept, or of what is created, largest
// profile first, then in table order.
func (q *question) starts(c *choice, kept bool) []int {
	var starts []int
	for _, in := range largestFirst(q.from.Model, slices.Collect(c.layout.Instances())) {
		if q.keeps(c.kept, in.Start) == kept {
			starts = append(starts, in.Start)
		}
	}
	return starts
}

// keeps reports whether one of the kept instances begins at a start.
func (q *question) keeps(kept uint, start int) bool {
	return slices.ContainsFunc(q.from.Instances, func(in Instance) bool {
		old := kept&1 != 0
		kept >>= 1
		return old && in.Start == start
	})
}

// change spells a choice out: the compute instances of equal profiles are handed
// out in order of starts.
func (q *question) change(c choice) (change, error) {
	d := change{from: q.from, have: q.have, kept: c.kept, created: make([]Instance, 0, len(c.created))}
	left := slices.Clone(c.created)
	for in := range c.layout.Instances() {
		if q.keeps(c.kept, in.Start) {
			continue
		}
		k := slices.IndexFunc(left, func(f mig.Furnished) bool { return f.Profile == in.Profile })
		compute := slices.Clone(left[k].Compute)
		if compute == nil {
			var err error
			if compute, err = whole(q.from.Model, in.Profile); err != nil {
				return change{}, err
			}
		}
		d.created = append(d.created, Instance{Instance: in, Compute: compute})
		left = slices.Delete(left, k, k+1)
	}
	return d, nil
}

// room reports whether there are starts for the GPU instances that are missing at
// least. It looks at positions only and is there to be fast: what passes is
// placed by mig.Layout.Fit.
func (q *question) room(kept uint, counts []int) bool {
	var used mig.Mask
	for k, in := range q.from.Instances {
		if kept&(1<<k) != 0 {
			used |= slicesOf(in.Start, in.Size)
		}
	}
	var items [mig.MaxUnits]*mig.Profile
	n := 0
	for i, count := range counts {
		if !q.names[i].whole {
			continue // may share GPU instances
		}
		for range count {
			if n == len(items) {
				return false
			}
			at := n
			for ; at > 0 && items[at-1].Size < q.names[i].profile.Size; at-- {
				items[at] = items[at-1]
			}
			items[at] = &q.names[i].profile
			n++
		}
	}
	return fits(used, items[:n], 0)
}

// fits places the first item at its free starts from on and tries the rest.
func fits(used mig.Mask, items []*mig.Profile, from int) bool {
	if len(items) == 0 {
		return true
	}
	p := items[0]
	for starts := p.Starts >> from << from; starts != 0; starts &= starts - 1 {
		start := starts.Lowest()
		if used&slicesOf(start, p.Size) != 0 {
			continue
		}
		next := 0
		if len(items) > 1 && items[1] == p {
			next = start + 1
		}
		if fits(used|slicesOf(start, p.Size), items[1:], next) {
			return true
		}
	}
	return false
}

// slicesOf returns the mask of size slices from start on; of what no GPU has, none.
func slicesOf(start, size int) mig.Mask {
	if start < 0 || size < 0 {
		return 0
	}
	return mig.Mask((uint32(1)<<size - 1) << start)
}

// subsets iterates over the subsets of a set that have n elements, in ascending
// order.
func subsets(set uint, n int) iter.Seq[uint] {
	return func(yield func(uint) bool) {
		for sub := uint(0); ; sub = (sub - set) & set {
			if bits.OnesCount(sub) == n && !yield(sub) || sub == set {
				return
			}
		}
	}
}

// largestFirst sorts instances by memory slices, largest first, then by the order
// of the table, then by start.
func largestFirst(m *mig.Model, instances []mig.Instance) []mig.Instance {
	slices.SortFunc(instances, func(a, b mig.Instance) int {
		return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(rank(m, a.Profile), rank(m, b.Profile)), cmp.Compare(a.Start, b.Start))
	})
	return instances
}
