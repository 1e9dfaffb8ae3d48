package fleet

import "math"

// coverBound is a proven lower bound on what a cover costs: Lagrange multipliers
// of the items. Whatever whole numbers the prices are, the bound holds; good ones
// make it as tight as the linear relaxation. The prices come out of floating
// point, the bound is computed in integers.
type coverBound struct {
	price []int // of covering one of an item, in 1/scale of the cost
	scale int
	tail  []int // by place in the search order: the most that the GPUs from there on can earn beyond their cost
	unit  int   // what one of it is worth in the cost of the problem
	costs []int // of using a GPU, by kind
}

// of returns the least cost, in units of the bound, of covering need with the
// GPUs from place j on.
func (b *coverBound) of(j int, need []int) int {
	worth := -b.tail[j]
	for i, n := range need {
		worth += b.price[i] * n
	}
	if worth <= 0 {
		return 0
	}
	return (worth + b.scale - 1) / b.scale
}

// along returns the bound for a search order.
func (b coverBound) along(kinds []coverKind, order []int) *coverBound {
	earns := make([]int, len(kinds))
	for g := range kinds {
		for _, v := range kinds[g].patterns {
			worth := -b.costs[g] * b.scale
			for i, n := range v {
				worth += b.price[i] * n
			}
			earns[g] = max(earns[g], worth)
		}
	}
	b.tail = make([]int, len(order)+1)
	for j := len(order) - 1; j >= 0; j-- {
		b.tail[j] = b.tail[j+1] + earns[order[j]]
	}
	return &b
}

// fleetPlan is a choice for the whole fleet: one pattern for all GPUs of a kind, or
// none (-1). The linear relaxation is solved as a mixture of such plans.
type fleetPlan struct {
	pattern []int
	covers  []float64
	cost    float64
	share   float64
}

// mixture solves the linear relaxation by column generation: the duals of a
// mixture of plans price the items, the prices name the plan that gains most,
// and so on until none gains. It returns the best prices met and the plans of
// the last mixture. Products are converted before they are added, so that no
// platform fuses the two and every platform takes the same steps.
func mixture(kinds []coverKind, costs, need, fines []int) (prices []float64, plans []fleetPlan) {
	k := len(need)
	m := k + 1 // one row for each item, one for the shares
	s := relaxation{m: m, inverse: make([][]float64, m), value: make([]float64, m), cost: make([]float64, m), plan: make([]*fleetPlan, m)}
	for r := range m {
		s.inverse[r] = make([]float64, m)
		s.inverse[r][r] = 1
		if r < k {
			s.value[r], s.cost[r] = float64(need[r]), float64(fines[r])
		}
	}
	s.value[k] = 1
	s.plan[k] = &fleetPlan{pattern: make([]int, len(kinds)), covers: make([]float64, k)}
	for g := range kinds {
		s.plan[k].pattern[g] = -1
	}
	best := math.Inf(-1)
	column := make([]float64, m)
	for range 200 + 40*m {
		dual := s.duals()
		enter, least := -1, -1e-9 // column of an item that is left out (0..k-1) or overfull (k..2k-1)
		for i := range k {
			if fine := float64(fines[i]); (fine-dual[i])/(1+fine) < least {
				enter, least = i, (fine-dual[i])/(1+fine)
			}
			if dual[i] < least {
				enter, least = k+i, dual[i]
			}
		}
		if enter >= 0 {
			clear(column)
			if enter < k {
				column[enter] = 1
				s.pivot(column, float64(fines[enter]), nil)
			} else {
				column[enter-k] = -1
				s.pivot(column, 0, nil)
			}
			continue
		}
		next := bestPlan(kinds, costs, dual[:k])
		gain := -next.cost
		bound := next.cost
		for i := range k {
			gain += float64(dual[i] * next.covers[i])
			bound += float64(dual[i] * (float64(need[i]) - next.covers[i]))
		}
		if bound > best {
			best, prices = bound, dual[:k]
		}
		if gain+dual[k] <= 1e-9*(1+math.Abs(dual[k])) {
			break
		}
		copy(column, next.covers)
		column[k] = 1
		s.pivot(column, next.cost, next)
	}
	for r, p := range s.plan {
		if p != nil && s.value[r] > 1e-12 {
			p.share = s.value[r]
			plans = append(plans, *p)
		}
	}
	return prices, plans
}

// bestPlan returns the plan that earns most at the given prices.
func bestPlan(kinds []coverKind, costs []int, price []float64) *fleetPlan {
	p := &fleetPlan{pattern: make([]int, len(kinds)), covers: make([]float64, len(price))}
	for g := range kinds {
		p.pattern[g] = -1
		most := 1e-12
		for n, v := range kinds[g].patterns {
			worth := -float64(costs[g])
			for i, c := range v {
				worth += float64(price[i] * float64(c))
			}
			if worth > most {
				most, p.pattern[g] = worth, n
			}
		}
		if p.pattern[g] < 0 {
			continue
		}
		count := float64(kinds[g].count)
		p.cost += float64(count * float64(costs[g]))
		for i, c := range kinds[g].patterns[p.pattern[g]] {
			p.covers[i] += float64(count * float64(c))
		}
	}
	return p
}

// relaxation is a revised simplex with an explicit inverse of the basis.
type relaxation struct {
	m       int
	inverse [][]float64
	value   []float64 // of the basic variables
	cost    []float64
	plan    []*fleetPlan // nil: not a plan
}

func (s *relaxation) duals() []float64 {
	d := make([]float64, s.m)
	for r, c := range s.cost {
		if c == 0 {
			continue
		}
		for i, a := range s.inverse[r] {
			d[i] += float64(c * a)
		}
	}
	return d
}

// pivot brings a column into the basis; it does nothing if none can leave.
func (s *relaxation) pivot(column []float64, cost float64, plan *fleetPlan) {
	step := make([]float64, s.m)
	leave, least := -1, math.Inf(1)
	for r := range s.m {
		for i, a := range column {
			step[r] += float64(s.inverse[r][i] * a)
		}
		if step[r] > 1e-9 && s.value[r]/step[r] < least {
			leave, least = r, s.value[r]/step[r]
		}
	}
	if leave < 0 {
		return
	}
	for i := range s.inverse[leave] {
		s.inverse[leave][i] /= step[leave]
	}
	for r := range s.m {
		if r == leave || step[r] == 0 {
			continue
		}
		for i, a := range s.inverse[leave] {
			s.inverse[r][i] -= float64(step[r] * a)
		}
		s.value[r] = max(0, s.value[r]-float64(step[r]*least))
	}
	s.value[leave], s.cost[leave], s.plan[leave] = least, cost, plan
}
