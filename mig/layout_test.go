package mig_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
)

// TestValidateIsPairwise compares Validate with a check of all pairs, the
// second of a pair in order, then the first.
func TestValidateIsPairwise(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := genModel(t)
		list := genInstances(t, m)
		err := m.Validate(list...)
		l, lerr := m.Layout(list...)
		assert.Equal(t, err, lerr)

		var before []placed
		for _, in := range list {
			p, perr := m.Profile(in.Profile)
			require.NoError(t, perr)
			next := placed{p, in.Start}
			if !slices.Contains(slices.Collect(p.Starts.All()), in.Start) {
				require.ErrorIs(t, err, mig.ErrIllegalStart)
				assert.Equal(t, mig.Layout{}, l)
				return
			}
			for _, q := range before {
				if why := conflict(q, next); why != 0 {
					var c *mig.ConflictError
					require.ErrorAs(t, err, &c)
					want := &mig.ConflictError{Model: m, A: mig.Instance{Profile: q.profile.Name, Start: q.start}, B: in, Limit: why}
					assert.Equal(t, want, c)
					assert.Equal(t, mig.Layout{}, l)
					return
				}
			}
			before = append(before, next)
		}
		require.NoError(t, err)
		assert.Equal(t, len(list), l.Len())
		for _, in := range list {
			got, found := l.At(in.Start)
			assert.True(t, found)
			assert.Equal(t, in.Profile, got.Profile)
		}
	})
}

// TestLayoutForgetsOrder: two layouts with the same instances are equal,
// whatever the order of creation.
func TestLayoutForgetsOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := genModel(t)
		set := genPlaced(t, m)
		var first, second mig.Layout
		for _, l := range []*mig.Layout{&first, &second} {
			*l = m.Empty()
			for _, p := range permuted(t, set) {
				var err error
				*l, err = l.With(p.profile, p.start)
				require.NoError(t, err)
			}
		}
		assert.True(t, first == second, "%s and %s", first, second) //nolint:testifylint // equality with == is the promise
		listed, err := m.Layout(slices.Collect(first.Instances())...)
		require.NoError(t, err)
		assert.Equal(t, first, listed)
	})
}

// TestFreeStartsAndRemaining compares with the pairwise rules, for every
// profile on every layout.
func TestFreeStartsAndRemaining(t *testing.T) {
	t.Parallel()
	forEachShape(t, func(t *testing.T, m *mig.Model) {
		for _, l := range newUniverse(m, m.MemorySlices() == 8).layouts {
			set := placedOf(l)
			require.Equal(t, freePairs(l), l.FreePairs(), "%s", l)
			for p := range m.Profiles() {
				var free mig.Mask
				for _, next := range pairs(m, false) {
					if next.profile.Name == p.Name && addable(set, next) {
						free |= mig.MaskOf(next.start)
					}
				}
				require.Equal(t, free, l.FreeStarts(p), "%s beside %s", p.Name, l)
				require.Equal(t, mostOf(set, p, 0), l.Remaining(p), "%s beside %s", p.Name, l)
			}
		}
	})
}

// mostOf returns how many instances of a profile can be added at most, by
// trying all ways.
func mostOf(set []placed, p mig.Profile, from int) int {
	most := 0
	for start := from; start < mig.MaxUnits; start++ {
		if next := (placed{p, start}); addable(set, next) {
			most = max(most, 1+mostOf(append(slices.Clone(set), next), p, start+1))
		}
	}
	return most
}

// TestProfileOfAnotherModel: a layout reads the row of its own model, since a
// name can stand for another size elsewhere.
func TestProfileOfAnotherModel(t *testing.T) {
	t.Parallel()
	a40, a80 := lookup(t, "a100-40gb"), lookup(t, "a100-80gb")
	double, single := profile(t, a40, "1g.10gb"), profile(t, a80, "1g.10gb")
	require.NotEqual(t, double.Size, single.Size)
	assert.Equal(t, 7, a80.Empty().Remaining(double))
	assert.Equal(t, 4, a40.Empty().Remaining(single))
	assert.Equal(t, single.Starts, a80.Empty().FreeStarts(double))
	assert.Zero(t, a80.Empty().Remaining(profile(t, a40, "1g.5gb")))
	assert.Zero(t, a80.Empty().FreeStarts(profile(t, a40, "1g.5gb")))
}

// TestMediaRules: which variants may stand beside one another.
func TestMediaRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model  string
		beside string
		next   string
		why    mig.Limit // 0: allowed
	}{
		{"a100-40gb", "1g.5gb+me", "1g.5gb", 0},
		{"a100-40gb", "1g.5gb", "1g.5gb+me", 0},
		{"a100-40gb", "1g.5gb+me", "1g.5gb+me", mig.LimitCount},
		{"a30-24gb", "1g.6gb+me", "2g.12gb", 0},
		{"a30-24gb", "1g.6gb+me", "2g.12gb+me", mig.LimitMedia},
		{"a30-24gb", "2g.12gb+me", "2g.12gb+me", mig.LimitCount},
		{"rtx-pro-6000-96gb", "1g.24gb+me", "1g.24gb+gfx", 0},
		{"rtx-pro-6000-96gb", "1g.24gb+me", "1g.24gb-me", 0},
		{"rtx-pro-6000-96gb", "1g.24gb+me", "1g.24gb+me.all", mig.LimitMedia},
		{"rtx-pro-6000-96gb", "1g.24gb+me.all", "1g.24gb+me", mig.LimitMedia},
		{"rtx-pro-6000-96gb", "1g.24gb+me.all", "1g.24gb+me.all", mig.LimitCount},
		{"rtx-pro-6000-96gb", "1g.24gb+me.all", "2g.48gb+me.all", mig.LimitMedia},
		{"rtx-pro-6000-96gb", "1g.24gb+me.all", "1g.24gb", mig.LimitMedia},
		{"rtx-pro-6000-96gb", "1g.24gb", "2g.48gb+me.all", mig.LimitMedia},
		{"rtx-pro-6000-96gb", "2g.48gb+me.all", "2g.48gb+gfx", mig.LimitMedia},
		{"rtx-pro-6000-96gb", "2g.48gb+me.all", "1g.24gb-me", 0},
		{"rtx-pro-6000-96gb", "1g.24gb-me", "2g.48gb+me.all", 0},
		{"rtx-pro-6000-96gb", "2g.48gb-me", "2g.48gb-me", 0},
		{"rtx-pro-6000-96gb", "2g.48gb+gfx", "1g.24gb", 0},
	} {
		t.Run(c.beside+" then "+c.next, func(t *testing.T) {
			t.Parallel()
			m := lookup(t, c.model)
			p := profile(t, m, c.next)
			first := mig.Instance{Profile: c.beside}
			second := mig.Instance{Profile: c.next, Start: slices.Max(slices.Collect(p.Starts.All()))}
			l := layout(t, m, first.String())
			with, err := l.With(p, second.Start)
			if c.why == 0 {
				require.NoError(t, err)
				assert.True(t, l.FreeStarts(p).Has(second.Start))
				assert.Equal(t, 2, with.Len())
				return
			}
			var conflict *mig.ConflictError
			require.ErrorAs(t, err, &conflict)
			assert.Equal(t, c.why, conflict.Limit)
			assert.Contains(t, err.Error(), first.String())
			assert.Contains(t, err.Error(), second.String())
			assert.Equal(t, l, with, "nothing changed")
			assert.Zero(t, l.FreeStarts(p))
			assert.Zero(t, l.Remaining(p))
		})
	}
}

func TestLayoutRefusals(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	for _, c := range []struct {
		name      string
		instances []mig.Instance
		is        error
		says      []string
	}{
		{"unknown profile", []mig.Instance{{Profile: "1g.6gb"}}, mig.ErrUnknownProfile, []string{`"1g.6gb"`, "a100-40gb", "1g.5gb, 1g.5gb+me, 1g.10gb"}},
		{"malformed name", []mig.Instance{{Profile: "1g"}}, mig.ErrBadName, []string{`"1g"`}},
		{"illegal start", []mig.Instance{{Profile: "3g.20gb", Start: 2}}, mig.ErrIllegalStart, []string{"3g.20gb", "at 2", "0, 4"}},
		{"negative start", []mig.Instance{{Profile: "3g.20gb", Start: -4}}, mig.ErrIllegalStart, []string{"at -4"}},
		{"far start", []mig.Instance{{Profile: "3g.20gb", Start: 1 << 40}}, mig.ErrIllegalStart, []string{"at 1099511627776"}},
		{"wrong size", []mig.Instance{{Profile: "3g.20gb", Start: 4, Size: 3}}, mig.ErrBadInstance, []string{"3g.20gb@4", "size 4, not 3"}},
		{"negative size", []mig.Instance{{Profile: "3g.20gb", Start: 4, Size: -1}}, mig.ErrBadInstance, []string{"not -1"}},
		{
			"first conflicting pair",
			[]mig.Instance{{Profile: "1g.5gb", Start: 0}, {Profile: "1g.5gb", Start: 4}, {Profile: "3g.20gb", Start: 4}, {Profile: "4g.20gb", Start: 0}},
			mig.ErrConflict,
			[]string{"1g.5gb@4 and 3g.20gb@4 overlap"},
		},
		{
			"first of two in the way",
			[]mig.Instance{{Profile: "1g.5gb", Start: 6}, {Profile: "1g.5gb", Start: 4}, {Profile: "3g.20gb", Start: 4}},
			mig.ErrConflict,
			[]string{"1g.5gb@6 and 3g.20gb@4 overlap"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := m.Validate(c.instances...)
			require.ErrorIs(t, err, c.is)
			for _, s := range c.says {
				assert.Contains(t, err.Error(), s)
			}
			l, err := m.Layout(c.instances...)
			require.ErrorIs(t, err, c.is)
			assert.Equal(t, mig.Layout{}, l)
		})
	}
}

func TestWithoutRefuses(t *testing.T) {
	t.Parallel()
	l := layout(t, lookup(t, "a100-40gb"), "2g.10gb@2")
	for _, start := range []int{-1, 0, 3, 15, 16, 1 << 40} {
		got, err := l.Without(start)
		require.ErrorIs(t, err, mig.ErrNoInstance)
		assert.Contains(t, err.Error(), "2g.10gb@2")
		assert.Equal(t, l, got, "nothing changed")
	}
}

func TestZeroLayout(t *testing.T) {
	t.Parallel()
	var l mig.Layout
	p := profile(t, lookup(t, "a30-24gb"), "1g.6gb")
	assert.Equal(t, "not cut", l.String())
	assert.Nil(t, l.Model())
	assert.Zero(t, l.Len())
	assert.Zero(t, l.Used())
	assert.Zero(t, l.FreeStarts(p))
	assert.Zero(t, l.FreePairs())
	assert.Zero(t, l.Remaining(p))
	assert.Empty(t, l.Demand())
	assert.Empty(t, slices.Collect(l.Instances()))
	_, err := l.With(p, 0)
	require.ErrorIs(t, err, mig.ErrUnknownModel)
	_, err = l.Without(0)
	assert.ErrorIs(t, err, mig.ErrNoInstance)
}

func TestLayoutString(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	assert.Equal(t, "empty", m.Empty().String())
	l := layout(t, m, "3g.20gb@4", "1g.5gb+me@2", "2g.10gb@0")
	assert.Equal(t, "2g.10gb@0 1g.5gb+me@2 3g.20gb@4", l.String())
	assert.Equal(t, mig.MaskOf(0, 1, 2, 4, 5, 6, 7), l.Used())
	assert.Equal(t, mig.Demand{"3g.20gb": 1, "1g.5gb+me": 1, "2g.10gb": 1}, l.Demand())
	for range l.Instances() { // a loop may stop early
		break
	}
}

// TestLayoutFromAnything: whatever the instances, the answer is a layout or an
// error that a caller can tell apart, never both and never a panic.
func TestLayoutFromAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := genModel(t)
		list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) mig.Instance {
			return mig.Instance{
				Profile: rapid.OneOf(rapid.SampledFrom([]string{"1g.5gb", "2g.48gb-me", "1c.1g.5gb", ""}), rapid.String()).Draw(t, "profile"),
				Start:   rapid.OneOf(rapid.IntRange(-2, 17), rapid.Int()).Draw(t, "start"),
				Size:    rapid.OneOf(rapid.IntRange(-1, 8), rapid.Int()).Draw(t, "size"),
			}
		}), 0, 4).Draw(t, "instances")
		l, err := m.Layout(list...)
		if err == nil {
			assert.Equal(t, len(list), l.Len())
			return
		}
		assert.Equal(t, mig.Layout{}, l)
		known := []error{mig.ErrUnknownProfile, mig.ErrBadName, mig.ErrBadInstance, mig.ErrIllegalStart, mig.ErrConflict}
		assert.True(t, slices.ContainsFunc(known, func(e error) bool { return errors.Is(err, e) }), "%v", err)
	})
}
