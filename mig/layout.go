package mig

import (
	"fmt"
	"iter"
	"strings"
)

// Layout is the set of GPU instances on one GPU. It is valid by construction,
// immutable, comparable with == (two layouts of one model are equal when they
// hold the same instances, whatever the order of creation) and usable as a map
// key. The zero Layout belongs to no model: a GPU that is not cut.
type Layout struct {
	model *Model
	used  Mask
	// at holds, for each memory slice, the table position plus one of the
	// profile whose instance begins there.
	at [MaxUnits]uint8
}

// Empty returns the layout without instances.
func (m *Model) Empty() Layout { return Layout{model: m} }

// Layout returns the layout that holds the given instances, in any order. The
// error is that of Validate.
func (m *Model) Layout(instances ...Instance) (Layout, error) {
	if l, ok := m.layout(instances); ok {
		return l, nil
	}
	return Layout{}, m.explain(instances)
}

// Validate says whether the instances can stand together on one GPU. The error
// wraps ErrBadName, ErrUnknownProfile, ErrIllegalStart (with the legal starts),
// ErrBadInstance (a size that is not the profile's), ErrUnknownGeometry, or is a
// *ConflictError that names the first pair that cannot stand together, in the
// order given. A valid set costs nanoseconds without allocation.
func (m *Model) Validate(instances ...Instance) error {
	if _, ok := m.layout(instances); ok {
		return nil
	}
	return m.explain(instances)
}

// layout returns the layout of the instances, and whether it is a legal one.
func (m *Model) layout(instances []Instance) (Layout, bool) {
	if !m.HasGeometry() {
		return Layout{}, false
	}
	x := m.index()
	l := Layout{model: m}
	for k := range instances {
		in := &instances[k]
		i := x.position(in.Profile)
		if i < 0 {
			p, err := m.Profile(in.Profile) // a name that is not canonical
			if err != nil {
				return Layout{}, false
			}
			i = x.position(p.Name)
		}
		r := &x.rows[i]
		if in.Size != 0 && in.Size != r.size || !r.starts.Has(in.Start) {
			return Layout{}, false
		}
		covered := span(in.Start, r.size)
		if l.used&covered != 0 || r.limited && l.refuses(x, i) != noLimit {
			return Layout{}, false
		}
		l.used |= covered
		l.at[in.Start] = uint8(i + 1)
	}
	return l, true
}

// explain says why layout finds that the instances are none: it goes through the
// pairs.
func (m *Model) explain(instances []Instance) error {
	if err := m.geometry(); err != nil {
		return err
	}
	x := m.index()
	positions := make([]int, len(instances))
	for i, in := range instances {
		p, err := m.Profile(in.Profile)
		if err != nil {
			return err
		}
		if !p.HasGeometry() {
			return m.unplaceable(p.Name)
		}
		if in.Size != 0 && in.Size != p.Size {
			return fmt.Errorf("mig: model %s: %s has size %d, not %d: %w", m, in, p.Size, in.Size, ErrBadInstance)
		}
		if !p.Starts.Has(in.Start) {
			return m.illegalStart(p, in.Start)
		}
		positions[i] = x.position(p.Name)
		l := m.Empty()
		for j, before := range instances[:i] {
			q := &x.rows[positions[j]]
			if span(before.Start, q.size)&span(in.Start, p.Size) != 0 {
				return &ConflictError{Model: m, A: before, B: in, Limit: LimitPosition}
			}
			l = l.put(x, positions[j], before.Start)
			if why := l.refuses(x, positions[i]); why != noLimit {
				return &ConflictError{Model: m, A: before, B: in, Limit: why}
			}
		}
	}
	return nil
}

// unplaceable is the error of a profile whose own placements are unknown.
func (m *Model) unplaceable(profile string) error {
	return fmt.Errorf("mig: model %s: profile %s: %w", m, profile, ErrUnknownGeometry)
}

func (m *Model) illegalStart(p Profile, start int) error {
	var legal []string
	for s := range p.Starts.All() {
		legal = append(legal, fmt.Sprint(s))
	}
	return fmt.Errorf("mig: model %s: %s cannot start at %d (legal: %s): %w", m, p.Name, start, strings.Join(legal, ", "), ErrIllegalStart)
}

// Model returns the model that the layout belongs to, nil for the zero Layout.
func (l Layout) Model() *Model { return l.model }

// Used returns the memory slices covered by instances.
func (l Layout) Used() Mask { return l.used }

// Instances iterates over the instances, lowest start first.
func (l Layout) Instances() iter.Seq[Instance] {
	return func(yield func(Instance) bool) {
		for start, n := range l.at {
			if n == 0 {
				continue
			}
			p := &l.model.spec.Profiles[n-1]
			if !yield(Instance{Profile: p.Name, Start: start, Size: p.Size}) {
				return
			}
		}
	}
}

// At returns the instance that begins at the given memory slice.
func (l Layout) At(start int) (Instance, bool) {
	if start < 0 || start >= MaxUnits || l.at[start] == 0 {
		return Instance{}, false
	}
	p := &l.model.spec.Profiles[l.at[start]-1]
	return Instance{Profile: p.Name, Start: start, Size: p.Size}, true
}

// Len returns the number of instances.
func (l Layout) Len() int {
	n := 0
	for _, p := range l.at {
		if p != 0 {
			n++
		}
	}
	return n
}

// Demand returns how many instances of each profile there are.
func (l Layout) Demand() Demand {
	d := Demand{}
	for in := range l.Instances() {
		d[in.Profile]++
	}
	return d
}

// String lists the instances in the form "2g.10gb@0 3g.20gb@4". It is "empty"
// without instances and "not cut" for the zero Layout.
func (l Layout) String() string {
	if l.model == nil {
		return "not cut"
	}
	var parts []string
	for in := range l.Instances() {
		parts = append(parts, in.String())
	}
	if parts == nil {
		return "empty"
	}
	return strings.Join(parts, " ")
}

// FreeStarts returns the starts at which one more instance of the profile can
// be created: legal for the model, overlapping nothing, and within the limits
// of instances and of media engines. It is empty for a profile that the model
// does not offer and where placements are unknown, and costs a few nanoseconds
// without allocation.
func (l Layout) FreeStarts(p Profile) Mask {
	if l.model == nil {
		return 0
	}
	x := l.model.index()
	i := x.position(p.Name)
	if i < 0 {
		return 0
	}
	return l.freeStarts(x, i)
}

// With returns the layout with one more instance. The error is a
// *ConflictError that names the instance in the way, or wraps
// ErrUnknownProfile, ErrIllegalStart, ErrUnknownGeometry or, for the zero
// Layout, ErrUnknownModel.
func (l Layout) With(p Profile, start int) (Layout, error) {
	if l.model == nil {
		return l, fmt.Errorf("mig: a GPU that is not cut takes no %s: %w", p.Name, ErrUnknownModel)
	}
	x := l.model.index()
	i := x.position(p.Name)
	if i < 0 {
		return l, &ProfileError{Model: l.model, Profile: p.Name}
	}
	if !l.freeStarts(x, i).Has(start) {
		return l, l.conflict(x, i, start)
	}
	return l.put(x, i, start), nil
}

// conflict explains why profile i cannot be created at start.
func (l Layout) conflict(x *index, i, start int) error {
	all := make([]Instance, 0, MaxUnits)
	for in := range l.Instances() {
		all = append(all, in)
	}
	return l.model.explain(append(all, Instance{Profile: x.rows[i].name, Start: start}))
}

// Without returns the layout without the instance that begins at start. The
// error wraps ErrNoInstance.
func (l Layout) Without(start int) (Layout, error) {
	in, found := l.At(start)
	if !found {
		return l, fmt.Errorf("mig: start %d of layout %s: %w", start, l, ErrNoInstance)
	}
	l.used &^= span(start, in.Size)
	l.at[start] = 0
	return l, nil
}

// put adds an instance that is known to be legal.
func (l Layout) put(x *index, i, start int) Layout {
	l.used |= span(start, x.rows[i].size)
	l.at[start] = uint8(i + 1)
	return l
}

// freeStarts is FreeStarts by table position.
func (l *Layout) freeStarts(x *index, i int) Mask {
	r := &x.rows[i]
	if r.size == 0 {
		return 0
	}
	free := windows(l.used, r.size) & r.starts
	if free == 0 || r.limited && l.refuses(x, i) != noLimit {
		return 0
	}
	return free
}

// refuses returns the limit, other than position, that keeps one more instance
// of profile i out.
//
// The media rule: the engines that only one instance of a GPU can have go to a
// +me or to a +me.all instance, so there is at most one of the two kinds; a
// +me.all instance takes every engine, so beside it only -me instances can be
// created. Spec.MediaAlone adds the disputed part.
func (l *Layout) refuses(x *index, i int) Limit {
	r := &x.rows[i]
	same := 0
	for _, n := range l.at {
		if n == 0 {
			continue
		}
		k := int(n - 1)
		if k == i {
			same++
		}
		if r.clash[k>>6]>>(k&63)&1 != 0 {
			return LimitMedia
		}
	}
	if same >= r.most {
		return LimitCount
	}
	return noLimit
}

// count returns how many instances of profile i there are.
func (l *Layout) count(i int) int {
	n := 0
	for _, k := range l.at {
		if int(k) == i+1 {
			n++
		}
	}
	return n
}
