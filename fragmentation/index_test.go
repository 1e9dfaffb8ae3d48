package fragmentation_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
)

// migMixOf makes a mix of the plain profiles, by count.
func migMixOf(s *fragmentation.States, counts ...int64) fragmentation.Mix {
	var mix fragmentation.Mix
	for kind, n := range counts {
		if n > 0 {
			mix = append(mix, fragmentation.Entry{Shape: fragmentation.Shape{GPUs: 1, Profile: s.Profile(kind).Name}, Count: n})
		}
	}
	return mix
}

func newIndex(t require.TestingT, s *fragmentation.States, mix fragmentation.Mix, params fragmentation.IndexParams) *fragmentation.Index {
	x, err := fragmentation.NewIndex(s, mix, params)
	require.NoError(t, err)
	return x
}

// gainOf is the gain in a state, from the definition and the values.
func gainOf(x *fragmentation.Index, weights []float64, state int) float64 {
	s := x.States()
	m := s.Model()
	h := func(state int) float64 { return float64(x.Value(state)) / fragmentation.IndexScale }
	compute, memory := 0.0, 0.0
	for kind, w := range weights {
		p := s.Profile(kind)
		compute += w * float64(p.ComputeSlices) / float64(m.ComputeSlices())
		memory += w * float64(p.Size) / float64(m.MemorySlices())
	}
	gain := 0.0
	for kind, w := range weights {
		p := s.Profile(kind)
		rate := x.Params().Alpha * w / max(compute, memory)
		worth := math.Pow(16*float64(p.Size)/float64(m.MemorySlices()), x.Params().Gamma)
		best := math.Inf(-1)
		for start := range m.MemorySlices() {
			if to := s.With(state, kind, start); to >= 0 {
				best = max(best, h(to))
			}
		}
		if !math.IsInf(best, -1) {
			gain += rate * (worth + best - h(state))
		}
	}
	for start := range m.MemorySlices() {
		if before := s.Without(state, start); before >= 0 {
			gain += h(before) - h(state)
		}
	}
	return gain
}

// The values solve the equations: the gain is the same in every state.
func TestIndexSolvesTheEquations(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"a30-24gb", "rtx-pro-6000-96gb", "a100-40gb"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			s := statesOf(t, key)
			rapid.Check(t, func(t *rapid.T) {
				counts := make([]int64, s.Kinds())
				total := int64(0)
				for kind := range counts {
					counts[kind] = rapid.Int64Range(0, 9).Draw(t, s.Profile(kind).Name)
					total += counts[kind]
				}
				if total == 0 {
					counts[0], total = 1, 1
				}
				params := fragmentation.IndexParams{
					Gamma:   float64(rapid.IntRange(0, 12).Draw(t, "quarters of gamma")) / 4,
					Alpha:   rapid.SampledFrom([]float64{0.5, 1, 4}).Draw(t, "alpha"),
					Uniform: rapid.SampledFrom([]float64{0, 0.25, 1}).Draw(t, "uniform"),
				}
				params.Whole = (1 - params.Uniform) * rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "whole GPUs of the rest")
				x := newIndex(t, s, migMixOf(s, counts...), params)
				weights := make([]float64, len(counts))
				for kind, n := range counts {
					weights[kind] = (1-params.Uniform-params.Whole)*float64(n)/float64(total) + params.Uniform/float64(len(counts))
				}
				weights[len(weights)-1] += params.Whole // the largest profile is the last
				assert.Zero(t, x.Value(0))
				gain := gainOf(x, weights, 0)
				require.Positive(t, gain)
				for state := range s.Len() {
					require.InDelta(t, gain, gainOf(x, weights, state), 1e-5)
				}
			})
		})
	}
}

// A loss is the least difference of values; of equal ones the start that leaves
// most choice counts.
func TestIndexLoss(t *testing.T) {
	t.Parallel()
	s := statesOf(t, "a100-40gb")
	x := newIndex(t, s, migMixOf(s, 45, 8, 22, 12, 6, 7), fragmentation.IndexParams{Gamma: 1.5, Alpha: 1})
	for state := range s.Len() {
		for kind := range s.Kinds() {
			start, loss, ok := x.Loss(state, kind)
			free := s.Starts(state, kind)
			require.Equal(t, free != 0, ok)
			if !ok {
				continue
			}
			require.True(t, free.Has(start))
			require.InDelta(t, x.Value(state)-x.Value(s.With(state, kind, start)), loss, 1, "each is rounded")
			chosen := s.Layout(s.With(state, kind, start))
			for other := range free.All() {
				to := s.With(state, kind, other)
				require.GreaterOrEqual(t, x.Value(state)-x.Value(to), loss-1)
				if l := s.Layout(to); x.Value(to) == x.Value(s.With(state, kind, start)) {
					require.LessOrEqual(t, l.FreePairs(), chosen.FreePairs())
				}
			}
		}
	}
}

// What counting what fits now cannot see: on an empty GPU all starts of a 2g leave
// as much for 3g, 2g and 1g, but the half at 4 is the one that a later 3g needs.
func TestIndexLooksAhead(t *testing.T) {
	t.Parallel()
	s := statesOf(t, "a100-40gb")
	mix := fragmentation.Mix{
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "1g.5gb"}, Count: 1},
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "2g.10gb"}, Count: 1},
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "3g.20gb"}, Count: 1},
	}
	x := newIndex(t, s, mix, fragmentation.IndexParams{Gamma: 1.25, Alpha: 0.5})
	kind := s.Kind("2g.10gb")
	low := -x.Value(s.With(0, kind, 0))
	high := -x.Value(s.With(0, kind, 4))
	assert.Greater(t, high, low*13/10)
	assert.Less(t, high, low*2)

	fgd, err := fragmentation.NewMIGFGD(mix)
	require.NoError(t, err)
	at := func(start int) int64 {
		return fgd.Of(&fragmentation.State{GPUs: []fragmentation.GPU{{Layout: s.Layout(s.With(0, kind, start))}}})
	}
	assert.Equal(t, at(0), at(4), "blind to it")
}

// The integers are the same on every platform.
func TestIndexGolden(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		key    string
		params fragmentation.IndexParams
		want   uint64
	}{
		{"a30-24gb", fragmentation.IndexParams{Gamma: 2, Alpha: 1, Uniform: 0.25}, 0x4fe8128123397a6c},
		{"a100-40gb", fragmentation.IndexParams{Gamma: 1.25, Alpha: 0.5}, 0xa6af3c60a7c7f992},
		{"rtx-pro-6000-96gb", fragmentation.IndexParams{Gamma: 1.5, Alpha: 4}, 0x994b4f7c70812590},
	} {
		s := statesOf(t, tt.key)
		x := newIndex(t, s, migMixOf(s, 5, 2, 1), tt.params)
		sum := uint64(0)
		for state := range s.Len() {
			sum = sum*1_000_003 + uint64(x.Value(state))
			for kind := range s.Kinds() {
				start, loss, _ := x.Loss(state, kind)
				sum = sum*1_000_003 + uint64(loss)*16 + uint64(start)
			}
		}
		assert.Equal(t, tt.want, sum, tt.key)
	}
}

func TestIndexVariantsCountAsPlain(t *testing.T) {
	t.Parallel()
	s := statesOf(t, "a100-40gb")
	mix := func(profile string) fragmentation.Mix {
		return fragmentation.Mix{
			{Shape: fragmentation.Shape{GPUs: 1, Profile: profile}, Count: 3},
			{Shape: fragmentation.Shape{CPU: 1000, GPUs: 1, Milli: 500}, Count: 8}, // takes no part
			{Shape: fragmentation.Shape{GPUs: 1, Profile: "3g.40gb"}, Count: 8},    // nor does another model's
			{Shape: fragmentation.Shape{GPUs: 1, Profile: "3g.20gb"}, Count: 1},
		}
	}
	plain := newIndex(t, s, mix("1g.5gb"), fragmentation.DefaultIndex())
	media := newIndex(t, s, mix("1g.5gb+me"), fragmentation.DefaultIndex())
	for state := range s.Len() {
		require.Equal(t, plain.Value(state), media.Value(state))
	}
}

func TestIndexRefuses(t *testing.T) {
	t.Parallel()
	s := statesOf(t, "a30-24gb")
	good := migMixOf(s, 1, 1, 1)
	_, err := fragmentation.NewIndex(nil, good, fragmentation.DefaultIndex())
	require.ErrorIs(t, err, fragmentation.ErrBadIndex)
	_, err = fragmentation.NewIndex(new(fragmentation.States), nil, fragmentation.IndexParams{Gamma: 1, Alpha: 1, Uniform: 1})
	require.ErrorIs(t, err, fragmentation.ErrBadIndex)
	for _, p := range []fragmentation.IndexParams{
		{Gamma: -1, Alpha: 1},
		{Gamma: 3.1, Alpha: 1},
		{Gamma: math.NaN(), Alpha: 1},
		{Gamma: 1, Alpha: 0},
		{Gamma: 1, Alpha: math.Inf(1)},
		{Gamma: 1, Alpha: math.NaN()},
		{Gamma: 1, Alpha: 1, Uniform: -0.1},
		{Gamma: 1, Alpha: 1, Uniform: 1.1},
		{Gamma: 1, Alpha: 1, Uniform: math.NaN()},
		{Gamma: 1, Alpha: 1, Whole: -0.1},
		{Gamma: 1, Alpha: 1, Uniform: 0.5, Whole: 0.6},
		{Gamma: 1, Alpha: 1, Whole: math.NaN()},
	} {
		_, err := fragmentation.NewIndex(s, good, p)
		require.ErrorIs(t, err, fragmentation.ErrBadIndex, "%+v", p)
	}
	p := fragmentation.DefaultIndex()
	_, err = fragmentation.NewIndex(s, nil, p)
	require.ErrorIs(t, err, fragmentation.ErrEmptyMix)
	_, err = fragmentation.NewIndex(s, fragmentation.Mix{{Shape: fragmentation.Shape{GPUs: 1, Profile: "1g.5gb"}, Count: 1}}, p)
	require.ErrorIs(t, err, fragmentation.ErrEmptyMix, "of another model")
	_, err = fragmentation.NewIndex(s, fragmentation.Mix{{Count: -1}}, p)
	require.ErrorIs(t, err, fragmentation.ErrBadMix)
	p.Uniform, p.Whole = 1, 0
	x := newIndex(t, s, nil, p)
	assert.Equal(t, newIndex(t, s, good, fragmentation.IndexParams{Gamma: 2, Alpha: 1}).Value(7), x.Value(7))
	assert.Zero(t, x.Value(-1))
	assert.Zero(t, x.Value(s.Len()))
	_, _, ok := x.Loss(0, 9)
	assert.False(t, ok)
	_, _, ok = x.Loss(-1, 0)
	assert.False(t, ok)
}

// All models and the extremes of the parameters settle.
func TestIndexSettles(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"a30-24gb", "rtx-pro-6000-96gb", "a100-40gb"} {
		s := statesOf(t, key)
		for _, gamma := range []float64{0, 3} {
			for _, alpha := range []float64{1e-6, 16} {
				for kind := range s.Kinds() {
					counts := make([]int64, s.Kinds())
					counts[kind] = 1
					newIndex(t, s, migMixOf(s, counts...), fragmentation.IndexParams{Gamma: gamma, Alpha: alpha})
				}
			}
		}
	}
}
