package mig

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Limit says what keeps a demand from fitting.
type Limit uint8

// The limits, in the order in which they are named when several bind.
const (
	noLimit       Limit = iota
	LimitMemory         // more memory slices than the GPU has
	LimitCompute        // more compute slices than the GPU has
	LimitCount          // more instances of a profile than the driver allows
	LimitMedia          // more media engines than the GPU has
	LimitPosition       // slices enough, but no legal starts for all
)

// String returns "memory", "compute", "count", "media" or "position".
func (l Limit) String() string {
	names := [...]string{"none", "memory", "compute", "count", "media", "position"}
	if int(l) >= len(names) {
		return "unknown"
	}
	return names[l]
}

// FitError says why a demand does not fit on one GPU; it wraps ErrNoFit.
type FitError struct {
	Have   Layout
	Want   Demand
	Limit  Limit  // the first limit that alone makes it impossible
	Detail string // the figures, for people
}

// Error names the demand, what is there, and the limit.
func (e *FitError) Error() string {
	return fmt.Sprintf("mig: %s does not fit on %s beside %q: %s: %s", e.Want, e.Have.model, e.Have, e.Limit, e.Detail)
}

// Unwrap returns ErrNoFit.
func (e *FitError) Unwrap() error { return ErrNoFit }

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
// It costs microseconds: a GPU holds at most seven instances.
func (l Layout) Fit(want Demand) (Layout, error) {
	if l.model == nil {
		return Layout{}, fmt.Errorf("mig: a GPU that is not cut: %w", ErrUnknownModel)
	}
	if err := l.model.geometry(); err != nil {
		return Layout{}, err
	}
	counts, err := l.model.counts(want)
	if err != nil {
		return Layout{}, err
	}
	if kind, detail := l.limit(counts); kind != noLimit {
		return Layout{}, &FitError{Have: l, Want: want, Limit: kind, Detail: detail}
	}
	s := search{best: -1}
	for i, n := range counts {
		for range n {
			s.items = append(s.items, i)
		}
	}
	profiles := l.model.spec.Profiles
	slices.SortStableFunc(s.items, func(a, b int) int {
		return cmp.Or(cmp.Compare(profiles[b].Size, profiles[a].Size), cmp.Compare(a, b))
	})
	s.place(l, 0, 0)
	if s.best < 0 {
		return Layout{}, &FitError{Have: l, Want: want, Limit: LimitPosition, Detail: l.obstacle(counts)}
	}
	return s.found, nil
}

// search tries the wanted instances, largest first, at every free start. Equal
// profiles are tried in ascending order of starts only, since they can be
// swapped.
type search struct {
	items []int // table positions
	best  int   // free pairs of found, -1: none yet
	found Layout
}

func (s *search) place(l Layout, k, from int) {
	if k == len(s.items) {
		if pairs := l.FreePairs(); pairs > s.best {
			s.best, s.found = pairs, l
		}
		return
	}
	i := s.items[k]
	for start := range l.freeStarts(i).All() {
		if start < from {
			continue
		}
		next := 0
		if k+1 < len(s.items) && s.items[k+1] == i {
			next = start + 1
		}
		s.place(l.put(i, start), k+1, next)
	}
}

const mostWanted = math.MaxInt32 / (16 * MaxUnits)

// counts checks a demand and returns the counts by table position.
func (m *Model) counts(want Demand) ([]int, error) {
	counts := make([]int, len(m.spec.Profiles))
	for _, name := range slices.Sorted(maps.Keys(want)) {
		p, err := m.Profile(name)
		if err != nil {
			return nil, err
		}
		if want[name] < 0 {
			return nil, fmt.Errorf("mig: demand %s=%d is negative: %w", name, want[name], ErrBadDemand)
		}
		// The cap keeps sums from overflowing; so many never fit.
		counts[m.position(p.Name)] += min(want[name], mostWanted)
	}
	return counts, nil
}

// limit returns the first limit other than position that alone makes the
// counts impossible beside what is there.
func (l Layout) limit(counts []int) (Limit, string) {
	spec := &l.model.spec
	total := slices.Clone(counts)
	for _, n := range l.at {
		if n != 0 {
			total[n-1]++
		}
	}
	memory, compute := 0, 0
	for i, n := range total {
		memory += n * spec.Profiles[i].Size
		compute += n * spec.Profiles[i].ComputeSlices
	}
	if memory > spec.MemorySlices {
		return LimitMemory, fmt.Sprintf("%d memory slices needed in all, the GPU has %d", memory, spec.MemorySlices)
	}
	if compute > spec.ComputeSlices {
		return LimitCompute, fmt.Sprintf("%d compute slices needed in all, the GPU has %d", compute, spec.ComputeSlices)
	}
	for i, n := range total {
		if p := spec.Profiles[i]; n > p.MaxInstances {
			return LimitCount, fmt.Sprintf("%d of %s needed in all, the driver allows %d", n, p.Name, p.MaxInstances)
		}
	}
	for i, n := range total {
		for j, k := range total[:i] {
			p, q := spec.Profiles[i], spec.Profiles[j]
			if n > 0 && k > 0 && !p.Attrs.compatible(q.Attrs) {
				return LimitMedia, fmt.Sprintf("%s and %s compete for media engines", q.Name, p.Name)
			}
		}
	}
	return noLimit, ""
}

// obstacle says, of counts that no choice of starts holds, which profile alone is
// too many for what is there.
func (l Layout) obstacle(counts []int) string {
	for i, n := range counts {
		if p := l.model.spec.Profiles[i]; n > l.Remaining(p) {
			return fmt.Sprintf("%d of %s wanted, legal starts are free for %d", n, p.Name, l.Remaining(p))
		}
	}
	return "no choice of legal starts holds them all"
}

// FreePairs returns the number of (plain profile, start) pairs that are free:
// how much choice is left. The driver's default placement keeps it large.
func (l Layout) FreePairs() int {
	if l.model == nil {
		return 0
	}
	pairs := 0
	for i := range l.model.spec.Profiles {
		p := &l.model.spec.Profiles[i]
		if p.Attrs == 0 && p.Size > 0 {
			pairs += (windows(l.used, p.Size) & p.Starts).Len()
		}
	}
	return pairs
}

// DefaultStart returns the start that the driver would choose for a profile
// when CreateGpuInstance names none, and false if there is no room.
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
	i := l.model.position(p.Name)
	if i < 0 {
		return 0, false
	}
	best := -1
	for s := range l.freeStarts(i).All() {
		if pairs := l.put(i, s).FreePairs(); pairs > best {
			best, start = pairs, s
		}
	}
	return start, best >= 0
}
