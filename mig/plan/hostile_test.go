package plan_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// TestValuesByHand: states and plans are plain data, so they can hold anything.
// Nothing panics on it, and Check refuses it.
func TestValuesByHand(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	from := state(t, m, "3g.20gb@0[1c.3g.20gb@0 1c.3g.20gb@1]")
	fresh := func() plan.Plan {
		p, err := plan.Repartition(from, mig.Demand{"7g.40gb": 1})
		require.NoError(t, err)
		require.Equal(t, "destroy 3g.20gb@0, create 7g.40gb@0", p.String())
		return p
	}
	for _, c := range []struct {
		name   string
		change func(*plan.Plan)
	}{
		{"nothing", func(p *plan.Plan) { *p = plan.Plan{} }},
		{"a start below zero", func(p *plan.Plan) { p.Steps[0].Start = -4 }},
		{"a creation below zero", func(p *plan.Plan) { p.Steps[1].Start = math.MinInt }},
		{"a size below zero", func(p *plan.Plan) { p.Steps[0].Size = -1 }},
		{"a creation with a size below zero", func(p *plan.Plan) { p.Steps[1].Size = math.MinInt }},
		{"a huge size", func(p *plan.Plan) { p.Steps[0].Size = math.MaxInt }},
		{"a huge start", func(p *plan.Plan) { p.Steps[1].Start = math.MaxInt }},
		{"a huge start in the goal", func(p *plan.Plan) { p.Goal[0].Start = math.MaxInt }},
		{"no names", func(p *plan.Plan) { p.Steps[0].Profile, p.Steps[1].Profile = "", "" }},
		{"an unknown operation", func(p *plan.Plan) { p.Steps[0].Op = "" }},
		{"kept with too many UUIDs", func(p *plan.Plan) {
			p.Kept = append(p.Kept, from.Instances[0])
			p.Kept[0].UUIDs = []string{"MIG-1"}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := fresh()
			c.change(&p)
			require.Error(t, p.Check(from))
			assert.NotEmpty(t, p.Explain())
			assert.NotEmpty(t, p.String())
			plan.DefaultCosts().Of(p)
		})
	}
}

// TestStatesByHand: the same of states.
func TestStatesByHand(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	for _, c := range []struct {
		name   string
		change func(*plan.State)
		error  error
		says   string
	}{
		{"nothing", func(s *plan.State) { *s = plan.State{} }, mig.ErrUnknownModel, "without model"},
		{"a model of nothing", func(s *plan.State) { s.Model = &mig.Model{} }, mig.ErrUnknownGeometry, ""},
		{"a start below zero", func(s *plan.State) { s.Instances[0].Start = -1 }, mig.ErrIllegalStart, "-1"},
		{"a size below zero", func(s *plan.State) { s.Instances[0].Size = -1 }, mig.ErrBadInstance, "3g.20gb"},
		{"too few UUIDs", func(s *plan.State) { s.Instances[0].UUIDs = []string{"MIG-1"} }, mig.ErrBadInstance, "3g.20gb@0: 1 UUIDs for 2 compute instances"},
		{"UUIDs of one of full size", func(s *plan.State) {
			s.Instances[0].Compute, s.Instances[0].UUIDs = nil, []string{"MIG-1", "MIG-2"}
		}, mig.ErrBadInstance, "2 UUIDs for 1"},
		{"more work than can be lost", func(s *plan.State) { s.Instances[0].LossSeconds = math.MaxInt64 }, mig.ErrBadInstance, "9223372036854775807"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := state(t, m, "3g.20gb@0[1c.3g.20gb@0 1c.3g.20gb@1]")
			c.change(&s)
			assert.NotEmpty(t, s.String())
			assert.NotEmpty(t, plan.Fingerprint(s))
			for _, do := range []func() (plan.Plan, error){
				func() (plan.Plan, error) { return plan.Repartition(s, mig.Demand{"1g.5gb": 1}) },
				func() (plan.Plan, error) { return plan.Admit(s, mig.Demand{"1g.5gb": 1}) },
				func() (plan.Plan, error) { return plan.Restore(s, nil) },
			} {
				p, err := do()
				require.ErrorIs(t, err, c.error)
				require.ErrorContains(t, err, c.says)
				assert.Zero(t, p)
			}
		})
	}
}

// TestCostOfMostThatCanBeLost: the largest losses on a whole GPU are no overflow.
func TestCostOfMostThatCanBeLost(t *testing.T) {
	t.Parallel()
	s := state(t, lookup(t, "rtx-pro-6000-96gb"), "1g.24gb@0 1g.24gb@3 1g.24gb@6 1g.24gb@9")
	for i := range s.Instances {
		s.Instances[i].LossSeconds = plan.MaxLossSeconds
	}
	p, err := plan.Repartition(s, mig.Demand{"4g.96gb": 1})
	require.NoError(t, err)
	assert.Equal(t, 12*plan.MaxLossSeconds*time.Second, plan.DefaultCosts().Of(p).Lost)
}
