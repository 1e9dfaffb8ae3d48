package parted

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/gpushare/gpushare/mig"
)

func (l *linter) isGiven(m *mig.Model) bool { return slices.Contains(l.given, m) }

// places checks what an entry wants on every model that it is for.
func (l *linter) places(label *Label, e *Entry) {
	want := e.Demand()
	if !e.Enabled || len(want) == 0 {
		return
	}
	switch {
	case len(e.Filters) > 0:
		l.placesFiltered(label, e, want)
	case len(l.given) > 0:
		l.placesGiven(label, e, want)
	default:
		l.placesAnywhere(label, e, want)
	}
}

// placesFiltered checks the models that the filters name. Boards of two models
// can have one id, and other names: it is enough that one of them has the
// profiles.
func (l *linter) placesFiltered(label *Label, e *Entry, want mig.Demand) {
	seen := map[uint32]bool{}
	for _, f := range e.Filters {
		id, err := ParseID(f.Text)
		if err != nil || seen[id.PCI] {
			continue
		}
		seen[id.PCI] = true
		models := l.byID[id.PCI]
		if len(l.given) > 0 {
			models = only(models, l.isGiven)
		}
		able := offering(models, want)
		if len(able) == 0 && len(models) > 0 {
			severity := Error
			if len(offering(l.byID[id.PCI], want)) > 0 {
				severity = Warning // the entry is for other boards with the id
			}
			l.missing(severity, label, e, want, models)
		}
		for _, m := range able {
			l.verdict(Error, label, e, m, fits(m, want))
		}
	}
}

// placesGiven checks the given models. It is enough that one of them has the
// profiles, since the label may be for a node with GPUs of that one.
func (l *linter) placesGiven(label *Label, e *Entry, want mig.Demand) {
	able := offering(l.given, want)
	if len(able) == 0 {
		severity := Error
		if len(offering(l.known, want)) > 0 {
			severity = Warning // the label may be for other nodes
		}
		l.missing(severity, label, e, want, l.given)
	}
	for _, m := range able {
		l.verdict(Error, label, e, m, fits(m, want))
	}
}

// placesAnywhere checks the models that have the profiles. It is enough that one
// of them can hold what is wanted, also one that no filter names: the label may be
// for nodes with GPUs of that one.
func (l *linter) placesAnywhere(label *Label, e *Entry, want mig.Demand) {
	known := offering(l.known, want)
	able := offering(l.named, want)
	if len(able) == 0 {
		able = known
	}
	if len(able) == 0 {
		l.missing(Error, label, e, want, nil)
		return
	}
	severity := Error
	if slices.ContainsFunc(known, func(m *mig.Model) bool {
		err := fits(m, want)
		return err == nil || unsure(err)
	}) {
		severity = Warning
	}
	good := slices.ContainsFunc(able, func(m *mig.Model) bool { return fits(m, want) == nil })
	for _, m := range able {
		if err := fits(m, want); !good || !unsure(err) {
			l.verdict(severity, label, e, m, err)
		}
	}
}

// verdict reports why a demand does not fit.
func (l *linter) verdict(s Severity, label *Label, e *Entry, m *mig.Model, err error) {
	switch {
	case err == nil:
	case unsure(err):
		l.add(Warning, label.Name, e.Pos, m,
			"the placements of this model are not published: only the number of instances of each profile was checked")
	case s == Warning:
		l.add(s, label.Name, tooMuch(e, m), m, "%s; other models with these profiles can hold it: a device-filter would tell them apart", reason(err))
	default:
		l.add(s, label.Name, tooMuch(e, m), m, "%s", reason(err))
	}
}

// tooMuch returns where an entry that does not fit stops fitting: at the first
// profile for which there is no room beside those above it.
func tooMuch(e *Entry, m *mig.Model) Pos {
	i := sort.Search(len(e.Instances), func(i int) bool {
		above := Entry{Instances: e.Instances[:i+1]}
		err := fits(m, above.Demand())
		return err != nil && !unsure(err)
	})
	if i == len(e.Instances) {
		return e.Pos
	}
	return e.Instances[i].Pos
}

// missing reports profiles that models do not have; without models, that no known
// model has all of them.
func (l *linter) missing(s Severity, label *Label, e *Entry, want mig.Demand, models []*mig.Model) {
	const most = 20
	reported := false
	for i, c := range e.Instances {
		name := c.Canonical()
		if c.Count == 0 || i >= most {
			continue
		}
		one := mig.Demand{name: 1}
		others := offering(l.known, one)
		if len(models) == 0 && len(others) == 0 {
			l.add(s, label.Name, c.Pos, nil, "no known model has the profile %s%s", name, l.near(name, l.known))
			reported = true
		}
		for _, m := range models {
			switch {
			case has(m, name):
			case len(others) > 0:
				l.add(s, label.Name, c.Pos, m, "%s is the name of another model (%s)%s", name, list(keys(others)), l.near(name, []*mig.Model{m}))
			default:
				l.add(s, label.Name, c.Pos, m, "no such profile %s%s", name, l.near(name, []*mig.Model{m}))
			}
		}
	}
	if len(models) == 0 && !reported {
		var each []string
		for _, name := range slices.Sorted(maps.Keys(want)) {
			each = append(each, name+" ("+list(keys(offering(l.known, mig.Demand{name: 1})))+")")
		}
		l.add(s, label.Name, e.Pos, nil, "no known model has all of %s", strings.Join(each, ", "))
	}
}

// near names the profiles that were meant, perhaps: with the same slices and
// attributes and the nearest memory.
func (l *linter) near(name string, models []*mig.Model) string {
	n, err := parseName(name)
	if err != nil {
		return ""
	}
	type match struct {
		memory int
		name   string
		models []string
	}
	var best []match
	distance := func(memory int) int { return max(memory-n.memory, n.memory-memory) }
	for _, m := range models {
		for i := range l.namesOf(m) {
			q := &l.names[m][i]
			if q.slices != n.slices || q.sign != n.sign || !slices.Equal(q.attrs, n.attrs) {
				continue
			}
			if len(best) > 0 && distance(q.memory) > distance(best[0].memory) {
				continue
			}
			if len(best) > 0 && distance(q.memory) < distance(best[0].memory) {
				best = nil
			}
			k := slices.IndexFunc(best, func(b match) bool { return b.memory == q.memory })
			if k < 0 {
				k = len(best)
				best = append(best, match{memory: q.memory, name: q.String()})
			}
			best[k].models = append(best[k].models, m.Key())
		}
	}
	if len(best) == 0 {
		return ""
	}
	slices.SortFunc(best, func(a, b match) int { return cmp.Compare(a.memory, b.memory) })
	var texts []string
	for _, b := range best {
		verb := "have"
		if len(b.models) == 1 {
			verb = "has"
		}
		texts = append(texts, fmt.Sprintf("%s %s %s", list(b.models), verb, b.name))
	}
	return "; " + strings.Join(texts, ", ")
}

// namesOf returns the names of a model's profiles in parts.
func (l *linter) namesOf(m *mig.Model) []profileName {
	if names, there := l.names[m]; there {
		return names
	}
	var names []profileName
	for p := range m.Profiles() {
		if n, err := parseName(p.Name); err == nil {
			names = append(names, n)
		}
	}
	l.names[m] = names
	return names
}

// offering returns those of the models that have all profiles of a demand, each
// once.
func offering(models []*mig.Model, want mig.Demand) []*mig.Model {
	var able []*mig.Model
	for _, m := range models {
		if hasAll(m, want) && !slices.Contains(able, m) {
			able = append(able, m)
		}
	}
	return able
}

func only(models []*mig.Model, keep func(*mig.Model) bool) []*mig.Model {
	var kept []*mig.Model
	for _, m := range models {
		if keep(m) {
			kept = append(kept, m)
		}
	}
	return kept
}

func keys(models []*mig.Model) []string {
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = m.Key()
	}
	return names
}
