package mig

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Best returns which of many GPUs, of any mix of models, takes the whole demand
// best, and its layout afterwards, which is that of its Fit.
//
// A GPU in use goes before an empty one, since only an empty one takes what needs
// the whole. Of those, the best is the one that loses the smallest share of its
// choice: FreePairs lost, relative to the FreePairs of the empty GPU, compared
// exactly. So a demand goes where least else could have gone, and GPUs of
// different models are measured by the same rule. On a tie it is the lowest index.
//
// A GPU whose model does not offer every profile of the demand is passed over,
// as is one that is not cut and one of unknown geometry. The error is a
// *BestError when no GPU takes the demand, or wraps ErrBadName or ErrBadDemand;
// gpu is then -1.
//
// It is exact, and equal states are looked at once: some tens of nanoseconds a
// GPU.
func Best(gpus []Layout, want Demand) (gpu int, after Layout, err error) {
	for _, n := range want {
		if n < 0 {
			return -1, Layout{}, badDemand(want)
		}
	}
	models := contenders{want: want, list: make([]contender, 0, 4)}
	b := contest{winner: -1}
	for g := range gpus {
		l := &gpus[g]
		if l.model == nil {
			continue
		}
		c, err := models.of(l.model)
		if err != nil {
			return -1, Layout{}, err
		}
		b.try(c, l, g)
	}
	if b.winner < 0 {
		return -1, Layout{}, models.refusal(gpus)
	}
	return b.winner, b.search.result(gpus[b.winner]), nil
}

// contender is a model among the GPUs, with the demand by its table.
type contender struct {
	model *Model
	x     *index

	// unknown says that placements are, refused that a profile is not offered;
	// possible says that the demand is within the limits of the empty GPU.
	unknown, refused, possible bool

	counts  []int32
	memory  int  // slices wanted
	limited bool // limits other than overlap can bind
	choice  int  // FreePairs of the empty GPU

	search search
	seen   []uint64 // used masks of the GPUs looked at, one bit each
}

// contenders are the models seen so far.
type contenders struct {
	want Demand
	list []contender
	last int
}

// of returns the contender of a model. The error is that of a malformed demand.
func (cs *contenders) of(m *Model) (*contender, error) {
	if cs.last < len(cs.list) && cs.list[cs.last].model == m {
		return &cs.list[cs.last], nil
	}
	for i := range cs.list {
		if cs.list[i].model == m {
			cs.last = i
			return &cs.list[i], nil
		}
	}
	cs.last = len(cs.list)
	cs.list = append(cs.list, contender{model: m})
	c := &cs.list[cs.last]
	return c, c.read(cs.want)
}

// read counts the demand in the terms of the model. The error is that of a
// malformed one; a profile that the model does not offer is none.
func (c *contender) read(want Demand) error {
	if !c.model.HasGeometry() {
		c.unknown = true
		return nil
	}
	x := c.model.index()
	c.x, c.counts = x, make([]int32, len(x.rows))
	if !x.counts(want, c.counts) {
		if err := badDemand(want); err != nil {
			return err
		}
		err := c.model.tally(want, c.counts)
		c.unknown = errors.Is(err, ErrUnknownGeometry)
		c.refused = err != nil && !c.unknown
		if c.unknown || c.refused {
			return nil
		}
	}
	c.choice = max(1, int(x.pairs[0]))
	for i, n := range c.counts {
		c.memory += int(n) * x.rows[i].size
		c.limited = c.limited || n > 0 && x.rows[i].limited
	}
	empty := c.model.Empty()
	if c.possible = empty.binds(x, c.counts) == noLimit; c.possible {
		c.search.x = x
		c.search.want(c.counts)
		c.seen = make([]uint64, (len(x.pairs)+63)/64)
	}
	return nil
}

// badDemand returns what is wrong with a demand whatever the model, at the first
// name in order.
func badDemand(want Demand) error {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if _, err := ParseName(name); err != nil {
			return err
		}
		if want[name] < 0 {
			return badCount(name, want[name])
		}
	}
	return nil
}

// contest is the best GPU so far.
type contest struct {
	winner int // -1: none
	inUse  bool
	lost   int // free pairs, of the choice of an empty GPU
	choice int
	search search
}

// try looks at one more GPU. Only a better answer is searched for: the search
// stops where more than the best one's share is lost.
func (b *contest) try(c *contender, l *Layout, g int) {
	if !c.possible || l.used.Len()+c.memory > c.model.spec.MemorySlices {
		return
	}
	// Limits aside, the answer depends on the slices used alone: it is that of the
	// first GPU of the model with the same, which also wins a tie.
	word, bit := &c.seen[l.used>>6], uint64(1)<<(l.used&63)
	if *word&bit != 0 || c.limited && l.binds(c.x, c.counts) != noLimit {
		return
	}
	*word |= bit
	pairs := int(c.x.pairs[l.used])
	least := 0 // free pairs that must be left
	switch inUse := l.used != 0; {
	case b.winner < 0 || inUse && !b.inUse:
	case !inUse && b.inUse || b.lost == 0:
		return
	default: // lost/c.choice must be below b.lost/b.choice
		least = pairs - (b.lost*c.choice-1)/b.choice
	}
	c.search.best = least - 1
	c.search.place(l.used, 0, 0)
	if c.search.best < least {
		return
	}
	b.winner, b.inUse = g, l.used != 0
	b.lost, b.choice = pairs-c.search.best, c.choice
	b.search = c.search
}

// BestError says why no GPU takes a demand. It wraps ErrNoFit if at least one
// GPU's model offers the whole demand, or if there is none that could be asked;
// otherwise ErrUnknownProfile, or ErrUnknownGeometry where that alone leaves it
// open.
type BestError struct {
	Want Demand
	GPUs int // in all

	Uncut      int // not cut: the zero Layout
	Unknown    int // of a model whose geometry is unknown
	NotOffered int // of a model that does not offer every profile
	Full       int // of a model that does, without room

	// Limit is what binds on most of the full GPUs, the first on a tie, and
	// Limited how many those are.
	Limit   Limit
	Limited int
}

// Error says how many GPUs there are and what keeps the demand out of them.
func (e *BestError) Error() string {
	s := fmt.Sprintf("mig: %s fits on none of %d GPUs: %d full", e.Want, e.GPUs, e.Full)
	if e.Full > 0 {
		s += fmt.Sprintf(" (%d of them by %s)", e.Limited, e.Limit)
	}
	s += fmt.Sprintf(", %d of a model that does not offer it", e.NotOffered)
	if e.Unknown > 0 {
		s += fmt.Sprintf(", %d of unknown geometry", e.Unknown)
	}
	if e.Uncut > 0 {
		s += fmt.Sprintf(", %d not cut", e.Uncut)
	}
	return s
}

// Unwrap returns ErrNoFit, ErrUnknownProfile or ErrUnknownGeometry.
func (e *BestError) Unwrap() error {
	switch {
	case e.Full > 0 || e.Unknown+e.NotOffered == 0:
		return ErrNoFit
	case e.Unknown > 0:
		return ErrUnknownGeometry
	default:
		return ErrUnknownProfile
	}
}

// refusal says why none of the GPUs takes the demand.
func (cs *contenders) refusal(gpus []Layout) error {
	if err := badDemand(cs.want); err != nil {
		return err
	}
	e := &BestError{Want: maps.Clone(cs.want), GPUs: len(gpus)}
	var binds [LimitPosition + 1]int
	for g := range gpus {
		l := &gpus[g]
		if l.model == nil {
			e.Uncut++
			continue
		}
		c, err := cs.of(l.model)
		switch {
		case err != nil:
			return err
		case c.unknown:
			e.Unknown++
		case c.refused:
			e.NotOffered++
		default:
			e.Full++
			kind := l.binds(c.x, c.counts)
			if kind == noLimit {
				kind = LimitPosition
			}
			binds[kind]++
		}
	}
	for kind, n := range binds {
		if n > e.Limited {
			e.Limit, e.Limited = Limit(kind), n
		}
	}
	return e
}
