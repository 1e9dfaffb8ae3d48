package fragmentation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
)

func statesOf(t require.TestingT, key string) *fragmentation.States {
	m, err := mig.Lookup(key)
	require.NoError(t, err)
	s, err := fragmentation.NewStates(m)
	require.NoError(t, err)
	return s
}

func TestStatesCount(t *testing.T) {
	t.Parallel()
	special := map[string]int{"a30-24gb": 26, "rtx-pro-6000-96gb": 26, "pg506-96gb": 298}
	for m := range mig.Models() {
		if !m.HasGeometry() {
			continue
		}
		want, ok := special[m.Key()]
		if !ok {
			want = 723
		}
		s, err := fragmentation.NewStates(m)
		require.NoError(t, err)
		assert.Equal(t, want, s.Len(), m.Key())
		assert.Equal(t, m.Empty(), s.Layout(0))
		for p := range m.Profiles() {
			kind := s.Kind(p.Name)
			require.GreaterOrEqual(t, kind, 0, "%s %s", m, p.Name)
			plain := s.Profile(kind)
			assert.Zero(t, plain.Attrs)
			assert.Equal(t, p.Size, plain.Size)
			assert.Equal(t, p.ComputeSlices, plain.ComputeSlices)
			assert.Equal(t, p.Starts, plain.Starts)
		}
	}
}

// The numbers move as the layouts do.
func TestStatesFollowLayouts(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"a100-40gb", "a30-24gb", "rtx-pro-6000-96gb"} {
		s := statesOf(t, key)
		for state := range s.Len() {
			l := s.Layout(state)
			require.Equal(t, state, s.Number(l))
			for kind := range s.Kinds() {
				p := s.Profile(kind)
				require.Equal(t, l.FreeStarts(p), s.Starts(state, kind))
				for start := range s.Model().MemorySlices() {
					to := s.With(state, kind, start)
					next, err := l.With(p, start)
					if err != nil {
						require.Equal(t, -1, to)
						continue
					}
					require.Equal(t, next, s.Layout(to))
					require.Equal(t, state, s.Without(to, start))
				}
			}
			for start := range s.Model().MemorySlices() {
				before, err := l.Without(start)
				if err != nil {
					require.Equal(t, -1, s.Without(state, start))
					continue
				}
				require.Equal(t, before, s.Layout(s.Without(state, start)))
			}
		}
	}
}

// Variants stand where their plain profile does, whatever the order in which they
// came.
func TestStatesCountVariantsAsPlain(t *testing.T) {
	t.Parallel()
	s := statesOf(t, "h100-80gb-sxm5")
	rapid.Check(t, func(t *rapid.T) {
		l, state := s.Model().Empty(), 0
		var all []mig.Profile
		for p := range s.Model().Profiles() {
			all = append(all, p)
		}
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			p := rapid.SampledFrom(all).Draw(t, "profile")
			start := rapid.IntRange(0, 7).Draw(t, "start")
			if _, there := l.At(start); there {
				l, _ = l.Without(start)
				state = s.Without(state, start)
			} else if next, err := l.With(p, start); err == nil {
				l, state = next, s.With(state, s.Kind(p.Name), start)
			}
			require.Equal(t, state, s.Number(l), "%s", l)
		}
	})
}

func TestStatesRefuse(t *testing.T) {
	t.Parallel()
	_, err := fragmentation.NewStates(nil)
	require.ErrorIs(t, err, mig.ErrUnknownModel)
	thor, err := mig.Lookup("thor-igpu")
	require.NoError(t, err)
	_, err = fragmentation.NewStates(thor)
	require.ErrorIs(t, err, mig.ErrUnknownGeometry)

	s := statesOf(t, "a30-24gb")
	assert.Equal(t, -1, s.Number(mig.Layout{}), "not cut")
	assert.Equal(t, -1, s.Number(statesOf(t, "a100-40gb").Layout(0)), "another model")
	assert.Equal(t, -1, s.Kind("1g.5gb"))
	assert.Equal(t, -1, s.Kind(""))
	for _, bad := range []int{-1, 1 << 20} {
		assert.Equal(t, mig.Layout{}, s.Layout(bad))
		assert.Equal(t, mig.Profile{}, s.Profile(bad))
		assert.Zero(t, s.Starts(bad, 0))
		assert.Zero(t, s.Starts(0, bad))
		assert.Equal(t, -1, s.With(bad, 0, 0))
		assert.Equal(t, -1, s.With(0, bad, 0))
		assert.Equal(t, -1, s.With(0, 0, bad))
		assert.Equal(t, -1, s.Without(bad, 0))
		assert.Equal(t, -1, s.Without(0, bad))
	}
}
