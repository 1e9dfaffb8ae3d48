package governor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/timeslice/governor"
)

func newFeedback(t testing.TB, c governor.FeedbackConfig) *governor.Feedback {
	t.Helper()
	g, err := governor.NewFeedback(c)
	require.NoError(t, err)
	return g
}

func newAIMD(t testing.TB, c governor.AIMDConfig) *governor.AIMD {
	t.Helper()
	g, err := governor.NewAIMD(c)
	require.NoError(t, err)
	return g
}

func newQuota(t testing.TB, c governor.QuotaConfig) *governor.Quota {
	t.Helper()
	g, err := governor.NewQuota(c)
	require.NoError(t, err)
	return g
}

func newCoRun(t testing.TB, c governor.CoRunConfig) *governor.CoRun {
	t.Helper()
	g, err := governor.NewCoRun(c)
	require.NoError(t, err)
	return g
}

// stater is what the governors of this package, the references aside, are.
type stater interface {
	governor.Governor
	State() governor.State
}

// drawn is a governor with what bounds it.
type drawn struct {
	stater
	kind     string
	rate     int64 // ppm at most
	burst    time.Duration
	unknown  time.Duration
	inflight time.Duration // bound, 0 = none
}

var kinds = []string{"feedback", "aimd", "quota", "corun"}

// genGovernor draws a governor of any kind; burst is the one that the
// documentation promises for the configuration drawn.
func genGovernor(t *rapid.T) drawn {
	l := governor.Limit{
		Share:    rapid.IntRange(1, 1000).Draw(t, "share"),
		Burst:    rapid.OneOf(genSpan(0, 200*time.Millisecond), genSpan(0, governor.MaxCost)).Draw(t, "burst"),
		Debt:     rapid.OneOf(genSpan(0, 20*time.Second), genSpan(0, governor.MaxCost)).Draw(t, "debt"),
		Inflight: genSpan(0, 50*time.Millisecond).Draw(t, "inflight"),
		Unknown:  genSpan(0, 10*time.Millisecond).Draw(t, "unknown"),
	}
	kind := rapid.SampledFrom(kinds).Draw(t, "kind")
	d := drawn{
		kind: kind, rate: int64(l.Share) * 1000, burst: l.Burst,
		unknown: l.Unknown, inflight: l.Inflight,
	}
	if d.unknown == 0 {
		d.unknown = time.Millisecond
	}
	span := 100 * time.Millisecond
	var err error
	switch kind {
	case "feedback":
		d.stater, err = governor.NewFeedback(governor.FeedbackConfig{Limit: l})
	case "aimd":
		span = 10 * time.Millisecond
		d.stater, err = governor.NewAIMD(governor.AIMDConfig{Limit: l, Floor: rapid.IntRange(1, l.Share).Draw(t, "floor")})
	case "quota":
		l.Burst, d.burst = 0, 0
		span = genSpan(time.Millisecond, time.Second).Draw(t, "window")
		d.stater, err = governor.NewQuota(governor.QuotaConfig{Limit: l, Window: span})
	case "corun":
		if d.inflight == 0 {
			d.inflight = 2 * time.Millisecond
		}
		d.stater, err = governor.NewCoRun(governor.CoRunConfig{
			Limit:  l,
			Beside: rapid.IntRange(0, l.Share).Draw(t, "beside"),
			Quiet:  genSpan(0, 10*time.Millisecond).Draw(t, "quiet"),
		})
	}
	require.NoError(t, err)
	if d.burst == 0 {
		d.burst = span * time.Duration(l.Share) / 1000
	}
	return d
}

func genSpan(from, to time.Duration) *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.Int64Range(int64(from), int64(to)), func(n int64) time.Duration { return time.Duration(n) })
}
