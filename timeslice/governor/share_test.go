package governor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/timeslice/governor"
	"github.com/gpushare/gpushare/timeslice/governor/trial"
)

// ledger is what a client has used, and when.
type ledger struct {
	client int
	points []point
}

type point struct{ at, used time.Duration }

func (l *ledger) run(client int, from, to time.Duration) {
	if client != l.client {
		return
	}
	used := time.Duration(0)
	if n := len(l.points); n > 0 {
		used = l.points[n-1].used
	}
	l.points = append(l.points, point{from, used}, point{to, used + to - from})
}

// within says that the share is within 2 % of the limit over every stretch of 10 s
// or more that begins and ends with a launch, after a time to settle:
//
//	|used - share × length| ≤ 2 % × share × length
//
// which is to say that used - 1.02 × share × time never ends above where it began
// 10 s ago or more, and used - 0.98 × share × time never below.
func (l *ledger) within(t require.TestingT, share int, settle time.Duration, what string) {
	upper := func(p point) time.Duration { return p.used*100_000 - p.at*time.Duration(102*share) }
	lower := func(p point) time.Duration { return p.used*100_000 - p.at*time.Duration(98*share) }
	first := 0
	for first < len(l.points) && l.points[first].at < settle {
		first++
	}
	require.Less(t, first, len(l.points), what)
	least, most := upper(l.points[first]), lower(l.points[first])
	checked, began := 0, first
	for _, p := range l.points[first:] {
		for ; l.points[began].at <= p.at-10*time.Second; began++ {
			least = min(least, upper(l.points[began]))
			most = max(most, lower(l.points[began]))
		}
		if began == first {
			continue
		}
		checked++
		require.LessOrEqual(t, upper(p), least, "%s: over %d thousandths and 2 %% until %v", what, share, p.at)
		require.GreaterOrEqual(t, lower(p), most, "%s: under %d thousandths less 2 %% until %v", what, share, p.at)
	}
	require.Positive(t, checked, what)
}

func TestShareWithinTwoPercent(t *testing.T) {
	t.Parallel()
	const length = 14 * time.Second
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.IntRange(50, 950).Draw(t, "share")
		limit := governor.Limit{Share: share}
		kind := rapid.SampledFrom([]string{"feedback", "quota", "corun"}).Draw(t, "kind")
		var g governor.Governor
		var err error
		switch kind {
		case "feedback":
			g, err = governor.NewFeedback(governor.FeedbackConfig{Limit: limit})
		case "quota":
			g, err = governor.NewQuota(governor.QuotaConfig{Limit: limit})
		case "corun":
			g, err = governor.NewCoRun(governor.CoRunConfig{Limit: limit})
		}
		require.NoError(t, err)
		// What is in flight is uncertain by as much, so keep it to a quarter of
		// the 200 ms × share allowed.
		depth := rapid.IntRange(1, 4).Draw(t, "depth")
		room := time.Duration(share) * 50 * time.Microsecond / time.Duration(depth)
		c := trial.Client{
			Governor: g,
			Kernels:  []time.Duration{genSpan(room/2, room).Draw(t, "kernel"), genSpan(room/2, room).Draw(t, "kernel")},
			Jitter:   rapid.IntRange(0, 500).Draw(t, "jitter"),
			Depth:    depth,
			Declared: rapid.SampledFrom([]int{0, 500, 900, 1500}).Draw(t, "declared"),
		}
		var l ledger
		gpu := trial.GPU{
			Engine: rapid.SampledFrom([]trial.Engine{trial.FIFO, trial.TimeSliced}).Draw(t, "engine"),
			Seed:   rapid.Uint64().Draw(t, "seed"), OnRun: l.run,
		}
		_, err = trial.Run(gpu, []trial.Client{c}, length)
		require.NoError(t, err)
		l.within(t, share, 0, kind)
	})
}

// A shim does not see everything, and what it sees may be stretched.
func TestFeedbackUnseen(t *testing.T) {
	t.Parallel()
	const length = 40 * time.Second
	for _, row := range []struct {
		name   string
		client trial.Client
		refund int
		beside bool
	}{
		{name: "every third launch unseen", client: trial.Client{Hidden: 3}},
		{name: "declared a tenth", client: trial.Client{Declared: 100}},
		{name: "no cost known", client: trial.Client{Declared: -1}},
		{name: "elapsed time beside a neighbour", client: trial.Client{Elapsed: true}, refund: 700, beside: true},
	} {
		for _, share := range []int{100, 300} {
			t.Run(row.name, func(t *testing.T) {
				t.Parallel()
				c := row.client
				c.Kernels = []time.Duration{700 * time.Microsecond, 1300 * time.Microsecond}
				c.Depth = 2
				c.Governor = newFeedback(t, governor.FeedbackConfig{Limit: governor.Limit{Share: share}, Refund: row.refund})
				clients := []trial.Client{c}
				if row.beside {
					clients = append(clients, trial.Client{Kernels: []time.Duration{3 * time.Millisecond}})
				}
				var l ledger
				_, err := trial.Run(trial.GPU{Engine: trial.TimeSliced, OnRun: l.run}, clients, length)
				require.NoError(t, err)
				l.within(t, share, time.Second, row.name)
			})
		}
	}
}

// Without the samples the same client gets away with what the shim does not see.
func TestQuotaDoesNotSeeHidden(t *testing.T) {
	t.Parallel()
	r, err := trial.Run(trial.GPU{}, []trial.Client{{
		Kernels: []time.Duration{time.Millisecond}, Hidden: 3,
		Governor: newQuota(t, governor.QuotaConfig{Limit: governor.Limit{Share: 300}}),
	}}, 20*time.Second)
	require.NoError(t, err)
	assert.InDelta(t, 450, r.Clients[0].Share(r), 10)
}

func TestNoWindUpWhenIdle(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			l := governor.Limit{Share: 200}
			var g governor.Governor
			switch kind {
			case "feedback":
				g = newFeedback(t, governor.FeedbackConfig{Limit: l})
			case "aimd":
				g = newAIMD(t, governor.AIMDConfig{Limit: l, Floor: 200})
			case "quota":
				g = newQuota(t, governor.QuotaConfig{Limit: l})
			case "corun":
				g = newCoRun(t, governor.CoRunConfig{Limit: l})
			}
			// Idle for a minute, then hungry: the first 100 ms give the burst of
			// 20 ms, and 20 ms more, and the launch in progress.
			c := trial.Client{Kernels: []time.Duration{time.Millisecond}, Start: time.Minute, Governor: g, Depth: 1}
			r, err := trial.Run(trial.GPU{}, []trial.Client{c}, time.Minute+100*time.Millisecond)
			require.NoError(t, err)
			assert.LessOrEqual(t, r.Clients[0].GPUTime, 41*time.Millisecond)
			assert.GreaterOrEqual(t, r.Clients[0].GPUTime, 19*time.Millisecond)
		})
	}
}
