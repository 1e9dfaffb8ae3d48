package plan_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// TestPlans checks what every plan promises, for random states and demands of all
// models, media variants and divided GPU instances among them.
func TestPlans(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := genModel(t)
		from, want := genState(t, m), genDemand(t, m)
		exact := rapid.Bool().Draw(t, "exact")
		do := plan.Admit
		if exact {
			do = plan.Repartition
		}
		before, err := json.Marshal(from.Instances)
		require.NoError(t, err)
		p, err := do(from, want)
		after, _ := json.Marshal(from.Instances)
		require.Equal(t, string(before), string(after), "the state was changed")
		if err != nil {
			requireRefusal(t, err)
			return
		}
		requirePlan(t, from, p)

		kept, created := holdings(p.Kept), holdings(creations(p))
		if exact {
			assert.Equal(t, canonical(t, want), add(kept, created))
		} else {
			idle := slices.DeleteFunc(slices.Clone(p.Kept), func(in plan.Instance) bool { return in.Busy })
			for name, n := range canonical(t, want) {
				assert.GreaterOrEqual(t, add(holdings(idle), created)[name], n, name)
			}
			requireInTheWay(t, m, p)
		}

		shuffled := from
		shuffled.Instances = slices.Clone(from.Instances)
		slices.Reverse(shuffled.Instances)
		q, err := do(shuffled, want)
		require.NoError(t, err)
		assert.Equal(t, p, q, "the order of the instances counts")
	})
}

// TestRestore checks plans to a given set of instances, and the way back.
func TestRestore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := genModel(t)
		from, goal := genState(t, m), genState(t, m)
		p, err := plan.Restore(from, goal.Instances)
		if err != nil {
			requireRefusal(t, err)
			require.ErrorIs(t, err, plan.ErrBusy)
			return
		}
		requirePlan(t, from, p)
		l, err := goal.Layout()
		require.NoError(t, err)
		end, err := m.Layout(bare(p.Goal)...)
		require.NoError(t, err)
		assert.Equal(t, l, end)
		for _, in := range goal.Instances {
			k := slices.IndexFunc(p.Goal, func(g plan.Instance) bool { return g.Start == in.Start })
			assert.Equal(t, plan.State{Model: m, Instances: []plan.Instance{in}}.String(),
				plan.State{Model: m, Instances: []plan.Instance{{Instance: p.Goal[k].Instance, Compute: p.Goal[k].Compute, Busy: in.Busy}}}.String())
		}

		reached, err := p.After(from, len(p.Steps))
		require.NoError(t, err)
		again, err := plan.Restore(reached, goal.Instances)
		require.NoError(t, err)
		assert.Empty(t, again.Steps, "it was there already")
		back, err := plan.Restore(reached, from.Instances)
		require.NoError(t, err)
		requirePlan(t, reached, back)
		undone, err := back.After(reached, len(back.Steps))
		require.NoError(t, err)
		assert.Equal(t, idle(from).String(), idle(undone).String())
	})
}

// requireRefusal checks that there is no way, and that it says why.
func requireRefusal(t *rapid.T, err error) {
	require.ErrorIs(t, err, mig.ErrNoFit)
	var r *plan.Refusal
	require.ErrorAs(t, err, &r)
	assert.NotEmpty(t, r.Detail)
	assert.NotEqual(t, "none", r.Kind())
	if len(r.Busy) > 0 {
		require.ErrorIs(t, err, plan.ErrBusy)
		assert.Equal(t, r.Limit == 0, r.Kind() == "busy")
	} else {
		require.NotErrorIs(t, err, plan.ErrBusy)
		assert.NotZero(t, r.Limit)
	}
	for _, in := range r.Busy {
		assert.True(t, in.Busy)
	}
}

// requirePlan replays a plan on a plain list and checks each step.
func requirePlan(t *rapid.T, from plan.State, p plan.Plan) {
	m := from.Model
	require.NoError(t, p.Check(from))
	now := slices.Clone(from.Instances)
	for i, s := range p.Steps {
		switch s.Op {
		case plan.Destroy:
			k := slices.IndexFunc(now, func(in plan.Instance) bool { return in.Instance == s.Instance.Instance })
			require.GreaterOrEqual(t, k, 0, "step %d destroys what is not there: %s", i, s)
			require.False(t, now[k].Busy, "step %d destroys what is busy: %s", i, s)
			assert.Equal(t, now[k].UUIDs != nil, s.UUIDs != nil)
			now = slices.Delete(slices.Clone(now), k, k+1)
		case plan.Create:
			now = append(now, s.Instance)
			assert.NotNil(t, s.Compute)
			assert.Empty(t, s.UUIDs)
			require.NoError(t, m.ValidateCompute(s.Profile, s.Compute...))
		default:
			require.Fail(t, "unknown operation", "%q", s.Op)
		}
		require.NoError(t, m.Validate(bare(now)...), "after step %d", i)
		state, err := p.After(from, i+1)
		require.NoError(t, err)
		assert.Equal(t, plan.State{Model: m, Instances: now}.String(), state.String())
	}
	assert.Equal(t, plan.State{Model: m, Instances: p.Goal}.String(), idle(plan.State{Model: m, Instances: now}).String())
	assert.Equal(t, plan.State{Model: m, Instances: p.Goal}.String(),
		idle(plan.State{Model: m, Instances: append(slices.Clone(p.Kept), creations(p)...)}).String())
	for _, in := range p.Goal {
		assert.False(t, in.Busy || in.UUIDs != nil || in.LossSeconds != 0, "the goal knows more than it should: %v", in)
	}

	text, err := json.Marshal(p)
	require.NoError(t, err)
	read, err := plan.Decode(strings.NewReader(string(text)))
	require.NoError(t, err)
	assert.Equal(t, p, read)
	assert.NotEmpty(t, p.Explain())
	requireOrder(t, from, p)
}

// requireOrder checks that few slices are out of service: nothing is destroyed
// while something can be created, and nothing that is in nobody's way before the
// last creation.
func requireOrder(t *rapid.T, from plan.State, p plan.Plan) {
	m := from.Model
	l, err := from.Layout()
	require.NoError(t, err)
	for i, s := range p.Steps {
		if s.Op == plan.Create {
			profile, err := m.Profile(s.Profile)
			require.NoError(t, err)
			l, err = l.With(profile, s.Start)
			require.NoError(t, err)
			continue
		}
		more := false
		for _, later := range p.Steps[i:] {
			if later.Op != plan.Create {
				continue
			}
			more = true
			profile, err := m.Profile(later.Profile)
			require.NoError(t, err)
			assert.False(t, l.FreeStarts(profile).Has(later.Start), "%s could come before %s", later, s)
		}
		if more {
			together := []mig.Instance{s.Instance.Instance}
			for _, later := range p.Steps[i:] {
				if later.Op == plan.Create {
					together = append(together, later.Instance.Instance)
				}
			}
			require.Error(t, m.Validate(together...), "%s could come last", s)
		}
		if more {
			fewest, mine := slicesInTheWay(m, p.Steps[i:], s)
			assert.Equal(t, fewest, mine, "%s is in the way of none that needs fewest slices", s)
		}
		l, err = l.Without(s.Start)
		require.NoError(t, err)
	}
}

// slicesInTheWay counts, for each creation to come, the slices of the instances
// that have to go before it, and returns the fewest of all, and of those for which
// the victim has to go.
func slicesInTheWay(m *mig.Model, steps []plan.Step, victim plan.Step) (fewest, mine int) {
	fewest, mine = mig.MaxUnits, mig.MaxUnits
	for _, c := range steps {
		if c.Op != plan.Create {
			continue
		}
		n, hit := 0, false
		for _, d := range steps {
			if d.Op == plan.Destroy && m.Validate(d.Instance.Instance, c.Instance.Instance) != nil {
				n += d.Size
				hit = hit || d.Start == victim.Start
			}
		}
		fewest = min(fewest, n)
		if hit {
			mine = min(mine, n)
		}
	}
	return fewest, mine
}

// requireInTheWay checks that every victim had to go: it cannot stand beside what
// stands at the end.
func requireInTheWay(t *rapid.T, m *mig.Model, p plan.Plan) {
	for _, s := range p.Steps {
		if s.Op == plan.Destroy {
			assert.Error(t, m.Validate(append(bare(p.Goal), s.Instance.Instance)...), "%s could have stayed", s)
		}
	}
}

func creations(p plan.Plan) []plan.Instance {
	var list []plan.Instance
	for _, s := range p.Steps {
		if s.Op == plan.Create {
			list = append(list, s.Instance)
		}
	}
	return list
}

func bare(instances []plan.Instance) []mig.Instance {
	var list []mig.Instance
	for _, in := range instances {
		list = append(list, in.Instance)
	}
	return list
}

// idle returns the state with nobody in it.
func idle(s plan.State) plan.State {
	s.Instances = slices.Clone(s.Instances)
	for i := range s.Instances {
		s.Instances[i].Busy = false
	}
	return s
}

// holdings counts compute instances by name.
func holdings(instances []plan.Instance) mig.Demand {
	d := mig.Demand{}
	for _, in := range instances {
		for _, c := range in.Compute {
			d[c.Profile]++
		}
	}
	return d
}

func add(a, b mig.Demand) mig.Demand {
	sum := mig.Demand{}
	for _, d := range []mig.Demand{a, b} {
		for name, n := range d {
			sum[name] += n
		}
	}
	return sum
}

// canonical returns the demand with canonical names and without zero counts.
func canonical(t require.TestingT, d mig.Demand) mig.Demand {
	c := mig.Demand{}
	for name, n := range d {
		parsed, err := mig.ParseName(name)
		require.NoError(t, err)
		if n > 0 {
			c[parsed.String()] += n
		}
	}
	return c
}
