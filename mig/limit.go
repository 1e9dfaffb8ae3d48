package mig

import (
	"fmt"
	"slices"
	"strconv"
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

// binds returns the first limit other than position that alone makes the counts
// impossible beside what is there, noLimit if there is none.
func (l *Layout) binds(x *index, counts []int32) Limit {
	var room [usualProfiles]int32
	total := l.total(append(room[:0], counts...))
	memory, compute, count, limited := 0, 0, false, false
	for i, n := range total {
		r := &x.rows[i]
		memory += int(n) * r.size
		compute += int(n) * r.compute
		count = count || int(n) > r.most
		limited = limited || n > 0 && r.limited
	}
	s := &l.model.spec
	switch {
	case memory > s.MemorySlices:
		return LimitMemory
	case compute > s.ComputeSlices:
		return LimitCompute
	case count:
		return LimitCount
	}
	if limited {
		if _, _, clash := x.clash(total); clash {
			return LimitMedia
		}
	}
	return noLimit
}

// total adds what is there to the counts.
func (l *Layout) total(counts []int32) []int32 {
	for _, n := range l.at {
		if n != 0 {
			counts[n-1]++
		}
	}
	return counts
}

// clash returns the first two profiles among the counted that cannot stand
// together.
func (x *index) clash(counts []int32) (i, j int, found bool) {
	for i, n := range counts {
		if n == 0 || !x.rows[i].limited {
			continue
		}
		for j, k := range counts[:i] {
			if k > 0 && x.rows[i].clash[j>>6]>>(j&63)&1 != 0 {
				return i, j, true
			}
		}
	}
	return 0, 0, false
}

// detail writes the figures of the limit that binds.
func (l *Layout) detail(x *index, kind Limit, counts []int32) string {
	s := &l.model.spec
	total := l.total(slices.Clone(counts))
	memory, compute := 0, 0
	for i, n := range total {
		memory += int(n) * x.rows[i].size
		compute += int(n) * x.rows[i].compute
	}
	switch kind {
	case LimitMemory:
		return needed(memory, "memory slices", "the GPU has ", s.MemorySlices)
	case LimitCompute:
		return needed(compute, "compute slices", "the GPU has ", s.ComputeSlices)
	case LimitCount:
		for i, n := range total {
			if r := &x.rows[i]; int(n) > r.most {
				return needed(int(n), "of "+r.name, "the driver allows ", r.most)
			}
		}
	case LimitMedia:
		i, j, _ := x.clash(total)
		return x.rows[j].name + " and " + x.rows[i].name + " compete for media engines"
	default:
	}
	return l.obstacle(x, counts)
}

// needed writes "9 memory slices needed in all, the GPU has 8".
func needed(n int, of, limit string, most int) string {
	b := make([]byte, 0, 64)
	b = strconv.AppendInt(b, int64(n), 10)
	b = append(b, ' ')
	b = append(b, of...)
	b = append(b, " needed in all, "...)
	b = append(b, limit...)
	return string(strconv.AppendInt(b, int64(most), 10))
}

// obstacle says, of counts that no choice of starts holds, which profile alone is
// too many for what is there.
func (l *Layout) obstacle(x *index, counts []int32) string {
	for i, n := range counts {
		if room := l.remaining(x, i); int(n) > room {
			return strconv.Itoa(int(n)) + " of " + x.rows[i].name + " wanted, legal starts are free for " + strconv.Itoa(room)
		}
	}
	return "no choice of legal starts holds them all"
}
