package governor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/timeslice/governor"
)

func TestVcudaSequence(t *testing.T) {
	t.Parallel()
	v, err := governor.NewVcuda(108, 2048, 50, 1)
	require.NoError(t, err)
	for i, row := range []struct {
		utilisation int
		share       int64
	}{
		{0, 914_823},
		{0, 1_829_646},
		{20, 2_158_982},
		{45, 2_205_638},
		{52, 2_158_982},
		{60, 2_065_670},
		{50, 2_112_326},
	} {
		assert.Equal(t, row.share, v.Step(row.utilisation), "step %d at %d %%", i, row.utilisation)
	}
	for range 100 {
		v.Step(0)
	}
	assert.Equal(t, int64(108*2048*32), v.Step(0), "clamped to the whole GPU")
	for range 200 {
		v.Step(100)
	}
	assert.Equal(t, int64(0), v.Step(100), "clamped to zero")
}

func TestTGSSequence(t *testing.T) {
	t.Parallel()
	g, err := governor.NewTGS(20_000, 10_000_000, time.Second, 1)
	require.NoError(t, err)
	for i, row := range []struct {
		loss int // thousandths
		rate int64
	}{
		{0, 30_001},
		{0, 45_002},
		{50, 30_001},
		{10, 32_501},
		{10, 35_001},
		{50, 32_201},
		{100, 2_962},
		{0, 4_444}, // slow start again: 2962 × 1.5 + 1
		{30, 6_667},
		{100, 4_444}, // in slow start even a collapse only ends it
		{31, 3_444},  // at least 1,000 off
	} {
		assert.Equal(t, row.rate, g.Step(row.loss), "step %d at a loss of %d", i, row.loss)
	}
}

func TestGeminiSequence(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	g, err := governor.NewGemini(250*ms, 100*ms, 5000*ms, 500, 10*time.Second)
	require.NoError(t, err)
	for i, row := range []struct {
		burst, quota time.Duration
	}{
		{100 * ms, 175 * ms},
		{400 * ms, 287_500 * time.Microsecond},
		{50 * ms, 168_750 * time.Microsecond},
		{2000 * ms, 1_084_375 * time.Microsecond},
		{60_000 * ms, 5000 * ms},
		{0, 2500 * ms},
	} {
		assert.Equal(t, row.quota, g.Step(row.burst), "step %d after a burst of %v", i, row.burst)
	}
	for range 10 {
		g.Step(0)
	}
	assert.Equal(t, 100*ms, g.Step(0), "clamped to the least")
}

// What the laws of this package do not share with the published ones.
func TestKnownFlaws(t *testing.T) {
	t.Parallel()

	t.Run("vcuda winds up while idle", func(t *testing.T) {
		t.Parallel()
		v, err := governor.NewVcuda(108, 2048, 50, 1_000_000)
		require.NoError(t, err)
		for i := range 100 {
			v.Observe(time.Duration(i+1)*120*time.Millisecond, governor.Used, 0)
		}
		burst := 0
		for v.Ask(12*time.Second, time.Hour) == 0 {
			burst++
		}
		assert.Equal(t, 8, burst, "the whole pool of 7,077,888, at once")

		f := newFeedback(t, governor.FeedbackConfig{Limit: governor.Limit{Share: 500}})
		for i := range 100 {
			f.Observe(time.Duration(i+1)*120*time.Millisecond, governor.Used, 0)
		}
		assert.Equal(t, 50*time.Millisecond, f.State().Credit, "idle saves no more than the burst")
	})

	t.Run("vcuda charges a long launch like a short one", func(t *testing.T) {
		t.Parallel()
		var granted []int
		for _, cost := range []time.Duration{time.Nanosecond, time.Minute} {
			v, err := governor.NewVcuda(108, 2048, 50, 100_000)
			require.NoError(t, err)
			v.Observe(time.Second, governor.Used, 0)
			n := 0
			for ; v.Ask(time.Second, cost) == 0; n++ {
				v.Done(time.Second, cost, cost)
			}
			granted = append(granted, n)
		}
		assert.Equal(t, []int{10, 10}, granted, "of 914,823 blocks")

		f := newFeedback(t, governor.FeedbackConfig{Limit: governor.Limit{Share: 500}})
		assert.Zero(t, f.Ask(0, 40*time.Millisecond))
		assert.Equal(t, 60*time.Millisecond, f.Ask(0, 40*time.Millisecond), "30 ms short at a half")
	})

	t.Run("tgs goes up while nobody asks", func(t *testing.T) {
		t.Parallel()
		g, err := governor.NewTGS(1000, 1_000_000, time.Second, 1)
		require.NoError(t, err)
		a := newAIMD(t, governor.AIMDConfig{Limit: governor.Limit{Share: 1000}})
		before := a.State().Rate
		for i := range 20 {
			now := time.Duration(i) * time.Second
			g.Observe(now, governor.Loss, 0)
			a.Observe(now, governor.Loss, 0)
		}
		assert.Greater(t, g.Step(0), int64(1_000_000))
		assert.Equal(t, before, a.State().Rate)
	})
}

func TestReferencesRefuse(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"vcuda sms":     second(governor.NewVcuda(0, 2048, 50, 1)),
		"vcuda limit":   second(governor.NewVcuda(108, 2048, 100, 1)),
		"vcuda blocks":  second(governor.NewVcuda(108, 2048, 50, -1)),
		"tgs rate":      second(governor.NewTGS(0, 1, 1, 1)),
		"tgs period":    second(governor.NewTGS(1, 1, 0, 1)),
		"gemini quota":  second(governor.NewGemini(1, 2, 3, 500, time.Second)),
		"gemini bounds": second(governor.NewGemini(2, 3, 1, 500, time.Second)),
		"gemini limit":  second(governor.NewGemini(2, 1, 3, 0, time.Second)),
	} {
		assert.ErrorIs(t, err, governor.ErrInput, name)
	}
}

func second[T any](_ T, err error) error { return err }
