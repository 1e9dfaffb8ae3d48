package timeslice

import (
	"cmp"
	"fmt"
	"slices"
)

// Claim is what one client asks of a GPU, for [Shares].
type Claim struct {
	Demand int64 // what it would use alone, in the unit of the capacity
	Weight int64 // its fraction in milli (1000 is the GPU); of WeightedMaxMin: any scale
}

// Shares is what each client gets of a capacity under a discipline, switches
// apart. The unit is the caller's: milli-GPU, or nanoseconds of a second where
// rounding matters. With d a demand, w a fraction, n the clients and m the slots:
//
//	round robin, best effort, exclusive turn   max-min: see below
//	equal share                                min(d, capacity/n)
//	fixed share                                min(d, capacity/m)
//	strict fraction                            min(d, capacity*w/1000)
//	fair fraction                              strict, and the rest max-min
//
// Max-min: what everybody may have at most is one level L, as high as it can be;
// a client gets min(d, L). It follows from skipping whoever has no work: whoever
// wants less than L takes part in fewer rounds, and the rest share what it leaves.
// Equal demands get equal shares, so up to one unit a client may stay undivided.
//
// slots is used by FixedShare only, and is at least the number of claims, which
// are those of the clients present. [ErrInput] for negative numbers, for weights
// of a fraction above 1000 in sum and for an unknown discipline.
func Shares(d Discipline, capacity int64, slots int, claims []Claim) ([]int64, error) {
	if err := checkClaims(capacity, claims); err != nil {
		return nil, err
	}
	switch d {
	case RoundRobin, BestEffort, ExclusiveTurn:
		return maxMin(capacity, claims), nil
	case EqualShare:
		return capped(claims, func(Claim) int64 { return capacity / int64(len(claims)) }), nil
	case FixedShare:
		if slots < len(claims) {
			return nil, fmt.Errorf("%w: %d slots for %d clients", ErrInput, slots, len(claims))
		}
		return capped(claims, func(Claim) int64 { return capacity / int64(slots) }), nil
	case StrictFraction, FairFraction:
	default:
		return nil, fmt.Errorf("%w: %s", ErrInput, d)
	}
	var sum int64
	for _, c := range claims {
		if sum = satAdd(sum, c.Weight); sum > 1000 {
			return nil, fmt.Errorf("%w: fractions above 1000 milli in sum", ErrInput)
		}
	}
	strict := capped(claims, func(c Claim) int64 { return mulDiv(capacity, c.Weight, 1000) })
	if d == StrictFraction {
		return strict, nil
	}
	rest, more := capacity, make([]Claim, len(claims))
	for i, c := range claims {
		rest -= strict[i]
		more[i] = Claim{Demand: c.Demand - strict[i]}
	}
	for i, extra := range maxMin(rest, more) {
		strict[i] += extra
	}
	return strict, nil
}

func checkClaims(capacity int64, claims []Claim) error {
	if capacity < 0 {
		return fmt.Errorf("%w: capacity %d", ErrInput, capacity)
	}
	for i, c := range claims {
		if c.Demand < 0 || c.Weight < 0 {
			return fmt.Errorf("%w: claim %d has demand %d and weight %d", ErrInput, i, c.Demand, c.Weight)
		}
	}
	return nil
}

func capped(claims []Claim, most func(Claim) int64) []int64 {
	shares := make([]int64, len(claims))
	for i, c := range claims {
		shares[i] = min(c.Demand, most(c))
	}
	return shares
}

// maxMin fills up from the smallest demand: whoever wants no more than an equal
// part of what is left gets it; from the first who wants more, all get that part.
func maxMin(capacity int64, claims []Claim) []int64 {
	order := make([]int64, len(claims))
	for i, c := range claims {
		order[i] = c.Demand
	}
	slices.Sort(order)
	left, level := capacity, int64(0)
	for i, demand := range order {
		level = left / int64(len(order)-i)
		if demand > level {
			break
		}
		left -= demand
		level = demand
	}
	return capped(claims, func(Claim) int64 { return level })
}

// WeightedMaxMin divides a capacity max-min by weight: a client gets
// min(d, w*L) with one L, as high as it can be, w*L rounded down. A client of weight
// 0 gets nothing. It differs from the fair fraction, which divides what is left
// equally. Errors as of [Shares].
func WeightedMaxMin(capacity int64, claims []Claim) ([]int64, error) {
	if err := checkClaims(capacity, claims); err != nil {
		return nil, err
	}
	order := make([]int, 0, len(claims))
	var weights int64
	for i, c := range claims {
		if c.Weight == 0 {
			continue
		}
		order = append(order, i)
		if weights = satAdd(weights, c.Weight); weights > MaxTime {
			return nil, fmt.Errorf("%w: weights above %d in sum", ErrInput, MaxTime)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := claims[i], claims[j]
		return cmp.Or(Ratio{a.Demand, a.Weight}.Compare(Ratio{b.Demand, b.Weight}), cmp.Compare(i, j))
	})
	shares := make([]int64, len(claims))
	left := capacity
	for k, i := range order {
		c := claims[i]
		if (Ratio{c.Demand, c.Weight}).Compare(Ratio{left, weights}) > 0 {
			for _, j := range order[k:] {
				shares[j] = min(claims[j].Demand, mulDiv(left, claims[j].Weight, weights))
			}
			break
		}
		shares[i] = c.Demand
		left -= c.Demand
		weights -= c.Weight
	}
	return shares, nil
}
