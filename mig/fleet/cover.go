package fleet

import (
	"math"
	"slices"

	"github.com/gpushare/gpushare/mig"
)

// never is a cost that no answer has.
const never = math.MaxInt / 4

// cover is the problem behind Fit and BestMix: choose, for each GPU, which
// instances are added to it, so that all of need is covered at the least cost. A
// GPU that is used costs what its kind says. What is left uncovered costs its
// fine, or is forbidden where there are no fines.
//
// Everything that can be added to a GPU is part of some pattern, so that covering
// more than is needed stands for covering it exactly.
type cover struct {
	kinds []coverKind
	need  []int
	fines []int
	unit  int // costs are weight*unit + 1; 0: one cost for all
	steps int // budget left

	// Lower bounds: of the whole cost, of its two parts, and of what must stay
	// uncovered; the last three may be missing.
	joint, weight, number, possible *coverBound
	plans                           []fleetPlan
}

// coverKind is a number of equal GPUs.
type coverKind struct {
	layout   mig.Layout
	cost     int
	count    int
	patterns [][]int // what can be added, by item: the undominated choices
}

// coverAnswer says how many GPUs of each kind follow each pattern.
type coverAnswer [][]int

// solve returns the cheapest answer (nil: none was found), its cost, a proven
// lower bound and whether the search came to its end.
func (c *cover) solve() (best coverAnswer, cost, lower int, ended bool) {
	c.price()
	s := c.newSearch(c.order(), c.need)
	lower = s.lower(0)
	best, cost = c.greedy()
	if best == nil {
		costs, fines := make([]int, len(c.kinds)), make([]int, len(c.need))
		for i := range fines {
			fines[i] = 1
		}
		c.possible, _ = c.bound(costs, fines, 1)
		s = c.newSearch(s.order, c.need)
		if lower = s.lower(0); lower >= never {
			return nil, 0, lower, true
		}
	}
	try := func(limit, nodes int) outcome {
		result := s.run(limit, min(nodes, c.steps))
		c.steps -= s.spentNodes
		switch result {
		case found:
			best = c.collect(s)
			cost = c.costOf(best)
		case failed:
			lower = max(lower, min(s.next, cost))
		default:
		}
		return result
	}
	if c.fines != nil && cost == lower {
		return best, cost, lower, true
	}
	// Most questions are answered at the bound by the first descent or a little
	// later; where not, following the relaxation seldom misses by more than one GPU.
	probe := len(s.order) + 2000
	result := failed
	for result == failed && lower < never {
		result = try(lower, probe)
	}
	switch result {
	case found:
		return best, cost, lower, true
	case failed:
		return nil, 0, lower, true
	default:
	}
	probed := lower
	for _, target := range [...]float64{1, 0.8, 0.6, 0.4, 0.2} {
		if cost == lower {
			break
		}
		if other := c.dive(lower, target); other != nil && c.costOf(other) < cost {
			best, cost = other, c.costOf(other)
		}
	}
	if best == nil {
		switch try(never-1, c.steps) {
		case failed:
			return nil, 0, never, true
		case gaveUp:
			return nil, 0, lower, false
		default:
		}
	}
	for limit := lower; lower < cost; limit = lower + (cost-lower)/2 {
		if try(min(limit, cost-1), c.steps) == gaveUp {
			return best, cost, lower, false
		}
	}
	if probed != cost && c.fines == nil {
		try(cost, probe) // for the order among answers of equal cost
	}
	return best, cost, lower, true
}

// order lists the kind of each GPU.
func (c *cover) order() []int {
	var order []int
	for g, k := range c.kinds {
		for range k.count {
			order = append(order, g)
		}
	}
	return order
}

func (c *cover) costs() []int {
	costs := make([]int, len(c.kinds))
	for g, k := range c.kinds {
		costs[g] = k.cost
	}
	return costs
}

// penalties returns what it costs the relaxation to leave an item uncovered: a
// fine or, where that is forbidden, more than any GPU that could cover it.
func (c *cover) penalties(costs []int) []int {
	if c.fines != nil {
		return c.fines
	}
	most := 1
	for _, cost := range costs {
		most = max(most, cost)
	}
	list := make([]int, len(c.need))
	for i := range list {
		list[i] = 8 * most
	}
	return list
}

// price finds the multipliers of the bounds.
func (c *cover) price() {
	costs := c.costs()
	fines := c.penalties(costs)
	c.joint, c.plans = c.bound(costs, fines, 1)
	if c.unit > 0 {
		weights, ones := make([]int, len(costs)), make([]int, len(costs))
		for g, cost := range costs {
			weights[g], ones[g] = cost/c.unit, 1
		}
		c.weight, _ = c.bound(weights, c.penalties(weights), c.unit)
		c.number, _ = c.bound(ones, c.penalties(ones), 1)
	}
}

func (c *cover) bound(costs, fines []int, unit int) (*coverBound, []fleetPlan) {
	prices, plans := mixture(c.kinds, costs, c.need, fines)
	most, units := 1, 1
	for i, f := range fines {
		most = max(most, f)
		units += c.need[i]
	}
	for _, k := range c.kinds {
		units += 2 * mig.MaxUnits * k.count
	}
	b := &coverBound{price: make([]int, len(c.need)), scale: 1, unit: unit, costs: costs}
	for b.scale < 1<<32 && b.scale < never/most/units/2 {
		b.scale *= 2
	}
	for i := range prices {
		b.price[i] = min(max(0, int(math.Round(prices[i]*float64(b.scale)))), fines[i]*b.scale)
	}
	return b, plans
}

// greedy uses, again and again, the GPU and the pattern that earn most at the
// prices of the bound. It returns nil where something must be covered and is not.
func (c *cover) greedy() (coverAnswer, int) {
	answer, rem := c.blank(), slices.Clone(c.need)
	left := make([]int, len(c.kinds))
	for g, k := range c.kinds {
		left[g] = k.count
	}
	for {
		kind, pattern, most, mostCovered := -1, -1, 0, 0
		for g, k := range c.kinds {
			if left[g] == 0 {
				continue
			}
			for n, v := range k.patterns {
				worth, covered := -k.cost*c.joint.scale, 0
				for i, want := range v {
					worth += c.joint.price[i] * min(want, rem[i])
					covered += min(want, rem[i])
				}
				if covered > 0 && (kind < 0 || worth > most || worth == most && covered > mostCovered) {
					kind, pattern, most, mostCovered = g, n, worth, covered
				}
			}
		}
		if kind < 0 {
			break
		}
		times := left[kind]
		for i, n := range c.kinds[kind].patterns[pattern] {
			if n > 0 {
				times = min(times, max(1, rem[i]/n))
			}
		}
		left[kind] -= times
		answer[kind][pattern] += times
		for i, n := range c.kinds[kind].patterns[pattern] {
			rem[i] = max(0, rem[i]-times*n)
		}
	}
	if c.fines == nil && slices.Max(append(rem, 0)) > 0 {
		return nil, never
	}
	return answer, c.costOf(answer)
}

// dive follows the relaxation: it fixes what that uses whole, or else one GPU
// whose share is nearest to the target, searches for the rest and, where that
// finds nothing within the limit, solves the relaxation of the rest and goes on.
// It returns nil where the end covers too little.
func (c *cover) dive(limit int, target float64) coverAnswer {
	answer := c.blank()
	rest := *c
	rest.need, rest.kinds = slices.Clone(c.need), slices.Clone(c.kinds)
	costs := c.costs()
	fines := c.penalties(costs)
	plans := c.plans
	for c.steps > 0 {
		if !rest.fix(plans, answer, target, &limit) {
			break
		}
		s := rest.newSearch(rest.order(), rest.need)
		result := s.run(limit, min(len(s.order)+500, c.steps))
		c.steps -= max(1, s.spentNodes)
		if result == found {
			return answer.plus(rest.collect(s))
		}
		_, plans = mixture(rest.kinds, costs, rest.need, fines)
	}
	if more, _ := rest.greedy(); more != nil {
		return answer.plus(more)
	}
	return nil
}

// fix moves GPUs from what is left to the answer. It returns false if there is
// nothing to move.
func (c *cover) fix(plans []fleetPlan, answer coverAnswer, target float64, limit *int) bool {
	take := func(g, n, times int) {
		answer[g][n] += times
		c.kinds[g].count -= times
		*limit -= times * c.kinds[g].cost
		for i, want := range c.kinds[g].patterns[n] {
			c.need[i] = max(0, c.need[i]-times*want)
		}
	}
	kind, pattern, off, whole := -1, -1, 2.0, false
	for g, k := range c.kinds {
		share := make([]float64, len(k.patterns))
		for _, p := range plans {
			if p.pattern[g] >= 0 {
				share[p.pattern[g]] += float64(p.share * float64(k.count))
			}
		}
		for n, x := range share {
			if times := min(int(math.Floor(x+1e-6)), c.kinds[g].count); times > 0 {
				take(g, n, times)
				whole = true
			} else if x > 1e-6 && math.Abs(x-target) < off {
				kind, pattern, off = g, n, math.Abs(x-target)
			}
		}
	}
	if !whole && kind >= 0 {
		take(kind, pattern, 1)
		return true
	}
	return whole
}

func (a coverAnswer) plus(b coverAnswer) coverAnswer {
	for g := range a {
		for n := range a[g] {
			a[g][n] += b[g][n]
		}
	}
	return a
}

func (c *cover) blank() coverAnswer {
	answer := make(coverAnswer, len(c.kinds))
	for g, k := range c.kinds {
		answer[g] = make([]int, len(k.patterns))
	}
	return answer
}

// costOf returns the cost of an answer, fines included.
func (c *cover) costOf(answer coverAnswer) int {
	cost, rem := 0, slices.Clone(c.need)
	for g, k := range c.kinds {
		for n, times := range answer[g] {
			cost += times * k.cost
			for i, want := range k.patterns[n] {
				rem[i] = max(0, rem[i]-times*want)
			}
		}
	}
	for i, fine := range c.fines {
		cost += fine * rem[i]
	}
	return cost
}

// collect turns the choices of a search into an answer.
func (c *cover) collect(s *coverSearch) coverAnswer {
	answer := c.blank()
	for j, n := range s.choice {
		if n >= 0 {
			answer[s.order[j]][n]++
		}
	}
	return answer
}
