package mig_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
)

// everyQuestion is each layout of a model, the empty one first, and each demand
// of plain profiles that an empty GPU holds.
func everyQuestion(tb testing.TB, m *mig.Model) (states []mig.Layout, demands []mig.Demand) {
	tb.Helper()
	u := newUniverse(m, true)
	return u.layouts, u.demands[1:] // the first asks for nothing
}

// against reports how many times as long as one call of the fast way an iteration
// of the benchmark took.
func against(b *testing.B, fast func(), unit string) {
	b.Helper()
	each := float64(b.Elapsed()) / float64(b.N)
	for n := 1; ; n *= 2 {
		begin := time.Now()
		for range n {
			fast()
		}
		if took := time.Since(begin); took > 5*time.Millisecond {
			b.ReportMetric(each*float64(n)/float64(took), unit)
			return
		}
	}
}

// BenchmarkFit asks on an A100 in each of its 723 states for each of its 77
// demands, and compares Fit with two ways to do without it: to create the
// instances one by one where the driver puts them, in one order after the other
// until one works, and to look through the list of all layouts. The median and
// the 99th percentile are over the questions.
func BenchmarkFit(b *testing.B) {
	m := lookup(b, "a100-40gb")
	states, demands := everyQuestion(b, m)
	u := newUniverse(m, true)
	orders := map[string][]mig.Profile{}
	for _, d := range demands {
		orders[d.String()] = profilesOf(b, m, d)
	}
	type solver func(have mig.Layout, d mig.Demand, order []mig.Profile)
	// A clock reading costs about a third of an answer of Fit, so one reading
	// covers several rounds of the same question.
	const rounds = 20
	once := func(answer solver, rounds int) (each []time.Duration) {
		for _, have := range states {
			for _, d := range demands {
				order := orders[d.String()]
				begin := time.Now()
				for range rounds {
					answer(have, d, order)
				}
				each = append(each, time.Since(begin)/time.Duration(rounds))
			}
		}
		return each
	}
	mean := func(each []time.Duration) float64 {
		total := time.Duration(0)
		for _, t := range each {
			total += t
		}
		return float64(total) / float64(len(each))
	}
	fit := func(have mig.Layout, d mig.Demand, _ []mig.Profile) { _, _ = have.Fit(d) }
	perFit := mean(once(fit, rounds))
	ask := func(b *testing.B, rounds int, answer solver) {
		b.Helper()
		b.ReportAllocs()
		var each []time.Duration
		for b.Loop() {
			each = append(each, once(answer, rounds)...)
		}
		slices.Sort(each)
		b.ReportMetric(mean(each), "ns/question")
		b.ReportMetric(mean(each)/perFit, "x-fit")
		b.ReportMetric(float64(each[len(each)/2]), "ns-median")
		b.ReportMetric(float64(each[len(each)*99/100]), "ns-p99")
	}
	b.Run("solver=fit", func(b *testing.B) {
		ask(b, rounds, fit)
	})
	b.Run("solver=orders", func(b *testing.B) {
		ask(b, 1, func(have mig.Layout, _ mig.Demand, order []mig.Profile) { createInAnyOrder(have, order) })
	})
	b.Run("solver=exhaustive", func(b *testing.B) {
		ask(b, 1, func(have mig.Layout, d mig.Demand, _ []mig.Profile) { _, _ = u.fit(have, d) })
	})
}

// createInAnyOrder is what tools do that cannot ask: create the instances where
// the driver puts them, and start again with the next order when one finds no
// room.
func createInAnyOrder(have mig.Layout, list []mig.Profile) bool {
	var rec func(k int) bool
	rec = func(k int) bool {
		if k == len(list) {
			l := have
			for _, p := range list {
				start, room := l.DefaultStart(p)
				if !room {
					return false
				}
				l, _ = l.With(p, start)
			}
			return true
		}
		for i := k; i < len(list); i++ {
			if slices.ContainsFunc(list[k:i], func(p mig.Profile) bool { return p.Name == list[i].Name }) {
				continue // an order tried before
			}
			list[k], list[i] = list[i], list[k]
			works := rec(k + 1)
			list[k], list[i] = list[i], list[k]
			if works {
				return true
			}
		}
		return false
	}
	return rec(0)
}

// BenchmarkFitOne asks single questions.
func BenchmarkFitOne(b *testing.B) {
	m := lookup(b, "a100-40gb")
	one := layout(b, m, "1g.5gb@3")
	for _, q := range []struct {
		name string
		have mig.Layout
		want mig.Demand
	}{
		{"yes", one, mig.Demand{"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 1}},
		{"no", one, mig.Demand{"4g.20gb": 1, "1g.5gb": 2}},
		{"seven", m.Empty(), mig.Demand{"1g.5gb": 7}},
		{"three", m.Empty(), mig.Demand{"1g.5gb": 3, "1g.10gb": 1}},
	} {
		b.Run("answer="+q.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = q.have.Fit(q.want)
			}
		})
	}
}

// BenchmarkValidate checks full valid sets of an A100, and compares with a check
// of all pairs.
func BenchmarkValidate(b *testing.B) {
	m := lookup(b, "a100-40gb")
	for _, set := range [][]string{
		{"4g.20gb@0", "3g.20gb@4"},
		{"2g.10gb@0", "1g.5gb@2", "1g.5gb@3", "3g.20gb@4"},
		{"1g.5gb@0", "1g.5gb@1", "1g.5gb@2", "1g.5gb@3", "1g.5gb@4", "1g.5gb@5", "1g.5gb@6"},
	} {
		list := parse(b, set...)
		b.Run(fmt.Sprintf("instances=%d/rule=mask", len(set)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := m.Validate(list...); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("instances=%d/rule=pairwise", len(set)), func(b *testing.B) {
			b.ReportAllocs()
			table := m.Spec().Profiles
			for b.Loop() {
				var have []placed
				for _, in := range list {
					i := slices.IndexFunc(table, func(p mig.Profile) bool { return p.Name == in.Profile })
					next := placed{table[i], in.Start}
					require.True(b, addable(have, next))
					have = append(have, next)
				}
			}
			against(b, func() { _ = m.Validate(list...) }, "x-mask")
		})
	}
}

// BenchmarkFreeStarts compares the masks with the pairwise rule.
func BenchmarkFreeStarts(b *testing.B) {
	m := lookup(b, "a100-40gb")
	l, p := layout(b, m, "2g.10gb@0", "1g.5gb@3"), profile(b, m, "1g.10gb")
	b.Run("rule=mask", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = l.FreeStarts(p)
		}
	})
	b.Run("rule=pairwise", func(b *testing.B) {
		set := placedOf(l)
		b.ReportAllocs()
		for b.Loop() {
			var free mig.Mask
			for start := range p.Starts.All() {
				if addable(set, placed{p, start}) {
					free |= mig.MaskOf(start)
				}
			}
		}
		against(b, func() { _ = l.FreeStarts(p) }, "x-mask")
	})
	b.Run("rule=mask/beside=me", func(b *testing.B) {
		l, p := layout(b, m, "2g.10gb@0", "1g.5gb+me@3"), profile(b, m, "1g.5gb+me")
		b.ReportAllocs()
		for b.Loop() {
			_ = l.FreeStarts(p)
		}
	})
}

// BenchmarkRemaining compares the masks with trying all ways.
func BenchmarkRemaining(b *testing.B) {
	m := lookup(b, "a100-40gb")
	l, p := layout(b, m, "2g.10gb@0", "1g.5gb@3"), profile(b, m, "1g.5gb")
	b.Run("rule=mask", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = l.Remaining(p)
		}
	})
	b.Run("rule=pairwise", func(b *testing.B) {
		set := placedOf(l)
		b.ReportAllocs()
		for b.Loop() {
			_ = mostOf(set, p, 0)
		}
		against(b, func() { _ = l.Remaining(p) }, "x-mask")
	})
}

func BenchmarkWith(b *testing.B) {
	m := lookup(b, "a100-40gb")
	l, p := layout(b, m, "2g.10gb@0", "1g.5gb@3"), profile(b, m, "3g.20gb")
	b.ReportAllocs()
	for b.Loop() {
		_, _ = l.With(p, 4)
	}
}

func BenchmarkDefaultStart(b *testing.B) {
	m := lookup(b, "a100-40gb")
	l, p := layout(b, m, "2g.10gb@0"), profile(b, m, "1g.5gb")
	b.ReportAllocs()
	for b.Loop() {
		_, _ = l.DefaultStart(p)
	}
}

// BenchmarkLayouts compares the enumeration with all legal subsets of pairs.
func BenchmarkLayouts(b *testing.B) {
	m := lookup(b, "a100-40gb")
	b.Run("by=start", func(b *testing.B) {
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			n = 0
			for range m.Layouts(nil) {
				n++
			}
		}
		b.ReportMetric(float64(n), "layouts/op")
	})
	b.Run("by=subsets", func(b *testing.B) {
		list := pairs(m, true)
		b.ReportAllocs()
		for b.Loop() {
			subsets(list, func([]placed) {})
		}
	})
}

func BenchmarkCensus(b *testing.B) {
	m := lookup(b, "a100-40gb")
	b.ReportAllocs()
	for b.Loop() {
		_ = m.Census(nil)
	}
}

func BenchmarkSmallest(b *testing.B) {
	m := lookup(b, "a100-40gb")
	b.ReportAllocs()
	for b.Loop() {
		_, _ = m.Smallest(mig.Need{MemoryMiB: 8000, SMs: 20})
	}
}
