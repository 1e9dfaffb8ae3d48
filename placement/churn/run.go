package churn

import (
	"fmt"
	"math/bits"

	"github.com/gpushare/gpushare/placement"
)

// Result is what a rule made of a trace, over the arrivals that are measured.
type Result struct {
	Requests Count
	Slices   Count // compute slices of the requests
	// ByProfile counts the requests of each profile, in the order of their first
	// appearance in the mixes.
	ByProfile []ProfileCount
}

// Count is how many were offered and how many of them rejected.
type Count struct{ Offered, Rejected int }

// Share returns the rejected share, 0 to 1.
func (c Count) Share() float64 {
	if c.Offered == 0 {
		return 0
	}
	return float64(c.Rejected) / float64(c.Offered)
}

// ProfileCount is the Count of one profile.
type ProfileCount struct {
	Profile string
	Count
}

// Run plays the trace with one policy. Its answer may depend on the GPU alone, and
// not on the task's ID. The error wraps ErrBadConfig for no policy, and for one that
// answers with a start that is not free.
func (t *Trace) Run(p placement.Policy) (Result, error) {
	return t.RunWith(func(*placement.Task) placement.Policy {
		first := p
		p = nil
		return first
	})
}

// RunWith plays the trace with a policy that may change: next is called before
// every arrival, with the request, and returns the policy that decides from here
// on, or nil to keep the one before. A new one is asked about every state, which
// takes some milliseconds. The error is that of Run.
func (t *Trace) RunWith(next func(*placement.Task) placement.Policy) (Result, error) {
	if next == nil {
		return Result{}, fmt.Errorf("churn: nothing says which policy decides: %w", ErrBadConfig)
	}
	f := newFloor(t)
	result := Result{ByProfile: make([]ProfileCount, len(t.requests))}
	tasks := make([]placement.Task, len(t.requests))
	for i := range t.requests {
		tasks[i].Shape = t.requests[i].shape
		result.ByProfile[i].Profile = t.requests[i].shape.Profile
	}
	for i := range t.arrivals {
		a := &t.arrivals[i]
		if p := next(&tasks[a.request]); p != nil {
			if err := f.use(p, t.requests); err != nil {
				return Result{}, err
			}
		} else if i == 0 {
			return Result{}, fmt.Errorf("churn: no policy for the first arrival: %w", ErrBadConfig)
		}
		f.releaseUntil(a.at)
		admitted := f.admit(a)
		if i >= t.first {
			result.count(a.request, t.requests[a.request].slices, admitted)
		}
	}
	return result, nil
}

func (r *Result) count(request int32, slices int, admitted bool) {
	rejected := 1
	if admitted {
		rejected = 0
	}
	for _, c := range []*Count{&r.Requests, &r.ByProfile[request].Count} {
		c.Offered++
		c.Rejected += rejected
	}
	r.Slices.Offered += slices
	r.Slices.Rejected += slices * rejected
}

// floor is the GPUs with what stands on them.
type floor struct {
	bays   []bay
	leaves departures
}

// bay is a rack at work.
type bay struct {
	*rack
	table *table
	state []int32    // by GPU
	in    [][]uint64 // by state: the GPUs in it; nil: never any
	count []int32    // by state: how many those are
	used  [][]uint64 // by request: the places of the table's row whose state some GPU is in
}

func newFloor(t *Trace) *floor {
	f := &floor{}
	for _, r := range t.fleet {
		b := bay{
			rack:  r,
			state: make([]int32, r.gpus),
			in:    make([][]uint64, r.states.Len()),
			count: make([]int32, r.states.Len()),
			used:  make([][]uint64, len(t.requests)),
		}
		for i := range b.used {
			b.used[i] = make([]uint64, words(r.states.Len()))
		}
		b.in[0] = make([]uint64, words(r.gpus))
		for g := range r.gpus {
			b.in[0][g>>6] |= 1 << (g & 63)
		}
		b.count[0] = int32(r.gpus)
		f.bays = append(f.bays, b)
	}
	return f
}

func words(n int) int { return (n + 63) / 64 }

// use takes the answers of another policy.
func (f *floor) use(p placement.Policy, requests []request) error {
	for i := range f.bays {
		b := &f.bays[i]
		var err error
		if b.table, err = b.ask(p, requests); err != nil {
			return err
		}
		for r := range b.used {
			clear(b.used[r])
			for place, state := range b.table.rows[r].order {
				if b.count[state] > 0 {
					b.used[r][place>>6] |= 1 << (place & 63)
				}
			}
		}
	}
	return nil
}

// admit places a request where the policy wants it, and reports whether it fits
// anywhere.
func (f *floor) admit(a *arrival) bool {
	best, gpu, place := -1, -1, 0
	for i := range f.bays {
		b := &f.bays[i]
		g, p := b.choose(a.request)
		if g < 0 {
			continue
		}
		if best < 0 || b.table.rows[a.request].score[p] > f.bays[best].table.rows[a.request].score[place] {
			best, gpu, place = i, g, p
		}
	}
	if best < 0 {
		return false
	}
	b := &f.bays[best]
	row := &b.table.rows[a.request]
	start := int(row.start[place])
	b.move(gpu, b.states.With(int(b.state[gpu]), row.kind, start))
	f.leaves.push(departure{a.at + a.lifetime, int32(best), int32(gpu), int8(start)})
	return true
}

// choose returns the GPU that a request goes to, the first of those of the best
// score, and the place of its state in the row; -1 if it fits on none.
func (b *bay) choose(request int32) (gpu, place int) {
	gpu = -1
	row := &b.table.rows[request]
	for w, word := range b.used[request] {
		for ; word != 0; word &= word - 1 {
			p := w<<6 + bits.TrailingZeros64(word)
			if gpu >= 0 && row.score[p] != row.score[place] {
				return gpu, place
			}
			if g := first(b.in[row.order[p]]); gpu < 0 || g < gpu {
				gpu, place = g, p
			}
		}
	}
	return gpu, place
}

func first(set []uint64) int {
	for w, word := range set {
		if word != 0 {
			return w<<6 + bits.TrailingZeros64(word)
		}
	}
	return -1
}

// move books a GPU's new state.
func (b *bay) move(gpu, to int) {
	from := b.state[gpu]
	b.in[from][gpu>>6] &^= 1 << (gpu & 63)
	b.count[from]--
	if b.count[from] == 0 {
		for r := range b.used {
			if row := &b.table.rows[r]; row.kind >= 0 && row.place[from] >= 0 {
				b.used[r][row.place[from]>>6] &^= 1 << (row.place[from] & 63)
			}
		}
	}
	b.state[gpu] = int32(to)
	if b.in[to] == nil {
		b.in[to] = make([]uint64, words(b.gpus))
	}
	b.in[to][gpu>>6] |= 1 << (gpu & 63)
	b.count[to]++
	if b.count[to] == 1 {
		for r := range b.used {
			if row := &b.table.rows[r]; row.kind >= 0 && row.place[to] >= 0 {
				b.used[r][row.place[to]>>6] |= 1 << (row.place[to] & 63)
			}
		}
	}
}

// releaseUntil lets all leave whose time has come.
func (f *floor) releaseUntil(now float64) {
	for len(f.leaves) > 0 && f.leaves[0].at <= now {
		d := f.leaves.pop()
		b := &f.bays[d.bay]
		b.move(int(d.gpu), b.states.Without(int(b.state[d.gpu]), int(d.start)))
	}
}
