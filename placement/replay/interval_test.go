package replay_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gpushare/gpushare/placement/replay"
)

func TestMean(t *testing.T) {
	t.Parallel()
	i := replay.Mean([]float64{2, 4, 4, 4, 5, 5, 7, 9})
	assert.InDelta(t, 5, i.Mean, 1e-12)
	assert.InDelta(t, 2.365*math.Sqrt(32.0/7/8), i.Half, 1e-9)
	assert.True(t, i.Above(3.2))
	assert.False(t, i.Above(3.3))
	assert.True(t, i.Below(6.8))
	assert.False(t, i.Below(6.7))
	assert.Equal(t, "5.00 ± 1.79", i.String())
	one := replay.Mean([]float64{3})
	assert.InDelta(t, 3, one.Mean, 0)
	assert.True(t, math.IsInf(one.Half, 1))
	assert.Equal(t, "3.00", one.String())
	assert.False(t, one.Above(0))
	assert.True(t, math.IsInf(replay.Mean(nil).Half, 1))
}

func TestPaired(t *testing.T) {
	t.Parallel()
	// Seeds differ a lot, the two figures of a seed do not: pairing shows it.
	base := []float64{10, 20, 30, 40}
	less := []float64{9.1, 17.9, 27.1, 35.9}
	c := replay.Change(less, base)
	assert.InDelta(t, -0.1, c.Mean, 1e-9)
	assert.True(t, c.Below(-0.09))
	assert.True(t, c.Above(-0.11))
	assert.Equal(t, replay.Interval{}, replay.Change([]float64{0, 0}, []float64{0, 0}))
	assert.True(t, math.IsInf(replay.Change([]float64{0, 1}, []float64{0, 0}).Mean, 1))
	assert.True(t, math.IsInf(replay.Change(nil, base).Half, 1))
	assert.Equal(t, replay.Change(less, base), replay.Change(append(less, 99), base), "seeds in one list only do not count")
}

// TestCoverage draws many samples of a known law: about 95 % of the intervals
// hold the true figure.
func TestCoverage(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	const trials = 20_000
	for _, n := range []int{2, 3, 10, 40} {
		mean, change := 0, 0
		for range trials {
			x, base := make([]float64, n), make([]float64, n)
			for i := range x {
				base[i] = 100 + rng.NormFloat64()
				x[i] = 0.8*base[i] + 2*rng.NormFloat64()
			}
			if i := replay.Mean(base); !i.Above(100) && !i.Below(100) {
				mean++
			}
			if i := replay.Change(x, base); !i.Above(-0.2) && !i.Below(-0.2) {
				change++
			}
		}
		assert.InDelta(t, 0.95, float64(mean)/trials, 0.008, "%d seeds", n)
		assert.InDelta(t, 0.95, float64(change)/trials, 0.015, "%d seeds", n)
	}
}
