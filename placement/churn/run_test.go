package churn_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/churn"
)

func newTrace(t require.TestingT, cfg churn.Config) *churn.Trace {
	trace, err := churn.NewTrace(cfg)
	require.NoError(t, err)
	return trace
}

func run(t require.TestingT, trace *churn.Trace, p placement.Policy) churn.Result {
	r, err := trace.Run(p)
	require.NoError(t, err)
	return r
}

// rules returns the policies that are tried, by name.
func rules(t require.TestingT, mix fragmentation.Mix, models ...*mig.Model) map[string]placement.Policy {
	v, err := fragmentation.NewMIGFGD(mix)
	require.NoError(t, err)
	fgd, err := placement.ByValue(v, 1, placement.SmallestFirst)
	require.NoError(t, err)
	used, err := placement.UsedFirst(v, 1, placement.SmallestFirst)
	require.NoError(t, err)
	var indexes []*fragmentation.Index
	for _, m := range models {
		indexes = append(indexes, index(t, m, mix, fragmentation.IndexParams{Gamma: 1.5, Alpha: 1}))
	}
	values, err := placement.ByIndex(indexes...)
	require.NoError(t, err)
	return map[string]placement.Policy{
		"first fit":  placement.FirstFit(),
		"best fit":   placement.BestFit(placement.Largest{GPU: fragmentation.Whole}),
		"worst fit":  placement.WorstFit(placement.Largest{GPU: fragmentation.Whole}),
		"MIG-FGD":    fgd,
		"used first": used,
		"index":      values,
	}
}

func index(t require.TestingT, m *mig.Model, mix fragmentation.Mix, params fragmentation.IndexParams) *fragmentation.Index {
	s, err := fragmentation.NewStates(m)
	require.NoError(t, err)
	x, err := fragmentation.NewIndex(s, mix, params)
	require.NoError(t, err)
	return x
}

// naive plays a trace over a cluster of nodes of one GPU, with the books of the
// library and the policy asked about every node.
func naive(t require.TestingT, cfg churn.Config, trace *churn.Trace, p placement.Policy) churn.Result {
	var specs []placement.NodeSpec
	for _, g := range cfg.Fleet {
		for range g.GPUs {
			specs = append(specs, placement.NodeSpec{
				Name: fmt.Sprintf("n%d", len(specs)), Model: g.Model.Key(),
				GPUs: []placement.GPUSpec{{MIG: g.Model}},
			})
		}
	}
	c, err := placement.NewCluster(specs)
	require.NoError(t, err)
	type leaving struct {
		at float64
		id string
	}
	var due []leaving
	var result churn.Result
	for a := range trace.Arrivals() {
		for len(due) > 0 && due[0].at <= a.At {
			require.True(t, c.Release(due[0].id))
			due = due[1:]
		}
		job := placement.Task{ID: fmt.Sprint(a.At), Shape: a.Shape}
		n, choice := c.Choose(p, &job)
		if n != nil {
			require.NoError(t, c.Place(n.Name(), placement.Assignment{Task: job, Spot: choice.Spot}))
			due = append(due, leaving{a.At + a.Lifetime, job.ID})
			slices.SortFunc(due, func(a, b leaving) int { return cmp.Compare(a.at, b.at) })
		}
		if !a.Measured {
			continue
		}
		profile, err := n1(cfg, a.Shape.Profile)
		require.NoError(t, err)
		result.Requests.Offered++
		result.Slices.Offered += profile.ComputeSlices
		if n == nil {
			result.Requests.Rejected++
			result.Slices.Rejected += profile.ComputeSlices
		}
	}
	return result
}

// n1 returns a profile of that name from any model of the fleet.
func n1(cfg churn.Config, name string) (mig.Profile, error) {
	var err error
	for _, g := range cfg.Fleet {
		var p mig.Profile
		if p, err = g.Model.Profile(name); err == nil {
			return p, nil
		}
	}
	return mig.Profile{}, err
}

// The tables decide as the policies do on the books of the library.
func TestRunAgreesWithCluster(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SampledFrom([][]string{
			{"a30-24gb"}, {"a100-40gb"}, {"a100-40gb", "a100-80gb"}, {"h100-94gb", "rtx-pro-6000-96gb"},
		}).Draw(t, "models")
		cfg := churn.Config{
			Load: rapid.Float64Range(0.5, 2).Draw(t, "load"), Heavy: rapid.Bool().Draw(t, "heavy"),
			WarmUp: 1, Arrivals: 150, Seed: rapid.Uint64().Draw(t, "seed"),
		}
		var models []*mig.Model
		for _, key := range keys {
			m, err := mig.Lookup(key)
			require.NoError(t, err)
			models = append(models, m)
			cfg.Fleet = append(cfg.Fleet, churn.Group{Model: m, GPUs: rapid.IntRange(1, 4).Draw(t, key)})
			asked := false
			for p := range m.PlainProfiles() {
				if n := rapid.Int64Range(0, 4).Draw(t, p.Name); n > 0 || !asked {
					asked = true
					cfg.Mix = append(cfg.Mix, fragmentation.Entry{Shape: fragmentation.Shape{GPUs: 1, Profile: p.Name}, Count: n + 1})
				}
			}
		}
		if rapid.Bool().Draw(t, "drift") {
			cfg.Then, cfg.Phase = []fragmentation.Mix{cfg.Mix[:1]}, 2
		}
		trace := newTrace(t, cfg)
		all := rules(t, cfg.Mix, models...)
		name := rapid.SampledFrom([]string{"first fit", "best fit", "worst fit", "MIG-FGD", "used first", "index"}).Draw(t, "rule")
		got := run(t, trace, all[name])
		want := naive(t, cfg, trace, all[name])
		got.ByProfile = nil
		assert.Equal(t, want, got)
	})
}

// A trace is a function of its Config; what is offered is what the load says.
func TestTraceOffersTheLoad(t *testing.T) {
	t.Parallel()
	for _, heavy := range []bool{false, true} {
		a100 := model(t, "a100-40gb")
		cfg := churn.Config{
			Fleet: []churn.Group{{Model: a100, GPUs: 64}}, Mix: eight[0].of(t, a100), Load: 0.9, Heavy: heavy,
			WarmUp: 3, Arrivals: 40_000, Seed: 7,
		}
		trace, again := newTrace(t, cfg), newTrace(t, cfg)
		assert.Equal(t, slices.Collect(trace.Arrivals()), slices.Collect(again.Arrivals()))
		work, from, last := 0.0, -1.0, 0.0
		measured := 0
		for a := range trace.Arrivals() {
			require.GreaterOrEqual(t, a.At, last)
			last = a.At
			if from < 0 {
				from = a.At
			}
			if a.Measured {
				measured++
				require.GreaterOrEqual(t, a.At, cfg.WarmUp)
			}
			p, err := a100.Profile(a.Shape.Profile)
			require.NoError(t, err)
			work += float64(p.ComputeSlices) / 7 * a.Lifetime
		}
		assert.Equal(t, cfg.Arrivals, measured)
		assert.InDelta(t, 0.9*0.984, work/(last-from)/64, 0.03, "compute is 1.6 %% less than memory in this mix")
	}
}

func TestDriftAlternates(t *testing.T) {
	t.Parallel()
	a30 := model(t, "a30-24gb")
	one := func(profile string) fragmentation.Mix {
		return fragmentation.Mix{{Shape: fragmentation.Shape{GPUs: 1, Profile: profile}, Count: 1}}
	}
	trace := newTrace(t, churn.Config{
		Fleet: []churn.Group{{Model: a30, GPUs: 8}}, Mix: one("1g.6gb"), Then: []fragmentation.Mix{one("2g.12gb"), one("4g.24gb")},
		Phase: 2, Load: 1, Arrivals: 1000,
	})
	for a := range trace.Arrivals() {
		// The mix is that of the moment when the gap before the arrival began.
		phase := int(a.At/2) % 3
		names := []string{"1g.6gb", "2g.12gb", "4g.24gb"}
		require.Contains(t, []string{names[phase], names[(phase+2)%3]}, a.Shape.Profile)
	}
}

// A learner sees every arrival before it is decided.
func TestRunWithLearner(t *testing.T) {
	t.Parallel()
	a100 := model(t, "a100-40gb")
	trace := newTrace(t, churn.Config{
		Fleet: []churn.Group{{Model: a100, GPUs: 8}}, Mix: eight[2].of(t, a100), Load: 1, WarmUp: 6, Arrivals: 3000, Seed: 1,
	})
	l, err := placement.NewIndexLearner([]*mig.Model{a100}, fragmentation.DefaultIndex(), 0)
	require.NoError(t, err)
	seen := 0
	r, err := trace.RunWith(func(job *placement.Task) placement.Policy {
		seen++
		if l.Observe(job) || seen == 1 {
			return l.Policy()
		}
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, 3000, r.Requests.Offered)
	assert.Greater(t, seen, 3000)
	assert.Less(t, r.Requests.Rejected, run(t, trace, placement.FirstFit()).Requests.Rejected)

	_, err = trace.RunWith(func(*placement.Task) placement.Policy { return nil })
	require.ErrorIs(t, err, churn.ErrBadConfig)
	_, err = trace.RunWith(nil)
	require.ErrorIs(t, err, churn.ErrBadConfig)
	_, err = trace.Run(nil)
	require.ErrorIs(t, err, churn.ErrBadConfig)
}

// always answers with one start, free or not.
type always int

func (a always) Choose(*placement.Node, *placement.Task) placement.Choice {
	return placement.Choice{Spot: placement.Spot{GPUs: placement.GPUs(0), Start: int(a)}}
}

// A policy of the caller's that answers with what is taken is refused by name.
func TestRunRefusesStartsThatAreTaken(t *testing.T) {
	t.Parallel()
	a30 := model(t, "a30-24gb")
	trace := newTrace(t, churn.Config{Fleet: []churn.Group{{Model: a30, GPUs: 2}}, Mix: four[0].of(t, a30), Load: 1, Arrivals: 10})
	for _, start := range []int{0, -1, 1, 1 << 40} {
		_, err := trace.Run(always(start))
		require.ErrorIs(t, err, churn.ErrBadConfig)
		require.ErrorContains(t, err, "not free")
	}
}

// Which models of GPU a request accepts plays no part.
func TestModelsPlayNoPart(t *testing.T) {
	t.Parallel()
	a30 := model(t, "a30-24gb")
	cfg := churn.Config{Fleet: []churn.Group{{Model: a30, GPUs: 4}}, Mix: four[0].of(t, a30), Load: 1, Arrivals: 500}
	want := run(t, newTrace(t, cfg), placement.FirstFit())
	cfg.Mix = slices.Clone(cfg.Mix)
	cfg.Mix[0].Shape.Models = "A30"
	assert.Equal(t, want, run(t, newTrace(t, cfg), placement.FirstFit()))
}

func TestNewTraceRefuses(t *testing.T) {
	t.Parallel()
	a30 := model(t, "a30-24gb")
	good := churn.Config{Fleet: []churn.Group{{Model: a30, GPUs: 1}}, Mix: four[0].of(t, a30), Load: 1, Arrivals: 1}
	_, err := churn.NewTrace(good)
	require.NoError(t, err)
	nan := func() float64 { zero := 0.0; return zero / zero }()
	for name, spoil := range map[string]func(*churn.Config){
		"no fleet":        func(c *churn.Config) { c.Fleet = nil },
		"no GPUs":         func(c *churn.Config) { c.Fleet = []churn.Group{{Model: a30}} },
		"load 0":          func(c *churn.Config) { c.Load = 0 },
		"load NaN":        func(c *churn.Config) { c.Load = nan },
		"next to no load": func(c *churn.Config) { c.Load = 1e-300 },
		"a short phase":   func(c *churn.Config) { c.Then, c.Phase = []fragmentation.Mix{c.Mix, c.Mix}, 1e-20 },
		"a vast warm-up": func(c *churn.Config) {
			c.Fleet, c.WarmUp = []churn.Group{{Model: a30, GPUs: 1 << 20}}, 1e6
		},
		"warm-up below 0": func(c *churn.Config) { c.WarmUp = -1 },
		"no arrivals":     func(c *churn.Config) { c.Arrivals = 0 },
		"no phase":        func(c *churn.Config) { c.Then = []fragmentation.Mix{c.Mix} },
		"a variant": func(c *churn.Config) {
			c.Mix = fragmentation.Mix{{Shape: fragmentation.Shape{GPUs: 1, Profile: "1g.6gb+me"}, Count: 1}}
		},
	} {
		bad := good
		spoil(&bad)
		_, err := churn.NewTrace(bad)
		require.ErrorIs(t, err, churn.ErrBadConfig, name)
	}
	bad := good
	bad.Mix = nil
	_, err = churn.NewTrace(bad)
	require.ErrorIs(t, err, fragmentation.ErrEmptyMix)
	bad.Mix = fragmentation.Mix{{Shape: fragmentation.Shape{GPUs: 1, Profile: "7g.40gb"}, Count: 1}}
	_, err = churn.NewTrace(bad)
	require.ErrorIs(t, err, mig.ErrUnknownProfile)
	bad = good
	bad.Fleet = []churn.Group{{GPUs: 1}}
	_, err = churn.NewTrace(bad)
	require.ErrorIs(t, err, mig.ErrUnknownModel)
}
