package churn_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gpushare/gpushare/placement/churn"
)

// One arrival with its departure, by rule and size, beside a cluster of nodes that
// is asked node by node.
func BenchmarkRun(b *testing.B) {
	m := model(b, "a100-40gb")
	mix := eight[0].of(b, m)
	for _, gpus := range []int{64, 512} {
		cfg := churn.Config{Fleet: []churn.Group{{Model: m, GPUs: gpus}}, Mix: mix, Load: 1, WarmUp: 6, Arrivals: 10_000}
		trace := newTrace(b, cfg)
		arrivals := len(slices.Collect(trace.Arrivals())) // the warm-up is played too
		for _, name := range []string{"first fit", "index"} {
			p := rules(b, mix, m)[name]
			b.Run(fmt.Sprintf("%d GPUs/%s", gpus, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					run(b, trace, p)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(arrivals), "ns/arrival")
			})
		}
	}
	b.Run("64 GPUs/index, node by node", func(b *testing.B) {
		cfg := churn.Config{Fleet: []churn.Group{{Model: m, GPUs: 64}}, Mix: mix, Load: 1, Arrivals: 1000}
		trace := newTrace(b, cfg)
		p := rules(b, mix, m)["index"]
		b.ReportAllocs()
		for b.Loop() {
			naive(b, cfg, trace, p)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/arrival")
	})
}

// Choosing a rule for a mix: fourteen candidates on three traces.
func BenchmarkSelect(b *testing.B) {
	m := model(b, "a100-40gb")
	mix := eight[0].of(b, m)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := churn.Select(m, mix, 1); err != nil {
			b.Fatal(err)
		}
	}
}
