package mps

import (
	"cmp"
	"slices"
)

// search finds the fair way to divide TPCs that strands the fewest.
//
// What a way is worth is a sum over its clients, so the best one follows from the best
// of the clients after the first, for every rest of the budget: a table of clients by
// budget, filled from the last client. The budget counts percent, or TPCs.
type search struct {
	sms, perTPC int
	weights     []int
	percent     int // the budget
	bySMs       bool
	sum         int // of the weights
}

// worth orders the ways: more TPCs first, then nearer to proportional, then the
// lighter clients better off. The fields add up over clients.
type worth struct {
	tpcs     int
	distance int64 // of the squares; less is better
	heavy    int64 // TPCs times weight; less is better
}

func (w worth) plus(v worth) worth {
	return worth{w.tpcs + v.tpcs, w.distance + v.distance, w.heavy + v.heavy}
}

func (w worth) compare(v worth) int {
	return cmp.Or(cmp.Compare(w.tpcs, v.tpcs), cmp.Compare(v.distance, w.distance), cmp.Compare(v.heavy, w.heavy))
}

// cost is what so many TPCs take from the budget.
func (s *search) cost(tpcs int) int {
	if s.bySMs {
		return tpcs
	}
	return smallestPercent(s.sms, s.perTPC, tpcs)
}

// above is the smallest number of TPCs, at least so many, that a whole percentage
// gives. Up to 100 TPCs it is the number itself.
func (s *search) above(tpcs int) int {
	return s.sms * smallestPercent(s.sms, s.perTPC, tpcs) / (100 * s.perTPC)
}

// below is the largest number of TPCs, at most so many, that a whole percentage gives,
// or the smallest there is.
func (s *search) below(tpcs int) int {
	for ; tpcs > 1; tpcs-- {
		if s.above(tpcs) == tpcs {
			return tpcs
		}
	}
	return s.above(1)
}

// The proportional share of a client, in TPCs, is part/whole.
func (s *search) part(client int) int64 {
	return int64(s.sms) * int64(s.percent) * int64(s.weights[client])
}

func (s *search) whole() int64 { return 100 * int64(s.perTPC) * int64(s.sum) }

// budget is what there is to take from.
func (s *search) budget() int {
	if s.bySMs {
		return s.sms * s.percent / (100 * s.perTPC)
	}
	return s.percent
}

// bounds are the fewest and the most TPCs of each client, and whether the budget pays
// for the fewest.
func (s *search) bounds() (low, high []int, ok bool) {
	most, whole := s.sms/s.perTPC, s.whole()
	low, high = make([]int, len(s.weights)), make([]int, len(s.weights))
	for i := range s.weights {
		part := s.part(i)
		low[i] = int(min(max(part/whole, 1), int64(most)))
		high[i] = s.above(int(min(max((part+whole-1)/whole, 1), int64(most))))
	}
	floor := slices.Clone(low)
	for short := 0; ; short++ {
		total, last := 0, true
		for i := range low {
			low[i] = s.below(max(floor[i]-short, 1))
			total += s.cost(low[i])
			last = last && floor[i]-short <= 1
		}
		if total <= s.budget() {
			return low, high, true
		}
		if last {
			return nil, nil, false
		}
	}
}

// best returns the TPCs of each client; false if there is not one for each.
func (s *search) best() ([]int, bool) {
	low, high, ok := s.bounds()
	if !ok {
		return nil, false
	}
	n, budget := len(s.weights), s.budget()
	rest := make([]int, n+1) // the least that the clients from i on take
	for i := n - 1; i >= 0; i-- {
		rest[i] = rest[i+1] + s.cost(low[i])
	}
	// after[b] is the best of the clients from i on with b, next that from i+1 on.
	after, next := make([]worth, budget+1), make([]worth, budget+1)
	choice := make([][]int16, n)
	for i := n - 1; i >= 0; i-- {
		choice[i] = make([]int16, budget+1)
		for b := rest[i]; b <= budget; b++ {
			// From the most TPCs down, so that the earlier client gets more among equals.
			for t := high[i]; t >= low[i]; t-- {
				left := b - s.cost(t)
				if left < rest[i+1] || s.above(t) != t {
					continue
				}
				w := s.worth(i, t).plus(next[left])
				if choice[i][b] == 0 || w.compare(after[b]) > 0 {
					after[b], choice[i][b] = w, int16(t)
				}
			}
		}
		after, next = next, after
	}
	tpcs, b := make([]int, n), budget
	for i := range tpcs {
		tpcs[i] = int(choice[i][b])
		b -= s.cost(tpcs[i])
	}
	return tpcs, true
}

// worth is what one client with so many TPCs adds. The distance leaves out the square
// of the proportional part, which is the same for every way.
func (s *search) worth(client, tpcs int) worth {
	t := int64(tpcs)
	return worth{tpcs, s.whole()*t*t - 2*s.part(client)*t, int64(s.weights[client]) * t}
}
