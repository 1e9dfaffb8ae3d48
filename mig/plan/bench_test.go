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

// BenchmarkPlan compares a plan with two ways of trying. Only their search is
// timed, on a driver that answers at once; each creation that they try costs a
// real driver a good part of a second.
//
// Clear-and-permute destroys everything, then tries the permutations of the
// request, smallest profiles first, until the driver's default placement takes one.
// Keep-and-permute answers the same question as a plan by trying: it keeps every
// set of instances in turn, largest sets first, and tries the permutations of what
// is missing beside it.
func BenchmarkPlan(b *testing.B) {
	pairs := randomPairs(b, 512)
	b.Run("way=plan", func(b *testing.B) {
		measure(b, pairs, func(p pair) (destroyed, tries int) {
			got, err := plan.Repartition(p.from, p.want)
			require.NoError(b, err)
			destroyed, tries = got.Count()
			return destroyed, tries
		})
	})
	b.Run("way=keep-and-permute", func(b *testing.B) {
		measure(b, pairs, func(p pair) (destroyed, tries int) {
			destroyed, tries = keepAndPermute(p)
			require.GreaterOrEqual(b, destroyed, 0)
			return destroyed, tries
		})
	})
	b.Run("way=clear-and-permute", func(b *testing.B) {
		measure(b, pairs, func(p pair) (destroyed, tries int) {
			ok, tries := permute(p.have.Model().Empty(), p.want)
			require.True(b, ok)
			return p.have.Len(), tries
		})
	})
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

func measure(b *testing.B, pairs []pair, do func(pair) (destroyed, tries int)) {
	b.Helper()
	b.ReportAllocs()
	var times []time.Duration
	destroyed, tries, n := 0, 0, 0
	for b.Loop() {
		start := time.Now()
		d, c := do(pairs[n%len(pairs)])
		times = append(times, time.Since(start))
		destroyed, tries = destroyed+d, tries+c
		n++
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds()), "median-ns")
	b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds()), "p99-ns")
	b.ReportMetric(float64(destroyed)/float64(n), "destroyed/op")
	b.ReportMetric(float64(tries)/float64(n), "creations-tried/op")
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
