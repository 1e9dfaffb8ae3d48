package mig_test

import (
	"testing"

	"github.com/gpushare/gpushare/mig"
)

// fitQuestion is the one that the benchmarks of Fit ask.
func fitQuestion(b *testing.B) (have mig.Layout, yes, no mig.Demand) {
	b.Helper()
	m := lookup(b, "a100-40gb")
	return layout(b, m, "1g.5gb@3"),
		mig.Demand{"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 1},
		mig.Demand{"4g.20gb": 1, "1g.5gb": 2}
}

// BenchmarkFit compares Fit with a look through the list of all layouts, which
// the exhaustive row is given for free.
func BenchmarkFit(b *testing.B) {
	have, yes, no := fitQuestion(b)
	u := newUniverse(have.Model(), true)
	for _, q := range []struct {
		name string
		want mig.Demand
	}{{"yes", yes}, {"no", no}} {
		b.Run("answer="+q.name+"/solver=fit", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = have.Fit(q.want)
			}
		})
		b.Run("answer="+q.name+"/solver=exhaustive", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = u.fit(have, q.want)
			}
		})
	}
	b.Run("answer=largest/solver=fit", func(b *testing.B) {
		empty, want := have.Model().Empty(), mig.Demand{"1g.5gb": 7}
		b.ReportAllocs()
		for b.Loop() {
			_, _ = empty.Fit(want)
		}
	})
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
