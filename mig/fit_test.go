package mig_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
)

// checkFit compares one answer of Fit with the exhaustive one.
func checkFit(t require.TestingT, u *universe, have mig.Layout, want mig.Demand) {
	if h, ok := t.(interface{ Helper() }); ok {
		h.Helper()
	}
	got, err := have.Fit(want)
	best, feasible := u.fit(have, want)
	if feasible {
		if err != nil || got != best { // asked before testify, which is slow
			require.Fail(t, "wrong answer", "%s beside %s: want %s, got %s, %v", want, have, best, got, err)
		}
		return
	}
	var no *mig.FitError
	if !errors.As(err, &no) || got != (mig.Layout{}) || no.Have != have || no.Detail == "" {
		require.Fail(t, "wrong refusal", "%s beside %s: got %s, %v", want, have, got, err)
	}
	if kind := limit(have, want); no.Limit != kind {
		require.Fail(t, "wrong limit", "%s beside %s: want %s, got %v", want, have, kind, err)
	}
}

// TestFitIsExact: on every layout of every geometry, for every demand of plain
// profiles that an empty GPU holds, and for each of those with one instance
// more, Fit gives the answer of a search through all layouts, or the limit that a
// count by the rules gives.
func TestFitIsExact(t *testing.T) {
	t.Parallel()
	forEachShape(t, func(t *testing.T, m *mig.Model) {
		u := newUniverse(m, true)
		var demands []mig.Demand
		seen := map[string]bool{}
		ask := func(d mig.Demand) {
			if key := d.String(); !seen[key] {
				seen[key] = true
				demands = append(demands, d)
			}
		}
		for _, d := range u.demands {
			ask(d)
			for p := range m.PlainProfiles() {
				more := mig.Demand{p.Name: 1}
				for name, n := range d {
					more[name] += n
				}
				ask(more)
			}
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for _, have := range u.layouts {
			for _, want := range demands {
				if !testing.Short() && !underRace || rng.Float64() < 0.1 {
					checkFit(t, u, have, want)
				}
			}
		}
	})
}

// TestFitWithMediaVariants is the same with all profiles, drawn at random.
func TestFitWithMediaVariants(t *testing.T) {
	t.Parallel()
	forEachGeometry(t, func(t *testing.T, m *mig.Model) {
		u := newUniverse(m, false)
		rapid.Check(t, func(t *rapid.T) {
			checkFit(t, u, genLayout(t, m), genDemand(t, m))
		})
	})
}

// TestFitKeepsWhatIsThere: the answer holds every former instance where it was,
// and the demand besides.
func TestFitKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := genModel(t)
		have, want := genLayout(t, m), genDemand(t, m)
		got, err := have.Fit(want)
		if err != nil {
			return
		}
		assert.True(t, holds(got, have))
		total := got.Demand()
		for name, n := range have.Demand() {
			total[name] -= n
		}
		for name, n := range want {
			total[name] -= n
		}
		for name, n := range total {
			assert.Zero(t, n, name)
		}
	})
}

func TestFitLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, model string
		have        []string
		want        mig.Demand
		kind        mig.Limit
		detail      string
	}{
		{"memory before compute", "a100-40gb", nil, mig.Demand{"1g.5gb": 9}, mig.LimitMemory, "9 memory slices needed in all, the GPU has 8"},
		{"compute before count", "a100-40gb", nil, mig.Demand{"1g.5gb": 8}, mig.LimitCompute, "8 compute slices needed in all, the GPU has 7"},
		{"memory with what is there", "a100-40gb", []string{"3g.20gb@4"}, mig.Demand{"3g.20gb": 1, "1g.10gb": 2}, mig.LimitMemory, "12 memory slices needed in all, the GPU has 8"},
		{"count", "a100-40gb", nil, mig.Demand{"1g.5gb+me": 2}, mig.LimitCount, "2 of 1g.5gb+me needed in all, the driver allows 1"},
		{"count with what is there", "a100-40gb", []string{"1g.5gb+me@0"}, mig.Demand{"1g.5gb+me": 1}, mig.LimitCount, "2 of 1g.5gb+me needed in all, the driver allows 1"},
		{"count of 2g", "a100-40gb", nil, mig.Demand{"2g.10gb": 4}, mig.LimitCompute, "8 compute slices needed in all, the GPU has 7"},
		{"media", "a30-24gb", []string{"2g.12gb+me@0"}, mig.Demand{"1g.6gb+me": 1}, mig.LimitMedia, "1g.6gb+me and 2g.12gb+me compete for media engines"},
		{"media of a plain one", "rtx-pro-6000-96gb", []string{"1g.24gb+me.all@0"}, mig.Demand{"1g.24gb": 1}, mig.LimitMedia, "1g.24gb and 1g.24gb+me.all compete for media engines"},
		{"position", "a100-40gb", []string{"1g.5gb@0"}, mig.Demand{"4g.20gb": 1}, mig.LimitPosition, "1 of 4g.20gb wanted, legal starts are free for 0"},
		{"position of all together", "a100-40gb", []string{"1g.5gb@5"}, mig.Demand{"3g.20gb": 1, "2g.10gb": 1}, mig.LimitPosition, "no choice of legal starts holds them all"},
		{"position on an empty GPU", "a100-40gb", nil, mig.Demand{"3g.20gb": 1, "1g.10gb": 2, "1g.5gb": 0, "2g.10gb": 0}, 0, ""},
		{"far too many", "a100-40gb", nil, mig.Demand{"7g.40gb": 1 << 62, "1g.5gb": 1 << 62}, mig.LimitMemory, "75497463 memory slices needed in all, the GPU has 8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := lookup(t, c.model)
			have := layout(t, m, c.have...)
			got, err := have.Fit(c.want)
			if c.kind == 0 {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, mig.ErrNoFit)
			assert.Equal(t, mig.Layout{}, got)
			var no *mig.FitError
			require.ErrorAs(t, err, &no)
			assert.Equal(t, &mig.FitError{Have: have, Want: c.want, Limit: c.kind, Detail: c.detail}, no)
			assert.Contains(t, err.Error(), c.kind.String()+": "+c.detail)
			assert.Contains(t, err.Error(), c.model)
		})
	}
}

func TestFitRefusesBadDemands(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	for _, c := range []struct {
		name string
		have mig.Layout
		want mig.Demand
		is   error
		says string
	}{
		{"unknown profile", m.Empty(), mig.Demand{"1g.6gb": 1}, mig.ErrUnknownProfile, `"1g.6gb"`},
		{"malformed name", m.Empty(), mig.Demand{"0g.0gb": 1}, mig.ErrBadName, `"0g.0gb"`},
		{"unknown profile, wanted zero times", m.Empty(), mig.Demand{"1g.6gb": 0}, mig.ErrUnknownProfile, `"1g.6gb"`},
		{"compute instance", m.Empty(), mig.Demand{"1c.3g.20gb": 1}, mig.ErrUnknownProfile, `"1c.3g.20gb"`},
		{"negative count", m.Empty(), mig.Demand{"3g.20gb": -1}, mig.ErrBadDemand, "3g.20gb=-1"},
		{"bad demand beside a full GPU", layout(t, m, "7g.40gb@0"), mig.Demand{"1g.5gb": 1, "3g.20gb": -1}, mig.ErrBadDemand, "3g.20gb=-1"},
		{"no model", mig.Layout{}, mig.Demand{"1g.5gb": 1}, mig.ErrUnknownModel, "not cut"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := c.have.Fit(c.want)
			require.ErrorIs(t, err, c.is)
			require.NotErrorIs(t, err, mig.ErrNoFit, "a bad question is not a no")
			assert.Contains(t, err.Error(), c.says)
			assert.Equal(t, mig.Layout{}, got)
		})
	}
}

func TestFitOfNothing(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	have := layout(t, m, "2g.10gb@2")
	for _, want := range []mig.Demand{nil, {}, {"1g.5gb": 0}} {
		got, err := have.Fit(want)
		require.NoError(t, err)
		assert.Equal(t, have, got)
	}
}

func TestLimitString(t *testing.T) {
	t.Parallel()
	for l, want := range map[mig.Limit]string{
		0: "none", mig.LimitMemory: "memory", mig.LimitCompute: "compute", mig.LimitCount: "count", mig.LimitMedia: "media",
		mig.LimitPosition: "position", 200: "unknown",
	} {
		assert.Equal(t, want, l.String())
	}
}
