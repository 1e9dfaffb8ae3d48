package mig

import (
	"fmt"
	"iter"
)

// Layouts iterates over every layout that can be built of the given profiles
// (nil: of all plain ones), the empty one left out. The order is fixed: by what
// begins at the lowest memory slice, then at the next. There are none where the
// geometry is unknown: ask Model.HasGeometry to tell that from a model that
// offers nothing.
//
// With all plain profiles there are 722 on GPUs of 8 memory slices (297 where the
// 1g of double memory is not among them), 25 on the 4 of an A30 and 25 on the 12
// of an RTX PRO 6000.
func (m *Model) Layouts(profiles []Profile) iter.Seq[Layout] {
	positions := m.positions(profiles)
	return func(yield func(Layout) bool) {
		m.enumerate(m.index(), m.Empty(), 0, positions, yield)
	}
}

func (m *Model) enumerate(x *index, l Layout, from int, positions []int, yield func(Layout) bool) bool {
	for start := from; start < m.spec.MemorySlices; start++ {
		for _, i := range positions {
			if !l.freeStarts(x, i).Has(start) {
				continue
			}
			next := l.put(x, i, start)
			if !yield(next) || !m.enumerate(x, next, start+x.rows[i].size, positions, yield) {
				return false
			}
		}
	}
	return true
}

// positions returns the table positions of the profiles, or of all plain ones.
// Profiles of other models are left out.
func (m *Model) positions(profiles []Profile) []int {
	var positions []int
	for i, p := range m.spec.Profiles {
		if profiles == nil && p.Attrs == 0 {
			positions = append(positions, i)
		}
		for _, q := range profiles {
			if p.Name == q.Name {
				positions = append(positions, i)
				break
			}
		}
	}
	return positions
}

// Maximal reports whether no instance of the given profiles (nil: of the plain
// ones) can be added. It is false where the geometry is unknown.
func (l Layout) Maximal(profiles []Profile) bool {
	if l.model == nil || !l.model.HasGeometry() {
		return false
	}
	x := l.model.index()
	for _, i := range l.model.positions(profiles) {
		if l.freeStarts(x, i) != 0 {
			return false
		}
	}
	return true
}

// Census counts the layouts that a set of profiles allows, in the terms of the
// literature. A multiset is a demand: a layout without its starts.
type Census struct {
	PlacedSets           int // layouts, the empty one left out
	MaximalSets          int // layouts to which nothing can be added
	MaximalMultisets     int // different multisets among the maximal layouts
	UndominatedMultisets int // multisets that no larger multiset contains
	Multisets            int // different multisets in all
}

// Census counts the layouts of the given profiles (nil: of all plain ones). All
// counts are 0 where the geometry is unknown.
func (m *Model) Census(profiles []Profile) Census {
	var c Census
	all, maximal := map[string]Demand{}, map[string]bool{}
	for l := range m.Layouts(profiles) {
		c.PlacedSets++
		d := l.Demand()
		all[d.String()] = d
		if l.Maximal(profiles) {
			c.MaximalSets++
			maximal[d.String()] = true
		}
	}
	c.Multisets, c.MaximalMultisets = len(all), len(maximal)
	for _, d := range all {
		if !dominated(d, all) {
			c.UndominatedMultisets++
		}
	}
	return c
}

// dominated reports whether another demand contains d. All multisets exist in
// smaller steps, so one more instance is enough to look at.
func dominated(d Demand, all map[string]Demand) bool {
	for _, larger := range all {
		if larger.Total() == d.Total()+1 && contains(larger, d) {
			return true
		}
	}
	return false
}

func contains(larger, d Demand) bool {
	for name, n := range d {
		if larger[name] < n {
			return false
		}
	}
	return true
}

// SliceCount counts slices of the two kinds.
type SliceCount struct {
	Memory  int `json:"memorySlices"`
	Compute int `json:"computeSlices"`
}

// String returns "2 memory slices, 1 compute slice".
func (s SliceCount) String() string {
	return plural(s.Memory, "memory slice") + ", " + plural(s.Compute, "compute slice")
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Unused returns the slices that are in no instance; of a model whose geometry is
// unknown none, since nobody knows what is used.
func (l Layout) Unused() SliceCount {
	if l.model == nil || !l.model.HasGeometry() {
		return SliceCount{}
	}
	u := SliceCount{Memory: l.model.spec.MemorySlices, Compute: l.model.spec.ComputeSlices}
	for _, n := range l.at {
		if n != 0 {
			u.Memory -= l.model.spec.Profiles[n-1].Size
			u.Compute -= l.model.spec.Profiles[n-1].ComputeSlices
		}
	}
	return u
}

// Stranded returns the unused slices that no instances can take beside what is
// there: unused memory slices less the most that further instances can cover,
// and unused compute slices less the most that further instances can hold. The
// two maxima are taken each for itself, and a limit of instances counts as far as
// it binds on the next one. There are none where the geometry is unknown.
func (l Layout) Stranded() SliceCount {
	if l.model == nil || !l.model.HasGeometry() {
		return SliceCount{}
	}
	units := l.model.spec.MemorySlices
	x := l.model.index()
	// most[u] is the most that instances beginning at u or later can take.
	var memory, compute [MaxUnits + 1]int
	for u := units - 1; u >= 0; u-- {
		memory[u], compute[u] = memory[u+1], compute[u+1]
		for i := range x.rows {
			if r := &x.rows[i]; l.freeStarts(x, i).Has(u) {
				memory[u] = max(memory[u], r.size+memory[u+r.size])
				compute[u] = max(compute[u], r.compute+compute[u+r.size])
			}
		}
	}
	s := l.Unused()
	s.Memory -= memory[0]
	s.Compute -= compute[0]
	return s
}

// Remaining returns how many instances of a profile can still be created, each
// profile taken for itself: the figures of two profiles do not add up. It is 0
// for a profile that the model does not offer and where placements are unknown,
// and costs a few nanoseconds without allocation.
func (l Layout) Remaining(p Profile) int {
	if l.model == nil {
		return 0
	}
	// The row of the layout's own model: another model may have a profile of
	// that name with another size.
	x := l.model.index()
	i := x.position(p.Name)
	if i < 0 {
		return 0
	}
	return l.remaining(x, i)
}

// remaining is Remaining by table position.
func (l *Layout) remaining(x *index, i int) int {
	r := &x.rows[i]
	free := l.freeStarts(x, i)
	n := 0
	if r.disjoint {
		n = free.Len()
	} else {
		n = capacity(free, r.size)
	}
	if r.limited {
		n = min(n, r.most-l.count(i))
	}
	return n
}
