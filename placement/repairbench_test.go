package placement_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// fullFleet returns GPUs in MIG mode, one a node, with random instances until some
// found no place, a tenth of them gone, and large ones in the holes until none
// finds a place.
func fullFleet(b *testing.B, gpus int) *placement.Cluster {
	b.Helper()
	specs := make([]placement.NodeSpec, gpus)
	for i := range specs {
		specs[i] = cut(b, fmt.Sprintf("n%05d", i), "a100-40gb", 1)
	}
	c := newCluster(b, specs...)
	rng := rand.New(rand.NewPCG(1, 1))
	chooser := placement.NewChooser(c, placement.FirstFit())
	profiles := []string{"1g.5gb", "1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb"}
	var ids []string
	for refused := 0; refused < 10; {
		job := task(fmt.Sprintf("t%06d", len(ids)), instance(profiles[rng.IntN(len(profiles))]))
		n, choice := chooser.Choose(&job)
		if n == nil {
			refused++
			continue
		}
		place(b, c, n.Name(), placement.Assignment{Task: job, Spot: choice.Spot})
		ids = append(ids, job.ID)
	}
	for _, id := range ids {
		if rng.IntN(10) == 0 {
			c.Release(id)
		}
	}
	for i := 0; ; i++ {
		job := task(fmt.Sprintf("u%06d", i), instance("3g.20gb"))
		n, choice := chooser.Choose(&job)
		if n == nil {
			return c
		}
		place(b, c, n.Name(), placement.Assignment{Task: job, Spot: choice.Spot})
	}
}

// BenchmarkRepair measures one search of each kind, beside the refusal that it
// follows.
func BenchmarkRepair(b *testing.B) {
	worth := func(s *fragmentation.State) int64 {
		sum := int64(0)
		for i := range s.GPUs {
			sum += int64(s.GPUs[i].Layout.FreePairs())
		}
		return sum
	}
	for _, gpus := range []int{64, 512} {
		c := fullFleet(b, gpus)
		job := task("wanted", instance("3g.20gb"))
		r, err := placement.NewRepairer(c, placement.FirstFit(), placement.Repair{Every: 1, Worth: worth})
		if err != nil {
			b.Fatal(err)
		}
		for range 10 {
			r.Admitted()
		}
		if found, ok := r.Admit(&job); !ok || len(found.Moves) == 0 {
			b.Fatalf("no rescue to measure: %v", found)
		}
		b.Run(fmt.Sprintf("refuse/GPUs=%d", gpus), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Choose(placement.FirstFit(), &job)
			}
		})
		b.Run(fmt.Sprintf("admit/GPUs=%d", gpus), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Admit(&job)
			}
		})
		b.Run(fmt.Sprintf("improve/GPUs=%d", gpus), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Improve()
			}
		})
	}
}
