package parted

import (
	"cmp"
	"slices"
)

// selects warns of filters and devices that match nothing.
func (l *linter) selects(label *Label, e *Entry) {
	for _, f := range e.Filters {
		id, err := ParseID(f.Text)
		switch {
		case err != nil:
			l.add(Warning, label.Name, f.Pos, nil, "the filter %q is not of the form \"0x20B010DE\": it matches no GPU", f.Text)
		case len(l.byID[id.PCI]) > 0:
		case id.PCI < 1<<16 && len(l.byID[id.PCI<<16|nvidia]) > 0:
			l.add(Warning, label.Name, f.Pos, nil, "the filter %q has no vendor: it matches no GPU", f.Text)
		case len(l.byID[swapped(id.PCI)]) > 0:
			l.add(Warning, label.Name, f.Pos, nil, "the filter %q has the vendor first: it matches no GPU; %s is meant",
				f.Text, ID{PCI: swapped(id.PCI)})
		default:
			l.add(Warning, label.Name, f.Pos, nil, "no known model has the id of the filter %q", f.Text)
		}
	}
	if !e.All && len(e.Devices) == 0 {
		l.add(Warning, label.Name, e.Pos, nil, "the list of devices is empty: the entry matches no GPU")
	}
	for _, i := range e.Devices {
		if i < 0 {
			l.add(Warning, label.Name, e.Pos, nil, "the index %d matches no GPU", i)
		}
	}
}

// nvidia is the vendor of every known model.
const nvidia = 0x10DE

func swapped(id uint32) uint32 { return id<<16 | id>>16 }

// mostCompared bounds the comparison of entries, which is quadratic.
const mostCompared = 300

// overlaps warns of entries that can match the same GPU.
func (l *linter) overlaps(label *Label) {
	entries := label.Entries
	if len(entries) > mostCompared {
		l.add(Warning, label.Name, label.Pos, nil,
			"%d entries: whether one GPU can match two of them was looked at for the first %d only", len(entries), mostCompared)
		entries = entries[:mostCompared]
	}
	reaches := make([]reach, len(entries))
	for i := range entries {
		reaches[i] = reachOf(&entries[i])
		for j := range i {
			if !reaches[i].meets(reaches[j]) {
				continue
			}
			l.add(Warning, label.Name, entries[i].Pos, nil, "a GPU can match entry %d and entry %d (line %d): mig-parted "+
				"carries out one after the other, so that the last wins, and Select refuses it", i+1, j+1, entries[j].Pos.Line)
			break
		}
	}
}

// reach is which GPUs an entry can match.
type reach struct {
	anyID    bool
	ids      []ID // by PCI id, each once
	anyIndex bool
	indices  []int // ascending, each once
}

func reachOf(e *Entry) reach {
	r := reach{anyID: len(e.Filters) == 0, anyIndex: e.All}
	for _, f := range e.Filters {
		if id, err := ParseID(f.Text); err == nil {
			r.ids = append(r.ids, id)
		}
	}
	slices.SortFunc(r.ids, func(a, b ID) int {
		return cmp.Or(cmp.Compare(a.PCI, b.PCI), cmp.Compare(a.Subsystem, b.Subsystem))
	})
	r.ids = slices.Compact(r.ids)
	for _, i := range e.Devices {
		if i >= 0 {
			r.indices = append(r.indices, i)
		}
	}
	slices.Sort(r.indices)
	r.indices = slices.Compact(r.indices)
	return r
}

// meets reports whether a GPU can match both.
func (r reach) meets(o reach) bool {
	for _, x := range []reach{r, o} {
		if !x.anyID && len(x.ids) == 0 || !x.anyIndex && len(x.indices) == 0 {
			return false
		}
	}
	if !r.anyIndex && !o.anyIndex && !slices.ContainsFunc(r.indices, func(i int) bool {
		_, found := slices.BinarySearch(o.indices, i)
		return found
	}) {
		return false
	}
	return r.anyID || o.anyID || slices.ContainsFunc(r.ids, func(id ID) bool {
		i, _ := slices.BinarySearchFunc(o.ids, id.PCI, func(x ID, pci uint32) int { return cmp.Compare(x.PCI, pci) })
		for ; i < len(o.ids) && o.ids[i].PCI == id.PCI; i++ {
			if id.overlaps(o.ids[i]) {
				return true
			}
		}
		return false
	})
}

// covers warns of a label that is for none of the given models.
func (l *linter) covers(label *Label) {
	if len(l.given) == 0 || l.broken[label.Name] {
		return
	}
	for i := range label.Entries {
		e := &label.Entries[i]
		if len(e.Filters) == 0 {
			return
		}
		for _, f := range e.Filters {
			id, err := ParseID(f.Text)
			if err == nil && slices.ContainsFunc(l.byID[id.PCI], l.isGiven) {
				return
			}
		}
	}
	for _, m := range l.given {
		l.add(Warning, label.Name, label.Pos, m, "no entry matches a GPU of this model: it keeps its state")
	}
}
