package plan_test

import (
	"errors"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// pair is a question: a state and what is wanted.
type pair struct {
	from plan.State
	have mig.Layout
	want mig.Demand
}

// randomPairs draws questions from all states of an A100 and its undominated
// multisets.
func randomPairs(b *testing.B, n int) []pair {
	b.Helper()
	u := newUniverse(b, lookup(b, "a100-40gb"))
	rng := rand.New(rand.NewPCG(5, 6))
	wants := u.undominated()
	pairs := make([]pair, n)
	for i := range pairs {
		l := u.sets[rng.IntN(len(u.sets))].layout
		pairs[i] = pair{plan.StateOf(l), l, wants[rng.IntN(len(wants))]}
	}
	return pairs
}

// way is one way to get from a state to what is wanted. It returns how many
// instances it destroys, or -1 if it does not get there, and how many creations it
// asks a device for.
type way func(pair) (destroyed, tried int)

// BenchmarkPlan compares a plan with two ways of trying: their search is timed on a
// driver that answers at once, so that it is cheaper than a plan, which also names
// its steps, compute instances and fingerprint. What matters is what they do to a
// device, over all the questions: destroyed/op and tried/op, the ratios of both to
// those of a plan, and the time at the default costs, device-s/op, in which a creation
// that is refused takes as long as one that is not.
//
// Clear-and-permute destroys everything, then tries the permutations of the
// request, smallest profiles first, until the driver's default placement takes one.
// Keep-and-permute answers the same question as a plan by trying: it keeps every
// set of instances in turn, largest sets first, and tries the permutations of what
// is missing beside it. What it destroys to try the next set does not count here.
func BenchmarkPlan(b *testing.B) {
	pairs := randomPairs(b, 512)
	planned := func(p pair) (destroyed, tried int) {
		got, err := plan.Repartition(p.from, p.want)
		if err != nil {
			return -1, 0
		}
		return got.Count()
	}
	for _, w := range []struct {
		name string
		do   way
	}{
		{"plan", planned},
		{"keep-and-permute", keepAndPermute},
		{"clear-and-permute", func(p pair) (destroyed, tried int) {
			ok, tried := permute(p.have.Model().Empty(), p.want)
			if !ok {
				return -1, tried
			}
			return p.have.Len(), tried
		}},
	} {
		b.Run("way="+w.name, func(b *testing.B) {
			b.ReportAllocs()
			times := make([]time.Duration, 0, 1<<16)
			n := 0
			for b.Loop() {
				start := time.Now()
				w.do(pairs[n%len(pairs)])
				if len(times) < cap(times) {
					times = append(times, time.Since(start))
				}
				n++
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Nanoseconds()), "median-ns")
			b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds()), "p99-ns")
			reportEffect(b, pairs, w.do, planned)
		})
	}
}

// reportEffect reports what a way does to the devices, over all pairs.
func reportEffect(b *testing.B, pairs []pair, mine, planned way) {
	b.Helper()
	sum := func(do way) (destroyed, tried float64) {
		for _, p := range pairs {
			d, c := do(p)
			require.GreaterOrEqual(b, d, 0)
			destroyed, tried = destroyed+float64(d), tried+float64(c)
		}
		return destroyed, tried
	}
	destroyed, tried := sum(mine)
	leastDestroyed, leastTried := sum(planned)
	n, costs := float64(len(pairs)), plan.DefaultCosts()
	b.ReportMetric(destroyed/n, "destroyed/op")
	b.ReportMetric(destroyed/leastDestroyed, "destroyed/plan")
	b.ReportMetric(tried/n, "tried/op")
	b.ReportMetric(tried/leastTried, "tried/plan")
	destroy := costs.DestroyGPUInstance + costs.DestroyComputeInstance
	create := costs.CreateGPUInstance + costs.CreateComputeInstance
	b.ReportMetric((destroyed*destroy.Seconds()+tried*create.Seconds())/n, "device-s/op")
}

// BenchmarkRefusal measures the slow answer: a busy instance in the way.
func BenchmarkRefusal(b *testing.B) {
	s := state(b, lookup(b, "a100-40gb"), "1g.5gb@0! 1g.5gb@1 1g.5gb@2! 1g.5gb@3 1g.5gb@4! 1g.5gb@5 1g.5gb@6")
	want := mig.Demand{"3g.20gb": 2}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := plan.Repartition(s, want); !errors.Is(err, plan.ErrBusy) {
			b.Fatal(err)
		}
	}
}

// keepAndPermute returns how many instances it destroys, or -1, and how many
// creations it tries.
func keepAndPermute(p pair) (destroyed, tries int) {
	all := slices.Collect(p.have.Instances())
	for destroyed := range len(all) + 1 {
		for gone := range 1 << len(all) {
			if bits.OnesCount(uint(gone)) != destroyed {
				continue
			}
			l, missing := p.have, mig.Demand{}
			maps.Copy(missing, p.want)
			surplus := false
			for k, in := range all {
				if gone&(1<<k) != 0 {
					l, _ = l.Without(in.Start)
					continue
				}
				missing[in.Profile]--
				surplus = surplus || missing[in.Profile] < 0
			}
			if surplus {
				continue
			}
			ok, n := permute(l, missing)
			if tries += n; ok {
				return destroyed, tries
			}
		}
	}
	return -1, tries
}

// permute creates the request beside a layout, one permutation after another, the
// smallest profiles first, each where the driver puts it, and counts the tries.
func permute(beside mig.Layout, want mig.Demand) (ok bool, tries int) {
	var order []mig.Profile
	for p := range beside.Model().PlainProfiles() {
		for range want[p.Name] {
			order = append(order, p)
		}
	}
	for {
		l, ok := beside, true
		for _, p := range order {
			tries++
			var start int
			if start, ok = l.DefaultStart(p); !ok {
				break
			}
			l, _ = l.With(p, start)
		}
		if ok {
			return true, tries
		}
		if !nextPermutation(order) {
			return false, tries
		}
	}
}

// nextPermutation changes the order to the next one, and returns false after the
// last.
func nextPermutation(order []mig.Profile) bool {
	less := func(a, b mig.Profile) bool { return a.ID > b.ID } // as the table has them
	i := len(order) - 2
	for i >= 0 && !less(order[i], order[i+1]) {
		i--
	}
	if i < 0 {
		return false
	}
	j := len(order) - 1
	for !less(order[i], order[j]) {
		j--
	}
	order[i], order[j] = order[j], order[i]
	slices.Reverse(order[i+1:])
	return true
}
