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
	if err := m.Validate(instances...); err != nil {
		return Layout{}, err
	}
	l := m.Empty()
	for _, in := range instances {
		p, err := m.Profile(in.Profile)
		if err != nil {
			return Layout{}, err
		}
		l = l.put(m.position(p.Name), in.Start)
	}
	return l, nil
}

// Validate says whether the instances can stand together on one GPU. The error
// wraps ErrBadName, ErrUnknownProfile, ErrIllegalStart (with the legal starts),
// ErrBadInstance (a size that is not the profile's), ErrUnknownGeometry, or is a
// *ConflictError that names the first pair that cannot stand together, in the
// order given.
func (m *Model) Validate(instances ...Instance) error {
	if err := m.geometry(); err != nil {
		return err
	}
	positions := make([]int, len(instances))
	for i, in := range instances {
		p, err := m.Profile(in.Profile)
		if err != nil {
			return err
		}
		if in.Size != 0 && in.Size != p.Size {
			return fmt.Errorf("mig: model %s: %s has size %d, not %d: %w", m, in, p.Size, in.Size, ErrBadInstance)
		}
		if !p.Starts.Has(in.Start) {
			return m.illegalStart(p, in.Start)
		}
		positions[i] = m.position(p.Name)
		l := m.Empty()
		for j, before := range instances[:i] {
			q := &m.spec.Profiles[positions[j]]
			if span(before.Start, q.Size)&span(in.Start, p.Size) != 0 {
				return &ConflictError{Model: m, A: before, B: in, Limit: LimitPosition}
			}
			l = l.put(positions[j], before.Start)
			if why := l.refuses(positions[i]); why != noLimit {
				return &ConflictError{Model: m, A: before, B: in, Limit: why}
			}
		}
	}
	return nil
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
// does not offer, and costs a few nanoseconds without allocation.
func (l Layout) FreeStarts(p Profile) Mask {
	if l.model == nil {
		return 0
	}
	i := l.model.position(p.Name)
	if i < 0 {
		return 0
	}
	return l.freeStarts(i)
}

// With returns the layout with one more instance. The error is a
// *ConflictError that names the instance in the way, or wraps
// ErrUnknownProfile, ErrIllegalStart or, for the zero Layout, ErrUnknownModel.
func (l Layout) With(p Profile, start int) (Layout, error) {
	if l.model == nil {
		return l, fmt.Errorf("mig: a GPU that is not cut takes no %s: %w", p.Name, ErrUnknownModel)
	}
	i := l.model.position(p.Name)
	if i < 0 {
		return l, &ProfileError{Model: l.model, Profile: p.Name}
	}
	if !l.freeStarts(i).Has(start) {
		return l, l.conflict(i, start)
	}
	return l.put(i, start), nil
}

// conflict explains why profile i cannot be created at start.
func (l Layout) conflict(i, start int) error {
	p := &l.model.spec.Profiles[i]
	if !p.Starts.Has(start) {
		return l.model.illegalStart(*p, start)
	}
	var all []Instance
	for in := range l.Instances() {
		all = append(all, in)
	}
	return l.model.Validate(append(all, Instance{Profile: p.Name, Start: start})...)
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
func (l Layout) put(i, start int) Layout {
	l.used |= span(start, l.model.spec.Profiles[i].Size)
	l.at[start] = uint8(i + 1)
	return l
}

// freeStarts is FreeStarts by table position.
func (l Layout) freeStarts(i int) Mask {
	p := &l.model.spec.Profiles[i]
	if p.Size == 0 {
		return 0
	}
	free := windows(l.used, p.Size) & p.Starts
	if free == 0 || l.refuses(i) != noLimit {
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
// created. Whether a plain 1g may stand beside a 1g+me is disputed between
// public sources; this package follows the vendor's guide and allows it.
func (l Layout) refuses(i int) Limit {
	p := &l.model.spec.Profiles[i]
	same := 0
	for _, n := range l.at {
		if n == 0 {
			continue
		}
		q := &l.model.spec.Profiles[n-1]
		if int(n-1) == i {
			same++
		}
		if !p.Attrs.compatible(q.Attrs) && int(n-1) != i {
			return LimitMedia
		}
	}
	if same >= p.MaxInstances {
		return LimitCount
	}
	return noLimit
}
