package fragmentation_test

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
)

// genValue draws any of the values.
func genValue(t *rapid.T) fragmentation.Value {
	fgd, err := fragmentation.NewFGD(genMix(genPlainShape).Draw(t, "plain mix"))
	require.NoError(t, err)
	migFGD, err := fragmentation.NewMIGFGD(genMix(genMIGShape).Draw(t, "MIG mix"))
	require.NoError(t, err)
	return rapid.SampledFrom([]fragmentation.Value{fgd, migFGD, sumOf(t, fgd, migFGD)}).Draw(t, "value")
}

func TestValueProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v, s := genValue(t), genState(t)
		worth := v.Of(s)
		assert.Positive(t, v.Scale())
		assert.GreaterOrEqual(t, worth, int64(0))
		assert.LessOrEqual(t, worth, s.Left()*v.Scale(), "no more than what is left")
		assert.Equal(t, worth, v.Of(shuffled(t, s)), "the order of GPUs does not matter")
		assert.Equal(t, worth, v.Of(s), "same state, same value")

		full := place(s, fragmentation.Shape{})
		for i := range full.GPUs {
			full.GPUs[i] = fragmentation.GPU{}
		}
		assert.Zero(t, v.Of(full), "full GPUs")
		full.GPUs = nil
		assert.Zero(t, v.Of(full), "no GPU")
		assert.Zero(t, fragmentation.Strands(v, s, s), "no choice strands nothing")
	})
}

func TestSumAdds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, err := fragmentation.NewFGD(genMix(genPlainShape).Draw(t, "plain mix"))
		require.NoError(t, err)
		b, err := fragmentation.NewMIGFGD(genMix(genMIGShape).Draw(t, "MIG mix"))
		require.NoError(t, err)
		s, sum := genState(t), sumOf(t, a, b)
		assert.Zero(t, sum.Scale()%a.Scale())
		assert.Zero(t, sum.Scale()%b.Scale())
		assert.LessOrEqual(t, sum.Scale(), a.Scale()*b.Scale())
		assert.Equal(t, a.Of(s)*(sum.Scale()/a.Scale())+b.Of(s)*(sum.Scale()/b.Scale()), sum.Of(s))
		assert.Equal(t, sumOf(t, b, a).Of(s), sum.Of(s), "the order of the two does not matter")
		assert.Equal(t, sumOf(t, sumOf(t, a), b).Of(s), sum.Of(s), "sums can be summed")
		assert.Equal(t, sum.Scale(), sumOf(t, sumOf(t, b), sum).Scale())
	})
}

// The scale of a sum is the least common multiple, so that it stays small where
// both values come from one list of tasks.
func TestSumScale(t *testing.T) {
	t.Parallel()
	small := fragmentation.Shape{GPUs: 1, Profile: "1g.5gb"}
	sum := sumOf(t, fgdOf(t, fragmentation.Mix{{plain(0, 1), 4}}), migFGDOf(t, fragmentation.Mix{{small, 6}}))
	assert.EqualValues(t, 12, sum.Scale())
	s := &fragmentation.State{GPUs: append(uncut(100), fragmentation.GPU{Layout: lookup(t, "a100-40gb").Empty()})}
	assert.EqualValues(t, (100+875)*12, sum.Of(s))
}

// scaled is a value of nothing but a scale.
type scaled int64

func (scaled) Of(*fragmentation.State) int64 { return 0 }
func (s scaled) Scale() int64                { return int64(s) }

func TestSumRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		values []fragmentation.Value
		text   string
	}{
		{"nothing", nil, "no values"},
		{"nil", []fragmentation.Value{scaled(1), nil}, "value 1 is nil"},
		{"FGD from no constructor", []fragmentation.Value{&fragmentation.FGD{}}, "value 0: scale 0"},
		{"MIGFGD from no constructor", []fragmentation.Value{scaled(2), &fragmentation.MIGFGD{}}, "value 1: scale 0"},
		{"negative scale", []fragmentation.Value{scaled(-4)}, "scale -4"},
		{"scale above the bound", []fragmentation.Value{scaled(fragmentation.MostScale + 1)}, "scale 100000000000001"},
		{"two without a common factor", []fragmentation.Value{scaled(fragmentation.MostScale), scaled(3)}, "value 1: its scale 3 and 100000000000000"},
		{"three of ten million", []fragmentation.Value{scaled(10_000_000), scaled(9_999_999), scaled(9_999_998)}, "value 2"},
		{"product beyond 64 bits", []fragmentation.Value{scaled(fragmentation.MostScale - 1), scaled(fragmentation.MostScale)}, "value 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, err := fragmentation.Sum(tt.values...)
			require.ErrorIs(t, err, fragmentation.ErrBadSum)
			require.ErrorContains(t, err, tt.text)
			assert.Nil(t, v)
		})
	}
	assert.Equal(t, int64(fragmentation.MostScale), sumOf(t, scaled(fragmentation.MostScale), scaled(1000)).Scale(), "a divisor adds nothing")
}

// A sum of a sum once overflowed in silence.
func TestSumOfSumIsRefused(t *testing.T) {
	t.Parallel()
	two := sumOf(t, scaled(10_000_000), scaled(9_999_999))
	_, err := fragmentation.Sum(two, scaled(9_999_998))
	require.ErrorIs(t, err, fragmentation.ErrBadSum)
}

// The largest node under the largest mixes whose scales have no common factor
// stays within 64 bits.
func TestNoOverflow(t *testing.T) {
	t.Parallel()
	const most int64 = 10_000_000
	big := fragmentation.State{CPU: math.MaxInt64, Memory: math.MaxInt64}
	a100 := lookup(t, "a100-40gb")
	for i := range fragmentation.MostGPUs {
		g := fragmentation.GPU{Milli: fragmentation.Whole, Memory: math.MaxInt64}
		if i%2 == 1 {
			g = fragmentation.GPU{Layout: a100.Empty()}
		}
		big.GPUs = append(big.GPUs, g)
	}
	sum := sumOf(t,
		fgdOf(t, fragmentation.Mix{{plain(0, 1), most}}),
		migFGDOf(t, fragmentation.Mix{{fragmentation.Shape{GPUs: 1, Profile: "7g.40gb"}, most - 1}}),
	)
	require.Equal(t, most*(most-1), sum.Scale())
	left := int64(fragmentation.MostGPUs * fragmentation.Whole)
	assert.Equal(t, left, big.Left())
	assert.Equal(t, left*sum.Scale(), sum.Of(&big))
	assert.Positive(t, left*sum.Scale())
	none := fragmentation.State{}
	assert.Zero(t, fragmentation.Strands(sum, &big, &none), "all of use is taken")
	assert.Zero(t, fragmentation.Fragment(sum, &big))
}

func TestValuesConcurrently(t *testing.T) {
	t.Parallel()
	v := sumOf(t, fgdOf(t, sharing()), migFGDOf(t, mixed()))
	s := &fragmentation.State{CPU: 64000, GPUs: append(uncut(1000, 300), fragmentation.GPU{Layout: layout(t, lookup(t, "a100-40gb"), "1g.5gb@6")})}
	want := v.Of(s)
	start := make(chan struct{})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			<-start
			for range 200 {
				assert.Equal(t, want, v.Of(s))
			}
		})
	}
	close(start)
	group.Wait()
}

//nolint:paralleltest // AllocsPerRun counts the allocations of all goroutines.
func TestValuesDoNotAllocate(t *testing.T) {
	s := &fragmentation.State{CPU: 64000, GPUs: append(uncut(1000, 300), fragmentation.GPU{Layout: lookup(t, "a100-40gb").Empty()})}
	v := sumOf(t, fgdOf(t, sharing()), migFGDOf(t, mixed()))
	assert.Positive(t, v.Of(s))
	assert.Zero(t, testing.AllocsPerRun(100, func() { v.Of(s) }))
}
