package plan_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// TestChoice: one row for every rule of the choice, in order, where the others are
// equal or speak against it.
func TestChoice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, model, from, want string
		loss                    []int64
		steps                   string
	}{
		{"nothing to do", "a100-40gb", "1g.5gb@2 3g.20gb@4", "1g.5gb=1,3g.20gb=1", nil, "nothing to do"},
		{"an empty demand clears", "a100-40gb", "1g.5gb@2 3g.20gb@4", "", nil, "destroy 1g.5gb@2, destroy 3g.20gb@4"},
		{"one victim with much to lose before two without", "a100-40gb", "3g.20gb@0 1g.5gb@4 1g.5gb@5", "4g.20gb=1,1g.5gb=2", []int64{900, 0, 0}, "destroy 3g.20gb@0, create 4g.20gb@0"},
		{"the one with less to lose", "a100-40gb", "1g.5gb@0 1g.5gb@4", "1g.5gb=1,3g.20gb=1", []int64{10, 20}, "destroy 1g.5gb@0, create 3g.20gb@0"},
		{"the one with less to lose, mirrored", "a100-40gb", "1g.5gb@0 1g.5gb@4", "1g.5gb=1,3g.20gb=1", []int64{20, 10}, "destroy 1g.5gb@4, create 3g.20gb@4"},
		{"most left free", "a100-40gb", "", "1g.5gb=1", nil, "create 1g.5gb@6"},
		{"a media variant makes room for another", "a30-24gb", "1g.6gb+me@0 1g.6gb@3", "2g.12gb+me=1,1g.6gb=1", nil, "destroy 1g.6gb+me@0, create 2g.12gb+me@0"},
		{"creations in between", "a100-40gb", "2g.10gb@0 2g.10gb@2 3g.20gb@4", "4g.20gb=1,2g.10gb=1,1g.5gb=1", nil, "destroy 2g.10gb@0, destroy 2g.10gb@2, create 4g.20gb@0, destroy 3g.20gb@4, create 2g.10gb@4, create 1g.5gb@6"},
		{"other compute instances are another instance", "a100-40gb", "3g.20gb@4[1c.3g.20gb@0 1c.3g.20gb@1]", "3g.20gb=1", nil, "destroy 3g.20gb@4, create 3g.20gb@4"},
		{"an empty instance serves nothing", "a100-40gb", "7g.40gb@0[]", "7g.40gb=1", nil, "destroy 7g.40gb@0, create 7g.40gb@0"},
		{"starts of compute instances do not count", "a100-40gb", "3g.20gb@4[1c.3g.20gb@0 1c.3g.20gb@2]", "1c.3g.20gb=2", nil, "nothing to do"},
		{"divided ones are shared out as they stand", "a100-40gb", "3g.20gb@0[1c.3g.20gb@0 1c.3g.20gb@1] 3g.20gb@4[1c.3g.20gb@0 1c.3g.20gb@1]", "1c.3g.20gb=4", nil, "nothing to do"},
		{"two spellings of one name", "a100-40gb", "1g.5gb@0", "", nil, "create 1g.5gb@1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			from := state(t, lookup(t, c.model), c.from)
			want := demand(t, c.want)
			if c.name == "two spellings of one name" {
				want = mig.Demand{"1c.1g.5gb": 1, "1g.5gb": 1}
			}
			for i, loss := range c.loss {
				from.Instances[i].LossSeconds = loss
			}
			p, err := plan.Repartition(from, want)
			require.NoError(t, err)
			require.NoError(t, p.Check(from))
			assert.Equal(t, c.steps, p.String())
		})
	}
}

func TestAdmit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, from, add, steps string }{
		{"nothing", "1g.5gb@0", "", "nothing to do"},
		{"slices count in what is lost", "2g.10gb@0 1g.5gb@4", "3g.20gb=1", "destroy 1g.5gb@4, create 3g.20gb@4"},
		{"an idle one serves", "2g.10gb@0 1g.5gb@4", "2g.10gb=1", "nothing to do"},
		{"a busy one does not", "2g.10gb@0! 1g.5gb@4", "2g.10gb=1", "create 2g.10gb@2"},
		{"idle ones stay", "2g.10gb@0 1g.5gb@4", "1g.5gb=2", "create 1g.5gb@5"},
		{"unless they are in the way", "1g.5gb@0! 1g.5gb@4", "3g.20gb=1", "destroy 1g.5gb@4, create 3g.20gb@4"},
		{"an idle one serves with a part", "3g.20gb@0[1c.3g.20gb@0 1c.3g.20gb@1]", "1c.3g.20gb=1", "nothing to do"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			from := state(t, lookup(t, "a100-40gb"), c.from)
			for i := range from.Instances {
				from.Instances[i].LossSeconds = int64(10 + 5*i)
			}
			p, err := plan.Admit(from, demand(t, c.add))
			require.NoError(t, err)
			require.NoError(t, p.Check(from))
			assert.Equal(t, c.steps, p.String())
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, from, want string
		limit            mig.Limit
		busy             string
		detail           string
	}{
		{"more than a GPU has", "1g.5gb@0!", "7g.40gb=2", mig.LimitMemory, "", "16 memory slices needed in all, the GPU has 8"},
		{"more than a GPU has, divided", "", "1c.4g.20gb=5", mig.LimitCompute, "", "8 compute slices needed in all, the GPU has 7"},
		{"more than can be counted", "", "1g.5gb=999", mig.LimitMemory, "", "999 memory slices needed in all, the GPU has 8"},
		{"one in the way", "1g.5gb@0! 1g.5gb@4", "4g.20gb=1,1g.5gb=1", mig.LimitPosition, "1g.5gb@0", "1 of 4g.20gb wanted, legal starts are free for 0"},
		{"the fewest in the way", "1g.5gb@0! 1g.5gb@1! 1g.5gb@4!", "3g.20gb=1,1g.5gb=2", mig.LimitPosition, "1g.5gb@4", "1 of 3g.20gb wanted, legal starts are free for 0"},
		{"no room beside it", "7g.40gb@0!", "1g.5gb=1", mig.LimitMemory, "7g.40gb@0", "9 memory slices needed in all, the GPU has 8"},
		{"not wanted", "1g.5gb@0!", "3g.20gb=1", 0, "1g.5gb@0", "busy and not part of what is wanted: 1g.5gb@0"},
		{"one too many", "1g.5gb@0! 1g.5gb@1!", "1g.5gb=1", 0, "1g.5gb@1", "busy and more than is wanted: 1g.5gb@1"},
		{"other compute instances", "3g.20gb@0[2c.3g.20gb@0]!", "3g.20gb=1", 0, "3g.20gb@0", "busy and not part of what is wanted: 3g.20gb@0[2c.3g.20gb@0]"},
		{"all of them", "1g.5gb@0! 1g.5gb@1!", "", 0, "1g.5gb@0 1g.5gb@1", "busy and not part of what is wanted: 1g.5gb@0 1g.5gb@1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			from := state(t, lookup(t, "a100-40gb"), c.from)
			p, err := plan.Repartition(from, demand(t, c.want))
			assert.Zero(t, p)
			require.ErrorIs(t, err, mig.ErrNoFit)
			var r *plan.Refusal
			require.ErrorAs(t, err, &r)
			assert.Equal(t, c.limit, r.Limit)
			assert.Equal(t, c.busy, names(r.Busy))
			assert.Equal(t, c.detail, r.Detail)
			assert.Contains(t, err.Error(), r.Detail)
			if c.limit != 0 && c.busy != "" {
				require.ErrorContains(t, err, c.limit.String()+": "+c.detail+"; in the way and busy: "+c.busy)
			}
			if c.busy == "" {
				require.NotErrorIs(t, err, plan.ErrBusy)
			} else {
				require.ErrorIs(t, err, plan.ErrBusy)
			}
			if c.limit != 0 {
				assert.Equal(t, c.limit.String(), r.Kind())
			} else {
				assert.Equal(t, "busy", r.Kind())
			}
		})
	}
}

func TestRestoreNamesBusyInstances(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	from := state(t, m, "1g.5gb@0! 1g.5gb@1! 2g.10gb@4")
	_, err := plan.Restore(from, state(t, m, "1g.5gb@1 3g.20gb@4").Instances)
	require.ErrorIs(t, err, plan.ErrBusy)
	var r *plan.Refusal
	require.ErrorAs(t, err, &r)
	assert.Equal(t, "1g.5gb@0", names(r.Busy))
	assert.EqualError(t, err, `plan: no way from "1g.5gb@0 1g.5gb@1 2g.10gb@4" to "1g.5gb@1 3g.20gb@4" on a100-40gb: busy: the goal does not hold 1g.5gb@0`)
}

// TestRestoreNamesWhatDiffers: a busy instance at the right place holds something
// else, and the text says so.
func TestRestoreNamesWhatDiffers(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	_, err := plan.Restore(state(t, m, "3g.20gb@4[2c.3g.20gb@0]!"), state(t, m, "3g.20gb@4").Instances)
	require.ErrorIs(t, err, plan.ErrBusy)
	assert.ErrorContains(t, err, "the goal does not hold 3g.20gb@4[2c.3g.20gb@0]")
}

// TestRestoreGoals: what a goal may leave out, and an instance without compute
// instances.
func TestRestoreGoals(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	goal := []plan.Instance{
		{Instance: mig.Instance{Profile: "3g.20gb", Start: 4}},
		{Instance: mig.Instance{Profile: "2g.10gb", Start: 0}, Compute: []mig.ComputeInstance{}},
		{Instance: mig.Instance{Profile: "2g.10gb", Start: 2}, Compute: []mig.ComputeInstance{{Profile: "1c.2g.10gb", Start: 1}}},
	}
	p, err := plan.Restore(plan.StateOf(m.Empty()), goal)
	require.NoError(t, err)
	end := plan.State{Model: m, Instances: p.Goal}
	assert.Equal(t, "2g.10gb@0[] 2g.10gb@2[1c.2g.10gb@1] 3g.20gb@4", end.String())
	assert.Equal(t, mig.Instance{Profile: "3g.20gb", Start: 4, Size: 4}, p.Goal[2].Instance)
	assert.Equal(t, []mig.ComputeInstance{{Profile: "3g.20gb", Start: 0, Size: 3, Index: 2}}, p.Goal[2].Compute)
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	good := state(t, m, "1g.5gb@0 3g.20gb@4")
	with := func(change func(*plan.Instance)) plan.State {
		s := state(t, m, "1g.5gb@0 3g.20gb@4")
		change(&s.Instances[1])
		return s
	}
	for _, c := range []struct {
		name  string
		from  plan.State
		want  mig.Demand
		error error
		says  string
	}{
		{"no model", plan.State{}, nil, mig.ErrUnknownModel, "without model"},
		{"unknown profile in the state", with(func(in *plan.Instance) { in.Profile = "9g.90gb" }), nil, mig.ErrBadName, "9g.90gb"},
		{"a profile of another model", with(func(in *plan.Instance) { in.Profile = "3g.40gb" }), nil, mig.ErrUnknownProfile, "3g.40gb"},
		{"instances that overlap", with(func(in *plan.Instance) { in.Profile, in.Start, in.Size = "4g.20gb", 0, 4 }), nil, mig.ErrConflict, "1g.5gb@0 and 4g.20gb@0"},
		{"a start that is not legal", with(func(in *plan.Instance) { in.Start = 2 }), nil, mig.ErrIllegalStart, "cannot start at 2"},
		{"another size", with(func(in *plan.Instance) { in.Size = 3 }), nil, mig.ErrBadInstance, "3g.20gb@4 has size"},
		{"negative loss", with(func(in *plan.Instance) { in.LossSeconds = -1 }), nil, mig.ErrBadInstance, "3g.20gb@4: -1 seconds"},
		{"endless loss", with(func(in *plan.Instance) { in.LossSeconds = math.MaxInt64 }), nil, mig.ErrBadInstance, "3g.20gb@4: 9223372036854775807 seconds"},
		{"UUIDs of nothing", with(func(in *plan.Instance) { in.UUIDs = []string{"MIG-1", "MIG-2"} }), nil, mig.ErrBadInstance, "2 UUIDs for 1 compute"},
		{"unknown profile wanted", good, mig.Demand{"2g.20gb": 1}, mig.ErrUnknownProfile, "2g.20gb"},
		{"unknown profile wanted not at all", good, mig.Demand{"2g.20gb": 0}, mig.ErrUnknownProfile, "2g.20gb"},
		{"a compute profile that is not offered", good, mig.Demand{"2c.2g.20gb": 1}, mig.ErrUnknownProfile, "2c.2g.20gb"},
		{"no name", good, mig.Demand{"": 1}, mig.ErrBadName, `""`},
		{"negative count", good, mig.Demand{"1g.5gb": -1}, mig.ErrBadDemand, "1g.5gb=-1"},
		{"negative count, divided", good, mig.Demand{"1c.3g.20gb": -1}, mig.ErrBadDemand, "1c.3g.20gb=-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, do := range []func(plan.State, mig.Demand) (plan.Plan, error){plan.Repartition, plan.Admit} {
				p, err := do(c.from, c.want)
				require.ErrorIs(t, err, c.error)
				require.ErrorContains(t, err, c.says)
				require.NotErrorIs(t, err, mig.ErrNoFit)
				assert.Zero(t, p)
			}
			if c.want == nil {
				_, err := plan.Restore(c.from, nil)
				require.ErrorIs(t, err, c.error)
				require.ErrorIs(t, plan.Plan{}.Check(c.from), c.error)
				_, err = plan.Plan{}.After(c.from, 0)
				require.ErrorIs(t, err, c.error)
				assert.NotEmpty(t, plan.Fingerprint(c.from))
			}
		})
	}
}

func TestBadGoals(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	in := func(profile string, start int, compute ...mig.ComputeInstance) plan.Instance {
		return plan.Instance{Instance: mig.Instance{Profile: profile, Start: start}, Compute: compute}
	}
	for _, c := range []struct {
		name  string
		goal  []plan.Instance
		error error
		says  string
	}{
		{"overlap", []plan.Instance{in("3g.20gb", 0), in("1g.5gb", 3)}, mig.ErrConflict, "3g.20gb@0 and 1g.5gb@3"},
		{"unknown", []plan.Instance{in("3g.40gb", 0)}, mig.ErrUnknownProfile, "3g.40gb"},
		{"not offered inside", []plan.Instance{in("3g.20gb", 0, mig.ComputeInstance{Profile: "1c.2g.10gb"})}, mig.ErrUnknownProfile, "1c.2g.10gb"},
		{
			"overlap inside",
			[]plan.Instance{in("3g.20gb", 0, mig.ComputeInstance{Profile: "2c.3g.20gb"}, mig.ComputeInstance{Profile: "1c.3g.20gb", Start: 1})},
			mig.ErrConflict, "1c.3g.20gb@1",
		},
		{"illegal start inside", []plan.Instance{in("3g.20gb", 0, mig.ComputeInstance{Profile: "2c.3g.20gb", Start: 1})}, mig.ErrIllegalStart, "2c.3g.20gb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := plan.Restore(plan.StateOf(m.Empty()), c.goal)
			require.ErrorIs(t, err, c.error)
			require.ErrorContains(t, err, c.says)
			require.NotErrorIs(t, err, mig.ErrNoFit)
		})
	}
}
