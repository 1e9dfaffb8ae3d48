package mig

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Fit returns the layout that holds what is there, unmoved, and the demand
// besides. Of the layouts that do, it is the one that leaves the most FreePairs,
// and of those the one with the lowest starts of what was added, largest profile
// first (by memory slices, then in table order).
//
// The search is exact and has no budget: an error means that no layout exists (a
// *FitError, which wraps ErrNoFit and names the limit) or that there was no
// question (ErrUnknownProfile, ErrBadName, ErrBadDemand for a negative count,
// ErrUnknownGeometry or, for the zero Layout, ErrUnknownModel).
//
// It costs a fraction of a microsecond, and allocates only for an error: a GPU
// holds at most seven instances.
func (l Layout) Fit(want Demand) (Layout, error) {
	if l.model == nil {
		return Layout{}, fmt.Errorf("mig: a GPU that is not cut: %w", ErrUnknownModel)
	}
	if err := l.model.geometry(); err != nil {
		return Layout{}, err
	}
	x := l.model.index()
	var room [usualProfiles]int32
	counts := append(room[:0], make([]int32, len(x.rows))...)
	if !x.counts(want, counts) {
		if err := l.model.tally(want, counts); err != nil {
			return Layout{}, err
		}
	}
	if kind := l.binds(x, counts); kind != noLimit {
		return Layout{}, &FitError{Have: l, Want: want, Limit: kind, Detail: l.detail(x, kind, counts)}
	}
	s := search{x: x, best: -1}
	s.want(counts)
	s.place(l.used, 0, 0)
	if s.best < 0 {
		return Layout{}, &FitError{Have: l, Want: want, Limit: LimitPosition, Detail: l.detail(x, LimitPosition, counts)}
	}
	return s.result(l), nil
}

// usualProfiles is how many profiles a demand is counted for without allocation.
const usualProfiles = 32

const mostWanted = math.MaxInt32 / (16 * MaxUnits)

// counts adds up a demand by table position. It returns false, with counts in
// any state, where a name is not canonical or something is wrong: tally tells.
func (x *index) counts(want Demand, counts []int32) bool {
	for name, n := range want {
		i := x.position(name)
		if i < 0 || n < 0 || n > 0 && x.rows[i].size == 0 {
			return false
		}
		// The cap keeps sums from overflowing; so many never fit.
		counts[i] += int32(min(n, mostWanted))
	}
	return true
}

// tally is counts for every demand. Its error is that of the first name, in order.
func (m *Model) tally(want Demand, counts []int32) error {
	clear(counts)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		p, err := m.Profile(name)
		if err != nil {
			return err
		}
		n := want[name]
		if n < 0 {
			return badCount(name, n)
		}
		if n > 0 && p.Size == 0 {
			return m.unplaceable(p.Name)
		}
		i := m.position(p.Name)
		counts[i] = min(counts[i]+int32(min(n, mostWanted)), mostWanted)
	}
	return nil
}

func badCount(name string, n int) error {
	return fmt.Errorf("mig: demand %s=%d is negative: %w", name, n, ErrBadDemand)
}

// FreePairs returns the number of (plain profile, start) pairs that are free:
// how much choice is left. The driver's default placement keeps it large. It is
// 0 where the geometry is unknown.
func (l Layout) FreePairs() int {
	if l.model == nil {
		return 0
	}
	return int(l.model.index().pairs[l.used])
}

// DefaultStart returns the start that the driver would choose for a profile
// when CreateGpuInstance names none, and false if there is no room or the
// geometry is unknown.
//
// The rule is derived, not published: of the free legal starts the one that
// leaves the most FreePairs, the lowest on a tie. It
// reproduces every published creation sequence but one: the vendor's guide
// shows two 3g created on one A100 at 0 and then 4, where the rule gives 4 and
// then 0.
func (l Layout) DefaultStart(p Profile) (start int, ok bool) {
	if l.model == nil {
		return 0, false
	}
	x := l.model.index()
	i := x.position(p.Name)
	if i < 0 {
		return 0, false
	}
	best := -1
	for free := l.freeStarts(x, i); free != 0; free &= free - 1 {
		s := free.Lowest()
		if pairs := int(x.pairs[l.used|span(s, x.rows[i].size)]); pairs > best {
			best, start = pairs, s
		}
	}
	return start, best >= 0
}
