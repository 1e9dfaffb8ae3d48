package fleet_test

import (
	"fmt"
	"testing"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/fleet"
)

// BenchmarkFit compares the exact answer with first fit decreasing, over the
// same questions: GPUs of four models, most of them in use. The metrics of the
// first-fit rows say in how many of a hundred questions it needs more weight, and
// in how many it finds no place though there is one.
func BenchmarkFit(b *testing.B) {
	var models []*mig.Model
	for _, key := range []string{"a30-24gb", "a100-40gb", "a100-80gb", "h100-80gb-sxm5"} {
		models = append(models, lookup(b, key))
	}
	const questions = 40
	for _, gpus := range []int{8, 16, 64, 256} {
		list := fleetQuestions(models, gpus, questions, false)
		var weight, open, worse, missed, naive, both int
		for _, q := range list {
			fit, err := fleet.Fit(q.gpus, q.want, 0)
			if err != nil {
				open++
			}
			weight += fit.Weight
			w, fits := firstFit(q)
			switch {
			case !fits:
				missed++
			default:
				both += fit.Weight
				naive += w
				if w > fit.Weight {
					worse++
				}
			}
		}
		b.Run(fmt.Sprintf("gpus=%d/solver=exact", gpus), func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				q := list[n%questions]
				n++
				_, _ = fleet.Fit(q.gpus, q.want, 0)
			}
			b.ReportMetric(float64(weight)/questions, "gpus-used/op")
			b.ReportMetric(100*float64(open)/questions, "%unproven")
		})
		b.Run(fmt.Sprintf("gpus=%d/solver=first-fit", gpus), func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				_, _ = firstFit(list[n%questions])
				n++
			}
			b.ReportMetric(float64(naive)/float64(max(1, questions-missed)), "gpus-used/op")
			b.ReportMetric(100*float64(naive-both)/float64(max(1, both)), "%more-gpus")
			b.ReportMetric(100*float64(worse)/questions, "%worse")
			b.ReportMetric(100*float64(missed)/questions, "%missed")
		})
	}
}

// BenchmarkFitEqual is about many GPUs of one kind.
func BenchmarkFitEqual(b *testing.B) {
	m := lookup(b, "a100-40gb")
	for _, n := range []int{64, 1024, 4096} {
		gpus := gpusOf(n, m.Empty())
		want := mig.Demand{"3g.20gb": n / 3, "2g.10gb": n / 2, "1g.10gb": n / 3, "1g.5gb": n}
		b.Run(fmt.Sprintf("gpus=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = fleet.Fit(gpus, want, 0)
			}
		})
	}
}

// BenchmarkBestMix compares the exact answer with the best layout for all GPUs
// alike; the metric is the share of the memory slices that serve a request.
func BenchmarkBestMix(b *testing.B) {
	m := lookup(b, "a100-40gb")
	for _, n := range []int{8, 64, 1024, 4096} {
		requests := mixQuestion(n)
		pools := []fleet.Pool{{Layout: m.Empty(), Count: n}}
		slices := float64(n * m.MemorySlices())
		b.Run(fmt.Sprintf("gpus=%d/solver=exact", n), func(b *testing.B) {
			b.ReportAllocs()
			var mix fleet.Mix
			for b.Loop() {
				mix, _ = fleet.BestMix(pools, requests, 0)
			}
			b.ReportMetric(100*float64(mix.Value)/slices, "%serving")
			b.ReportMetric(float64(mix.Bound-mix.Value), "unproven-value")
		})
		b.Run(fmt.Sprintf("gpus=%d/solver=same-layout", n), func(b *testing.B) {
			b.ReportAllocs()
			value := 0
			for b.Loop() {
				value = sameEverywhere(m, n, requests)
			}
			b.ReportMetric(100*float64(value)/slices, "%serving")
		})
	}
}
