package parted

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/gpushare/gpushare/mig"
)

// GPU is a GPU of a node, as far as selecting is concerned.
type GPU struct {
	Index     int        // in the order of PCI addresses
	PCI       uint32     // as NVML packs it: device in the high half, vendor in the low
	Subsystem uint32     // packed in the same way; 0: unknown
	Model     *mig.Model // nil: unknown; then what it offers is not checked
	Capable   bool       // of MIG
}

// Target is a GPU with what a label wants of it.
type Target struct {
	GPU   GPU
	Entry *Entry // points into the configuration; nil: the GPU keeps its state
}

// Selection is what a label means for the GPUs of a node.
type Selection struct {
	Label    string
	Targets  []Target  // one for each GPU, lowest index first
	Warnings []Finding // by position
}

// SelectOptions change what Select does; nil is the same as the zero value.
type SelectOptions struct {
	// LastWins takes the last of several entries that match a GPU, as mig-parted
	// does after it has carried out the others too. Otherwise that is an error.
	LastWins bool
}

// Select says which entry of a label applies to which GPU of a node. The label
// may be empty if there is exactly one. Neither the configuration nor the list of
// GPUs is changed.
//
// A GPU that no entry matches keeps its state. A GPU that cannot do MIG is passed
// over by "devices: all" and satisfied by an entry that wants MIG off.
//
// Warnings tell of entries, filters and indices that match nothing. The error
// wraps ErrUnknownLabel; ErrNoMatch where the label matches no GPU at all;
// ErrOverlap and names the GPU and both entries; ErrNotCapable where an index
// wants MIG on a GPU that cannot do it; what Layout.Fit says, such as
// mig.ErrUnknownProfile or mig.ErrNoFit, where a known model cannot hold what is
// wanted; or ErrInventory where two GPUs have one index.
func (c *Config) Select(label string, gpus []GPU, o *SelectOptions) (Selection, error) {
	if o == nil {
		o = &SelectOptions{}
	}
	l, err := c.Label(label)
	if err != nil {
		return Selection{}, err
	}
	inventory := slices.Clone(gpus)
	slices.SortStableFunc(inventory, func(a, b GPU) int { return cmp.Compare(a.Index, b.Index) })
	s := Selection{Label: l.Name}
	matched := false
	verdicts := map[Target]error{} // of a model and an entry
	for i, g := range inventory {
		if g.Index < 0 || i > 0 && inventory[i-1].Index == g.Index {
			return Selection{}, fmt.Errorf("parted: index %d is negative or that of two GPUs: %w", g.Index, ErrInventory)
		}
		entry, anyMatch, err := c.entryFor(l, g, o)
		if err != nil {
			return Selection{}, err
		}
		matched = matched || anyMatch
		if entry != nil && entry.Enabled && g.Model != nil {
			err, checked := verdicts[Target{GPU{Model: g.Model}, entry}]
			if !checked {
				err = fits(g.Model, entry.Demand())
				verdicts[Target{GPU{Model: g.Model}, entry}] = err
			}
			if err != nil && !unsure(err) {
				return Selection{}, fmt.Errorf("parted: %slabel %q, entry in line %d, GPU %d: %w",
					c.prefix(), l.Name, entry.Pos.Line, g.Index, err)
			}
		}
		s.Targets = append(s.Targets, Target{g, entry})
	}
	if !matched {
		return Selection{}, fmt.Errorf("parted: %slabel %q matches none of %s, nothing would change: %w",
			c.prefix(), l.Name, plural(len(gpus), "GPU"), ErrNoMatch)
	}
	for i := range l.Entries {
		s.Warnings = append(s.Warnings, l.unmatched(&l.Entries[i], inventory)...)
	}
	s.Warnings = sorted(s.Warnings)
	return s, nil
}

// entryFor returns the entry that applies to a GPU, nil if there is none, and
// whether one matches it.
func (c *Config) entryFor(l *Label, g GPU, o *SelectOptions) (found *Entry, matched bool, err error) {
	first := 0
	for i := range l.Entries {
		e := &l.Entries[i]
		if !e.filtered(g) || !e.lists(g.Index) {
			continue
		}
		matched = true
		if e.Enabled && !g.Capable {
			if !e.All {
				return nil, false, fmt.Errorf("parted: %slabel %q, entry %d (line %d): mig-enabled for GPU %d: %w",
					c.prefix(), l.Name, i+1, e.Pos.Line, g.Index, ErrNotCapable)
			}
			continue
		}
		if found != nil && !o.LastWins {
			return nil, false, fmt.Errorf("parted: %slabel %q: GPU %d is matched by entry %d (line %d) and by entry %d (line %d): %w",
				c.prefix(), l.Name, g.Index, first+1, found.Pos.Line, i+1, e.Pos.Line, ErrOverlap)
		}
		found, first = e, i
	}
	return found, matched, nil
}

// filtered reports whether the filters let a GPU through.
func (e *Entry) filtered(g GPU) bool {
	return len(e.Filters) == 0 || slices.ContainsFunc(e.Filters, func(f Filter) bool { return f.Matches(g) })
}

func (e *Entry) lists(index int) bool { return e.All || slices.Contains(e.Devices, index) }

// unmatched tells what of an entry matches nothing of the inventory.
func (l *Label) unmatched(e *Entry, gpus []GPU) []Finding {
	var found []Finding
	warn := func(at Pos, format string, args ...any) {
		found = append(found, Finding{
			Severity: Warning, Label: l.Name, Line: at.Line, Column: at.Column, Message: fmt.Sprintf(format, args...),
		})
	}
	if !slices.ContainsFunc(gpus, func(g GPU) bool { return e.filtered(g) && e.lists(g.Index) }) {
		warn(e.Pos, "the entry matches no GPU")
	}
	for _, f := range e.Filters {
		if !slices.ContainsFunc(gpus, f.Matches) {
			warn(f.Pos, "the filter %s matches no GPU", strconv.Quote(f.Text))
		}
	}
	for _, i := range e.Devices {
		if !slices.ContainsFunc(gpus, func(g GPU) bool { return g.Index == i }) {
			warn(e.Pos, "there is no GPU %d, only %s", i, plural(len(gpus), "GPU"))
		}
	}
	return found
}
