package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig/plan"
)

// TestOrder: one row for every rule of the order of steps.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, model, from, goal, steps string }{
		{
			"what is free comes first", "a100-40gb", "1g.5gb@0", "4g.20gb@0 2g.10gb@4 1g.5gb@6",
			"create 2g.10gb@4, create 1g.5gb@6, destroy 1g.5gb@0, create 4g.20gb@0",
		},
		{
			"then what needs the fewest slices", "a100-40gb", "2g.10gb@0 1g.5gb@3 1g.5gb@4", "3g.20gb@0 3g.20gb@4",
			"destroy 1g.5gb@4, create 3g.20gb@4, destroy 2g.10gb@0, destroy 1g.5gb@3, create 3g.20gb@0",
		},
		{
			"of two that need as many the larger", "a100-40gb", "1g.5gb@0 1g.5gb@6", "4g.20gb@0 1g.10gb@6",
			"destroy 1g.5gb@0, create 4g.20gb@0, destroy 1g.5gb@6, create 1g.10gb@6",
		},
		{
			"of two of one size the one with more compute slices", "a100-40gb", "", "4g.20gb@0 3g.20gb@4",
			"create 4g.20gb@0, create 3g.20gb@4",
		},
		{
			"what is in nobody's way comes last", "a100-40gb", "1g.5gb@0 2g.10gb@4", "3g.20gb@4",
			"destroy 2g.10gb@4, create 3g.20gb@4, destroy 1g.5gb@0",
		},
		{
			"media engines are in the way without overlap", "a30-24gb", "1g.6gb@2 1g.6gb+me@3", "2g.12gb+me@0",
			"destroy 1g.6gb+me@3, create 2g.12gb+me@0, destroy 1g.6gb@2",
		},
		{
			"only one of a kind may exist", "a100-40gb", "1g.5gb@0 1g.5gb+me@6", "1g.5gb+me@2",
			"destroy 1g.5gb+me@6, create 1g.5gb+me@2, destroy 1g.5gb@0",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := lookup(t, c.model)
			from := state(t, m, c.from)
			p, err := plan.Restore(from, state(t, m, c.goal).Instances)
			require.NoError(t, err)
			require.NoError(t, p.Check(from))
			assert.Equal(t, c.steps, p.String())
		})
	}
}
