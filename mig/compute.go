package mig

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// rev1 is the index of the compute profile 1_SLICE_REV1. It is listed with one
// slice and nearly all multiprocessors of its GPU instance, more than any other
// would leave it, so it stands alone. That follows from the published counts and
// was not read from a device.
const rev1 = 7

// FullSize returns, of the compute profiles that a GPU instance offers, the one
// that takes most of it: by multiprocessors, then by slices, then the lowest
// index. Names do not decide, since two profiles can share one: 1_SLICE_REV1 has
// the name of a smaller row on some boards, 7_SLICE_NVL that of 7_SLICE.
//
// Where any of the offers has no known multiprocessor count, slices decide, then
// the Default mark, then the lowest index. It returns false if there are none.
func FullSize(offers []ComputeProfile) (ComputeProfile, bool) {
	known := !slices.ContainsFunc(offers, func(c ComputeProfile) bool { return c.SMs == 0 })
	var best ComputeProfile
	for i, c := range offers {
		if i == 0 || moreOf(c, best, known) > 0 {
			best = c
		}
	}
	return best, len(offers) > 0
}

// moreOf is positive where a takes more of a GPU instance than b.
func moreOf(a, b ComputeProfile, known bool) int {
	bySlices := cmp.Or(cmp.Compare(a.Slices, b.Slices), compareBool(a.Default, b.Default))
	if known {
		bySlices = cmp.Or(cmp.Compare(a.SMs, b.SMs), cmp.Compare(a.Slices, b.Slices))
	}
	return cmp.Or(bySlices, cmp.Compare(b.Index, a.Index))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// ComputeProfile returns the compute profile of that name that a GPU instance of
// the given profile offers. The name is matched as a whole after parsing:
// "3c.3g.20gb" finds "3g.20gb", the full size.
//
// Where two share the name, the full size is the one that FullSize chooses, and a
// smaller one is the one that the GPU instance holds more of, then the lowest
// index: "1c.2g.20gb" is the ordinary single slice, not 1_SLICE_REV1, which
// stands alone. To have the other, give its Index in a ComputeInstance.
//
// Where nobody has published what a GPU instance offers, only the full size is
// answered, with Index NotKnown: one that takes all there is exists always.
//
// The error wraps ErrBadName or ErrUnknownProfile and then names what there is.
func (m *Model) ComputeProfile(gpuInstance, name string) (ComputeProfile, error) {
	gi, err := m.Profile(gpuInstance)
	if err != nil {
		return ComputeProfile{}, err
	}
	rows, err := m.computeRows(gi, name)
	if err != nil {
		return ComputeProfile{}, err
	}
	return rows[0], nil
}

// computeRows returns the rows of that name, the preferred one first.
func (m *Model) computeRows(gi Profile, name string) ([]ComputeProfile, error) {
	n, err := ParseName(name)
	if err != nil {
		return nil, err
	}
	canonical := n.String()
	all := slices.Collect(m.ComputeProfiles(gi.Name))
	if len(all) == 0 && canonical == gi.Name {
		// Nobody has published them, but one that takes all there is exists always.
		return []ComputeProfile{{
			GPUInstance: gi.Name, Name: gi.Name, Index: NotKnown, Slices: gi.ComputeSlices, Size: gi.ComputeSlices,
			Starts: MaskOf(0), MaxInstances: 1, SMs: gi.SMs, Default: true, Confidence: Derived,
		}}, nil
	}
	rows := slices.DeleteFunc(slices.Clone(all), func(c ComputeProfile) bool { return c.Name != canonical })
	if len(rows) == 0 {
		return nil, m.unknownCompute(gi, name, all)
	}
	known := !slices.ContainsFunc(rows, func(c ComputeProfile) bool { return c.SMs == 0 })
	slices.SortStableFunc(rows, func(a, b ComputeProfile) int {
		if canonical == gi.Name {
			return -moreOf(a, b, known)
		}
		return cmp.Or(cmp.Compare(b.MaxInstances, a.MaxInstances), cmp.Compare(a.Index, b.Index))
	})
	return rows, nil
}

func (m *Model) unknownCompute(gi Profile, name string, all []ComputeProfile) error {
	if len(all) == 0 {
		return fmt.Errorf("mig: model %s: the compute profiles of a %s are not known, so neither is %q: %w", m, gi.Name, name, ErrUnknownProfile)
	}
	var names []string
	for _, c := range all {
		if !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	return fmt.Errorf("mig: model %s: a %s has no compute profile %q (it has %s): %w", m, gi.Name, name, strings.Join(names, ", "), ErrUnknownProfile)
}

// computeRow returns the row that a compute instance is of. An Index of 0 beside a
// name that no row 0 has counts as not given.
func (m *Model) computeRow(gi Profile, c ComputeInstance) (ComputeProfile, error) {
	rows, err := m.computeRows(gi, c.Profile)
	if err != nil {
		return ComputeProfile{}, err
	}
	row := rows[0]
	if i := slices.IndexFunc(rows, func(r ComputeProfile) bool { return r.Index == c.Index }); i >= 0 {
		row = rows[i]
	} else if c.Index != 0 {
		var indices []string
		for _, r := range rows {
			indices = append(indices, fmt.Sprint(r.Index))
		}
		return row, fmt.Errorf("mig: model %s: %s in a %s has index %s, not %d: %w", m, c, gi.Name, strings.Join(indices, " or "), c.Index, ErrBadInstance)
	}
	if c.Size != 0 && c.Size != row.Size {
		return row, fmt.Errorf("mig: model %s: %s in a %s has size %d, not %d: %w", m, c, gi.Name, row.Size, c.Size, ErrBadInstance)
	}
	return row, nil
}

// computeRoom is what stands in a GPU instance.
type computeRoom []placedCompute

type placedCompute struct {
	row   ComputeProfile
	start int
}

func (p placedCompute) instance() ComputeInstance {
	return ComputeInstance{Profile: p.row.Name, Start: p.start, Size: p.row.Size, Index: p.row.Index}
}

// freeStarts returns where one more of the row can begin.
func (r computeRoom) freeStarts(row ComputeProfile) Mask {
	if row.Size <= 0 || row.Size > MaxUnits {
		return 0
	}
	var used Mask
	same := 0
	for _, p := range r {
		if p.row.Index == rev1 || row.Index == rev1 {
			return 0
		}
		used |= span(p.start, p.row.Size)
		if p.row.Index == row.Index {
			same++
		}
	}
	if same >= row.MaxInstances {
		return 0
	}
	return windows(used, row.Size) & row.Starts
}

// ComputeConflictError names the first pair of compute instances that cannot
// stand together in one GPU instance, in the order in which they were given; it
// wraps ErrConflict.
type ComputeConflictError struct {
	Model       *Model
	GPUInstance string // profile
	A, B        ComputeInstance
	// Limit is LimitPosition where they overlap, LimitCount where there are too
	// many of a profile, LimitCompute where one takes nearly all multiprocessors.
	Limit Limit
}

// Error names both compute instances and what they compete for.
func (e *ComputeConflictError) Error() string {
	what := "overlap"
	switch e.Limit {
	case LimitCount:
		what = "exceed the compute instances allowed of that profile"
	case LimitCompute:
		what = "cannot share the multiprocessors"
	default:
	}
	return fmt.Sprintf("mig: model %s: %s and %s in one %s %s", e.Model, e.A, e.B, e.GPUInstance, what)
}

// Unwrap returns ErrConflict.
func (e *ComputeConflictError) Unwrap() error { return ErrConflict }

// ValidateCompute says whether the compute instances can stand together in one
// GPU instance of the given profile. None at all is valid, and nothing can run on
// it. Memory and engines do not count: all compute instances of a GPU instance
// share what it has (see Profile.Engines).
//
// The error wraps ErrBadName, ErrUnknownProfile, ErrIllegalStart (with the legal
// starts), ErrBadInstance (a size or an index that is not the profile's), or is a
// *ComputeConflictError.
func (m *Model) ValidateCompute(gpuInstance string, instances ...ComputeInstance) error {
	_, err := m.computeRoom(gpuInstance, instances)
	return err
}

func (m *Model) computeRoom(gpuInstance string, instances []ComputeInstance) (computeRoom, error) {
	gi, err := m.Profile(gpuInstance)
	if err != nil {
		return nil, err
	}
	var room computeRoom
	for _, c := range instances {
		row, err := m.computeRow(gi, c)
		if err != nil {
			return nil, err
		}
		if !row.Starts.Has(c.Start) {
			var legal []string
			for s := range row.Starts.All() {
				legal = append(legal, fmt.Sprint(s))
			}
			return nil, fmt.Errorf("mig: model %s: %s in a %s cannot start at %d (legal: %s): %w", m, row.Name, gi.Name, c.Start, strings.Join(legal, ", "), ErrIllegalStart)
		}
		next := placedCompute{row, c.Start}
		for i, before := range room {
			limit := noLimit
			switch {
			case span(before.start, before.row.Size)&span(next.start, row.Size) != 0:
				limit = LimitPosition
			case before.row.Index == rev1 || row.Index == rev1:
				limit = LimitCompute
			case before.row.Index == row.Index && room[:i+1].count(row.Index) >= row.MaxInstances:
				limit = LimitCount
			}
			if limit != noLimit {
				return nil, &ComputeConflictError{Model: m, GPUInstance: gi.Name, A: before.instance(), B: next.instance(), Limit: limit}
			}
		}
		room = append(room, next)
	}
	return room, nil
}

func (r computeRoom) count(index int) int {
	n := 0
	for _, p := range r {
		if p.row.Index == index {
			n++
		}
	}
	return n
}

// ComputeFreeStarts returns the compute slices at which one more compute instance
// of the profile can begin, in a GPU instance of the given profile that holds what
// is given. The profile is one of those that ComputeProfiles lists. The error is
// that of ValidateCompute, for what is there, or wraps ErrUnknownProfile.
func (m *Model) ComputeFreeStarts(gpuInstance string, p ComputeProfile, beside ...ComputeInstance) (Mask, error) {
	room, err := m.computeRoom(gpuInstance, beside)
	if err != nil {
		return 0, err
	}
	gi, err := m.Profile(gpuInstance)
	if err != nil {
		return 0, err
	}
	row, err := m.computeRow(gi, ComputeInstance{Profile: p.Name, Size: p.Size, Index: p.Index})
	if err != nil {
		return 0, err
	}
	return room.freeStarts(row), nil
}

// ComputeLayout places compute instances of the named profiles in one GPU
// instance of the given profile and returns them lowest start first. Without
// names it is one of full size, which has all of it.
//
// The search is exact: it places larger ones first, each at the lowest start that
// leaves room for the rest, and fails only where no choice of starts holds them
// all. Of profiles that share a name the one that ComputeProfile returns comes
// first. The error wraps ErrBadName, ErrUnknownProfile or ErrNoFit.
func (m *Model) ComputeLayout(gpuInstance string, names ...string) ([]ComputeInstance, error) {
	gi, err := m.Profile(gpuInstance)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		names = []string{gi.Name}
	}
	s := computeSearch{}
	for _, name := range names {
		rows, err := m.computeRows(gi, name)
		if err != nil {
			return nil, err
		}
		s.items = append(s.items, rows)
	}
	if !s.run() {
		return nil, fmt.Errorf("mig: model %s: no starts in one %s hold %s together: %w", m, gi.Name, strings.Join(names, ", "), ErrNoFit)
	}
	return s.instances(), nil
}

// computeSearch looks for starts of the items, each given as the rows that it may
// be of.
type computeSearch struct {
	items [][]ComputeProfile
	room  computeRoom
}

func (s *computeSearch) run() bool {
	if len(s.items) > MaxUnits {
		return false
	}
	slices.SortStableFunc(s.items, func(a, b []ComputeProfile) int {
		return cmp.Or(cmp.Compare(b[0].Size, a[0].Size), cmp.Compare(a[0].Index, b[0].Index))
	})
	return s.place(0)
}

// place puts the items from k on. Equal ones can be swapped, so they are tried in
// ascending order of starts only.
func (s *computeSearch) place(k int) bool {
	if k == len(s.items) {
		return true
	}
	for _, row := range s.items[k] {
		from := 0
		if k > 0 && s.room[k-1].row == row {
			from = s.room[k-1].start + 1
		}
		for start := range s.room.freeStarts(row).All() {
			if start < from {
				continue
			}
			s.room = append(s.room, placedCompute{row, start})
			if s.place(k + 1) {
				return true
			}
			s.room = s.room[:k]
		}
	}
	return false
}

func (s *computeSearch) instances() []ComputeInstance {
	list := make([]ComputeInstance, 0, len(s.room))
	for _, p := range s.room {
		list = append(list, p.instance())
	}
	slices.SortFunc(list, func(a, b ComputeInstance) int { return cmp.Compare(a.Start, b.Start) })
	return list
}
