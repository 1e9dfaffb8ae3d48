package mig

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Furnished is a GPU instance, not placed yet, with the compute instances that
// stand in it.
type Furnished struct {
	Profile string            `json:"profile"`
	Compute []ComputeInstance `json:"computeInstances"` // lowest start first
}

// Furnish turns a demand that may name compute instances, such as
// "1c.3g.20gb=4", into the fewest GPU instances that hold them. A plain name is a
// GPU instance with one compute instance of full size.
//
// The number is exact: no other distribution needs fewer GPU instances of a
// profile. Compute instances of different GPU instance profiles never share one,
// and one of full size is always alone. The order is fixed: profiles with the
// most memory slices first, then the most compute slices, then in table order;
// within a profile those of full size first, then those with the largest compute
// instances. No GPU instance is left with room that one after it could fill.
//
// The result is for one GPU, but placing it is another question: see Layout.Fit.
// The error wraps ErrBadName, ErrUnknownProfile (also where the count is zero),
// ErrBadDemand for a negative count, or is a *FitError where the GPU cannot hold
// so many GPU instances.
func (m *Model) Furnish(want Demand) ([]Furnished, error) {
	groups := make([]furnishing, len(m.spec.Profiles))
	for _, name := range slices.Sorted(maps.Keys(want)) {
		n, err := ParseName(name)
		if err != nil {
			return nil, err
		}
		whole := n
		whole.ComputeSlices = whole.GPUSlices
		i := m.position(whole.String())
		if i < 0 {
			return nil, &ProfileError{Model: m, Profile: name}
		}
		rows, err := m.computeRows(m.spec.Profiles[i], n.String())
		if err != nil {
			return nil, err
		}
		if want[name] < 0 {
			return nil, fmt.Errorf("mig: demand %s=%d is negative: %w", name, want[name], ErrBadDemand)
		}
		groups[i].add(rows, n == whole, min(want[name], mostFurnished))
	}

	order := make([]int, len(groups))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		p, q := m.spec.Profiles[a], m.spec.Profiles[b]
		return cmp.Or(cmp.Compare(q.Size, p.Size), cmp.Compare(q.ComputeSlices, p.ComputeSlices))
	})
	var all []Furnished
	atLeast := Demand{}
	for _, i := range order {
		gi := m.spec.Profiles[i]
		list, needed := groups[i].furnish(gi, gi.MaxInstances)
		if needed > 0 {
			atLeast[gi.Name] = needed
		}
		if needed > gi.MaxInstances {
			return nil, m.tooMany(want, gi, atLeast)
		}
		all = append(all, list...)
	}
	return all, nil
}

// mostFurnished keeps sums from overflowing; so many never fit.
const mostFurnished = 1 << 16

// tooMany says that the GPU cannot hold the GPU instances that are needed at
// least. The reason is that of Fit, where it has one.
func (m *Model) tooMany(want Demand, gi Profile, atLeast Demand) error {
	_, err := m.Empty().Fit(atLeast)
	var no *FitError
	if !errors.As(err, &no) {
		no = &FitError{Have: m.Empty(), Limit: LimitCount}
		no.Detail = fmt.Sprintf("at least %d of %s needed in all, the driver allows %d", atLeast[gi.Name], gi.Name, gi.MaxInstances)
	}
	no.Want = want
	return no
}

// furnishing is what is wanted of one GPU instance profile.
type furnishing struct {
	whole int // of full size
	full  ComputeProfile
	kinds []computeKind
}

// computeKind is a smaller compute instance and how many of it are wanted.
type computeKind struct {
	rows  []ComputeProfile // that it may be of, the preferred one first
	count int
}

func (f *furnishing) add(rows []ComputeProfile, whole bool, count int) {
	if whole {
		f.full, f.whole = rows[0], f.whole+count
		return
	}
	if count > 0 {
		f.kinds = append(f.kinds, computeKind{rows, count})
	}
}

// furnish returns the fewest GPU instances, and how many are needed at least;
// where that is more than most there is no list.
func (f *furnishing) furnish(gi Profile, most int) (list []Furnished, needed int) {
	if f.whole > most {
		return nil, f.whole
	}
	for range f.whole {
		full := placedCompute{f.full, max(f.full.Starts.Lowest(), 0)}
		list = append(list, Furnished{Profile: gi.Name, Compute: []ComputeInstance{full.instance()}})
	}
	if len(f.kinds) == 0 {
		return list, f.whole
	}
	slices.SortStableFunc(f.kinds, func(a, b computeKind) int {
		return cmp.Or(cmp.Compare(b.rows[0].Size, a.rows[0].Size), cmp.Compare(a.rows[0].Index, b.rows[0].Index))
	})
	left := make([]int, len(f.kinds))
	for i, k := range f.kinds {
		left[i] = k.count
	}
	fewest := f.fewest()
	for n := fewest; f.whole+n <= most; n++ {
		if bins := f.pack(left, n); bins != nil {
			for _, bin := range bins {
				list = append(list, Furnished{Profile: gi.Name, Compute: bin})
			}
			return list, f.whole + n
		}
	}
	return nil, max(f.whole+fewest, most+1)
}

// fewest is a number of GPU instances below which the smaller compute instances
// cannot go: by the slices that they take of those that they can cover.
func (f *furnishing) fewest() int {
	var reach Mask
	size := 0
	for _, k := range f.kinds {
		least := k.rows[0].Size
		for _, row := range k.rows {
			least = min(least, row.Size)
			for start := range row.Starts.All() {
				reach |= span(start, row.Size)
			}
		}
		size += k.count * least
	}
	capacity := max(reach.Len(), 1)
	return max((size+capacity-1)/capacity, 1)
}

// pack distributes what is left over at most n GPU instances, or returns nil.
// Taking a compute instance out of a GPU instance leaves it legal, so only
// fillings to which nothing can be added need to be tried, and one of them must
// hold the largest that is left.
func (f *furnishing) pack(left []int, n int) [][]ComputeInstance {
	if !slices.ContainsFunc(left, func(c int) bool { return c > 0 }) {
		return [][]ComputeInstance{}
	}
	if n == 0 {
		return nil
	}
	for _, take := range f.fillings(left) {
		rest := slices.Clone(left)
		for i, c := range take {
			rest[i] -= c
		}
		if bins := f.pack(rest, n-1); bins != nil {
			bin, _ := f.starts(take)
			return append([][]ComputeInstance{bin}, bins...)
		}
	}
	return nil
}

// fillings lists what one GPU instance can take of what is left, the largest that
// is left among it, such that it can take no more; those with the most of the
// largest first.
func (f *furnishing) fillings(left []int) [][]int {
	var all [][]int
	take := make([]int, len(left))
	largest := slices.IndexFunc(left, func(c int) bool { return c > 0 })
	var choose func(i int)
	choose = func(i int) {
		if i == len(left) {
			if take[largest] > 0 && f.filled(take, left) {
				all = append(all, slices.Clone(take))
			}
			return
		}
		most := 0
		for most < left[i] {
			take[i] = most + 1
			if _, ok := f.starts(take); !ok {
				break
			}
			most++
		}
		for c := most; c >= 0; c-- {
			take[i] = c
			choose(i + 1)
		}
		take[i] = 0
	}
	choose(0)
	return all
}

// filled reports whether nothing of what is left can be added.
func (f *furnishing) filled(take, left []int) bool {
	for i := range take {
		if take[i] == left[i] {
			continue
		}
		take[i]++
		_, more := f.starts(take)
		take[i]--
		if more {
			return false
		}
	}
	return true
}

// starts places so many of each kind in one GPU instance.
func (f *furnishing) starts(take []int) ([]ComputeInstance, bool) {
	var s computeSearch
	for i, c := range take {
		for range c {
			s.items = append(s.items, f.kinds[i].rows)
		}
	}
	if !s.run() {
		return nil, false
	}
	return s.instances(), true
}
