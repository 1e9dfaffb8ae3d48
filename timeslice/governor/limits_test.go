package governor_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/timeslice/governor"
	"github.com/gpushare/gpushare/timeslice/governor/trial"
)

// Numbers of hours, added up, are past what the books hold if nobody looks.
func TestBooksDoNotOverflow(t *testing.T) {
	t.Parallel()
	all := governor.Limit{Share: 1000, Burst: time.Hour, Debt: time.Hour}

	t.Run("hours of use that no launch explains are a debt", func(t *testing.T) {
		t.Parallel()
		g := newFeedback(t, governor.FeedbackConfig{Limit: all})
		for h := range time.Duration(4) {
			require.Zero(t, g.Ask(h*time.Hour, time.Hour))
			g.Observe(h*time.Hour, governor.Used, int64(time.Hour))
		}
		for range 4 { // a shim that lies about what its launches took
			g.Done(4*time.Hour, time.Hour, 0)
		}
		g.Observe(4*time.Hour, governor.Used, 0)
		assert.Equal(t, -time.Hour, g.State().Credit)
		assert.Equal(t, 2*time.Hour, g.State().Forgiven)
	})
	t.Run("hours given back at once are a burst", func(t *testing.T) {
		t.Parallel()
		g := newFeedback(t, governor.FeedbackConfig{Limit: all, Refund: 1000})
		for h := range time.Duration(6) {
			require.Zero(t, g.Ask(h*time.Hour, time.Hour))
			g.Done(h*time.Hour, time.Hour, time.Hour)
		}
		g.Observe(5*time.Hour, governor.Used, 0)
		assert.Equal(t, time.Hour, g.State().Credit)
	})
	t.Run("and the sums of centuries stay where they are", func(t *testing.T) {
		t.Parallel()
		g := newFeedback(t, governor.FeedbackConfig{Limit: all})
		for range 3_000_000 {
			g.Done(0, 0, time.Hour) // nobody asked for that
		}
		assert.Equal(t, time.Duration(math.MaxInt64), g.State().Forgiven)
		g.Observe(0, governor.Used, int64(time.Hour))
		assert.Equal(t, -time.Hour, g.State().Credit)
		assert.Equal(t, time.Hour+1, g.Ask(0, 1))
	})
}

func TestTGSAtTheEndOfTime(t *testing.T) {
	t.Parallel()
	g, err := governor.NewTGS(1, 1, time.Hour, 1)
	require.NoError(t, err)
	now := time.Duration(math.MaxInt64)
	require.Zero(t, g.Ask(now, 0))
	require.Zero(t, g.Ask(now, 0))
	assert.Positive(t, g.Ask(now, 0), "the period is not over")
	_, err = governor.NewTGS(1, 1, math.MaxInt64, 1)
	assert.ErrorIs(t, err, governor.ErrInput)
}

// Whatever the fields say, a constructor answers with a governor or with an error
// that wraps ErrInput, and the governor can be used.
func TestAnyConfiguration(t *testing.T) {
	t.Parallel()
	rapid.Check(t, anyConfiguration)
}

func FuzzConfiguration(f *testing.F) { f.Fuzz(rapid.MakeFuzz(anyConfiguration)) }

func anyConfiguration(t *rapid.T) {
	number := func(label string) int {
		return rapid.OneOf(rapid.SampledFrom([]int{0, 1, 500, 1000}), rapid.Int()).Draw(t, label)
	}
	span := func(label string) time.Duration {
		return rapid.OneOf(
			rapid.SampledFrom([]time.Duration{0, 1, time.Millisecond, time.Hour, math.MaxInt64, math.MinInt64}),
			rapid.Map(rapid.Int64(), func(n int64) time.Duration { return time.Duration(n) }),
		).Draw(t, label)
	}
	l := governor.Limit{
		Share: number("share"), Burst: span("burst"), Debt: span("debt"),
		Inflight: span("inflight"), Unknown: span("unknown"),
	}
	var g governor.Governor
	var err error
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		g, err = governor.NewFeedback(governor.FeedbackConfig{Limit: l, Refund: number("refund")})
	case 1:
		g, err = governor.NewAIMD(governor.AIMDConfig{
			Limit: l, Floor: number("floor"), Target: number("target"),
			Severe: number("severe"), Step: number("step"), Cut: number("cut"),
		})
	case 2:
		g, err = governor.NewQuota(governor.QuotaConfig{Limit: l, Window: span("window")})
	case 3:
		g, err = governor.NewCoRun(governor.CoRunConfig{Limit: l, Beside: number("beside"), Quiet: span("quiet")})
	case 4:
		g, err = governor.NewVcuda(number("SMs"), number("threads"), number("limit"), number("blocks"))
	case 5:
		g, err = governor.NewTGS(int64(number("rate")), int64(number("most")), span("period"), int64(number("units")))
	case 6:
		g, err = governor.NewGemini(span("quota"), span("least"), span("most"), number("limit"), span("window"))
	}
	if err != nil {
		require.ErrorIs(t, err, governor.ErrInput)
		return
	}
	for range 20 {
		require.GreaterOrEqual(t, g.Ask(span("ask"), span("cost")), time.Duration(0))
		g.Done(span("done"), span("cost"), span("used"))
		g.Observe(span("observe"), governor.Signal(rapid.IntRange(0, 4).Draw(t, "signal")), rapid.Int64().Draw(t, "value"))
	}
	_, err = trial.Run(trial.GPU{}, []trial.Client{{Kernels: []time.Duration{time.Millisecond}, Governor: g}}, 20*time.Millisecond)
	require.NoError(t, err)
}
