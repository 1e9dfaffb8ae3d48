package mig_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
)

func TestComputeLayout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model, gpuInstance, names, want string
	}{
		{"a100-40gb", "3g.20gb", "", "3g.20gb@0"},
		{"a100-40gb", "3g.20gb", "3c.3g.20gb", "3g.20gb@0"},
		{"a100-40gb", "3g.20gb", "1c.3g.20gb", "1c.3g.20gb@0"},
		{"a100-40gb", "3g.20gb", "1c.3g.20gb 1c.3g.20gb 1c.3g.20gb", "1c.3g.20gb@0 1c.3g.20gb@1 1c.3g.20gb@2"},
		{"a100-40gb", "3g.20gb", "1c.3g.20gb 2c.3g.20gb", "2c.3g.20gb@0 1c.3g.20gb@2"},
		{"a100-40gb", "4g.20gb", "1c.4g.20gb 2c.4g.20gb 1c.4g.20gb", "2c.4g.20gb@0 1c.4g.20gb@2 1c.4g.20gb@3"},
		// 3c may begin at 0 and 4: the slice between is for a 1c, and two 2c push
		// it to 4.
		{"a100-40gb", "7g.40gb", "3c.7g.40gb 1c.7g.40gb 3c.7g.40gb", "3c.7g.40gb@0 1c.7g.40gb@3 3c.7g.40gb@4"},
		{"a100-40gb", "7g.40gb", "2c.7g.40gb 3c.7g.40gb 2c.7g.40gb", "2c.7g.40gb@0 2c.7g.40gb@2 3c.7g.40gb@4"},
		{"a100-40gb", "7g.40gb", "3c.7g.40gb 4c.7g.40gb", "4c.7g.40gb@0 3c.7g.40gb@4"},
		{"a100-40gb", "1c.1g.5gb", "1c.1g.5gb", "1g.5gb@0"},
		{"rtx-pro-6000-96gb", "2g.48gb+gfx", "1c.2g.48gb+gfx 1c.2g.48gb+gfx", "1c.2g.48gb+gfx@0 1c.2g.48gb+gfx@1"},
	} {
		t.Run(c.gpuInstance+" "+c.names, func(t *testing.T) {
			t.Parallel()
			got, err := lookup(t, c.model).ComputeLayout(c.gpuInstance, strings.Fields(c.names)...)
			require.NoError(t, err)
			assert.Equal(t, c.want, texts(got))
			for _, ci := range got {
				assert.Positive(t, ci.Size)
			}
		})
	}
}

func TestComputeLayoutRefuses(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	for _, c := range []struct {
		gpuInstance, names string
		is                 error
		says               string
	}{
		{"3g.20gb", "2c.3g.20gb 2c.3g.20gb", mig.ErrNoFit, "no starts in one 3g.20gb hold 2c.3g.20gb, 2c.3g.20gb together"},
		{"3g.20gb", "3g.20gb 1c.3g.20gb", mig.ErrNoFit, "3g.20gb"},
		{"3g.20gb", "1c.3g.20gb 1c.3g.20gb 1c.3g.20gb 1c.3g.20gb", mig.ErrNoFit, "3g.20gb"},
		{"7g.40gb", "3c.7g.40gb 3c.7g.40gb 2c.7g.40gb", mig.ErrNoFit, "7g.40gb"},
		{"7g.40gb", strings.Repeat("1c.7g.40gb ", 1000), mig.ErrNoFit, "7g.40gb"},
		{"3g.20gb", "1c.4g.20gb", mig.ErrUnknownProfile, `a 3g.20gb has no compute profile "1c.4g.20gb" (it has 1c.3g.20gb, 2c.3g.20gb, 3g.20gb)`},
		{"4g.20gb", "3c.4g.20gb", mig.ErrUnknownProfile, `(it has 1c.4g.20gb, 2c.4g.20gb, 4g.20gb)`},
		{"3g.20gb", "1c.3g.20gb+me", mig.ErrUnknownProfile, `"1c.3g.20gb+me"`},
		{"3g.20gb", "1c", mig.ErrBadName, `"1c"`},
		{"3g.21gb", "1c.3g.20gb", mig.ErrUnknownProfile, `"3g.21gb"`},
		{"1c.3g.20gb", "1c.3g.20gb", mig.ErrUnknownProfile, `"1c.3g.20gb"`},
		{"", "", mig.ErrBadName, `""`},
	} {
		t.Run(c.gpuInstance+" "+c.says, func(t *testing.T) {
			t.Parallel()
			got, err := m.ComputeLayout(c.gpuInstance, strings.Fields(c.names)...)
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.says)
			assert.Nil(t, got)
		})
	}
}

// TestFullSize: what a GPU instance offers decides, not the name.
func TestFullSize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		offers []mig.ComputeProfile
		want   int // index
	}{
		{"most multiprocessors", []mig.ComputeProfile{{Index: 0, Slices: 1, SMs: 16}, {Index: 7, Slices: 1, SMs: 26}}, 7},
		{"in whatever order", []mig.ComputeProfile{{Index: 7, Slices: 1, SMs: 26}, {Index: 0, Slices: 1, SMs: 16}}, 7},
		{"then most slices", []mig.ComputeProfile{{Index: 0, Slices: 1, SMs: 14}, {Index: 1, Slices: 2, SMs: 14}}, 1},
		{"then the lowest index", []mig.ComputeProfile{{Index: 8, Slices: 7, SMs: 98}, {Index: 4, Slices: 7, SMs: 98}}, 4},
		{"a count unknown: slices", []mig.ComputeProfile{{Index: 0, Slices: 1, SMs: 18}, {Index: 1, Slices: 2, SMs: 36}, {Index: 2, Slices: 3}}, 2},
		{"a count unknown, then the mark", []mig.ComputeProfile{{Index: 0, Slices: 1}, {Index: 7, Slices: 1, Default: true}}, 7},
		{"all unknown: lowest index", []mig.ComputeProfile{{Index: 7, Slices: 1}, {Index: 0, Slices: 1}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, found := mig.FullSize(c.offers)
			require.True(t, found)
			assert.Equal(t, c.want, got.Index)
		})
	}
	_, found := mig.FullSize(nil)
	assert.False(t, found)
}

// TestFullSizeIsDefault: on every model the rule finds the row that tools star.
func TestFullSizeIsDefault(t *testing.T) {
	t.Parallel()
	forEachModel(t, func(t *testing.T, m *mig.Model) {
		for p := range m.Profiles() {
			full, found := mig.FullSize(slices.Collect(m.ComputeProfiles(p.Name)))
			if !found {
				continue
			}
			assert.True(t, full.Default, "%s: %+v", p.Name, full)
			assert.Equal(t, p.Name, full.Name)
			named, err := m.ComputeProfile(p.Name, p.Name)
			require.NoError(t, err)
			assert.Equal(t, full, named)
		}
	})
}

// TestComputeProfile: of two with one name.
func TestComputeProfile(t *testing.T) {
	t.Parallel()
	m := lookup(t, "h100-80gb-sxm5")
	for _, c := range []struct {
		gpuInstance, name string
		index, sms        int
	}{
		{"1g.20gb", "1g.20gb", 7, 26},    // the whole of it
		{"2g.20gb", "1c.2g.20gb", 0, 16}, // an ordinary slice, another goes beside it
		{"2g.20gb", "2g.20gb", 1, 32},
		{"7g.80gb", "7g.80gb", 4, 132},
	} {
		p, err := m.ComputeProfile(c.gpuInstance, c.name)
		require.NoError(t, err)
		assert.Equal(t, c.index, p.Index, c.name)
		assert.Equal(t, c.sms, p.SMs, c.name)
	}
	both, err := m.ComputeLayout("2g.20gb", "1c.2g.20gb", "1c.2g.20gb")
	require.NoError(t, err)
	assert.Equal(t, []mig.ComputeInstance{
		{Profile: "1c.2g.20gb", Start: 0, Size: 1, Index: 0},
		{Profile: "1c.2g.20gb", Start: 1, Size: 1, Index: 0},
	}, both)
}

func TestValidateCompute(t *testing.T) {
	t.Parallel()
	ci := func(profile string, start, size, index int) mig.ComputeInstance {
		return mig.ComputeInstance{Profile: profile, Start: start, Size: size, Index: index}
	}
	for _, c := range []struct {
		name, model, gpuInstance string
		set                      []mig.ComputeInstance
		is                       error // nil: valid
		says                     string
	}{
		{"none", "a100-40gb", "3g.20gb", nil, nil, ""},
		{"size and index left out", "a100-40gb", "3g.20gb", []mig.ComputeInstance{ci("2c.3g.20gb", 0, 0, 0), ci("1c.3g.20gb", 2, 0, 0)}, nil, ""},
		{"overlap", "a100-40gb", "3g.20gb", []mig.ComputeInstance{ci("2c.3g.20gb", 0, 2, 1), ci("1c.3g.20gb", 1, 1, 0)}, mig.ErrConflict, "2c.3g.20gb@0 and 1c.3g.20gb@1 in one 3g.20gb overlap"},
		{"illegal start", "a100-40gb", "7g.40gb", []mig.ComputeInstance{ci("3c.7g.40gb", 3, 0, 2)}, mig.ErrIllegalStart, "3c.7g.40gb in a 7g.40gb cannot start at 3 (legal: 0, 4)"},
		{"negative start", "a100-40gb", "7g.40gb", []mig.ComputeInstance{ci("1c.7g.40gb", -1, 0, 0)}, mig.ErrIllegalStart, "at -1"},
		{"other size", "a100-40gb", "3g.20gb", []mig.ComputeInstance{ci("2c.3g.20gb", 0, 3, 1)}, mig.ErrBadInstance, "size 2, not 3"},
		{"other index", "a100-40gb", "3g.20gb", []mig.ComputeInstance{ci("2c.3g.20gb", 0, 2, 7)}, mig.ErrBadInstance, "index 1, not 7"},
		{"other GPU instance", "a100-40gb", "3g.20gb", []mig.ComputeInstance{ci("1c.4g.20gb", 0, 1, 0)}, mig.ErrUnknownProfile, "1c.4g.20gb"},
		{"no such GPU instance", "a100-40gb", "3g.40gb", nil, mig.ErrUnknownProfile, "3g.40gb"},
		{"index chooses the single with most", "h100-80gb-sxm5", "2g.20gb", []mig.ComputeInstance{ci("1c.2g.20gb", 0, 1, 7)}, nil, ""},
		{"which stands alone", "h100-80gb-sxm5", "2g.20gb", []mig.ComputeInstance{ci("1c.2g.20gb", 0, 1, 7), ci("1c.2g.20gb", 1, 1, 0)}, mig.ErrConflict, "cannot share the multiprocessors"},
		{"in either order", "h100-80gb-sxm5", "2g.20gb", []mig.ComputeInstance{ci("1c.2g.20gb", 1, 1, 0), ci("1c.2g.20gb", 0, 1, 7)}, mig.ErrConflict, "cannot share the multiprocessors"},
		{"the smaller single of a double", "h100-80gb-sxm5", "1g.20gb", []mig.ComputeInstance{ci("1g.20gb", 0, 1, 0)}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := lookup(t, c.model).ValidateCompute(c.gpuInstance, c.set...)
			if c.is == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.says)
		})
	}
}

// TestComputeConflict: the error carries the pair as data, sizes and indices
// filled in.
func TestComputeConflict(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	set := []mig.ComputeInstance{{Profile: "2c.3g.20gb", Start: 0}, {Profile: "2c.3g.20gb", Start: 0}}
	err := m.ValidateCompute("3g.20gb", set...)
	var no *mig.ComputeConflictError
	require.ErrorAs(t, err, &no)
	assert.Equal(t, mig.LimitPosition, no.Limit)
	assert.Equal(t, "3g.20gb", no.GPUInstance)
	assert.Equal(t, mig.ComputeInstance{Profile: "2c.3g.20gb", Size: 2, Index: 1}, no.A)
	assert.Same(t, m, no.Model)
}

func TestComputeFreeStartsRefuses(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	two, err := m.ComputeProfile("3g.20gb", "2c.3g.20gb")
	require.NoError(t, err)
	for _, c := range []struct {
		gpuInstance string
		beside      []mig.ComputeInstance
		is          error
	}{
		{"3g.40gb", nil, mig.ErrUnknownProfile},
		{"4g.20gb", nil, mig.ErrUnknownProfile}, // offers other compute profiles
		{"3g.20gb", []mig.ComputeInstance{{Profile: "2c.3g.20gb", Start: 1}}, mig.ErrIllegalStart},
		{"3g.20gb", []mig.ComputeInstance{{Profile: "2c.3g.20gb"}, {Profile: "1c.3g.20gb"}}, mig.ErrConflict},
	} {
		free, err := m.ComputeFreeStarts(c.gpuInstance, two, c.beside...)
		require.ErrorIs(t, err, c.is)
		assert.Zero(t, free)
	}
	for _, c := range []struct {
		gpuInstance, name string
		is                error
	}{
		{"3g.40gb", "2c.3g.40gb", mig.ErrUnknownProfile},
		{"3g.20gb", "2c.3g.40gb", mig.ErrUnknownProfile},
		{"3g.20gb", "2c", mig.ErrBadName},
	} {
		p, err := m.ComputeProfile(c.gpuInstance, c.name)
		require.ErrorIs(t, err, c.is)
		assert.Zero(t, p)
	}
}

// TestComputeAgainstAllSets: on every GPU instance profile of every model, what
// is valid, which starts are free and which lists of names can be placed equal
// what the plain enumeration finds.
func TestComputeAgainstAllSets(t *testing.T) {
	t.Parallel()
	forEachModel(t, func(t *testing.T, m *mig.Model) {
		for p := range m.Profiles() {
			rows := slices.Collect(m.ComputeProfiles(p.Name))
			if len(rows) == 0 {
				continue // see TestComputeUnpublished
			}
			sets := computeSets(rows)
			valid, multisets := map[string]bool{}, map[string]bool{}
			for _, set := range sets {
				require.NoError(t, m.ValidateCompute(p.Name, set...), "%s: %s", p.Name, texts(set))
				valid[key(set)], multisets[names(set)] = true, true
			}
			for i, set := range sets {
				if testing.Short() && i%5 != 0 {
					continue
				}
				for _, r := range rows {
					free, err := m.ComputeFreeStarts(p.Name, r, set...)
					require.NoError(t, err)
					for s := range mig.MaxUnits {
						next := append(slices.Clone(set), mig.ComputeInstance{Profile: r.Name, Start: s, Size: r.Size, Index: r.Index})
						require.Equal(t, valid[key(next)], free.Has(s), "%s: %s beside %s", p.Name, next[len(set)], texts(set))
						if r.Starts.Has(s) && !free.Has(s) {
							require.ErrorIs(t, m.ValidateCompute(p.Name, next...), mig.ErrConflict)
						}
					}
				}
			}
			for _, list := range lists(rows, p.ComputeSlices) {
				got, err := m.ComputeLayout(p.Name, list...)
				slices.Sort(list)
				if !multisets[strings.Join(list, " ")] {
					require.ErrorIs(t, err, mig.ErrNoFit, "%s: %s", p.Name, list)
					continue
				}
				if len(list) > 0 {
					require.NoError(t, err, "%s: %s", p.Name, list)
					require.Equal(t, strings.Join(list, " "), names(got))
				}
				require.True(t, valid[key(got)], "%s: %s", p.Name, texts(got))
			}
		}
	})
}

// TestComputeUnpublished: where nobody has published the compute profiles, the
// full size is all that is answered.
func TestComputeUnpublished(t *testing.T) {
	t.Parallel()
	m := lookup(t, "pg506-96gb")
	full := mig.ComputeInstance{Profile: "3g.48gb", Size: 3, Index: mig.NotKnown}
	got, err := m.ComputeLayout("3g.48gb")
	require.NoError(t, err)
	assert.Equal(t, []mig.ComputeInstance{full}, got)
	require.NoError(t, m.ValidateCompute("3g.48gb", full))
	require.ErrorIs(t, m.ValidateCompute("3g.48gb", full, full), mig.ErrConflict)
	list, err := m.Furnish(mig.Demand{"3g.48gb": 1})
	require.NoError(t, err)
	assert.Equal(t, []mig.Furnished{{Profile: "3g.48gb", Compute: []mig.ComputeInstance{full}}}, list)
	_, err = m.ComputeProfile("3g.48gb", "1c.3g.48gb")
	require.ErrorIs(t, err, mig.ErrUnknownProfile)
	require.ErrorContains(t, err, "are not known")
}

// TestComputeLayoutOrder: the order of the names does not matter.
func TestComputeLayoutOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := genModel(t)
		p := genProfile(t, m)
		rows := slices.Collect(m.ComputeProfiles(p.Name))
		if len(rows) == 0 {
			t.Skip("compute profiles unknown")
		}
		var list []string
		for range rapid.IntRange(1, 4).Draw(t, "count") {
			list = append(list, rows[rapid.IntRange(0, len(rows)-1).Draw(t, "row")].Name)
		}
		a, errA := m.ComputeLayout(p.Name, list...)
		b, errB := m.ComputeLayout(p.Name, rapid.Permutation(list).Draw(t, "order")...)
		assert.Equal(t, errA == nil, errB == nil)
		assert.Equal(t, a, b)
	})
}
