package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// TestExplain: every reason why an instance is destroyed.
func TestExplain(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a30-24gb")
	for _, c := range []struct {
		name, from string
		want       mig.Demand
		says       []string
	}{
		{"nothing", "1g.6gb@0", mig.Demand{"1g.6gb": 1}, []string{"a30-24gb GPU-1: destroys 0, creates 0, keeps 1\n  keep     1g.6gb@0\nnothing to do\n"}},
		{"not wanted", "1g.6gb@0", nil, []string{"destroy  1g.6gb@0       not wanted; 9 s of work lost\n", "takes about 1.1s at the default costs and costs 10.1s of one memory slice"}},
		{"in the way of two", "4g.24gb@0", mig.Demand{"2g.12gb": 2}, []string{"destroy  4g.24gb@0      in the way of 2g.12gb@0, 2g.12gb@2; 9 s"}},
		{"media engines", "1g.6gb+me@0", mig.Demand{"2g.12gb+me": 1}, []string{"destroy  1g.6gb+me@0    in the way of 2g.12gb+me@"}},
		{"inside", "4g.24gb@0[2c.4g.24gb@0]", mig.Demand{"4g.24gb": 1}, []string{"destroy  4g.24gb@0[2c.4g.24gb@0] its compute instances change; 9 s", "create   4g.24gb@0\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			from := state(t, m, c.from)
			from.GPU = "GPU-1"
			from.Instances[0].LossSeconds = 9
			p, err := plan.Repartition(from, c.want)
			require.NoError(t, err)
			for _, text := range c.says {
				assert.Contains(t, p.Explain(), text)
			}
		})
	}
}

// TestExplainUnknownModel: a model of the caller's own is in no list.
func TestExplainUnknownModel(t *testing.T) {
	t.Parallel()
	p, err := plan.Repartition(state(t, lookup(t, "a30-24gb"), "1g.6gb@0"), mig.Demand{"4g.24gb": 1})
	require.NoError(t, err)
	p.Model = "mine"
	assert.Contains(t, p.Explain(), "mine: destroys 1, creates 1, keeps 0\n  destroy  1g.6gb@0[1g.6gb@0] in the way of 4g.24gb@0\n")
}
