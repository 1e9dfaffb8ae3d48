package plan_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// TestFingerprint: what counts and what does not.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	fresh := func() plan.State {
		s := state(t, m, "1g.5gb@0 3g.20gb@4[1c.3g.20gb@0 1c.3g.20gb@2]")
		s.GPU = "GPU-1"
		s.Instances[0].UUIDs = []string{"MIG-1"}
		s.Instances[1].UUIDs = []string{"MIG-2", "MIG-3"}
		return s
	}
	same := plan.Fingerprint(fresh())
	assert.Equal(t, "mig1-f0f7babfe430d020bac83cb0", same, "the rule has a version: change it with the rule")
	for name, change := range map[string]func(*plan.State){
		"the order of instances": func(s *plan.State) { slices.Reverse(s.Instances) },
		"busy":                   func(s *plan.State) { s.Instances[1].Busy = true },
		"loss":                   func(s *plan.State) { s.Instances[1].LossSeconds = 5 },
		"a size left out":        func(s *plan.State) { s.Instances[1].Size = 0 },
		"a size left out inside": func(s *plan.State) { s.Instances[1].Compute[0].Size = 0 },
		"the order of compute instances and UUIDs": func(s *plan.State) { slices.Reverse(s.Instances[1].Compute); slices.Reverse(s.Instances[1].UUIDs) },
		"full size, not spelled out":               func(s *plan.State) { s.Instances[0].Compute = nil },
		"another spelling":                         func(s *plan.State) { s.Instances[0].Profile = "1c.1g.5gb" },
	} {
		s := fresh()
		change(&s)
		assert.Equal(t, same, plan.Fingerprint(s), name)
	}
	seen := map[string]string{same: "nothing"}
	for name, change := range map[string]func(*plan.State){
		"GPU":              func(s *plan.State) { s.GPU = "GPU-2" },
		"model":            func(s *plan.State) { s.Model = lookup(t, "a100-80gb") },
		"profile":          func(s *plan.State) { s.Instances[0].Profile = "1g.5gb+me" },
		"start":            func(s *plan.State) { s.Instances[0].Start = 1 },
		"one less":         func(s *plan.State) { s.Instances = s.Instances[1:] },
		"compute start":    func(s *plan.State) { s.Instances[1].Compute[1].Start = 1 },
		"compute profile":  func(s *plan.State) { s.Instances[1].Compute[0].Profile = "1c.2g.10gb" },
		"compute index":    func(s *plan.State) { s.Instances[1].Compute[0].Index = 7 },
		"no GPU":           func(s *plan.State) { s.GPU = "" },
		"a UUID":           func(s *plan.State) { s.Instances[0].UUIDs = []string{"MIG-4"} },
		"two UUIDs":        func(s *plan.State) { slices.Reverse(s.Instances[1].UUIDs) },
		"nothing inside":   func(s *plan.State) { s.Instances[0].Compute, s.Instances[0].UUIDs = []mig.ComputeInstance{}, nil },
		"no UUIDs":         func(s *plan.State) { s.Instances[0].UUIDs, s.Instances[1].UUIDs = nil, nil },
		"model of no name": func(s *plan.State) { s.Model = nil },
	} {
		s := fresh()
		change(&s)
		got := plan.Fingerprint(s)
		assert.Empty(t, seen[got], "%s and %s are the same", seen[got], name)
		seen[got] = name
	}
}

// TestFingerprintWithoutGPU: what was read without a GPU is like what was written
// down by hand.
func TestFingerprintWithoutGPU(t *testing.T) {
	t.Parallel()
	s := state(t, lookup(t, "a100-40gb"), "1g.5gb@0")
	same := plan.Fingerprint(s)
	s.Instances[0].UUIDs = []string{"MIG-1"}
	assert.Equal(t, same, plan.Fingerprint(s))
}

func TestCheck(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	fresh := func() (plan.State, plan.Plan) {
		s := state(t, m, "1g.5gb@0 1g.5gb@4 1g.5gb@6")
		s.GPU = "GPU-1"
		p, err := plan.Repartition(s, demand(t, "1g.5gb=1,3g.20gb=1,2g.10gb=1"))
		require.NoError(t, err)
		require.Equal(t, "create 2g.10gb@2, destroy 1g.5gb@4, destroy 1g.5gb@6, create 3g.20gb@4", p.String())
		return s, p
	}
	for _, c := range []struct {
		name   string
		change func(*plan.State, *plan.Plan)
		error  error
		says   string
	}{
		{"as made", func(*plan.State, *plan.Plan) {}, nil, ""},
		{"busy, but kept", func(s *plan.State, _ *plan.Plan) { s.Instances[0].Busy = true }, nil, ""},
		{"a victim is busy by now", func(s *plan.State, _ *plan.Plan) { s.Instances[1].Busy, s.Instances[2].Busy = true, true }, plan.ErrBusy, "1g.5gb@4 1g.5gb@6"},
		{"another schema", func(_ *plan.State, p *plan.Plan) { p.Schema = 2 }, plan.ErrBadPlan, "schema 2"},
		{"another model", func(_ *plan.State, p *plan.Plan) { p.Model = "a100-80gb" }, plan.ErrStale, `"a100-80gb"`},
		{"another GPU", func(s *plan.State, _ *plan.Plan) { s.GPU = "GPU-2" }, plan.ErrStale, `"GPU-2"`},
		{"one more stands there", func(s *plan.State, _ *plan.Plan) {
			s.Instances = append(s.Instances, state(t, m, "1g.5gb@1").Instances...)
		}, plan.ErrStale, "1g.5gb@1"},
		{"another UUID", func(s *plan.State, _ *plan.Plan) { s.Instances[0].UUIDs = []string{"MIG-1"} }, plan.ErrStale, "1g.5gb@0"},
		{"steps in another order", func(_ *plan.State, p *plan.Plan) { slices.Reverse(p.Steps) }, plan.ErrBadPlan, "step 1 of 4, create 3g.20gb@4"},
		{"destroys what is not there", func(_ *plan.State, p *plan.Plan) { p.Steps[1].Start = 5 }, plan.ErrBadPlan, "step 2 of 4, destroy 1g.5gb@5"},
		{"destroys another", func(_ *plan.State, p *plan.Plan) { p.Steps[1].Profile = "1g.10gb" }, plan.ErrBadPlan, "1g.5gb@4 stands there"},
		{"destroys other compute instances", func(_ *plan.State, p *plan.Plan) { p.Steps[1].Compute = []mig.ComputeInstance{} }, plan.ErrBadPlan, "1g.5gb@4 stands there"},
		{"an unknown operation", func(_ *plan.State, p *plan.Plan) { p.Steps[1].Op = "move" }, plan.ErrBadPlan, `"move"`},
		{"an unknown profile", func(_ *plan.State, p *plan.Plan) { p.Steps[0].Profile = "2g.20gb" }, mig.ErrUnknownProfile, "2g.20gb"},
		{"compute instances that cannot be", func(_ *plan.State, p *plan.Plan) { p.Steps[0].Compute = state(t, m, "3g.20gb@0").Instances[0].Compute }, plan.ErrBadPlan, "3g.20gb"},
		{"another size", func(_ *plan.State, p *plan.Plan) { p.Steps[0].Size = 3 }, plan.ErrBadPlan, "size 3"},
		{"ends before the goal", func(_ *plan.State, p *plan.Plan) { p.Steps = p.Steps[:3] }, plan.ErrBadPlan, "its goal is"},
		{"another goal", func(_ *plan.State, p *plan.Plan) { p.Goal[0].Start = 1 }, plan.ErrBadPlan, "its goal is"},
		{"a goal with nothing inside", func(_ *plan.State, p *plan.Plan) { p.Goal[0].Compute = []mig.ComputeInstance{} }, plan.ErrBadPlan, "its goal is 1g.5gb@0[]"},
		{"destroys another size", func(_ *plan.State, p *plan.Plan) { p.Steps[1].Size = 2 }, plan.ErrBadPlan, "step 2 of 4, destroy 1g.5gb@4: malformed plan: size 2, not 1"},
		{"keeps less", func(_ *plan.State, p *plan.Plan) { p.Kept = nil }, plan.ErrBadPlan, "keeps 1g.5gb@0, but says nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, p := fresh()
			c.change(&s, &p)
			err := p.Check(s)
			if c.error == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, c.error)
			assert.ErrorContains(t, err, c.says)
		})
	}
}

// TestCheckOfAPlanMadeAhead: without a GPU it is for every GPU that stands the same.
func TestCheckOfAPlanMadeAhead(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	ahead := state(t, m, "1g.5gb@0")
	p, err := plan.Repartition(ahead, mig.Demand{"7g.40gb": 1})
	require.NoError(t, err)
	live := state(t, m, "1g.5gb@0")
	live.GPU, live.Instances[0].UUIDs = "GPU-1", []string{"MIG-1"}
	require.NoError(t, p.Check(live))
	live.Instances[0].Start = 1
	require.ErrorIs(t, p.Check(live), plan.ErrStale)
}

func TestAfter(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	from := state(t, m, "1g.5gb@0 1g.5gb@4!")
	from.Instances[1].Busy = false
	p, err := plan.Repartition(from, demand(t, "1g.5gb=1,3g.20gb=1"))
	require.NoError(t, err)
	for steps, want := range []string{"1g.5gb@0 1g.5gb@4", "1g.5gb@0", "1g.5gb@0 3g.20gb@4"} {
		s, err := p.After(from, steps)
		require.NoError(t, err)
		assert.Equal(t, want, s.String())
		assert.Equal(t, "1g.5gb@0 1g.5gb@4", from.String(), "the state was changed")
	}
	for _, steps := range []int{-1, 3} {
		_, err := p.After(from, steps)
		require.ErrorIs(t, err, plan.ErrBadPlan)
	}
}

// TestCheckRefusesChangedPlans: a plan of which a step was dropped or doubled, or
// two were swapped, is either refused or still good, by a replay on a plain list.
func TestCheckRefusesChangedPlans(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := genModel(t)
		from := idle(genState(t, m))
		p, err := plan.Restore(from, genState(t, m).Instances)
		require.NoError(t, err)
		if len(p.Steps) < 2 {
			t.Skip("too few steps")
		}
		i := rapid.IntRange(0, len(p.Steps)-1).Draw(t, "i")
		j := rapid.IntRange(0, len(p.Steps)-1).Draw(t, "j")
		switch rapid.SampledFrom([]string{"drop", "double", "swap"}).Draw(t, "change") {
		case "drop":
			p.Steps = slices.Delete(p.Steps, i, i+1)
			require.ErrorIs(t, p.Check(from), plan.ErrBadPlan)
		case "double":
			p.Steps = slices.Insert(p.Steps, j, p.Steps[i])
			require.ErrorIs(t, p.Check(from), plan.ErrBadPlan)
		case "swap":
			p.Steps[i], p.Steps[j] = p.Steps[j], p.Steps[i]
			assert.Equal(t, replays(m, from, p), p.Check(from) == nil)
		}
	})
}

// replays reports whether every prefix of the steps is legal.
func replays(m *mig.Model, from plan.State, p plan.Plan) bool {
	now := bare(from.Instances)
	for _, s := range p.Steps {
		k := slices.Index(now, s.Instance.Instance)
		switch {
		case s.Op == plan.Create:
			now = append(now, s.Instance.Instance)
		case k < 0:
			return false
		default:
			now = slices.Delete(now, k, k+1)
		}
		if m.Validate(now...) != nil {
			return false
		}
	}
	return true
}
