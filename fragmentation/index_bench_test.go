package fragmentation_test

import (
	"testing"

	"github.com/gpushare/gpushare/fragmentation"
)

// The table of a model, made anew whenever a learned mix has changed.
func BenchmarkNewIndex(b *testing.B) {
	for _, key := range []string{"a100-40gb", "a30-24gb"} {
		s := statesOf(b, key)
		mix := migMixOf(s, 1, 1, 1, 1, 1, 1)
		if s.Kinds() < 6 {
			mix = migMixOf(s, 1, 1, 1)
		}
		for _, p := range []struct {
			name   string
			params fragmentation.IndexParams
		}{{"default", fragmentation.DefaultIndex()}, {"heavy load", fragmentation.IndexParams{Gamma: 1, Alpha: 4}}} {
			b.Run(key+"/"+p.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := fragmentation.NewIndex(s, mix, p.params); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// Index.Loss with the number of the layout at hand and with finding it, beside
// MIGFGD for the same question.
func BenchmarkIndexLoss(b *testing.B) {
	s := statesOf(b, "a100-40gb")
	mix := migMixOf(s, 1, 1, 1, 1, 1, 1)
	x := newIndex(b, s, mix, fragmentation.DefaultIndex())
	fgd, err := fragmentation.NewMIGFGD(mix)
	if err != nil {
		b.Fatal(err)
	}
	state := s.With(s.With(0, s.Kind("3g.20gb"), 4), s.Kind("1g.5gb"), 2)
	l := s.Layout(state)
	kind := s.Kind("2g.10gb")
	b.Run("by number", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			x.Loss(state, kind)
		}
	})
	b.Run("by layout", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			x.Loss(s.Number(l), s.Kind("2g.10gb"))
		}
	})
	b.Run("MIG-FGD", func(b *testing.B) {
		b.ReportAllocs()
		before := fragmentation.State{GPUs: []fragmentation.GPU{{Layout: l}}}
		after := fragmentation.State{GPUs: []fragmentation.GPU{{Layout: s.Layout(s.With(state, kind, 0))}}}
		for b.Loop() {
			fragmentation.Strands(fgd, &before, &after)
		}
	})
}
