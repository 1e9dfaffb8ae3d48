package fragmentation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
)

// mixed is a mix of MIG requests of all sizes on an A100-40.
func mixed() fragmentation.Mix {
	return fragmentation.Mix{
		{fragmentation.Shape{GPUs: 1, Profile: "1g.5gb"}, 4},
		{fragmentation.Shape{GPUs: 1, Profile: "2g.10gb"}, 3},
		{fragmentation.Shape{GPUs: 1, Profile: "3g.20gb"}, 2},
		{fragmentation.Shape{GPUs: 1, Profile: "7g.40gb"}, 1},
	}
}

func TestMIGFGDAgreesWithDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mix, s := genMix(genMIGShape).Draw(t, "mix"), genState(t)
		v, err := fragmentation.NewMIGFGD(mix)
		require.NoError(t, err)
		fragment := float64(cutLeft(s)) - float64(v.Of(s))/float64(v.Scale())
		assert.InDelta(t, naiveMIGFragment(mix, s), fragment, 1e-6)
	})
}

// What a new instance strands by MIGFGD is the growth of F(m) at every start.
func TestMIGFGDStrandsIsGrowthOfFragment(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mix := genMix(genMIGShape).Draw(t, "mix")
		l := genLayout(t)
		p := genProfile(t, l.Model(), "placed profile")
		v, err := fragmentation.NewMIGFGD(mix)
		require.NoError(t, err)
		before := &fragmentation.State{GPUs: []fragmentation.GPU{{Layout: l}}}
		for start := range l.FreeStarts(p).All() {
			next, err := l.With(p, start)
			require.NoError(t, err)
			after := &fragmentation.State{GPUs: []fragmentation.GPU{{Layout: next}}}
			want := naiveMIGFragment(mix, after) - naiveMIGFragment(mix, before)
			got := float64(fragmentation.Strands(v, before, after)) / float64(v.Scale())
			assert.InDelta(t, want, got, 1e-6, "%s at %d beside %s", p.Name, start, l)
		}
	})
}

func TestMIGFGDKnownLayouts(t *testing.T) {
	t.Parallel()
	a100 := lookup(t, "a100-40gb")
	tests := []struct {
		name   string
		layout []string
		worth  int64 // in tenths of a milli-GPU
	}{
		// 4 x 7 x 125 + 3 x 3 x 250 + 2 x 2 x 500 + 1000: the eighth memory
		// slice is of no use to 1g and the last two of none to 2g.
		{"empty", nil, 3500 + 2250 + 2000 + 1000},
		{"one 1g at the short end", []string{"1g.5gb@6"}, 6*500 + 3*750 + 1000},
		{"one 1g in front", []string{"1g.5gb@0"}, 6*500 + 2*750 + 1000},
		{"full", []string{"7g.40gb@0"}, 0},
		{"a 3g in each half", []string{"3g.20gb@0", "3g.20gb@4"}, 0},
	}
	v := migFGDOf(t, mixed())
	require.EqualValues(t, 10, v.Scale())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &fragmentation.State{GPUs: []fragmentation.GPU{{Layout: layout(t, a100, tt.layout...)}}}
			assert.Equal(t, tt.worth, v.Of(s))
		})
	}
}

// Of two models that could serve a request, the one that fewer other requests
// want strands less.
func TestMIGFGDComparesModels(t *testing.T) {
	t.Parallel()
	// 1g.10gb exists on both, 3g.40gb on the larger one alone.
	v := migFGDOf(t, fragmentation.Mix{
		{fragmentation.Shape{GPUs: 1, Profile: "1g.10gb"}, 1},
		{fragmentation.Shape{GPUs: 1, Profile: "3g.40gb"}, 1},
	})
	strands := func(key string) int64 {
		m := lookup(t, key)
		p, err := m.Profile("1g.10gb")
		require.NoError(t, err)
		before := &fragmentation.State{GPUs: []fragmentation.GPU{{Layout: m.Empty()}}}
		start, _ := m.Empty().DefaultStart(p)
		l, err := m.Empty().With(p, start)
		require.NoError(t, err)
		return fragmentation.Strands(v, before, &fragmentation.State{GPUs: []fragmentation.GPU{{Layout: l}}})
	}
	assert.Less(t, strands("a100-40gb"), strands("h100-80gb-sxm5"))
}

func TestMIGFGDModelsOfShape(t *testing.T) {
	t.Parallel()
	v := migFGDOf(t, fragmentation.Mix{{fragmentation.Shape{GPUs: 1, Profile: "1g.5gb", Models: "A100|X"}, 1}})
	s := &fragmentation.State{Model: "A100", GPUs: []fragmentation.GPU{{Layout: lookup(t, "a100-40gb").Empty()}}}
	assert.EqualValues(t, 7*125, v.Of(s))
	s.Model = "H100"
	assert.Zero(t, v.Of(s))
}

func TestNewMIGFGDRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		mix  fragmentation.Mix
		err  error
		text string
	}{
		{"nothing", nil, fragmentation.ErrEmptyMix, "empty mix"},
		{"no MIG request", fragmentation.Mix{{plain(1000, 500), 1}}, fragmentation.ErrEmptyMix, "empty mix"},
		{"no model offers it", fragmentation.Mix{{fragmentation.Shape{GPUs: 1, Profile: "5g.5gb"}, 1}}, mig.ErrUnknownProfile, "5g.5gb"},
		{"bad count", fragmentation.Mix{{fragmentation.Shape{GPUs: 1, Profile: "1g.5gb"}, 0}}, fragmentation.ErrBadMix, "entry 0: count 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, err := fragmentation.NewMIGFGD(tt.mix)
			require.ErrorIs(t, err, tt.err)
			require.ErrorContains(t, err, tt.text)
			assert.Nil(t, v)
		})
	}
}

// Values keep the mix they were made of, whatever the caller does to it later.
func TestValuesKeepTheirMix(t *testing.T) {
	t.Parallel()
	mix := fragmentation.Mix{{plain(0, 500), 1}, {fragmentation.Shape{GPUs: 1, Profile: "1g.5gb"}, 1}}
	fgd, migFGD := fgdOf(t, mix), migFGDOf(t, mix)
	s := &fragmentation.State{GPUs: append(uncut(1000), fragmentation.GPU{Layout: lookup(t, "a100-40gb").Empty()})}
	mix[0].Shape.CPU, mix[1].Shape.Profile = 9000, "7g.40gb"
	mix[0].Count, mix[1].Count = 5, 5
	assert.EqualValues(t, 1000, fgd.Of(s))
	assert.EqualValues(t, 875, migFGD.Of(s))
}
