package fleet

import (
	"cmp"
	"encoding/binary"
	"slices"
)

type outcome uint8

const (
	found outcome = iota
	failed
	gaveUp
)

// coverSearch goes over the GPUs in order and tries every pattern, then none, as
// long as the lower bounds leave hope. It remembers what was left to cover at
// which GPU with how much to spend, so that no question is asked twice. Equal
// GPUs stand together; the first one that is not used ends their row.
type coverSearch struct {
	c      *cover
	order  []int
	end    []int // of the row of equal GPUs
	need   []int // what is left to cover
	bounds [4]*coverBound

	limit, next int // the cost allowed, and the least one above it that may do
	nodes       int
	spentNodes  int
	choice      []int
	level       []coverLevel
	known       map[string]int // what does not suffice
	key         []byte
}

type coverLevel struct {
	order, worth, took []int
}

func (c *cover) newSearch(order, need []int) *coverSearch {
	s := &coverSearch{
		c: c, order: order, need: slices.Clone(need), end: make([]int, len(order)),
		choice: make([]int, len(order)), level: make([]coverLevel, len(order)), known: map[string]int{},
	}
	for j := len(order) - 1; j >= 0; j-- {
		s.end[j] = j + 1
		if j+1 < len(order) && order[j+1] == order[j] {
			s.end[j] = s.end[j+1]
		}
	}
	for i, b := range []*coverBound{c.joint, c.weight, c.number, c.possible} {
		if b != nil {
			s.bounds[i] = b.along(c.kinds, order)
		}
	}
	return s
}

// lower is the least that it can cost to cover what is left from GPU j on.
func (s *coverSearch) lower(j int) int {
	least := s.bounds[0].of(j, s.need)
	if s.bounds[1] != nil {
		least = max(least, s.bounds[1].of(j, s.need)*s.bounds[1].unit+s.bounds[2].of(j, s.need))
	}
	if s.bounds[3] != nil && s.bounds[3].of(j, s.need) > 0 {
		return never
	}
	return least
}

// run looks for an answer that costs no more than limit.
func (s *coverSearch) run(limit, nodes int) outcome {
	s.limit, s.next, s.nodes = limit, never, nodes
	for j := range s.choice {
		s.choice[j] = -1
	}
	need := slices.Clone(s.need)
	result := s.step(0, 0)
	s.need = need
	s.spentNodes = nodes - s.nodes
	return result
}

func (s *coverSearch) step(j, spent int) outcome {
	rest := 0
	for i, n := range s.need {
		if n > 0 && s.c.fines == nil {
			rest = never
			break
		}
		if n > 0 {
			rest += s.c.fines[i] * n
		}
	}
	if spent+rest <= s.limit {
		return found
	}
	if j == len(s.order) {
		s.next = min(s.next, spent+rest)
		return failed
	}
	if least := spent + s.lower(j); least > s.limit {
		s.next = min(s.next, least)
		return failed
	}
	// The end of the row of equal GPUs is not part of the key: j is in no row that
	// has ended.
	s.key = binary.AppendUvarint(s.key[:0], uint64(j))
	for _, n := range s.need {
		s.key = binary.AppendUvarint(s.key, uint64(n))
	}
	if less, met := s.known[string(s.key)]; met && s.limit-spent <= less {
		s.next = min(s.next, spent+less+1)
		return failed
	}
	if s.nodes == 0 {
		return gaveUp
	}
	s.nodes--
	kind := &s.c.kinds[s.order[j]]
	if spent+kind.cost <= s.limit {
		level := s.choices(j, kind)
		for _, n := range level.order {
			took := level.took
			for i, want := range kind.patterns[n] {
				took[i] = min(want, s.need[i])
				s.need[i] -= took[i]
			}
			s.choice[j] = n
			result := s.step(j+1, spent+kind.cost)
			if result != failed {
				return result
			}
			for i := range took {
				s.need[i] += took[i]
			}
		}
		s.choice[j] = -1
	} else {
		s.next = min(s.next, spent+kind.cost)
	}
	if result := s.step(s.end[j], spent); result != failed {
		return result
	}
	s.key = binary.AppendUvarint(s.key[:0], uint64(j))
	for _, n := range s.need {
		s.key = binary.AppendUvarint(s.key, uint64(n))
	}
	if less, met := s.known[string(s.key)]; !met || less < s.limit-spent {
		s.known[string(s.key)] = s.limit - spent
	}
	return failed
}

// choices orders the patterns that cover anything by what they earn.
func (s *coverSearch) choices(j int, kind *coverKind) *coverLevel {
	level := &s.level[j]
	if level.took == nil {
		level.took = make([]int, len(s.need))
		level.worth = make([]int, len(kind.patterns))
	}
	level.order = level.order[:0]
	for n, v := range kind.patterns {
		worth, covers := 0, false
		for i, want := range v {
			worth += s.bounds[0].price[i] * min(want, s.need[i])
			covers = covers || min(want, s.need[i]) > 0
		}
		level.worth[n] = worth
		if covers {
			level.order = append(level.order, n)
		}
	}
	slices.SortStableFunc(level.order, func(a, b int) int { return cmp.Compare(level.worth[b], level.worth[a]) })
	return level
}
