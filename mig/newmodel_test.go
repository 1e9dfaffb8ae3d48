package mig_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
)

// copyOf returns a model of its own with the table of another, changed.
func copyOf(t require.TestingT, m *mig.Model, change func(*mig.Spec)) *mig.Model {
	s := m.Spec()
	change(&s)
	got, err := mig.NewModel(s)
	require.NoError(t, err)
	return got
}

// TestNewModelAnswersAlike: a model of the same table gives the same answers, and
// is another model.
func TestNewModelAnswersAlike(t *testing.T) {
	t.Parallel()
	for m := range mig.Models() {
		assert.Equal(t, m.Spec(), copyOf(t, m, func(*mig.Spec) {}).Spec())
	}
	rapid.Check(t, func(t *rapid.T) {
		m := genModel(t)
		n := copyOf(t, m, func(*mig.Spec) {})
		require.NotSame(t, m, n)
		have, want := genLayout(t, m), genDemand(t, m)
		twin, err := n.Layout(slices.Collect(have.Instances())...)
		require.NoError(t, err)
		require.NotEqual(t, have, twin, "a layout belongs to its model")
		assert.Equal(t, have.String(), twin.String())
		assert.Equal(t, have.Used(), twin.Used())
		assert.Equal(t, have.FreePairs(), twin.FreePairs())
		assert.Equal(t, have.Unused(), twin.Unused())
		assert.Equal(t, have.Stranded(), twin.Stranded())
		assert.Equal(t, have.Maximal(nil), twin.Maximal(nil))
		for p := range m.Profiles() {
			assert.Equal(t, have.FreeStarts(p), twin.FreeStarts(p))
			assert.Equal(t, have.Remaining(p), twin.Remaining(p))
			a, ok := have.DefaultStart(p)
			b, okTwin := twin.DefaultStart(p)
			assert.Equal(t, ok, okTwin)
			assert.Equal(t, a, b)
		}
		one, err := have.Fit(want)
		two, errTwin := twin.Fit(want)
		assert.Equal(t, one.String(), two.String())
		assert.Equal(t, err == nil, errTwin == nil)
		if err != nil {
			assert.EqualError(t, errTwin, err.Error())
		}
	})
}

// genSpec draws a table that no GPU has: few pairs of profile and start, so that
// every set of them can be looked through, but any sizes, starts, limits and
// attributes.
func genSpec(t *rapid.T) mig.Spec {
	units := rapid.IntRange(1, mig.MaxUnits).Draw(t, "units")
	s := mig.Spec{
		Key: "drawn", MemorySlices: units, ComputeSlices: units,
		MediaAlone: rapid.Bool().Draw(t, "media alone"),
	}
	suffixes := []string{"", "", "+me", "+me.all", "-me", "+gfx", "+me,gfx"}
	for i := range rapid.IntRange(1, 4).Draw(t, "profiles") {
		p := mig.Profile{
			Index: i, ID: mig.NotKnown,
			MaxInstances: rapid.IntRange(1, 3).Draw(t, "most"),
			Size:         rapid.IntRange(1, min(units, 5)).Draw(t, "size"),
		}
		// No more compute slices than memory slices, so that they never bind.
		p.ComputeSlices = rapid.IntRange(1, p.Size).Draw(t, "slices")
		for range rapid.IntRange(1, 3).Draw(t, "starts") {
			p.Starts |= mig.MaskOf(rapid.IntRange(0, units-p.Size).Draw(t, "start"))
		}
		// A +me of the slices of the profile before is what MediaAlone is about.
		memory := 5 + i
		if i > 0 && rapid.Bool().Draw(t, "variant") {
			q := s.Profiles[i-1]
			p.ComputeSlices, p.Size, p.Starts = q.ComputeSlices, q.Size, q.Starts
		}
		p.Name = fmt.Sprintf("%dg.%dgb%s", p.ComputeSlices, memory, rapid.SampledFrom(suffixes).Draw(t, "attributes"))
		n, err := mig.ParseName(p.Name)
		require.NoError(t, err)
		p.Attrs = n.Attrs
		s.Profiles = append(s.Profiles, p)
	}
	return s
}

// TestNewModelOfAnyTable: the answers of a drawn table are those of the plain
// rules.
func TestNewModelOfAnyTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := genSpec(t)
		m, err := mig.NewModel(s)
		require.NoError(t, err)
		u := newUniverse(m, false)
		assert.Len(t, slices.Collect(m.Layouts(s.Profiles)), len(u.layouts)-1, "all but the empty one")
		can := addable
		if s.MediaAlone {
			can = addableAlone
		}
		have := rapid.SampledFrom(u.layouts).Draw(t, "have")
		set := placedOf(have)
		require.NoError(t, m.Validate(slices.Collect(have.Instances())...))
		assert.Equal(t, freePairs(have), have.FreePairs())
		want := mig.Demand{}
		for _, p := range s.Profiles {
			var free mig.Mask
			for start := range s.MemorySlices {
				if next := (placed{p, start}); can(set, next) {
					free |= mig.MaskOf(start)
				}
				_, err := have.With(p, start)
				assert.Equal(t, free.Has(start), err == nil, "%s at %d: %v", p.Name, start, err)
			}
			assert.Equal(t, free, have.FreeStarts(p), p.Name)
			most := 0
			if free != 0 { // a limit that keeps the first out keeps all out
				most = mostOf(set, p, 0)
			}
			assert.Equal(t, most, have.Remaining(p), p.Name)
			want[p.Name] = rapid.IntRange(0, 2).Draw(t, "wanted")
		}
		checkFit(t, u, have, want)
		got, err := have.Fit(want)
		gpu, after, bestErr := mig.Best([]mig.Layout{{}, have}, want)
		assert.Equal(t, err == nil, bestErr == nil)
		assert.Equal(t, err == nil, gpu == 1)
		assert.Equal(t, got, after)
	})
}

// TestMediaAlone: the disputed rule, as a choice of the table.
func TestMediaAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model, beside, next string
		forbidden           bool
	}{
		{"a100-40gb", "1g.5gb+me@0", "1g.5gb@1", true},
		{"a100-40gb", "1g.5gb@0", "1g.5gb+me@1", true},
		{"a100-40gb", "1g.5gb+me@0", "1g.10gb@2", false}, // other memory slices
		{"a100-40gb", "1g.5gb+me@0", "2g.10gb@2", false},
		{"a30-24gb", "2g.12gb+me@0", "2g.12gb@2", true},
		{"a30-24gb", "2g.12gb+me@0", "1g.6gb@2", false},
		{"rtx-pro-6000-96gb", "1g.24gb+me@0", "1g.24gb+gfx@3", false}, // not plain
		{"rtx-pro-6000-96gb", "1g.24gb+me@0", "1g.24gb-me@3", false},
	} {
		t.Run(c.beside+" then "+c.next, func(t *testing.T) {
			t.Parallel()
			table := lookup(t, c.model)
			require.False(t, table.Spec().MediaAlone, "the tables follow the guide")
			pair := parse(t, c.beside, c.next)
			require.NoError(t, table.Validate(pair...))

			m := copyOf(t, table, func(s *mig.Spec) { s.MediaAlone = true })
			err := m.Validate(pair...)
			have := layout(t, m, c.beside)
			p := profile(t, m, pair[1].Profile)
			_, fit := have.Fit(mig.Demand{p.Name: 1})
			if !c.forbidden {
				require.NoError(t, err)
				require.NoError(t, fit)
				assert.NotZero(t, have.Remaining(p))
				return
			}
			var conflict *mig.ConflictError
			require.ErrorAs(t, err, &conflict)
			assert.Equal(t, mig.LimitMedia, conflict.Limit)
			assert.Zero(t, have.FreeStarts(p))
			assert.Zero(t, have.Remaining(p))
			var no *mig.FitError
			require.ErrorAs(t, fit, &no)
			assert.Equal(t, mig.LimitMedia, no.Limit)
		})
	}
}

// TestNewModelKeepsNoPart: what the caller writes into the Spec afterwards does
// not reach the model.
func TestNewModelKeepsNoPart(t *testing.T) {
	t.Parallel()
	s := lookup(t, "a100-40gb").Spec()
	m, err := mig.NewModel(s)
	require.NoError(t, err)
	s.Profiles[0].Name, s.ComputeProfiles[0].Name, s.ProductNames[0], s.Sources[0], s.PCIDeviceIDs[0] = "x", "x", "x", "x", 0
	assert.Equal(t, lookup(t, "a100-40gb").Spec(), m.Spec())
}

// TestNewModelPartlyKnown: a profile whose placements alone are unknown can be
// listed and compared, and every question about it says so.
func TestNewModelPartlyKnown(t *testing.T) {
	t.Parallel()
	m := copyOf(t, lookup(t, "a100-40gb"), func(s *mig.Spec) { s.Profiles[2].Size, s.Profiles[2].Starts = 0, 0 })
	l := layout(t, m, "3g.20gb@4")
	p := profile(t, m, "1g.10gb")
	require.ErrorIs(t, m.Validate(mig.Instance{Profile: "1g.10gb"}), mig.ErrUnknownGeometry)
	_, err := l.With(p, 0)
	require.ErrorIs(t, err, mig.ErrUnknownGeometry)
	_, err = l.Fit(mig.Demand{"1g.10gb": 1})
	require.ErrorIs(t, err, mig.ErrUnknownGeometry)
	_, _, err = mig.Best([]mig.Layout{l}, mig.Demand{"1g.10gb": 1})
	require.ErrorIs(t, err, mig.ErrUnknownGeometry)
	assert.Zero(t, l.FreeStarts(p))
	assert.Zero(t, l.Remaining(p))
	got, err := l.Fit(mig.Demand{"1g.10gb": 0, "4g.20gb": 1})
	require.NoError(t, err)
	assert.Equal(t, "4g.20gb@0 3g.20gb@4", got.String())
}

// TestNewModelOfMostProfiles: as many profiles as a table may have, each found by
// its name, on the largest GPU.
func TestNewModelOfMostProfiles(t *testing.T) {
	t.Parallel()
	s := mig.Spec{Key: "large", MemorySlices: mig.MaxUnits, ComputeSlices: mig.MaxUnits}
	for i := range 250 {
		s.Profiles = append(s.Profiles, mig.Profile{
			Name: fmt.Sprintf("1g.%dgb", i), Index: i, ID: mig.NotKnown,
			ComputeSlices: 1, Size: 1, Starts: 1<<mig.MaxUnits - 1, MaxInstances: mig.MaxUnits,
		})
	}
	m, err := mig.NewModel(s)
	require.NoError(t, err)
	assert.Equal(t, 250*mig.MaxUnits, m.Empty().FreePairs())
	all := mig.Demand{}
	for i, p := range s.Profiles {
		got, found := m.Offers(p.Name)
		require.True(t, found)
		assert.Equal(t, p, got)
		if i >= 250-mig.MaxUnits {
			all[p.Name] = 1
		}
	}
	_, found := m.Offers("1g.250gb")
	assert.False(t, found)
	l, err := m.Empty().Fit(mig.Demand{"1g.249gb": mig.MaxUnits})
	require.NoError(t, err)
	assert.Equal(t, mig.MaxUnits, l.Len())
	assert.Zero(t, l.FreePairs())
	_, err = l.Fit(all)
	require.ErrorIs(t, err, mig.ErrNoFit)
	_, err = m.Empty().Fit(mig.Demand{"1g.249gb": mig.MaxUnits + 1})
	assert.ErrorIs(t, err, mig.ErrNoFit)
}

func TestNewModelRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*mig.Spec)
		says   string
	}{
		{"no key", func(s *mig.Spec) { s.Key = "" }, `table "": Key is empty`},
		{"too many units", func(s *mig.Spec) { s.MemorySlices = 17 }, "MemorySlices is 17, not 0 to 16"},
		{"negative units", func(s *mig.Spec) { s.MemorySlices = -1 }, "MemorySlices is -1"},
		{"no compute slices", func(s *mig.Spec) { s.ComputeSlices = 0 }, "ComputeSlices is 0, not 1 to 16"},
		{"negative memory", func(s *mig.Spec) { s.MemoryMiB = -1 }, "MemoryMiB -1"},
		{"confidence", func(s *mig.Spec) { s.Confidence = 3 }, "Confidence is 3, not 0 to 2"},
		{"no profiles", func(s *mig.Spec) { s.Profiles = nil }, "there are no Profiles"},
		{"too many profiles", func(s *mig.Spec) { s.Profiles = make([]mig.Profile, 251) }, "there are 251 Profiles, more than 250"},
		{"malformed name", func(s *mig.Spec) { s.Profiles[1].Name = "1g" }, `Profiles[1] "1g": Name`},
		{"not canonical", func(s *mig.Spec) { s.Profiles[0].Name = "1c.1g.5gb" }, `Name is not canonical, "1g.5gb" is`},
		{"compute instance", func(s *mig.Spec) { s.Profiles[3].Name = "1c.2g.10gb" }, "Name is that of a compute instance"},
		{"other slices", func(s *mig.Spec) { s.Profiles[3].ComputeSlices = 3 }, `Profiles[3] "2g.10gb": ComputeSlices is 3, the name says 2`},
		{"other attributes", func(s *mig.Spec) { s.Profiles[1].Attrs = 0 }, `Attrs is "", the name says "+me"`},
		{"name twice", func(s *mig.Spec) { s.Profiles[2] = s.Profiles[0] }, `Profiles[2] "1g.5gb": Name is that of Profiles[0]`},
		{"index twice", func(s *mig.Spec) { s.Profiles[2].Index = 7 }, `Index 7 is that of Profiles[1] "1g.5gb+me"`},
		{"negative index", func(s *mig.Spec) { s.Profiles[2].Index = -1 }, "Index is -1"},
		{"id twice", func(s *mig.Spec) { s.Profiles[2].ID = 19 }, `ID 19 is that of Profiles[0] "1g.5gb"`},
		{"negative id", func(s *mig.Spec) { s.Profiles[2].ID = -2 }, "ID is -2"},
		{"more slices than the GPU", func(s *mig.Spec) { s.ComputeSlices = 4 }, `Profiles[6] "7g.40gb": ComputeSlices is 7, the GPU has 4`},
		{"no instance", func(s *mig.Spec) { s.Profiles[0].MaxInstances = 0 }, "MaxInstances is 0"},
		{"profile memory", func(s *mig.Spec) { s.Profiles[0].MemoryMiB = -1 }, "MemoryMiB is -1"},
		{"profile SMs", func(s *mig.Spec) { s.Profiles[0].SMs = -1 }, "SMs is -1"},
		{"engines", func(s *mig.Spec) { s.Profiles[0].Engines.JPEG = -2 }, "JPEG:-2"},
		{"row confidence", func(s *mig.Spec) { s.Profiles[0].Confidence = 9 }, "Confidence is 9"},
		{"row geometry", func(s *mig.Spec) { s.Profiles[0].Geometry = 9 }, "Geometry is 9"},
		{"start outside", func(s *mig.Spec) { s.Profiles[4].Starts |= mig.MaskOf(6) }, "Starts has 6, where Size 4 ends beyond the 8 memory slices"},
		{"size outside", func(s *mig.Spec) { s.Profiles[6].Size = 1 << 40 }, "Starts has 0, where Size 1099511627776 ends"},
		{"no starts", func(s *mig.Spec) { s.Profiles[4].Starts = 0 }, "Size is 4 and Starts has 0: both are known or none is"},
		{"no size", func(s *mig.Spec) { s.Profiles[4].Size = 0 }, "Size is 0 and Starts has 2"},
		{"negative size", func(s *mig.Spec) { s.Profiles[4].Size = -4 }, "Size is -4"},
		{"starts without geometry", func(s *mig.Spec) { s.MemorySlices = 0 }, "ends beyond the 0 memory slices"},
		{"compute slices bind", func(s *mig.Spec) { s.Profiles[3].Starts |= mig.MaskOf(6) }, "ComputeSlices is 7, but by their Starts instances with 8 fit together"},
		{"compute of no profile", func(s *mig.Spec) { s.ComputeProfiles[0].GPUInstance = "1g.6gb" }, `ComputeProfiles[0] "1g.5gb": GPUInstance "1g.6gb" is no profile of the table`},
		{"compute malformed", func(s *mig.Spec) { s.ComputeProfiles[0].Name = "1c" }, `ComputeProfiles[0] "1c": Name`},
		{"compute not canonical", func(s *mig.Spec) { s.ComputeProfiles[0].Name = "1c.1g.5gb" }, "is not canonical"},
		{"compute of another", func(s *mig.Spec) { s.ComputeProfiles[3].Name = "1c.3g.20gb" }, "Name is of another GPU instance than 2g.10gb"},
		{"compute slices", func(s *mig.Spec) { s.ComputeProfiles[3].Slices = 2 }, "Slices is 2, the name says 1"},
		{"compute index", func(s *mig.Spec) { s.ComputeProfiles[4].Index = 0 }, `Index 0 of a 2g.10gb is that of ComputeProfiles[3] "1c.2g.10gb"`},
		{"compute negative index", func(s *mig.Spec) { s.ComputeProfiles[4].Index = -1 }, "Index is -1"},
		{"compute no instance", func(s *mig.Spec) { s.ComputeProfiles[4].MaxInstances = 0 }, "MaxInstances is 0"},
		{"compute SMs", func(s *mig.Spec) { s.ComputeProfiles[4].SMs = -1 }, "SMs is -1"},
		{"compute confidence", func(s *mig.Spec) { s.ComputeProfiles[4].Confidence = 3 }, "Confidence is 3"},
		{"compute start", func(s *mig.Spec) { s.ComputeProfiles[4].Starts = mig.MaskOf(1) }, "ends beyond the 2 compute slices of a 2g.10gb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := lookup(t, "a100-40gb").Spec()
			c.change(&s)
			m, err := mig.NewModel(s)
			require.ErrorIs(t, err, mig.ErrBadSpec)
			require.ErrorContains(t, err, c.says)
			assert.Nil(t, m)
		})
	}
}
