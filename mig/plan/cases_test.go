package plan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// Reports that people filed in public against tools that cut GPUs, with the right
// answers, as far as planning is concerned. The numbers are those of the
// collection.

// TestCasesPlans: changes that other tools could not carry out, or carried out for
// nothing.
func TestCasesPlans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, model, from string
		want              mig.Demand
		plans             []string // every plan that is right
	}{
		{
			"01 smaller ones created first leave no room for 3g", "a100-40gb", "",
			mig.Demand{"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 2},
			[]string{
				"create 3g.20gb@4, create 2g.10gb@0, create 1g.5gb@2, create 1g.5gb@3",
				"create 3g.20gb@4, create 2g.10gb@2, create 1g.5gb@0, create 1g.5gb@1",
			},
		},
		{
			"03 first fit puts 3g where only 4g can go", "a100-40gb", "",
			mig.Demand{"3g.20gb": 1, "4g.20gb": 1},
			[]string{"create 4g.20gb@0, create 3g.20gb@4"},
		},
		{
			"03 and where it is already, it has to move", "a100-40gb", "3g.20gb@0",
			mig.Demand{"3g.20gb": 1, "4g.20gb": 1},
			[]string{"create 3g.20gb@4, destroy 3g.20gb@0, create 4g.20gb@0", "destroy 3g.20gb@0, create 4g.20gb@0, create 3g.20gb@4"},
		},
		{
			"07 slice 6 is for the 1g", "a100-40gb", "1g.5gb@0 2g.10gb@2",
			mig.Demand{"2g.10gb": 3, "1g.5gb": 1},
			[]string{"create 2g.10gb@4, create 1g.5gb@6, destroy 1g.5gb@0, create 2g.10gb@0", "create 2g.10gb@4, destroy 1g.5gb@0, create 2g.10gb@0, create 1g.5gb@6"},
		},
		{
			"24 four of one name", "a30-24gb", "",
			mig.Demand{"1g.6gb": 4},
			[]string{"create 1g.6gb@0, create 1g.6gb@1, create 1g.6gb@2, create 1g.6gb@3"},
		},
		{
			"32 a count of zero is no difference", "a100-40gb",
			"1g.5gb@0 1g.5gb@1 1g.5gb@2 1g.5gb@3 1g.5gb@4 1g.5gb@5 1g.5gb@6",
			mig.Demand{"1g.5gb": 7, "2g.10gb": 0},
			[]string{"nothing to do"},
		},
		{
			"41 seven small ones on an H100, nobody there", "h100-80gb-sxm5", "2g.20gb@0 2g.20gb@2 3g.40gb@4",
			mig.Demand{"1g.10gb": 7},
			[]string{
				"destroy 2g.20gb@0, create 1g.10gb@0, create 1g.10gb@1, destroy 2g.20gb@2, create 1g.10gb@2, create 1g.10gb@3, " +
					"destroy 3g.40gb@4, create 1g.10gb@4, create 1g.10gb@5, create 1g.10gb@6",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			from := state(t, lookup(t, c.model), c.from)
			p, err := plan.Repartition(from, c.want)
			require.NoError(t, err)
			require.NoError(t, p.Check(from))
			assert.Contains(t, c.plans, p.String())
		})
	}
}

// TestCase23 refuses the profiles of another model instead of doing nothing.
func TestCase23(t *testing.T) {
	t.Parallel()
	_, err := plan.Repartition(plan.StateOf(lookup(t, "a100-80gb").Empty()), mig.Demand{"2g.10gb": 3})
	require.ErrorIs(t, err, mig.ErrUnknownProfile)
	for _, name := range []string{"2g.10gb", "a100-80gb", "1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"} {
		assert.ErrorContains(t, err, name)
	}
}

// TestCase39: a change of mode contains a reset on Ampere, and none from Hopper on.
func TestCase39(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, model string
		reset       bool
	}{
		{"39 an A100 is reset", "a100-40gb", true},
		{"39 an A30 is reset", "a30-24gb", true},
		{"39 an H100 is not", "h100-80gb-sxm5", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			steps := ops(plan.Mode(lookup(t, c.model), false, false, true))
			assert.Equal(t, plan.SetMode, steps[0])
			assert.Equal(t, c.reset, len(steps) == 2 && steps[1] == plan.Reset)
			assert.Len(t, steps, map[bool]int{true: 2, false: 1}[c.reset])
		})
	}
}

// TestCase41: an instance in use stays, and is named; what does not touch it can
// still be done.
func TestCase41(t *testing.T) {
	t.Parallel()
	m := lookup(t, "h100-80gb-sxm5")
	from := state(t, m, "2g.20gb@0! 2g.20gb@2 3g.40gb@4")
	_, err := plan.Repartition(from, mig.Demand{"1g.10gb": 7})
	require.ErrorIs(t, err, plan.ErrBusy)
	var r *plan.Refusal
	require.ErrorAs(t, err, &r)
	assert.Equal(t, "2g.20gb@0", names(r.Busy))

	p, err := plan.Admit(from, mig.Demand{"1g.10gb": 5})
	require.NoError(t, err)
	assert.Equal(t, 5, strings.Count(p.String(), "create"))
	for start := range 5 {
		assert.Equal(t, mig.Instance{Profile: "1g.10gb", Start: start + 2, Size: 1}, p.Goal[start+1].Instance)
	}
	assert.Equal(t, "2g.20gb@0", names(p.Kept))
}
