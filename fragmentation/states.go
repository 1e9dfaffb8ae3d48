package fragmentation

import (
	"fmt"
	"slices"

	"github.com/gpushare/gpushare/mig"
)

// mostStates bounds the layouts of a model that are numbered: the known ones have
// at most 723.
const mostStates = 20_000

// States numbers the layouts of one model, so that what depends on a layout can
// be kept in a table. A number stands for the places that are taken: a media or
// graphics variant counts as the plain profile of the same slices. So there are
// 723 states on GPUs of 8 memory slices (298 where the 1g of double memory is not
// offered) and 26 on an A30 and an RTX PRO 6000, and state 0 is the empty GPU.
//
// Profiles are numbered likewise: a kind is a plain profile, in table order, and
// its variants are of that kind. What a limit of instances or of media engines
// keeps out is not in the number: ask the layout.
//
// It is immutable and safe for concurrent use.
type States struct {
	model *mig.Model
	units int
	kinds []mig.Profile // the plain profile of each

	kindOf  map[string]int8 // by profile, variants too
	numbers map[mig.Layout]int32
	layouts []mig.Layout
	starts  []mig.Mask // by state and kind
	pairs   []uint16   // FreePairs by state
	with    []int32    // by state, kind and start; -1: not free
	without []int32    // by state and start; -1: nothing begins there
}

// NewStates numbers the layouts of a model. The error wraps
// mig.ErrUnknownModel for no model, mig.ErrUnknownGeometry where placements are
// unknown, and ErrBadIndex for a table that allows more than 20,000 layouts.
// It takes about a millisecond.
func NewStates(m *mig.Model) (*States, error) {
	switch {
	case m == nil:
		return nil, fmt.Errorf("fragmentation: states of no model: %w", mig.ErrUnknownModel)
	case !m.HasGeometry():
		return nil, fmt.Errorf("fragmentation: states of %s: %w", m, mig.ErrUnknownGeometry)
	}
	s := &States{
		model:   m,
		units:   m.MemorySlices(),
		kindOf:  map[string]int8{},
		numbers: map[mig.Layout]int32{m.Empty(): 0},
		layouts: []mig.Layout{m.Empty()},
	}
	for p := range m.PlainProfiles() {
		if p.HasGeometry() {
			s.kinds = append(s.kinds, p)
		}
	}
	for p := range m.Profiles() {
		if k := s.alike(&p); k >= 0 {
			s.kindOf[p.Name] = int8(k)
		}
	}
	for l := range m.Layouts(nil) {
		if len(s.layouts) == mostStates {
			return nil, fmt.Errorf("fragmentation: states of %s: more than %d layouts: %w", m, mostStates, ErrBadIndex)
		}
		s.numbers[l] = int32(len(s.layouts))
		s.layouts = append(s.layouts, l)
	}
	s.connect()
	return s, nil
}

// connect fills the transitions.
func (s *States) connect() {
	n, kinds := len(s.layouts), len(s.kinds)
	s.starts = make([]mig.Mask, n*kinds)
	s.pairs = make([]uint16, n)
	s.with = make([]int32, n*kinds*s.units)
	s.without = make([]int32, n*s.units)
	for i := range s.with {
		s.with[i] = -1
	}
	for i := range s.without {
		s.without[i] = -1
	}
	for c, l := range s.layouts {
		s.pairs[c] = uint16(l.FreePairs())
		for k, p := range s.kinds {
			free := l.FreeStarts(p)
			s.starts[c*kinds+k] = free
			for start := range free.All() {
				next, err := l.With(p, start)
				if err != nil {
					continue // the start is free
				}
				to := s.numbers[next]
				s.with[(c*kinds+k)*s.units+start] = to
				s.without[int(to)*s.units+start] = int32(c)
			}
		}
	}
}

// Model returns the model.
func (s *States) Model() *mig.Model { return s.model }

// Len returns the number of states; numbers are below it.
func (s *States) Len() int { return len(s.layouts) }

// Kinds returns the number of kinds of profiles.
func (s *States) Kinds() int { return len(s.kinds) }

// Profile returns the plain profile of a kind, the zero Profile for a number that
// is none.
func (s *States) Profile(kind int) mig.Profile {
	if !within(kind, len(s.kinds)) {
		return mig.Profile{}
	}
	return s.kinds[kind]
}

// Kind returns the kind of the profile with that canonical name, -1 if the model
// does not offer it or no plain profile takes the same slices.
func (s *States) Kind(profile string) int {
	if k, ok := s.kindOf[profile]; ok {
		return int(k)
	}
	return -1
}

// alike returns the kind of a profile: itself, or the first of the same slices.
func (s *States) alike(p *mig.Profile) int {
	if !p.HasGeometry() {
		return -1
	}
	if k := slices.IndexFunc(s.kinds, func(q mig.Profile) bool { return q.Name == p.Name }); k >= 0 {
		return k
	}
	return slices.IndexFunc(s.kinds, func(q mig.Profile) bool {
		return q.ComputeSlices == p.ComputeSlices && q.Size == p.Size && q.Starts == p.Starts
	})
}

// Number returns the state of a layout, -1 for one of another model, and for one
// that has a profile without a kind or more variants than a plain profile may
// have instances.
func (s *States) Number(l mig.Layout) int {
	if l.Model() != s.model {
		return -1
	}
	if n, plain := s.numbers[l]; plain {
		return int(n)
	}
	state := 0
	// A layout without its last instances is one as well.
	for in := range l.Instances() {
		kind := s.Kind(in.Profile)
		if kind < 0 {
			return -1
		}
		if state = s.With(state, kind, in.Start); state < 0 {
			return -1
		}
	}
	return state
}

// Layout returns the layout of a state, of plain profiles; the zero Layout for a
// number that is none.
func (s *States) Layout(state int) mig.Layout {
	if !within(state, len(s.layouts)) {
		return mig.Layout{}
	}
	return s.layouts[state]
}

// Starts returns the free starts of a kind; none for a number that is none.
func (s *States) Starts(state, kind int) mig.Mask {
	if !within(state, len(s.layouts)) || !within(kind, len(s.kinds)) {
		return 0
	}
	return s.starts[state*len(s.kinds)+kind]
}

// With returns the state with one more instance of a kind, -1 if the start is not
// free or there is no such state or kind.
func (s *States) With(state, kind, start int) int {
	if !within(state, len(s.layouts)) || !within(kind, len(s.kinds)) || !within(start, s.units) {
		return -1
	}
	return int(s.with[(state*len(s.kinds)+kind)*s.units+start])
}

// Without returns the state without the instance that begins at start, -1 if
// there is none or no such state.
func (s *States) Without(state, start int) int {
	if !within(state, len(s.layouts)) || !within(start, s.units) {
		return -1
	}
	return int(s.without[state*s.units+start])
}

func within(i, n int) bool { return i >= 0 && i < n }
