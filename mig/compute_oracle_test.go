package mig_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/mig"
)

// computeSets enumerates, the plain way, all sets of compute instances that can
// stand in one GPU instance: each row at each start is taken or not.
func computeSets(rows []mig.ComputeProfile) [][]mig.ComputeInstance {
	type pair struct {
		row   mig.ComputeProfile
		start int
	}
	var pairs []pair
	for _, r := range rows {
		for s := range r.Starts.All() {
			pairs = append(pairs, pair{r, s})
		}
	}
	var all [][]mig.ComputeInstance
	var walk func(k int, set []pair)
	walk = func(k int, set []pair) {
		if k == len(pairs) {
			var list []mig.ComputeInstance
			for _, p := range set {
				list = append(list, mig.ComputeInstance{Profile: p.row.Name, Start: p.start, Size: p.row.Size, Index: p.row.Index})
			}
			all = append(all, list)
			return
		}
		walk(k+1, set)
		next := pairs[k]
		same := 1
		for _, p := range set {
			for slice := range 16 {
				inOne := p.start <= slice && slice < p.start+p.row.Size
				inOther := next.start <= slice && slice < next.start+next.row.Size
				if inOne && inOther {
					return
				}
			}
			if p.row.Index == 7 || next.row.Index == 7 {
				return
			}
			if p.row.Index == next.row.Index {
				same++
			}
		}
		if same <= next.row.MaxInstances {
			walk(k+1, append(slices.Clone(set), next))
		}
	}
	walk(0, nil)
	return all
}

// names returns the multiset of a set's profiles as text.
func names(set []mig.ComputeInstance) string {
	var list []string
	for _, ci := range set {
		list = append(list, ci.Profile)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func texts(set []mig.ComputeInstance) string {
	var list []string
	for _, ci := range set {
		list = append(list, ci.String())
	}
	return strings.Join(list, " ")
}

// key is a text for a set, whatever its order.
func key(set []mig.ComputeInstance) string {
	var list []string
	for _, ci := range set {
		list = append(list, fmt.Sprintf("%s@%d#%d", ci.Profile, ci.Start, ci.Index))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// lists returns all lists of distinct names with repetition, of up to one more
// slice than there is.
func lists(rows []mig.ComputeProfile, most int) [][]string {
	slicesOf := map[string]int{}
	var distinct []string
	for _, r := range rows {
		if slicesOf[r.Name] == 0 {
			distinct = append(distinct, r.Name)
		}
		slicesOf[r.Name] = r.Size
	}
	var all [][]string
	var walk func(k, left int, list []string)
	walk = func(k, left int, list []string) {
		if k == len(distinct) {
			all = append(all, slices.Clone(list))
			return
		}
		walk(k+1, left, list)
		if size := slicesOf[distinct[k]]; size <= left {
			walk(k, left-size, append(slices.Clone(list), distinct[k]))
		}
	}
	walk(0, most+1, nil)
	return all
}
