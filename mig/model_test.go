package mig_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
)

// machine creates and destroys instances on a layout and on a plain list.
type machine struct {
	layout mig.Layout
	list   []placed // by start
}

// TestLayoutStateMachine runs random creations and destructions.
func TestLayoutStateMachine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, stateMachine)
}

// FuzzLayoutStateMachine is the same, driven by the fuzzer.
func FuzzLayoutStateMachine(f *testing.F) { f.Fuzz(rapid.MakeFuzz(stateMachine)) }

// An action that cannot be done does nothing. It must not skip: a fuzzer's input
// that asks for nothing else would then count as a failure.
func stateMachine(t *rapid.T) {
	s := &machine{layout: genModel(t).Empty(), list: []placed{}}
	t.Repeat(rapid.StateMachineActions(s))
}

// Create tries any start, legal or not. What is refused leaves no trace; what
// is created is undone by Without.
func (s *machine) Create(t *rapid.T) {
	next := placed{genProfile(t, s.layout.Model()), rapid.IntRange(0, s.layout.Model().MemorySlices()).Draw(t, "start")}
	l, err := s.layout.With(next.profile, next.start)
	if !addable(s.list, next) {
		require.Error(t, err)
		assert.Equal(t, s.layout, l)
		return
	}
	require.NoError(t, err)
	back, err := l.Without(next.start)
	require.NoError(t, err)
	require.Equal(t, s.layout, back)
	s.layout = l
	s.list = append(s.list, next)
	slices.SortFunc(s.list, func(a, b placed) int { return a.start - b.start })
}

// CreateAnywhere lets the driver choose.
func (s *machine) CreateAnywhere(t *rapid.T) {
	p := genProfile(t, s.layout.Model())
	start, ok := s.layout.DefaultStart(p)
	if !ok {
		return // no room
	}
	next := placed{p, start}
	require.True(t, addable(s.list, next))
	var err error
	s.layout, err = s.layout.With(p, start)
	require.NoError(t, err)
	s.list = append(s.list, next)
	slices.SortFunc(s.list, func(a, b placed) int { return a.start - b.start })
}

func (s *machine) Destroy(t *rapid.T) {
	if len(s.list) == 0 {
		return // nothing to destroy
	}
	i := rapid.IntRange(0, len(s.list)-1).Draw(t, "instance")
	gone := s.list[i]
	l, err := s.layout.Without(gone.start)
	require.NoError(t, err)
	back, err := l.With(gone.profile, gone.start)
	require.NoError(t, err)
	require.Equal(t, s.layout, back)
	s.layout = l
	s.list = slices.Delete(s.list, i, i+1)
}

func (s *machine) Check(t *rapid.T) {
	assert.Equal(t, s.list, placedOf(s.layout))
	assert.Equal(t, len(s.list), s.layout.Len())
	used := 0
	for start := range s.layout.Model().MemorySlices() {
		in, found := s.layout.At(start)
		i := slices.IndexFunc(s.list, func(p placed) bool { return p.start == start })
		require.Equal(t, i >= 0, found)
		if found {
			assert.Equal(t, s.list[i].instance(), in)
			used += in.Size
		}
	}
	assert.Equal(t, used, s.layout.Used().Len())
	assert.NoError(t, s.layout.Model().Validate(slices.Collect(s.layout.Instances())...))
}
