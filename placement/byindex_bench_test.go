package placement_test

import (
	"fmt"
	"testing"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
)

// A request on a node of eight half-full GPUs, by index and by the other rules that
// see positions, and by the rules that do not.
func BenchmarkByIndex(b *testing.B) {
	n := newNode(b, cut(b, "n", "a100-40gb", 8))
	for gpu := range 8 {
		n = with(b, n, instanceAt(fmt.Sprint("a", gpu), "2g.10gb", gpu, gpu%3*2), instanceAt(fmt.Sprint("b", gpu), "1g.5gb", gpu, (gpu+1)%3*2))
	}
	v, err := fragmentation.NewMIGFGD(fragmentation.Mix{{Shape: instance("2g.10gb"), Count: 1}, {Shape: instance("1g.5gb"), Count: 1}})
	if err != nil {
		b.Fatal(err)
	}
	job := task("job", instance("2g.10gb"))
	for _, p := range []struct {
		name   string
		policy placement.Policy
	}{
		{"index", byIndex(b, twoIndexes()["a100-40gb"])},
		{"MIG-FGD", byValue(b, v, 1, placement.SmallestFirst)},
		{"used-first MIG-FGD", usedFirst(b, v, 1, placement.SmallestFirst)},
		{"best fit", placement.BestFit(suiteLargest)},
		{"first fit", placement.FirstFit()},
	} {
		b.Run(p.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.policy.Choose(n, &job)
			}
		})
	}
}

// What learning costs for every arrival, the tables made on the way included.
func BenchmarkIndexLearner(b *testing.B) {
	m, err := mig.Lookup("a100-40gb")
	if err != nil {
		b.Fatal(err)
	}
	l, err := placement.NewIndexLearner([]*mig.Model{m}, fragmentation.DefaultIndex(), 0)
	if err != nil {
		b.Fatal(err)
	}
	jobs := []placement.Task{task("", instance("1g.5gb")), task("", instance("2g.10gb")), task("", instance("3g.20gb"))}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		l.Observe(&jobs[i%3])
		i++
	}
}
