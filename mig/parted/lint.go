package parted

import (
	"fmt"
	"slices"

	"github.com/gpushare/gpushare/mig"
)

// Lint says what is wrong with a configuration, without any hardware: for every
// entry and every model that it is for, whether an empty GPU can hold what it
// wants, and if not, which limit binds: at the place of the first profile for which
// there is no room beside those above it. The findings are in the order of the
// file, those of one place in the order of models; there is always a list.
//
// The models of an entry with filters are those that the filters name. An entry
// without filters is for one of the given models, at the least. Where none is
// given, it is for the models that offer its profiles: of those that the filters
// of the file name, or, if they do not, of all known ones.
//
// An Error is something that cannot work on a model that a filter or the caller
// names, or, where neither does, on any known one. A Warning is something that
// works but not as it seems: filters and devices that match nothing, entries that
// match the same GPU, profiles that only another model has, spellings and zero
// counts that make mig-parted rebuild a GPU every time, and what nobody can say
// because the placements of a model are not published. A nil model counts as not
// given.
func Lint(c *Config, models ...*mig.Model) []Finding {
	return newLinter(c, models).run()
}

// LintFile is Lint for a text that may not even parse: what Parse would say is
// among the findings, and whatever else can be read is checked.
func LintFile(data []byte, name string, models ...*mig.Model) []Finding {
	c, problems := parse(data, name)
	l := newLinter(c, models)
	for _, p := range problems {
		l.broken[p.Label] = true
		l.add(Error, p.Label, p.Pos, nil, "%s", p.detail())
	}
	return l.run()
}

type linter struct {
	config *Config
	given  []*mig.Model
	known  []*mig.Model            // given ones included
	byID   map[uint32][]*mig.Model // of the known ones
	named  []*mig.Model            // those that filters of the file name
	broken map[string]bool         // labels of which entries are missing
	names  map[*mig.Model][]profileName

	findings []Finding
}

func newLinter(c *Config, given []*mig.Model) *linter {
	given = only(given, func(m *mig.Model) bool { return m != nil })
	if c == nil {
		c = &Config{}
	}
	l := &linter{
		config: c, given: given,
		byID: map[uint32][]*mig.Model{}, broken: map[string]bool{}, names: map[*mig.Model][]profileName{},
	}
	l.known = slices.Collect(mig.Models())
	for _, m := range given {
		if !slices.Contains(l.known, m) {
			l.known = append(l.known, m)
		}
	}
	for _, m := range l.known {
		for _, id := range m.Spec().PCIDeviceIDs {
			l.byID[id] = append(l.byID[id], m)
		}
	}
	for i := range c.Labels {
		for j := range c.Labels[i].Entries {
			for _, f := range c.Labels[i].Entries[j].Filters {
				if id, err := ParseID(f.Text); err == nil {
					l.name(id)
				}
			}
		}
	}
	return l
}

// name notes the models that a filter names.
func (l *linter) name(id ID) {
	for _, m := range l.byID[id.PCI] {
		if !slices.Contains(l.named, m) {
			l.named = append(l.named, m)
		}
	}
}

func (l *linter) add(s Severity, label string, at Pos, m *mig.Model, format string, args ...any) {
	f := Finding{Severity: s, Label: label, Line: at.Line, Column: at.Column, Message: fmt.Sprintf(format, args...)}
	if m != nil {
		f.Model = m.Key()
	}
	l.findings = append(l.findings, f)
}

func (l *linter) run() []Finding {
	if len(l.config.Labels) == 0 && len(l.findings) == 0 {
		l.add(Warning, "", Pos{}, nil, "there are no labels: nothing can be selected")
	}
	for i := range l.config.Labels {
		label := &l.config.Labels[i]
		for j := range label.Entries {
			e := &label.Entries[j]
			l.selects(label, e)
			l.spelling(label, e)
			l.places(label, e)
		}
		l.overlaps(label)
		l.covers(label)
	}
	return sorted(l.findings)
}

// spelling warns of what makes an entry unequal to the very state that it leads
// to, in the eyes of mig-parted.
func (l *linter) spelling(label *Label, e *Entry) {
	const rebuilt = "so it rebuilds the GPU on every apply and assert never holds"
	written := map[string]string{}
	for _, c := range e.Instances {
		name := c.Canonical()
		switch other, twice := written[name]; {
		case twice:
			l.add(Warning, label.Name, c.Pos, nil, "%s and %s are one profile; the counts add up, "+
				"and mig-parted never finds the state equal, %s", other, c.Profile, rebuilt)
		case c.Count == 0:
			l.add(Warning, label.Name, c.Pos, nil, "the count of %s is 0: mig-parted never finds the state equal, %s; "+
				"leave the line out", c.Profile, rebuilt)
		case name != c.Profile:
			l.add(Warning, label.Name, c.Pos, nil, "the driver calls %s %s: mig-parted compares the text and never "+
				"finds the state equal, %s", c.Profile, name, rebuilt)
		}
		written[name] = c.Profile
	}
}
