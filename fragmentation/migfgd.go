package fragmentation

import (
	"fmt"
	"slices"

	"github.com/gpushare/gpushare/mig"
)

// MIGFGD is FGD over the positions of cut GPUs: for every profile of the mix
// the memory slices that instances of it could still cover, counted in
// milli-GPU and weighted by how often the profile is asked for. It is
// immutable. Obtain one from NewMIGFGD: the zero MIGFGD has no scale, and no rule
// takes it.
//
// A GPU of a model that does not offer a profile, or that the shape does not
// accept, is worth nothing to that share of the mix. So of two models that
// could both serve a request, the one that fewer others want strands less; that
// is how models compare. CPU and main memory take no part.
type MIGFGD struct {
	total  int64
	tables []migTable
	mix    Mix
}

// migTable holds what a model's profiles weigh for nodes of one GPU model name.
type migTable struct {
	model    *mig.Model
	profiles []migWeight
}

type migWeight struct {
	profile mig.Profile
	models  Models
	worth   int64 // milli-GPU of one instance times the count
}

// NewMIGFGD returns the value for the MIG requests of a mix; the other shapes
// take no part. The error is that of Mix.Validate; a mix without MIG requests
// wraps ErrEmptyMix, and a profile that no model offers wraps
// mig.ErrUnknownProfile.
func NewMIGFGD(mix Mix) (*MIGFGD, error) {
	requests, err := mix.part(func(s *Shape) bool { return s.Profile != "" })
	if err != nil {
		return nil, err
	}
	v := &MIGFGD{total: requests.Total(), mix: requests}
	offered := map[string]bool{}
	for m := range mig.Models() {
		if !m.HasGeometry() {
			continue // no layout of it can be built, so none needs a table
		}
		t := v.table(m)
		for _, w := range t.profiles {
			offered[w.profile.Name] = true
		}
		v.tables = append(v.tables, t)
	}
	for _, e := range requests {
		if !offered[e.Shape.Profile] { // a valid shape has the name as tables do
			return nil, fmt.Errorf("fragmentation: profile %s: no model offers it: %w", e.Shape.Profile, mig.ErrUnknownProfile)
		}
	}
	return v, nil
}

func (v *MIGFGD) table(m *mig.Model) migTable {
	t := migTable{model: m}
	for _, e := range v.mix {
		if p, err := m.Profile(e.Shape.Profile); err == nil {
			worth := SliceMilli(p.Size, m.MemorySlices()) * e.Count
			t.profiles = append(t.profiles, migWeight{p, e.Shape.Models, worth})
		}
	}
	return t
}

// Scale returns the sum of the counts of the MIG requests.
func (v *MIGFGD) Scale() int64 { return v.total }

// Of returns the value of the cut GPUs, in units of 1/Scale milli-GPU.
func (v *MIGFGD) Of(s *State) int64 {
	worth := int64(0)
	for i := range s.GPUs {
		if g := &s.GPUs[i]; g.Cut() {
			worth += v.layout(g.Layout, s.Model)
		}
	}
	return worth
}

func (v *MIGFGD) layout(l mig.Layout, model string) int64 {
	i := slices.IndexFunc(v.tables, func(t migTable) bool { return t.model == l.Model() })
	var t migTable
	if i >= 0 {
		t = v.tables[i]
	} else {
		t = v.table(l.Model())
	}
	worth := int64(0)
	for j := range t.profiles {
		w := &t.profiles[j]
		if w.models.Accept(model) {
			worth += int64(l.Remaining(w.profile)) * w.worth
		}
	}
	return worth
}

// part returns the entries whose shape is wanted.
func (m Mix) part(wanted func(*Shape) bool) (Mix, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	var part Mix
	for i := range m {
		if wanted(&m[i].Shape) {
			part = append(part, m[i])
		}
	}
	if len(part) == 0 {
		return nil, fmt.Errorf("fragmentation: no shape of the kind that the value counts: %w", ErrEmptyMix)
	}
	return part, nil
}

var _ Value = (*MIGFGD)(nil)
