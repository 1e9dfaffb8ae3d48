package mig_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
)

// Reports that people filed in public against tools that cut GPUs, with the
// right answers. The numbers are those of the collection.

// TestCasesFit: demands that other tools refused, or accepted and could not
// carry out.
func TestCasesFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		model string
		have  string
		want  mig.Demand
		all   []string // every layout that is right; none: it does not fit
		why   mig.Limit
	}{
		{
			"01 smaller ones created first leave no room for 3g", "a100-40gb", "",
			mig.Demand{"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 2},
			[]string{"1g.5gb@0 1g.5gb@1 2g.10gb@2 3g.20gb@4", "2g.10gb@0 1g.5gb@2 1g.5gb@3 3g.20gb@4"},
			0,
		},
		{
			"02 seven compute slices of seven, memory full", "a100-40gb", "",
			mig.Demand{"1g.10gb": 4, "1g.5gb": 3},
			nil, mig.LimitMemory,
		},
		{
			"02 no 1g beside four of double memory", "a100-40gb", "1g.10gb@0 1g.10gb@2 1g.10gb@4 1g.10gb@6",
			mig.Demand{"1g.5gb": 1},
			nil, mig.LimitMemory,
		},
		{
			"02 two 1g beside three of double memory", "a100-40gb", "",
			mig.Demand{"1g.10gb": 3, "1g.5gb": 2},
			[]string{
				"1g.5gb@0 1g.5gb@1 1g.10gb@2 1g.10gb@4 1g.10gb@6", "1g.10gb@0 1g.5gb@2 1g.5gb@3 1g.10gb@4 1g.10gb@6",
				"1g.10gb@0 1g.10gb@2 1g.5gb@4 1g.5gb@5 1g.10gb@6",
			},
			0,
		},
		{
			"03 first fit puts 3g where only 4g can go", "a100-40gb", "",
			mig.Demand{"3g.20gb": 1, "4g.20gb": 1},
			[]string{"4g.20gb@0 3g.20gb@4"},
			0,
		},
		{
			"07 slice 6 is for the 1g", "a100-40gb", "",
			mig.Demand{"2g.10gb": 3, "1g.5gb": 1},
			[]string{"2g.10gb@0 2g.10gb@2 2g.10gb@4 1g.5gb@6"},
			0,
		},
		{
			"07 a 1g below 6 makes three 2g impossible", "a100-40gb", "1g.5gb@3",
			mig.Demand{"2g.10gb": 3},
			nil, mig.LimitPosition,
		},
		{
			"09 a placement may end at the last slice", "a100-40gb", "",
			mig.Demand{"3g.20gb": 2},
			[]string{"3g.20gb@0 3g.20gb@4"},
			0,
		},
		{"09 the whole GPU", "a100-40gb", "", mig.Demand{"7g.40gb": 1}, []string{"7g.40gb@0"}, 0},
		{
			"12 the profile that a table forgot", "b200-180gb", "",
			mig.Demand{"4g.90gb": 1, "3g.90gb": 1},
			[]string{"4g.90gb@0 3g.90gb@4"},
			0,
		},
		{"12 alone", "b200-180gb", "", mig.Demand{"4g.90gb": 1}, []string{"4g.90gb@0"}, 0},
		{
			"24 four on an A30", "a30-24gb", "",
			mig.Demand{"1g.6gb": 4},
			[]string{"1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb@3"},
			0,
		},
		{
			"111 a search with a budget says no", "a100-40gb", "1g.5gb@3",
			mig.Demand{"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 1},
			[]string{"2g.10gb@0 1g.5gb@2 1g.5gb@3 3g.20gb@4"},
			0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := lookup(t, c.model)
			have := layout(t, m, strings.Fields(c.have)...)
			got, err := have.Fit(c.want)
			if c.all == nil {
				var no *mig.FitError
				require.ErrorAs(t, err, &no)
				assert.Equal(t, c.why, no.Limit)
				return
			}
			require.NoError(t, err)
			assert.Contains(t, c.all, got.String())

			// The right answers are all there are.
			total := have.Demand()
			for name, n := range c.want {
				total[name] += n
			}
			var all []string
			for _, l := range newUniverse(m, true).byDemand[total.String()] {
				if holds(l, have) {
					all = append(all, l.String())
				}
			}
			assert.ElementsMatch(t, c.all, all)
		})
	}
}

// TestCasesLayouts: layouts that a wrong table lets pass or keeps out.
func TestCasesLayouts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, model, layout string
		is                  error // nil: valid
	}{
		{"09 two 3g", "a100-40gb", "3g.20gb@0 3g.20gb@4", nil},
		{"09 the whole", "a100-40gb", "7g.40gb@0", nil},
		{"09 four of double memory", "a100-40gb", "1g.10gb@0 1g.10gb@2 1g.10gb@4 1g.10gb@6", nil},
		{"09 beyond the end", "a100-40gb", "1g.10gb@7", mig.ErrIllegalStart},
		{"10 double memory takes two slices", "h100-80gb-sxm5", "1g.20gb@1", mig.ErrIllegalStart},
		{"10 3g takes four slices", "h100-80gb-sxm5", "3g.40gb@0 1g.10gb@3", mig.ErrConflict},
		{"10 as on hardware", "h100-80gb-sxm5", "3g.40gb@4 2g.20gb@0 1g.10gb@2 1g.10gb@3", nil},
		{"10 double memory takes two slices", "h200-141gb", "1g.35gb@1", mig.ErrIllegalStart},
		{"10 3g takes four slices", "h200-141gb", "3g.71gb@0 1g.18gb@3", mig.ErrConflict},
		{"10 double memory takes two slices", "b200-180gb", "1g.45gb@1", mig.ErrIllegalStart},
		{"10 3g takes four slices", "b200-180gb", "3g.90gb@0 1g.23gb@3", mig.ErrConflict},
		{"23 a profile of the 40 GB card", "a100-80gb", "2g.10gb@0 2g.10gb@2 2g.10gb@4", mig.ErrUnknownProfile},
		{"23 1g.10gb is another size there", "a100-80gb", "1g.10gb@1", nil},
		{"23 than here", "a100-40gb", "1g.10gb@1", mig.ErrIllegalStart},
	} {
		t.Run(c.name+" "+c.model, func(t *testing.T) {
			t.Parallel()
			err := lookup(t, c.model).Validate(parse(t, strings.Fields(c.layout)...)...)
			if c.is == nil {
				assert.NoError(t, err)
			} else {
				assert.ErrorIs(t, err, c.is)
			}
		})
	}
}

// TestCase08: a request in MiB is compared with what the instance really has,
// not with the number in its name.
func TestCase08SmallestProfileForMemory(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	for request, want := range map[int][]string{
		8000:  {"1g.10gb", "2g.10gb"},
		20000: {"7g.40gb"}, // 3g.20gb has 19968
		4864:  {"1g.5gb"},
		4865:  {"1g.10gb", "2g.10gb"},
		40193: nil,
	} {
		var got []string
		least := 0
		for p := range m.PlainProfiles() {
			switch {
			case p.MemoryMiB < request || least != 0 && p.MemoryMiB > least:
			case p.MemoryMiB == least:
				got = append(got, p.Name)
			default:
				least, got = p.MemoryMiB, []string{p.Name}
			}
		}
		assert.Equal(t, want, got, "%d MiB", request)
	}
}

// TestCase15: a name is matched as a whole; four profiles that begin alike stay
// four.
func TestCase15NamesAreMatchedWhole(t *testing.T) {
	t.Parallel()
	m := lookup(t, "rtx-pro-6000-96gb")
	ids := map[int]string{}
	for _, name := range []string{"1g.24gb", "1g.24gb-me", "1g.24gb+me", "1g.24gb+me.all", "1g.24gb+gfx"} {
		p := profile(t, m, name)
		assert.Equal(t, name, p.Name)
		assert.Empty(t, ids[p.ID])
		ids[p.ID] = name
	}
	for _, name := range []string{"x1g.24gb", "1g.24g", "1g.24gb+me.al", "g.24gb", "1g.24gb+", "1g.*", "*gb"} {
		_, err := m.Profile(name)
		require.Error(t, err, name)
	}
	_, err := m.Empty().Fit(mig.Demand{"1g.24gb": 2, "1g.24gb-me": 1, "1g.24gb+gfx": 1})
	require.NoError(t, err)
}

// TestCase16: well-formed is one question, offered by the GPU another. This
// package is stricter than a grammar: a name that no driver can print, such as
// 0g.0gb or one with an unknown attribute, is malformed too.
func TestCase16SyntaxAndExistence(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	for name, is := range map[string]error{
		"1g.5gb":             nil,
		"1c.1g.5gb":          nil,
		"1g.5gb+me":          nil,
		"1g.5gb-me":          mig.ErrUnknownProfile, // well formed, not on this GPU
		"1g.5gb+me.all":      mig.ErrUnknownProfile,
		"1g.5gb+gfx":         mig.ErrUnknownProfile,
		"":                   mig.ErrBadName,
		" 1c.1g.5gb":         mig.ErrBadName,
		"1g.5gb ":            mig.ErrBadName,
		"1c.f1g.5gb":         mig.ErrBadName,
		"1r.1g.5gb":          mig.ErrBadName,
		"1g.5":               mig.ErrBadName,
		"g.5gb":              mig.ErrBadName,
		"1g.gb":              mig.ErrBadName,
		"1g.5gb+me,me":       mig.ErrBadName,
		"1g.5gb+me,you,them": mig.ErrBadName, // a grammar alone would take it
		"0g.0gb":             mig.ErrBadName, // and this
	} {
		p, err := m.Profile(name)
		require.ErrorIs(t, err, is, "%q", name)
		if is != nil {
			assert.Zero(t, p, name)
			_, nameErr := mig.ParseName(name)
			assert.Equal(t, is == mig.ErrBadName, nameErr != nil, "%q", name) //nolint:errorlint // which row it is
		}
	}
	n, err := mig.ParseName("1c.1g.5gb")
	require.NoError(t, err)
	assert.Equal(t, "1g.5gb", n.String(), "one device, one text")
}

// TestCasesNamesFromMemory: the driver's rounding, with what other tools made
// of it.
func TestCasesNamesFromMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                    string
		slices, instance, total int
		want, wrong             string
	}{
		{"17 A100 80GB whole", 7, 80896, 81920, "7g.80gb", "7g.79gb"},
		{"21 GB200 board of 186 GiB, 1g", 1, 22 * 1024, 189471, "1g.23gb", "1g.24gb"},
		{"21 GB200 board of 186 GiB, 2g", 2, 44 * 1024, 189471, "2g.47gb", ""},
		{"21 GB200 board of 189 GiB, 1g", 1, 20 * 1024, 193000, "1g.24gb", "1g.23gb"},
		{"21 GB200 board of 189 GiB, 2g", 2, 40 * 1024, 193000, "2g.47gb", ""},
		{"22 B200, 22.00 GiB", 1, 22528, 183359, "1g.23gb", ""},
		{"22 B200, 20.50 GiB", 1, 20992, 183359, "1g.23gb", "1g.21gb"},
		{"22 B200 2g, 44.25 GiB", 2, 45312, 183359, "2g.45gb", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := mig.Name{ComputeSlices: c.slices, GPUSlices: c.slices, MemoryGB: mig.MemoryGB(c.instance, c.total)}
			assert.Equal(t, c.want, n.String())
			assert.NotEqual(t, c.wrong, n.String())
		})
	}
}

// TestCase23: a profile of another model is refused with its name, the model,
// and the names that exist.
func TestCase23ProfileOfAnotherModel(t *testing.T) {
	t.Parallel()
	_, err := lookup(t, "a100-80gb").Empty().Fit(mig.Demand{"2g.10gb": 3})
	require.ErrorIs(t, err, mig.ErrUnknownProfile)
	for _, s := range []string{`"2g.10gb"`, "a100-80gb", "1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"} {
		assert.ErrorContains(t, err, s)
	}
}

// TestCase32: an entry with count 0 is the same as no entry.
func TestCase32ZeroCount(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	with, without := mig.Demand{"1g.5gb": 7, "2g.10gb": 0}, mig.Demand{"1g.5gb": 7}
	assert.Equal(t, without.String(), with.String())
	a, err := m.Empty().Fit(with)
	require.NoError(t, err)
	b, err := m.Empty().Fit(without)
	require.NoError(t, err)
	assert.Equal(t, a, b)
}

// TestCase45: a profile may have more placements than instances.
func TestCase45PlacementsAndInstances(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	media := profile(t, m, "1g.5gb+me")
	assert.Equal(t, mig.MaskOf(0, 1, 2, 3, 4, 5, 6), media.Starts)
	assert.Equal(t, 1, media.MaxInstances)
	assert.Equal(t, 1, m.Empty().Remaining(media))
	whole := profile(t, m, "7g.40gb")
	assert.Equal(t, mig.MaskOf(0), whole.Starts)
	assert.Equal(t, 8, whole.Size)
}

// TestCase48: the whole GPU is offered once, with compute profile 4.
func TestCase48WholeGPUOnce(t *testing.T) {
	t.Parallel()
	var indices []int
	for c := range lookup(t, "a100-40gb").ComputeProfiles("7g.40gb") {
		if c.Name == "7g.40gb" {
			indices = append(indices, c.Index)
		}
	}
	assert.Equal(t, []int{4}, indices)
}
