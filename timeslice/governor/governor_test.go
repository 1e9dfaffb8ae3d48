package governor_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/timeslice/governor"
	"github.com/gpushare/gpushare/timeslice/governor/trial"
)

const ms = time.Millisecond

func TestConfigurationRefused(t *testing.T) {
	t.Parallel()
	half := governor.Limit{Share: 500}
	for _, row := range []struct {
		err  error
		says string
	}{
		{second(governor.NewFeedback(governor.FeedbackConfig{})), "Limit.Share 0 thousandths"},
		{second(governor.NewFeedback(governor.FeedbackConfig{Limit: governor.Limit{Share: 1001}})), "Limit.Share 1001"},
		{second(governor.NewFeedback(governor.FeedbackConfig{Limit: governor.Limit{Share: 1, Burst: -1}})), "Limit.Burst -1ns"},
		{second(governor.NewFeedback(governor.FeedbackConfig{Limit: governor.Limit{Share: 1, Debt: 2 * time.Hour}})), "Limit.Debt 2h"},
		{second(governor.NewFeedback(governor.FeedbackConfig{Limit: half, Refund: 1001})), "Refund 1001"},
		{second(governor.NewAIMD(governor.AIMDConfig{Limit: half, Floor: 501})), "Floor 501"},
		{second(governor.NewAIMD(governor.AIMDConfig{Limit: half, Target: 50, Severe: 40})), "Severe 40 is under Target 50"},
		{second(governor.NewAIMD(governor.AIMDConfig{Limit: half, Cut: -1})), "Cut -1"},
		{second(governor.NewQuota(governor.QuotaConfig{Limit: governor.Limit{Share: 500, Burst: 1}})), "Burst 1ns"},
		{second(governor.NewQuota(governor.QuotaConfig{Limit: half, Window: 1})), "window of 1ns"},
		{second(governor.NewCoRun(governor.CoRunConfig{Limit: half, Beside: 501})), "Beside 501"},
		{second(governor.NewCoRun(governor.CoRunConfig{Limit: half, Quiet: -1})), "Quiet -1ns"},
		{second(governor.NewEstimates(0)), "0 kernels"},
	} {
		require.ErrorIs(t, row.err, governor.ErrInput, row.says)
		assert.ErrorContains(t, row.err, row.says)
	}
}

func TestCredit(t *testing.T) {
	t.Parallel()

	t.Run("a launch over the burst saves up for itself", func(t *testing.T) {
		t.Parallel()
		g := newFeedback(t, governor.FeedbackConfig{Limit: governor.Limit{Share: 250, Burst: 10 * ms}})
		assert.Equal(t, 160*ms, g.Ask(0, 50*ms))
		assert.Equal(t, 1*ms, g.Ask(159*ms, 50*ms))
		assert.Zero(t, g.Ask(160*ms, 50*ms))
		assert.Zero(t, g.State().Credit)
	})
	t.Run("and loses it if it does not come back", func(t *testing.T) {
		t.Parallel()
		g := newFeedback(t, governor.FeedbackConfig{Limit: governor.Limit{Share: 250, Burst: 10 * ms}})
		assert.Equal(t, 160*ms, g.Ask(0, 50*ms))
		assert.Zero(t, g.Ask(300*ms, 10*ms))
		assert.Equal(t, 40*ms, g.Ask(300*ms, 10*ms), "nothing over the burst is left")
	})
	t.Run("what was not used comes back, over the burst too", func(t *testing.T) {
		t.Parallel()
		g := newFeedback(t, governor.FeedbackConfig{Limit: governor.Limit{Share: 250, Burst: 10 * ms}})
		require.Equal(t, 160*ms, g.Ask(0, 50*ms))
		require.Zero(t, g.Ask(160*ms, 50*ms))
		g.Done(160*ms, 50*ms, 20*ms)
		assert.Equal(t, 30*ms, g.State().Credit)
		assert.Equal(t, 20*ms, g.State().Charged)
	})
	t.Run("a launch longer than declared is a debt, and the debt has a bound", func(t *testing.T) {
		t.Parallel()
		g := newFeedback(t, governor.FeedbackConfig{Limit: governor.Limit{Share: 100, Burst: 10 * ms, Debt: 30 * ms}})
		require.Zero(t, g.Ask(0, 10*ms))
		g.Done(0, 10*ms, 25*ms)
		assert.Equal(t, -15*ms, g.State().Credit)
		g.Done(0, 10*ms, time.Hour)
		assert.Equal(t, -30*ms, g.State().Credit)
		assert.Equal(t, time.Hour-15*ms, g.State().Forgiven)
		assert.Equal(t, 310*ms, g.Ask(0, 1*ms))
	})
	t.Run("a Done that nobody asked for gives nothing back", func(t *testing.T) {
		t.Parallel()
		for _, g := range []stater{
			newFeedback(t, governor.FeedbackConfig{Limit: governor.Limit{Share: 500}}),
			newQuota(t, governor.QuotaConfig{Limit: governor.Limit{Share: 500}}),
		} {
			require.Zero(t, g.Ask(0, 50*ms))
			g.Done(0, time.Hour, 50*ms)
			for range 10 {
				g.Done(0, time.Hour, 0)
			}
			assert.Zero(t, g.State().Credit)
			assert.Positive(t, g.Ask(0, 1))
		}
	})
	t.Run("inflight holds until something is done", func(t *testing.T) {
		t.Parallel()
		g := newFeedback(t, governor.FeedbackConfig{Limit: governor.Limit{Share: 1000, Inflight: 5 * ms}})
		require.Zero(t, g.Ask(0, 20*ms), "alone it goes whatever it costs")
		assert.Equal(t, governor.Forever, g.Ask(0, 1))
		g.Done(20*ms, 20*ms, 20*ms)
		require.Zero(t, g.Ask(20*ms, 3*ms))
		require.Zero(t, g.Ask(20*ms, 2*ms))
		assert.Equal(t, governor.Forever, g.Ask(20*ms, 1))
	})
}

func TestFeedbackSamples(t *testing.T) {
	t.Parallel()
	limit := governor.Limit{Share: 500, Burst: 50 * ms, Debt: time.Second}

	t.Run("unseen use is charged once", func(t *testing.T) {
		t.Parallel()
		g := newFeedback(t, governor.FeedbackConfig{Limit: limit})
		require.Zero(t, g.Ask(0, 20*ms))
		g.Done(20*ms, 20*ms, 20*ms)
		g.Observe(20*ms, governor.Used, int64(60*ms))
		assert.Equal(t, 50*ms-20*ms+10*ms-40*ms, g.State().Credit)
		g.Observe(20*ms, governor.Used, 0)
		assert.Equal(t, 0*ms, g.State().Credit)
	})
	t.Run("a launch across samples is not charged twice", func(t *testing.T) {
		t.Parallel()
		g := newFeedback(t, governor.FeedbackConfig{Limit: limit})
		require.Zero(t, g.Ask(0, 40*ms))
		for i := range 4 {
			g.Observe(time.Duration(i+1)*10*ms, governor.Used, int64(10*ms))
		}
		g.Done(40*ms, 40*ms, 40*ms)
		assert.Equal(t, 30*ms, g.State().Credit)
	})
	t.Run("a sensor that reads zero gives nothing away", func(t *testing.T) {
		t.Parallel()
		g := newFeedback(t, governor.FeedbackConfig{Limit: limit})
		require.Zero(t, g.Ask(0, 50*ms))
		g.Done(50*ms, 50*ms, 50*ms)
		g.Observe(50*ms, governor.Used, 0)
		assert.Equal(t, 25*ms, g.State().Credit)
	})
	t.Run("what is forgiven is forgotten on both sides", func(t *testing.T) {
		t.Parallel()
		c := governor.FeedbackConfig{Limit: governor.Limit{Share: 100, Burst: 10 * ms, Debt: 20 * ms}}
		g := newFeedback(t, c)
		require.Zero(t, g.Ask(0, 10*ms))
		g.Done(0, 10*ms, 1010*ms)
		g.Observe(0, governor.Used, int64(1010*ms)) // the same, as the device saw it
		assert.Equal(t, 980*ms, g.State().Forgiven)

		g = newFeedback(t, c)
		for range 3 {
			g.Observe(0, governor.Used, int64(1000*ms)) // nobody asked for that
			before := g.State()
			require.Equal(t, -20*ms, before.Credit)
			g.Observe(0, governor.Used, 0)
			assert.Equal(t, before, g.State(), "neither charged again nor given back")
		}
	})
	t.Run("unless elapsed time is known to be stretched", func(t *testing.T) {
		t.Parallel()
		g := newFeedback(t, governor.FeedbackConfig{Limit: limit, Refund: 600})
		require.Zero(t, g.Ask(0, 20*ms))
		g.Done(40*ms, 20*ms, 40*ms) // ran for 20 ms of these
		require.Equal(t, 30*ms, g.State().Credit)
		g.Observe(40*ms, governor.Used, int64(20*ms))
		assert.Equal(t, 50*ms, g.State().Credit)
	})
}

func TestAIMDLaw(t *testing.T) {
	t.Parallel()
	g := newAIMD(t, governor.AIMDConfig{Limit: governor.Limit{Share: 1000}, Floor: 20})
	now := time.Duration(0)
	for i, row := range []struct {
		loss int64
		busy bool // uses the GPU and is held back
		rate int64
	}{
		{0, true, 30_001},    // slow start
		{0, false, 30_001},   // nobody wanted more
		{900, false, 30_001}, // not its doing
		{0, true, 45_002},
		{50, true, 30_001}, // ends slow start
		{30, true, 32_501},
		{31, true, 29_901},
		{0, false, 29_901},
		{90, true, 20_000}, // to a tenth, not under the floor
		{0, true, 30_001},  // slow start again
	} {
		if row.busy {
			for g.Ask(now, ms) == 0 {
				g.Done(now, ms, ms)
			}
		}
		g.Observe(now, governor.Loss, row.loss)
		assert.Equal(t, row.rate, g.State().Rate, "step %d", i)
		now += 10 * time.Second
	}
}

func TestCoRunGate(t *testing.T) {
	t.Parallel()
	g := newCoRun(t, governor.CoRunConfig{Limit: governor.Limit{Share: 1000}, Quiet: 3 * ms})
	require.Zero(t, g.Ask(0, ms))
	g.Done(ms, ms, ms)
	g.Observe(ms, governor.Pressure, 2)
	assert.Equal(t, governor.Forever, g.Ask(ms, ms))
	g.Observe(5*ms, governor.Pressure, 0)
	assert.Equal(t, 2*ms, g.Ask(6*ms, ms))
	g.Observe(7*ms, governor.Pressure, 0) // still quiet: no new start
	assert.Zero(t, g.Ask(8*ms, ms))

	g = newCoRun(t, governor.CoRunConfig{Limit: governor.Limit{Share: 1000}, Beside: 100})
	g.Observe(0, governor.Pressure, 1)
	assert.Equal(t, 10*ms, g.Ask(0, ms), "a tenth of the time, and no burst")
	assert.Zero(t, g.Ask(10*ms, ms))
}

// What is saved for a long launch stays while the gate is shut.
func TestCoRunSavesBehindTheGate(t *testing.T) {
	t.Parallel()
	g := newCoRun(t, governor.CoRunConfig{Limit: governor.Limit{Share: 250, Burst: 10 * ms}})
	g.Observe(0, governor.Pressure, 1)
	require.Equal(t, governor.Forever, g.Ask(0, 50*ms))
	g.Observe(10*time.Second, governor.Pressure, 0)
	assert.Zero(t, g.Ask(10*time.Second, 50*ms))
}

func TestCoRunBesideChargesWhatWasUsed(t *testing.T) {
	t.Parallel()
	g := newCoRun(t, governor.CoRunConfig{Limit: governor.Limit{Share: 1000}, Beside: 100})
	g.Observe(0, governor.Pressure, 1)
	require.Zero(t, g.Ask(10*ms, ms))
	g.Done(13*ms, ms, 3*ms)
	assert.Equal(t, 20*ms, g.Ask(20*ms, ms))
}

func TestQuotaBooks(t *testing.T) {
	t.Parallel()
	half := governor.QuotaConfig{Limit: governor.Limit{Share: 500}} // 50 ms of 100

	t.Run("a launch longer than declared fills the window", func(t *testing.T) {
		t.Parallel()
		g := newQuota(t, half)
		require.Zero(t, g.Ask(0, 25*ms))
		g.Done(50*ms, 25*ms, 50*ms)
		assert.Greater(t, g.Ask(50*ms, ms), 50*ms)
		assert.Zero(t, g.Ask(101*ms, ms))
	})
	for _, asks := range []int{0, 4} { // in one step, or slot by slot
		t.Run("a launch whose window has passed gives nothing to this one", func(t *testing.T) {
			t.Parallel()
			g := newQuota(t, half)
			require.Zero(t, g.Ask(0, 50*ms))
			for i := range asks {
				require.Positive(t, g.Ask(time.Duration(i+1)*60*ms, time.Hour))
			}
			require.Zero(t, g.Ask(250*ms, 25*ms))
			g.Done(250*ms, 50*ms, 0)
			require.Zero(t, g.Ask(250*ms, 25*ms))
			assert.Positive(t, g.Ask(250*ms, ms))
		})
	}
	t.Run("a launch shorter than declared makes room", func(t *testing.T) {
		t.Parallel()
		g := newQuota(t, half)
		require.Zero(t, g.Ask(0, 50*ms))
		require.Positive(t, g.Ask(10*ms, 10*ms))
		g.Done(10*ms, 50*ms, 10*ms)
		assert.Zero(t, g.Ask(10*ms, 10*ms))
	})
	t.Run("launches that fill a window exactly lose a slot of it at most", func(t *testing.T) {
		t.Parallel()
		g := newQuota(t, governor.QuotaConfig{Limit: governor.Limit{Share: 20}})
		r, err := trial.Run(trial.GPU{}, []trial.Client{{Kernels: []time.Duration{time.Second / 3000}, Depth: 1, Governor: g}}, 100*time.Second)
		require.NoError(t, err)
		assert.InDelta(t, 2000, r.Clients[0].GPUTime.Milliseconds(), 2000/128)
	})
}

// A launch over the burst, of both credits, that has to wait for one of them must
// not lose what it saved in the other.
func TestCoRunSavesForBoth(t *testing.T) {
	t.Parallel()
	g := newCoRun(t, governor.CoRunConfig{Limit: governor.Limit{Share: 2}, Beside: 1})
	g.Observe(0, governor.Pressure, 1)
	now := g.Ask(0, 400_001)
	assert.Equal(t, 400_001*time.Microsecond, now)
	assert.Zero(t, g.Ask(now, 400_001))
}

func TestEstimates(t *testing.T) {
	t.Parallel()
	e, err := governor.NewEstimates(4)
	require.NoError(t, err)
	assert.Zero(t, e.Cost(0))
	assert.Zero(t, e.Cost(3))
	e.Learn(3, 8*ms)
	assert.Equal(t, 8*ms, e.Cost(3))
	e.Learn(3, 4*ms)
	assert.Equal(t, 7*ms, e.Cost(3))
	assert.Zero(t, e.Cost(7), "another kernel in the same place")
	e.Learn(7, 2*ms)
	assert.Equal(t, 2*ms, e.Cost(7))
	assert.Zero(t, e.Cost(3))
	e.Learn(0, -1)
	assert.Equal(t, time.Nanosecond, e.Cost(0))
}

// Threads of one process share a governor: whatever the order, the books balance.
func TestLocked(t *testing.T) {
	t.Parallel()
	inner := newFeedback(t, governor.FeedbackConfig{Limit: governor.Limit{Share: 500, Burst: time.Second}})
	g := governor.Locked(inner)
	var granted [8]int
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range granted {
		wg.Go(func() {
			<-start
			for k := range 2000 {
				now := time.Duration(k) * 10 * time.Microsecond
				if g.Ask(now, ms) == 0 {
					granted[i]++
					g.Done(now, ms, ms)
				}
				g.Observe(now, governor.Loss, 0)
			}
		})
	}
	close(start)
	wg.Wait()
	sum := 0
	for _, n := range granted {
		sum += n
	}
	assert.Equal(t, time.Duration(sum)*ms, inner.State().Charged)
	assert.Equal(t, 1009, sum, "a burst of 1 s and half of 19.99 ms")
}

func TestOpen(t *testing.T) {
	t.Parallel()
	var g governor.Open
	assert.Zero(t, g.Ask(0, time.Hour))
	g.Done(0, 0, 0)
	g.Observe(0, governor.Used, 1)
	assert.Equal(t, "loss", governor.Loss.String())
	assert.Equal(t, "unknown signal", governor.Signal(9).String())
}

// What no constructor made grants nothing and breaks nothing.
func TestZeroValues(t *testing.T) {
	t.Parallel()
	for _, g := range []governor.Governor{
		&governor.Feedback{}, &governor.AIMD{}, &governor.CoRun{}, &governor.Quota{}, &governor.TGS{}, &governor.Gemini{}, &governor.Vcuda{},
	} {
		for _, now := range []time.Duration{0, ms, time.Hour} {
			assert.Equal(t, governor.Forever, g.Ask(now, ms), "%T", g)
			g.Done(now, ms, ms)
			g.Observe(now, governor.Used, int64(ms))
			g.Observe(now, governor.Loss, 500)
			g.Observe(now, governor.Pressure, 1)
		}
		assert.Equal(t, governor.Forever, g.Ask(2*time.Hour, ms), "%T", g)
	}
	var e governor.Estimates
	e.Learn(3, ms)
	assert.Zero(t, e.Cost(3))
	assert.Zero(t, governor.Locked(nil).Ask(0, time.Hour))
}
