package plan

import (
	"cmp"
	"slices"

	"github.com/gpushare/gpushare/mig"
)

// steps orders what is to be done such that few slices are out of service at a
// time. Whatever can be created is created at once, larger ones first; else the
// creation that needs the fewest slices freed decides what is destroyed next. What
// is in nobody's way is destroyed last.
func (c change) steps() []Step {
	list := make([]Step, 0, len(c.from.Instances)+len(c.created))
	gone := make([]Instance, 0, len(c.from.Instances))
	for k, in := range c.from.Instances {
		if c.kept&(1<<k) == 0 {
			gone = append(gone, in)
		}
	}
	todo := c.largestFirst()
	now := c.have
	for len(todo) > 0 || len(gone) > 0 {
		if i := slices.IndexFunc(todo, func(in Instance) bool { return free(now, in) }); i >= 0 {
			now = with(now, todo[i])
			list = append(list, Step{Op: Create, Instance: todo[i].standing()})
			todo = slices.Delete(todo, i, i+1)
			continue
		}
		if len(gone) == 0 {
			break // a goal that is legal is reached before
		}
		i := next(now, todo, gone)
		now, _ = now.Without(gone[i].Start)
		list = append(list, Step{Op: Destroy, Instance: gone[i].clone()})
		gone = slices.Delete(gone, i, i+1)
	}
	return list
}

// next returns which instance to destroy: the lowest of those in the way of the
// creation that has the fewest slices in its way, the first of such.
func next(now mig.Layout, todo, gone []Instance) int {
	victim, fewest := 0, -1
	for _, in := range todo {
		first, size := -1, 0
		for i, old := range gone {
			if inTheWay(now.Model(), old, in) {
				size += old.Size
				if first < 0 {
					first = i
				}
			}
		}
		if first >= 0 && (fewest < 0 || size < fewest) {
			victim, fewest = first, size
		}
	}
	return victim
}

// inTheWay reports whether two instances cannot stand together: they overlap, or
// compete for media engines, or only one of that profile may exist.
func inTheWay(m *mig.Model, a, b Instance) bool {
	if slicesOf(a.Start, a.Size)&slicesOf(b.Start, b.Size) != 0 {
		return true
	}
	if a.Profile != b.Profile && plain(m, a) && plain(m, b) {
		return false
	}
	return !free(with(m.Empty(), a), b)
}

func plain(m *mig.Model, in Instance) bool {
	p, known := m.Offers(in.Profile)
	return known && p.Attrs == 0
}

// free reports whether an instance can be created where it is meant to be.
func free(l mig.Layout, in Instance) bool {
	if l.Used()&slicesOf(in.Start, in.Size) != 0 {
		return false
	}
	p, known := l.Model().Offers(in.Profile)
	return known && l.FreeStarts(p).Has(in.Start)
}

// with adds an instance that is known to be free.
func with(l mig.Layout, in Instance) mig.Layout {
	if p, known := l.Model().Offers(in.Profile); known {
		l, _ = l.With(p, in.Start)
	}
	return l
}

// largestFirst returns what is created by memory slices, then by compute slices,
// largest first, then in table order, then by start.
func (c change) largestFirst() []Instance {
	m := c.from.Model
	compute := func(in Instance) int {
		p, _ := m.Offers(in.Profile)
		return p.ComputeSlices
	}
	return slices.SortedFunc(slices.Values(c.created), func(a, b Instance) int {
		return cmp.Or(
			cmp.Compare(b.Size, a.Size), cmp.Compare(compute(b), compute(a)),
			cmp.Compare(rank(m, a.Profile), rank(m, b.Profile)), cmp.Compare(a.Start, b.Start),
		)
	})
}

// rank returns the place of a profile in the table.
func rank(m *mig.Model, profile string) int {
	i := 0
	for p := range m.Profiles() {
		if p.Name == profile {
			break
		}
		i++
	}
	return i
}
