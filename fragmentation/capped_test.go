package fragmentation_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
)

func cappedOf(t require.TestingT, mix fragmentation.Mix) *fragmentation.Capped {
	v, err := fragmentation.NewCapped(mix)
	require.NoError(t, err)
	return v
}

// naiveCapped is the definition in fractions of any size.
func naiveCapped(mix fragmentation.Mix, s *fragmentation.State) int64 {
	sum := new(big.Int)
	for _, e := range mix {
		worth := big.NewRat(int64(naiveUsable(s, e.Shape)), 1)
		if e.Shape.CPU > 0 {
			limit := big.NewRat(s.CPU, e.Shape.CPU)
			limit.Mul(limit, big.NewRat(e.Shape.TotalMilli(), 1))
			if limit.Cmp(worth) < 0 {
				worth = limit
			}
		}
		worth.Mul(worth, big.NewRat(e.Count, 1))
		sum.Add(sum, new(big.Int).Quo(worth.Num(), worth.Denom()))
	}
	return sum.Int64()
}

func TestCappedIsDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mix := genMix(genPlainShape).Draw(t, "mix")
		mix[0].Shape.CPU = rapid.Int64Range(1, 3000).Draw(t, "odd CPU")
		v := cappedOf(t, mix)
		assert.Equal(t, mix.Total(), v.Scale())
		s := genState(t)
		worth := v.Of(s)
		if s.CPU > 0 {
			assert.Equal(t, naiveCapped(mix, s), worth)
		}
		fgd, err := fragmentation.NewFGD(mix)
		require.NoError(t, err)
		assert.LessOrEqual(t, worth, fgd.Of(s))
		assert.Equal(t, worth, v.Of(shuffled(t, s)))
		s.CPU = math.MaxInt64
		assert.Equal(t, fgd.Of(s), v.Of(s), "without a limit")
	})
}

func TestCappedByHand(t *testing.T) {
	t.Parallel()
	v := cappedOf(t, fragmentation.Mix{{Shape: whole(6000, 1, 1000), Count: 3}, {Shape: whole(7000, 2, 1000), Count: 1}})
	s := &fragmentation.State{CPU: 13000, GPUs: uncut(1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000)}
	// 13/6 of a task of one GPU, three times, and 13/7 of one of two.
	assert.EqualValues(t, 6500+3714, v.Of(s))
	s.CPU = 6999
	assert.EqualValues(t, 3499, v.Of(s), "no CPU for the second")
	s.CPU = 5999
	assert.Zero(t, v.Of(s))
	_, err := fragmentation.NewCapped(nil)
	require.ErrorIs(t, err, fragmentation.ErrEmptyMix)
}

func TestCappedExtremes(t *testing.T) {
	t.Parallel()
	v := cappedOf(t, fragmentation.Mix{{Shape: whole(math.MaxInt64-1, 64, 1000), Count: 10_000_000}})
	s := &fragmentation.State{CPU: math.MaxInt64}
	for range 64 {
		s.GPUs = append(s.GPUs, uncut(1000)...)
	}
	assert.EqualValues(t, 64_000*10_000_000, v.Of(s))
	s.GPUs = append(s.GPUs, uncut(1000)...)
	assert.EqualValues(t, 64_000*10_000_000, v.Of(s), "CPU for one task")
}
