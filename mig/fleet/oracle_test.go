package fleet_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/fleet"
)

// additions lists what can be added to a layout: the counts by item, nothing
// included, each once. It tries one instance after the other at every free start.
func additions(l mig.Layout, items []string) [][]int {
	var list [][]int
	seen := map[string]bool{}
	met := map[mig.Layout]bool{}
	var rec func(l mig.Layout, counts []int)
	rec = func(l mig.Layout, counts []int) {
		if met[l] {
			return
		}
		met[l] = true
		if key := fmt.Sprint(counts); !seen[key] {
			seen[key] = true
			list = append(list, slices.Clone(counts))
		}
		for i, name := range items {
			p, offered := l.Model().Offers(name)
			if !offered {
				continue
			}
			for start := range l.FreeStarts(p).All() {
				next, err := l.With(p, start)
				if err != nil {
					continue
				}
				counts[i]++
				rec(next, counts)
				counts[i]--
			}
		}
	}
	rec(l, make([]int, len(items)))
	return list
}

// fleetAnswer is what the exhaustive search compares: least weight, then fewest
// GPUs, then the most of the GPUs that come first, equal ones together.
type fleetAnswer struct {
	weight int
	used   []int
	rows   []int // GPUs used, by kind in order of the first of each
}

func (a *fleetAnswer) better(b *fleetAnswer) bool {
	switch {
	case b == nil || a.weight != b.weight:
		return b == nil || a.weight < b.weight
	case len(a.used) != len(b.used):
		return len(a.used) < len(b.used)
	default:
		if c := slices.Compare(a.rows, b.rows); c != 0 {
			return c > 0
		}
		return slices.Compare(a.used, b.used) < 0
	}
}

func weightOf(g fleet.GPU) int {
	if g.Free {
		return 0
	}
	return max(1, g.Weight)
}

// exhaustFleet tries every addition on every GPU; nil: the demand does not fit.
func exhaustFleet(gpus []fleet.GPU, want mig.Demand) *fleetAnswer {
	items := slices.Sorted(maps.Keys(want))
	need := make([]int, len(items))
	for i, name := range items {
		need[i] = want[name]
	}
	type kind struct {
		layout mig.Layout
		weight int
	}
	row := map[kind]int{}
	var options [][][]int
	for _, g := range gpus {
		k := kind{g.Layout, weightOf(g)}
		if _, met := row[k]; !met {
			row[k] = len(row)
		}
		options = append(options, additions(g.Layout, items))
	}
	var best *fleetAnswer
	var rec func(i int, rem []int, a fleetAnswer)
	rec = func(i int, rem []int, a fleetAnswer) {
		if i == len(gpus) {
			if slices.Max(append(slices.Clone(rem), 0)) == 0 && a.better(best) {
				best = &a
			}
			return
		}
	next:
		for _, v := range options[i] {
			left := slices.Clone(rem)
			for k, n := range v {
				if left[k] -= n; left[k] < 0 {
					continue next
				}
			}
			b := fleetAnswer{a.weight, slices.Clone(a.used), slices.Clone(a.rows)}
			if slices.Max(append(slices.Clone(v), 0)) > 0 {
				w := weightOf(gpus[i])
				b.weight += w
				b.used = append(b.used, i)
				b.rows[row[kind{gpus[i].Layout, w}]]++
			}
			rec(i+1, left, b)
		}
	}
	rec(0, need, fleetAnswer{rows: make([]int, len(row))})
	return best
}

// tabulateFleet returns the least weight and the fewest GPUs at that weight, by
// GPU and by what is left to place.
func tabulateFleet(gpus []fleet.GPU, want mig.Demand) (weight, used int, fits bool) {
	items := slices.Sorted(maps.Keys(want))
	need := make([]int, len(items))
	for i, name := range items {
		need[i] = want[name]
	}
	listed := map[mig.Layout][][]int{}
	const none = 1 << 40
	table := map[string]int{}
	var rec func(i int, rem []int) int
	rec = func(i int, rem []int) int {
		if slices.Max(append(slices.Clone(rem), 0)) == 0 {
			return 0
		}
		if i == len(gpus) {
			return none
		}
		key := fmt.Sprint(i, rem)
		if least, met := table[key]; met {
			return least
		}
		l := gpus[i].Layout
		if listed[l] == nil {
			listed[l] = additions(l, items)
		}
		least := rec(i+1, rem)
		for _, v := range listed[l] {
			left, sum := slices.Clone(rem), 0
			for k, n := range v {
				left[k] -= n
				sum += n
			}
			if sum > 0 && slices.Min(left) >= 0 {
				least = min(least, weightOf(gpus[i])*1000+1+rec(i+1, left))
			}
		}
		table[key] = least
		return least
	}
	least := rec(0, need)
	return least / 1000, least % 1000, least < none
}

// tabulateMix returns the largest value that can be served, by GPU and by what is
// left to serve. Every request has its value.
func tabulateMix(gpus []mig.Layout, requests []fleet.Request) int {
	var items []string
	var need, value []int
	for _, r := range requests {
		items = append(items, r.Profile)
		need = append(need, r.Count)
		value = append(value, r.Value)
	}
	listed := map[mig.Layout][][]int{}
	table := map[string]int{}
	var rec func(i int, rem []int) int
	rec = func(i int, rem []int) int {
		if i == len(gpus) {
			return 0
		}
		key := fmt.Sprint(i, rem)
		if most, met := table[key]; met {
			return most
		}
		if listed[gpus[i]] == nil {
			listed[gpus[i]] = additions(gpus[i], items)
		}
		most := 0
		for _, v := range listed[gpus[i]] {
			left, gain := slices.Clone(rem), 0
			for k, n := range v {
				left[k] -= n
				gain += n * value[k]
			}
			if slices.Min(append(left, 0)) >= 0 {
				most = max(most, gain+rec(i+1, left[:len(rem)]))
			}
		}
		table[key] = most
		return most
	}
	return rec(0, need)
}

// genSmallGPU draws a layout of a few models: enough to differ, few enough to
// try all.
func genSmallGPU(t *rapid.T) mig.Layout {
	m, err := mig.Lookup(rapid.SampledFrom([]string{"a30-24gb", "a100-40gb", "a100-80gb"}).Draw(t, "model"))
	require.NoError(t, err)
	if rapid.Bool().Draw(t, "empty") {
		return m.Empty()
	}
	return genLayout(t, m)
}

// genGPUs draws one to three GPUs, often two that are equal.
func genGPUs(t *rapid.T) []fleet.GPU {
	var gpus []fleet.GPU
	for i := range rapid.IntRange(1, 3).Draw(t, "gpus") {
		if i > 0 && rapid.IntRange(0, 2).Draw(t, "again") == 0 {
			gpus = append(gpus, gpus[0])
			continue
		}
		gpus = append(gpus, fleet.GPU{
			Layout: genSmallGPU(t),
			Weight: rapid.IntRange(0, 3).Draw(t, "weight"),
			Free:   rapid.IntRange(0, 4).Draw(t, "free") == 0,
		})
	}
	return gpus
}

// genManyGPUs draws up to nine GPUs of up to four kinds.
func genManyGPUs(t *rapid.T) []fleet.GPU {
	var gpus []fleet.GPU
	for range rapid.IntRange(1, 4).Draw(t, "kinds") {
		g := fleet.GPU{Layout: genSmallGPU(t), Weight: rapid.IntRange(0, 3).Draw(t, "weight"), Free: rapid.IntRange(0, 4).Draw(t, "free") == 0}
		for range rapid.IntRange(1, 3).Draw(t, "count") {
			gpus = append(gpus, g)
		}
	}
	return rapid.Permutation(gpus).Draw(t, "order")
}

// genGPUsDemand draws instances of profiles that some GPU offers, a few more
// than fit on one.
func genGPUsDemand(t *rapid.T, gpus []fleet.GPU) mig.Demand {
	d := mig.Demand{}
	for range rapid.IntRange(0, 4).Draw(t, "profiles") {
		g := rapid.SampledFrom(gpus).Draw(t, "of")
		d[genProfile(t, g.Layout.Model()).Name] = rapid.IntRange(0, 2+2*len(gpus)).Draw(t, "count")
	}
	return d
}

// limitsOf is the first limit that a count over all GPUs shows; position if
// none does.
func fleetLimitOf(gpus []fleet.GPU, want mig.Demand) mig.Limit {
	needs, unused := mig.SliceCount{}, mig.SliceCount{}
	tooMany := false
	exclusive, takers := 0, 0
	for name, n := range want {
		var least mig.SliceCount
		allowed := 0
		for _, g := range gpus {
			p, offers := g.Layout.Model().Offers(name)
			if !offers {
				continue
			}
			if least.Memory == 0 || p.Size < least.Memory {
				least.Memory = p.Size
			}
			if least.Compute == 0 || p.ComputeSlices < least.Compute {
				least.Compute = p.ComputeSlices
			}
			allowed += p.MaxInstances - g.Layout.Demand()[name]
		}
		needs.Memory += n * least.Memory
		needs.Compute += n * least.Compute
		tooMany = tooMany || n > allowed
		if strings.Contains(name, "+me") {
			exclusive += n
		}
	}
	for _, g := range gpus {
		offers, takes := false, false
		for name, n := range want {
			if p, has := g.Layout.Model().Offers(name); has && n > 0 {
				offers = true
				takes = takes || strings.Contains(name, "+me") && g.Layout.FreeStarts(p) != 0
			}
		}
		if offers {
			u := g.Layout.Unused()
			unused.Memory += u.Memory
			unused.Compute += u.Compute
		}
		if takes {
			takers++
		}
	}
	switch {
	case needs.Memory > unused.Memory:
		return mig.LimitMemory
	case needs.Compute > unused.Compute:
		return mig.LimitCompute
	case tooMany:
		return mig.LimitCount
	case exclusive > takers:
		return mig.LimitMedia
	default:
		return mig.LimitPosition
	}
}
