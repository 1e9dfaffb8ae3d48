package mps_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mps"
)

// TestEffectiveSMsMeasured: what clients saw on real devices.
func TestEffectiveSMsMeasured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sms     int
		percent float64
		want    int
	}{
		{188, 25, 46},
		{188, 50, 94},
		{188, 75, 140},
		{40, 10, 4},
	} {
		got, err := mps.Capacity{SMs: c.sms}.EffectiveSMs(c.percent)
		require.NoError(t, err)
		assert.Equal(t, c.want, got, "%v %% of %d", c.percent, c.sms)
	}
}

// TestPercentTable: the device plugin's percentage for k clients, what it comes to on
// A100, H100 or H200, and B200, and how many SMs no client has.
func TestPercentTable(t *testing.T) {
	t.Parallel()
	devices := []int{108, 132, 148}
	for _, row := range []struct {
		k, percent int
		each       [3]int
		stranded   [3]int
	}{
		{2, 50, [3]int{54, 66, 74}, [3]int{0, 0, 0}},
		{3, 33, [3]int{34, 42, 48}, [3]int{6, 6, 4}},
		{4, 25, [3]int{26, 32, 36}, [3]int{4, 4, 4}},
		{5, 20, [3]int{20, 26, 28}, [3]int{8, 2, 8}},
		{6, 16, [3]int{16, 20, 22}, [3]int{12, 12, 16}},
		{7, 14, [3]int{14, 18, 20}, [3]int{10, 6, 8}},
		{8, 12, [3]int{12, 14, 16}, [3]int{12, 20, 20}},
		{10, 10, [3]int{10, 12, 14}, [3]int{8, 12, 8}},
		{16, 6, [3]int{6, 6, 8}, [3]int{12, 36, 20}},
		{24, 4, [3]int{4, 4, 4}, [3]int{12, 36, 52}},
		{32, 3, [3]int{2, 2, 4}, [3]int{44, 68, 20}},
		{48, 2, [3]int{2, 2, 2}, [3]int{12, 36, 52}},
	} {
		for i, sms := range devices {
			t.Run(fmt.Sprintf("%d clients on %d", row.k, sms), func(t *testing.T) {
				t.Parallel()
				s, err := mps.SplitEven(mps.Capacity{SMs: sms}, row.k)
				require.NoError(t, err)
				require.Len(t, s.Clients, row.k)
				for _, share := range s.Clients {
					assert.Equal(t, mps.Share{Percent: row.percent, SMs: row.each[i]}, share)
				}
				assert.Equal(t, row.stranded[i], s.StrandedSMs)
			})
		}
	}
}

// TestEffectiveSMsIsExact compares with fractions, and checks that it never falls as
// the percentage rises.
func TestEffectiveSMsIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := genCapacity(t)
		hundredths := rapid.IntRange(1, 10000).Draw(t, "hundredths")
		percent := float64(hundredths) / 100

		perTPC := max(c.SMsPerTPC, 1)
		if c.SMsPerTPC == 0 {
			perTPC = 2
		}
		tpcs := big.NewRat(int64(c.SMs)*int64(hundredths), int64(10000*perTPC))
		want := int(new(big.Int).Quo(tpcs.Num(), tpcs.Denom()).Int64()) * perTPC

		got, err := c.EffectiveSMs(percent)
		if want == 0 {
			require.ErrorIs(t, err, mps.ErrNoSMs)
			require.ErrorIs(t, err, mps.ErrInput)
			require.Zero(t, got)
			return
		}
		require.NoError(t, err)
		require.Equal(t, want, got)
		if hundredths < 10000 {
			more, err := c.EffectiveSMs(float64(hundredths+1) / 100)
			require.NoError(t, err)
			require.GreaterOrEqual(t, more, got)
		}
	})
}

// TestSmallestPercentIsSmallest tries every percentage for every number of SMs.
func TestSmallestPercentIsSmallest(t *testing.T) {
	t.Parallel()
	for _, sms := range []int{4, 14, 40, 92, 98, 108, 131, 132, 148, 188, 300} {
		for _, perTPC := range []int{1, 2, 3} {
			c := mps.Capacity{SMs: sms, SMsPerTPC: perTPC}
			for want := 1; want <= sms/perTPC*perTPC; want++ {
				naive := 0
				for p := 1; naive == 0; p++ {
					if got, err := c.EffectiveSMs(float64(p)); err == nil && got >= want {
						naive = p
					}
				}
				got, err := c.SmallestPercent(want)
				require.NoError(t, err)
				require.Equal(t, naive, got, "%d of %d SMs in TPCs of %d", want, sms, perTPC)
			}
		}
	}
}

func TestEffectiveSMsRefuses(t *testing.T) {
	t.Parallel()
	h100 := mps.Capacity{SMs: 132}
	for _, percent := range []float64{0, -1, 100.01, 1e-9, 0.004, 1e300, math.NaN(), math.Inf(1), math.Inf(-1), 33.333} {
		_, err := h100.EffectiveSMs(percent)
		require.ErrorIs(t, err, mps.ErrInput, "%v", percent)
		require.NotErrorIs(t, err, mps.ErrNoSMs, "%v", percent)
	}
	for _, sms := range []int{108, 132, 148} {
		c := mps.Capacity{SMs: sms}
		_, err := c.EffectiveSMs(1)
		require.ErrorIs(t, err, mps.ErrNoSMs, "1 %% of %d", sms)
		two, err := c.EffectiveSMs(2)
		require.NoError(t, err)
		assert.Equal(t, 2, two)
	}
	_, err := h100.EffectiveSMs(1.5)
	require.EqualError(t, err, "mps: bad input: a share of no SMs: 1.5 % of 132 SMs is less than one TPC of 2 SMs")

	for _, c := range []mps.Capacity{
		{},
		{SMs: -2},
		{SMs: 4096},
		{SMs: 2, SMsPerTPC: 4},
		{SMs: 2, SMsPerTPC: -1},
		{SMs: 132, MemoryMiB: -1},
		{SMs: 132, MemoryMiB: math.MaxInt64},
	} {
		_, err := c.EffectiveSMs(50)
		require.ErrorIs(t, err, mps.ErrInput, "%+v", c)
		_, err = c.SmallestPercent(1)
		require.ErrorIs(t, err, mps.ErrInput, "%+v", c)
		_, err = mps.SplitEven(c, 2)
		require.ErrorIs(t, err, mps.ErrInput, "%+v", c)
		_, err = mps.SplitWeighted(c, []int{1, 1}, mps.SplitOptions{})
		require.ErrorIs(t, err, mps.ErrInput, "%+v", c)
	}
	for _, want := range []int{0, -1, 133} {
		_, err := h100.SmallestPercent(want)
		require.ErrorIs(t, err, mps.ErrInput)
		require.NotErrorIs(t, err, mps.ErrNoSMs)
	}
	_, err = mps.Capacity{SMs: 131}.SmallestPercent(131)
	require.ErrorIs(t, err, mps.ErrInput, "130 SMs are whole TPCs")
}
