package fleet

import (
	"slices"

	"github.com/gpushare/gpushare/mig"
)

// patterns returns what can be added to a layout: the counts, by item and capped
// by need, to which nothing more can be added, in descending order. Limits of
// counts and of media engines depend on the counts alone, so that one layout
// stands for all that hold the same counts and end at the same slice.
func patterns(l mig.Layout, items []string, need []int) [][]int {
	if !cuttable(l) {
		return nil
	}
	units := l.Model().MemorySlices()
	type state struct {
		counts []int
		layout mig.Layout
	}
	profiles := make([]mig.Profile, len(items))
	for i, name := range items {
		profiles[i], _ = l.Model().Offers(name)
	}
	key := make([]byte, len(items))
	text := func(counts []int, more int) []byte {
		for i, n := range counts {
			key[i] = byte(n)
		}
		if more >= 0 {
			key[more]++
		}
		return key
	}
	at := make([][]state, units+1)
	seen := make([]map[string]bool, units+1)
	for u := range seen {
		seen[u] = map[string]bool{}
	}
	at[0] = []state{{make([]int, len(items)), l}}
	for u := range units {
		for _, s := range at[u] {
			if k := text(s.counts, -1); !seen[u+1][string(k)] {
				seen[u+1][string(k)] = true
				at[u+1] = append(at[u+1], s)
			}
			for i, p := range profiles {
				if s.counts[i] >= need[i] || !s.layout.FreeStarts(p).Has(u) {
					continue
				}
				end := u + p.Size
				if k := text(s.counts, i); !seen[end][string(k)] {
					seen[end][string(k)] = true
					next, err := s.layout.With(p, u)
					if err != nil {
						continue // cannot be: the start is free
					}
					counts := slices.Clone(s.counts)
					counts[i]++
					at[end] = append(at[end], state{counts, next})
				}
			}
		}
	}
	var list [][]int
	for _, s := range at[units] {
		largest := slices.Max(append(slices.Clone(s.counts), 0)) > 0
		for i := range s.counts {
			largest = largest && !seen[units][string(text(s.counts, i))]
		}
		if largest {
			list = append(list, s.counts)
		}
	}
	slices.SortFunc(list, func(a, b []int) int { return slices.Compare(b, a) })
	return list
}
