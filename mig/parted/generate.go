package parted

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/mig"
)

// Generate returns the labels that operators expect to find for the given models:
// all-disabled; all-enabled, with MIG on and no instances; all-<profile> for
// every profile, as many as a GPU can have; and all-balanced, a mixture of sizes,
// where a GPU has seven or four slices. In a label "+" is written as ".":
// all-1g.10gb.me is for 1g.10gb+me.
//
// With several models the entries have filters, since one name can mean different
// things: 1g.10gb is a seventh of one GPU and a quarter of another. A model
// without a known PCI id is then left out, as is a nil one always. No filter tells two models apart that
// share an id: a label with entries for both has that of the first one only.
func Generate(models ...*mig.Model) *Config {
	models = only(models, func(m *mig.Model) bool { return m != nil })
	g := generator{filtered: len(models) > 1}
	g.config.Labels = []Label{
		{Name: "all-disabled", Entries: []Entry{{All: true}}},
		{Name: "all-enabled", Entries: []Entry{{All: true, Enabled: true}}},
	}
	for _, m := range models {
		ids := m.Spec().PCIDeviceIDs
		for p := range m.Profiles() {
			label := "all-" + strings.ReplaceAll(p.Name, "+", ".")
			g.add(label, ids, mig.Demand{p.Name: p.MaxInstances})
		}
	}
	for _, m := range models {
		if d := balanced(m); d != nil {
			g.add("all-balanced", m.Spec().PCIDeviceIDs, d)
		}
	}
	for i := range g.config.Labels {
		for _, e := range g.config.Labels[i].Entries {
			slices.SortFunc(e.Filters, func(a, b Filter) int { return cmp.Compare(a.Text, b.Text) })
		}
	}
	return &g.config
}

type generator struct {
	filtered bool
	config   Config
}

// add wants a demand of the GPUs with some ids, in the entry of the label that
// wants the same or in a new one.
func (g *generator) add(label string, ids []uint32, want mig.Demand) {
	i := slices.IndexFunc(g.config.Labels, func(l Label) bool { return l.Name == label })
	if i < 0 {
		g.config.Labels = append(g.config.Labels, Label{Name: label})
		i = len(g.config.Labels) - 1
	}
	l := &g.config.Labels[i]
	var filters []Filter
	for _, id := range ids {
		f := Filter{Text: ID{PCI: id}.String()}
		if !slices.ContainsFunc(l.Entries, func(e Entry) bool { return slices.Contains(e.Filters, f) }) {
			filters = append(filters, f)
		}
	}
	if g.filtered && len(filters) == 0 {
		if len(l.Entries) == 0 {
			g.config.Labels = slices.Delete(g.config.Labels, i, i+1)
		}
		return
	}
	if !g.filtered {
		filters = nil
	}
	for k := range l.Entries {
		if maps.Equal(l.Entries[k].Demand(), want) {
			l.Entries[k].Filters = append(l.Entries[k].Filters, filters...)
			return
		}
	}
	e := Entry{All: true, Enabled: true, Filters: filters}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		e.Instances = append(e.Instances, Count{Profile: name, Count: want[name]})
	}
	l.Entries = append(l.Entries, e)
}

// balanced returns two of the smallest, one of two slices and, of seven, one of
// three. It returns nil for other GPUs.
func balanced(m *mig.Model) mig.Demand {
	var counts map[int]int // by compute slices
	switch m.ComputeSlices() {
	case 7:
		counts = map[int]int{1: 2, 2: 1, 3: 1}
	case 4:
		counts = map[int]int{1: 2, 2: 1}
	default:
		return nil
	}
	best := map[int]mig.Profile{}
	for p := range m.PlainProfiles() {
		if old, there := best[p.ComputeSlices]; !there || p.MaxInstances > old.MaxInstances {
			best[p.ComputeSlices] = p
		}
	}
	d := mig.Demand{}
	for size, n := range counts {
		p, there := best[size]
		if !there {
			return nil
		}
		d[p.Name] = n
	}
	return d
}
