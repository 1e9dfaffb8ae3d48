package mig_test

import (
	"slices"
	"strings"

	"github.com/gpushare/gpushare/mig"
)

// The rules of the package, written the slow and obvious way: lists of placed
// profiles, cells of a slice, no masks. They read the tables and nothing else.

// placed is a profile at a start.
type placed struct {
	profile mig.Profile
	start   int
}

func (p placed) instance() mig.Instance {
	return mig.Instance{Profile: p.profile.Name, Start: p.start, Size: p.profile.Size}
}

// pairs returns every (profile, start) pair of a table, plain ones only or all.
func pairs(m *mig.Model, plain bool) []placed {
	var list []placed
	for _, p := range m.Spec().Profiles {
		for start := range m.MemorySlices() {
			if p.Starts&(1<<start) != 0 && (!plain || isPlain(p)) {
				list = append(list, placed{p, start})
			}
		}
	}
	return list
}

func isPlain(p mig.Profile) bool { return !strings.ContainsAny(p.Name, "+-") }

// conflict says why two instances cannot stand together; count limits above one
// are left out, since overlap binds first.
func conflict(a, b placed) mig.Limit {
	for x := a.start; x < a.start+a.profile.Size; x++ {
		if x >= b.start && x < b.start+b.profile.Size {
			return mig.LimitPosition
		}
	}
	an, bn := a.profile.Name, b.profile.Name
	if an == bn && a.profile.MaxInstances == 1 {
		return mig.LimitCount
	}
	if an == bn {
		return 0 // of one profile there are as many as its limit says
	}
	if strings.Contains(an, "+me") && strings.Contains(bn, "+me") {
		return mig.LimitMedia
	}
	for _, pair := range [][2]string{{an, bn}, {bn, an}} {
		if strings.Contains(pair[0], "+me.all") && !strings.HasSuffix(pair[1], "-me") {
			return mig.LimitMedia
		}
	}
	return 0
}

// alone reports whether two instances are a +me and the plain profile of the same
// slices, which some tables forbid together.
func alone(a, b placed) bool {
	an, bn := a.profile, b.profile
	if an.ComputeSlices != bn.ComputeSlices || an.Size != bn.Size {
		return false
	}
	return isPlain(an) && strings.HasSuffix(bn.Name, "+me") || isPlain(bn) && strings.HasSuffix(an.Name, "+me")
}

// addableAlone is addable where a +me stands without its plain profile.
func addableAlone(have []placed, next placed) bool {
	return addable(have, next) && !slices.ContainsFunc(have, func(h placed) bool { return alone(h, next) })
}

// addable reports whether one more instance can stand beside the others.
func addable(have []placed, next placed) bool {
	if next.profile.Starts&(1<<next.start) == 0 {
		return false
	}
	same := 0
	for _, h := range have {
		if conflict(h, next) != 0 {
			return false
		}
		if h.profile.Name == next.profile.Name {
			same++
		}
	}
	return same < next.profile.MaxInstances
}

// subsets calls yield with every legal set of pairs, the empty one first.
func subsets(list []placed, yield func([]placed)) {
	var rec func(set []placed, from int)
	rec = func(set []placed, from int) {
		yield(set)
		for i := from; i < len(list); i++ {
			if addable(set, list[i]) {
				rec(append(slices.Clone(set), list[i]), i+1)
			}
		}
	}
	rec(nil, 0)
}

// placedOf returns what stands on the GPU, by start.
func placedOf(l mig.Layout) []placed {
	list := []placed{}
	for in := range l.Instances() {
		p, err := l.Model().Profile(in.Profile)
		if err != nil {
			panic(err)
		}
		list = append(list, placed{p, in.Start})
	}
	return list
}

// freePairs counts the plain (profile, start) pairs that overlap nothing.
func freePairs(l mig.Layout) int {
	var taken [mig.MaxUnits]bool
	for _, h := range placedOf(l) {
		for k := range h.profile.Size {
			taken[h.start+k] = true
		}
	}
	n := 0
	for _, pair := range pairs(l.Model(), true) {
		if !slices.Contains(taken[pair.start:pair.start+pair.profile.Size], true) {
			n++
		}
	}
	return n
}

// holds reports whether every instance of b stands in a too.
func holds(a, b mig.Layout) bool {
	for in := range b.Instances() {
		if got, found := a.At(in.Start); !found || got != in {
			return false
		}
	}
	return true
}

// universe is every layout of a model, the empty one included, and what can be
// asked of the whole list.
type universe struct {
	model    *mig.Model
	layouts  []mig.Layout
	byDemand map[string][]mig.Layout
	demands  []mig.Demand // every one that some layout holds, once
	free     map[mig.Layout]int
}

// newUniverse lists the layouts of the plain profiles, or of all.
func newUniverse(m *mig.Model, plain bool) *universe {
	u := &universe{model: m, byDemand: map[string][]mig.Layout{}, free: map[mig.Layout]int{}}
	mediaAlone := m.Spec().MediaAlone
	subsets(pairs(m, plain), func(set []placed) {
		for i, a := range set {
			if mediaAlone && slices.ContainsFunc(set[:i], func(b placed) bool { return alone(a, b) }) {
				return
			}
		}
		l := m.Empty()
		for _, p := range set {
			var err error
			if l, err = l.With(p.profile, p.start); err != nil {
				panic(err)
			}
		}
		key := l.Demand().String()
		if u.byDemand[key] == nil {
			u.demands = append(u.demands, l.Demand())
		}
		u.byDemand[key] = append(u.byDemand[key], l)
		u.layouts = append(u.layouts, l)
		u.free[l] = freePairs(l)
	})
	return u
}

// fit is Layout.Fit by looking through all layouts: of those that hold what is
// there and the demand besides, the one with the most free pairs, then the one
// with the lowest starts of what was added, largest profile first.
func (u *universe) fit(have mig.Layout, want mig.Demand) (mig.Layout, bool) {
	total := have.Demand()
	for name, n := range want {
		total[name] += n
	}
	var best mig.Layout
	found, bestPairs := false, 0
	var bestStarts []int
	for _, l := range u.byDemand[total.String()] {
		if !holds(l, have) {
			continue
		}
		free, starts := u.free[l], u.added(l, have)
		if !found || free > bestPairs || free == bestPairs && slices.Compare(starts, bestStarts) < 0 {
			best, found, bestPairs, bestStarts = l, true, free, starts
		}
	}
	return best, found
}

// added returns the starts of what l has beyond have: by size, largest first,
// then by the order of the table, then ascending.
func (u *universe) added(l, have mig.Layout) []int {
	table := u.model.Spec().Profiles
	slices.SortStableFunc(table, func(a, b mig.Profile) int { return b.Size - a.Size })
	var starts []int
	for _, p := range table {
		for in := range l.Instances() {
			if _, before := have.At(in.Start); in.Profile == p.Name && !before {
				starts = append(starts, in.Start)
			}
		}
	}
	return starts
}

// limit is the first limit that alone makes have and want impossible; Position
// if none of the others does.
func limit(have mig.Layout, want mig.Demand) mig.Limit {
	m := have.Model()
	total := have.Demand()
	for name, n := range want {
		total[name] += n
	}
	memory, compute := 0, 0
	tooMany := false
	media, all, notWithAll := 0, 0, 0
	for _, p := range m.Spec().Profiles {
		n := total[p.Name]
		memory += n * p.Size
		compute += n * p.ComputeSlices
		tooMany = tooMany || n > p.MaxInstances
		if strings.Contains(p.Name, "+me") && n > 0 {
			media++
		}
		if strings.HasSuffix(p.Name, "+me.all") {
			all += n
		} else if !strings.HasSuffix(p.Name, "-me") {
			notWithAll += n
		}
	}
	switch {
	case memory > m.MemorySlices():
		return mig.LimitMemory
	case compute > m.ComputeSlices():
		return mig.LimitCompute
	case tooMany:
		return mig.LimitCount
	case media > 1 || all > 0 && notWithAll > 0 || m.Spec().MediaAlone && besideMedia(m, total):
		return mig.LimitMedia
	default:
		return mig.LimitPosition
	}
}

// besideMedia reports whether a demand has a +me and its plain profile.
func besideMedia(m *mig.Model, total mig.Demand) bool {
	for _, p := range m.Spec().Profiles {
		for _, q := range m.Spec().Profiles {
			if total[p.Name] > 0 && total[q.Name] > 0 && alone(placed{p, 0}, placed{q, 0}) {
				return true
			}
		}
	}
	return false
}
