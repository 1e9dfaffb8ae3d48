package governor_test

import (
	"testing"
	"time"

	"github.com/gpushare/gpushare/timeslice/governor"
)

func benchGovernors(b *testing.B) []struct {
	name string
	g    governor.Governor
} {
	b.Helper()
	limit := governor.Limit{Share: 500}
	vcuda, err := governor.NewVcuda(108, 2048, 50, 100)
	if err != nil {
		b.Fatal(err)
	}
	return []struct {
		name string
		g    governor.Governor
	}{
		{"rule=open", governor.Open{}},
		{"rule=feedback", newFeedback(b, governor.FeedbackConfig{Limit: limit})},
		{"rule=aimd", newAIMD(b, governor.AIMDConfig{Limit: limit})},
		{"rule=quota", newQuota(b, governor.QuotaConfig{Limit: limit})},
		{"rule=corun", newCoRun(b, governor.CoRunConfig{Limit: limit, Beside: 100})},
		{"rule=locked", governor.Locked(newFeedback(b, governor.FeedbackConfig{Limit: limit}))},
		{"rule=vcuda", vcuda},
	}
}

// BenchmarkAsk is what a launch pays: ask, and done when granted, at a limit of a
// half, so that about every other ask is refused.
func BenchmarkAsk(b *testing.B) {
	for _, bb := range benchGovernors(b) {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			now, granted, asked := time.Duration(0), 0, 0
			for b.Loop() {
				now += 10 * time.Microsecond
				asked++
				if bb.g.Ask(now, 10*time.Microsecond) == 0 {
					granted++
					bb.g.Done(now, 10*time.Microsecond, 10*time.Microsecond)
				}
			}
			b.ReportMetric(float64(granted)/float64(asked), "granted/op")
		})
	}
}

//nolint:paralleltest // AllocsPerRun counts the allocations of all goroutines.
func TestAskAllocatesNothing(t *testing.T) {
	limit := governor.Limit{Share: 500}
	for _, g := range []governor.Governor{
		newFeedback(t, governor.FeedbackConfig{Limit: limit}),
		newAIMD(t, governor.AIMDConfig{Limit: limit}),
		newQuota(t, governor.QuotaConfig{Limit: limit}),
		newCoRun(t, governor.CoRunConfig{Limit: limit, Beside: 100}),
		governor.Locked(newFeedback(t, governor.FeedbackConfig{Limit: limit})),
	} {
		now := time.Duration(0)
		if n := testing.AllocsPerRun(1000, func() {
			now += 300 * time.Microsecond
			if g.Ask(now, time.Millisecond) == 0 {
				g.Done(now, time.Millisecond, 2*time.Millisecond)
			}
			g.Observe(now, governor.Used, 1000)
			g.Observe(now, governor.Loss, 10)
			g.Observe(now, governor.Pressure, 1)
		}); n != 0 {
			t.Errorf("%T: %v allocations", g, n)
		}
	}
}
