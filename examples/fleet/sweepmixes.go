package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
)

// mixWeights is a row of the table.
type mixWeights struct {
	name                                 string
	seven, four, three, two, double, one int64
	quarters                             bool
}

// quartersPrefix begins the names of the mixes for GPUs that are cut in four.
const quartersPrefix = "quarters-"

// mixTable holds the mixes of requests for MIG instances: the weights of those of
// 7, 4, 3 and 2 compute slices, of one with twice the memory, and of one. The last
// four are for GPUs that are cut in four.
var mixTable = [...]mixWeights{
	{"uniform", 1000, 1000, 1000, 1000, 1000, 1000, false},
	{"small", 0, 0, 100, 200, 100, 600, false},
	{"123", 0, 0, 1000, 1000, 0, 1000, false},
	{"small7", 70, 60, 120, 220, 80, 450, false},
	{"openb", 457, 315, 126, 91, 0, 11, false},
	{"mid34", 0, 250, 450, 150, 0, 150, false},
	{"bimodal", 200, 0, 0, 0, 0, 800, false},
	// Drawn at random once: weights from a uniform distribution, some left out.
	{"random1", 38, 214, 0, 331, 129, 288, false},
	{"random2", 121, 0, 274, 52, 233, 320, false},
	{"random3", 11, 166, 87, 402, 0, 334, false},
	{"quarters-uniform", 0, 1000, 0, 1000, 0, 1000, true},
	{"quarters-small", 0, 0, 0, 350, 0, 650, true},
	{"quarters-small4", 0, 80, 0, 300, 0, 620, true},
	{"quarters-bimodal", 0, 250, 0, 0, 0, 750, true},
}

func mixNames() []string {
	var names []string
	for _, m := range mixTable {
		names = append(names, m.name)
	}
	return names
}

// A mix that drifts gives way to the next one, and the other way round, after so
// many mean lifetimes.
const (
	driftPrefix = "drift-"
	driftPhase  = 8
)

// A fleet of several models is written with their names joined; each has the same
// share of the GPUs, in that order.
const joined = "+"

// modelsOf returns the models of a fleet.
func modelsOf(fleet string) ([]*mig.Model, error) {
	var all []*mig.Model
	for name := range strings.SplitSeq(fleet, joined) {
		m, err := mig.Lookup(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(all, m) {
			return nil, fmt.Errorf("%s stands twice in %s", m, fleet)
		}
		all = append(all, m)
	}
	return all, nil
}

// mixOn reports whether a fleet has a profile for every request of a mix.
func mixOn(fleet, name string) bool {
	models, err := modelsOf(fleet)
	if err != nil {
		return false
	}
	_, _, err = mixOf(models, name)
	return err == nil
}

// mixOf returns a mix for a fleet, and what it drifts to. That of several models
// asks for the profiles of each equally often in sum; a model that is cut in four
// has the mix for such GPUs there.
func mixOf(models []*mig.Model, name string) (mix fragmentation.Mix, then []fragmentation.Mix, err error) {
	plain, drifts := strings.CutPrefix(name, driftPrefix)
	i := slices.Index(mixNames(), plain)
	if i < 0 {
		return nil, nil, fmt.Errorf("no mix %q", name)
	}
	if mix, err = mixRows(models, i); err != nil || !drifts {
		return mix, nil, err
	}
	next := i + 1
	if next == len(mixTable) || mixTable[next].quarters != mixTable[i].quarters || mixTable[next].name == "random1" {
		next = slices.IndexFunc(mixTable[:], func(r mixWeights) bool { return r.quarters == mixTable[i].quarters })
	}
	other, err := mixRows(models, next)
	return mix, []fragmentation.Mix{other}, err
}

// mixRows returns a mix of the table for all models of a fleet.
func mixRows(models []*mig.Model, i int) (fragmentation.Mix, error) {
	if len(models) == 1 {
		return mixRow(models[0], i)
	}
	var all fragmentation.Mix
	for _, m := range models {
		row := i
		if q := slices.Index(mixNames(), quartersPrefix+mixTable[i].name); q >= 0 && m.ComputeSlices() == 4 {
			row = q
		}
		mix, err := mixRow(m, row)
		if err != nil {
			return nil, err
		}
		total := int64(0)
		for _, e := range mix {
			total += e.Count
		}
		for _, e := range mix {
			e.Count = e.Count * 1_000_000 / total
			if at := slices.IndexFunc(all, func(o fragmentation.Entry) bool { return o.Shape == e.Shape }); at >= 0 {
				all[at].Count += e.Count
			} else {
				all = append(all, e)
			}
		}
	}
	return all, nil
}

func mixRow(m *mig.Model, i int) (fragmentation.Mix, error) {
	row := mixTable[i]
	if row.quarters != (m.ComputeSlices() == 4) {
		return nil, fmt.Errorf("mix %s is for other GPUs than %s", row.name, m)
	}
	var mix fragmentation.Mix
	for _, part := range []struct {
		slices int
		double bool
		count  int64
	}{
		{m.ComputeSlices(), false, row.seven},
		{4, false, row.four},
		{3, false, row.three},
		{2, false, row.two},
		{1, true, row.double},
		{1, false, row.one},
	} {
		if part.count == 0 {
			continue
		}
		profile, found := plainProfile(m, part.slices, part.double)
		if !found {
			return nil, fmt.Errorf("mix %s: %s has no profile of %d compute slices", row.name, m, part.slices)
		}
		mix = append(mix, fragmentation.Entry{Shape: fragmentation.Shape{GPUs: 1, Profile: profile}, Count: part.count})
	}
	return mix, nil
}

// plainProfile returns the profile of so many compute slices with the least
// memory, or with the next amount.
func plainProfile(m *mig.Model, slices int, double bool) (string, bool) {
	var least, more mig.Profile
	for p := range m.PlainProfiles() {
		if p.ComputeSlices != slices || p.Size == 0 {
			continue
		}
		switch {
		case least.Name == "" || p.Size < least.Size:
			least, more = p, least
		case p.Size > least.Size && (more.Name == "" || p.Size < more.Size):
			more = p
		}
	}
	if double {
		return more.Name, more.Name != ""
	}
	return least.Name, least.Name != ""
}
