package churn_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/churn"
)

// outcome is rejected requests and slices over several seeds.
type outcome struct{ requests, slices churn.Count }

func (o *outcome) add(r churn.Result) {
	o.requests.Offered += r.Requests.Offered
	o.requests.Rejected += r.Requests.Rejected
	o.slices.Offered += r.Slices.Offered
	o.slices.Rejected += r.Slices.Rejected
}

// fewer returns the shares, in percent, by which less is rejected than by another.
func (o outcome) fewer(base outcome) (requests, slices float64) {
	return 100 * (1 - o.requests.Share()/base.requests.Share()), 100 * (1 - o.slices.Share()/base.slices.Share())
}

func learning(t *testing.T, trace *churn.Trace, m *mig.Model) churn.Result {
	t.Helper()
	l, err := placement.NewIndexLearner([]*mig.Model{m}, fragmentation.DefaultIndex(), 0)
	require.NoError(t, err)
	started := false
	r, err := trace.RunWith(func(job *placement.Task) placement.Policy {
		if l.Observe(job) || !started {
			started = true
			return l.Policy()
		}
		return nil
	})
	require.NoError(t, err)
	return r
}

// On 64 GPUs at load 1, over the seven mixes: the selected rule rejects at least
// 20 % fewer requests and slices than first fit in the mean, and nowhere more;
// the learned default at least 14 % and 16 %; MIG-FGD that opens empty GPUs last
// is never worse either.
func TestRejectsFewerThanFirstFit(t *testing.T) {
	t.Parallel()
	if testing.Short() || raceEnabled {
		t.Skip("takes seconds")
	}
	m := model(t, "a100-40gb")
	var mean [3][2]float64 // selected, default, used first
	for _, mix := range eight {
		requests := mix.of(t, m)
		selected, err := churn.Select(m, requests, 1000)
		require.NoError(t, err)
		used := rules(t, requests, m)["used first"]
		var first outcome
		var got [3]outcome
		for seed := range uint64(3) {
			trace := newTrace(t, churn.Config{
				Fleet: []churn.Group{{Model: m, GPUs: 64}}, Mix: requests, Load: 1, WarmUp: 6, Arrivals: 12_000, Seed: seed,
			})
			first.add(run(t, trace, placement.FirstFit()))
			got[0].add(run(t, trace, selected.Best.Policy))
			got[1].add(learning(t, trace, m))
			got[2].add(run(t, trace, used))
		}
		for i := range got {
			a, b := got[i].fewer(first)
			assert.Greater(t, min(a, b), -1.0, "%s, rule %d", mix.name, i)
			mean[i][0] += a / float64(len(eight))
			mean[i][1] += b / float64(len(eight))
		}
		t.Logf("%-8s %-12s %+v", mix.name, selected.Best.Name, got)
	}
	t.Logf("mean %.1f", mean)
	assert.Greater(t, min(mean[0][0], mean[0][1]), 20.0)
	assert.Greater(t, mean[1][0], 14.0)
	assert.Greater(t, mean[1][1], 16.0)
}

func TestSelect(t *testing.T) {
	t.Parallel()
	m := model(t, "a30-24gb")
	s, err := churn.Select(m, four[2].of(t, m), 5)
	require.NoError(t, err)
	again, err := churn.Select(m, four[2].of(t, m), 5)
	require.NoError(t, err)
	assert.Equal(t, s.Best.Name, again.Best.Name)
	require.Len(t, s.Candidates, 14)
	for i, c := range s.Candidates {
		assert.GreaterOrEqual(t, c.Loss, s.Best.Loss)
		assert.Equal(t, again.Candidates[i].Requests, c.Requests)
		assert.Equal(t, c.Index != nil, i < 12, c.Name)
	}
	assert.NotEqual(t, "V(1, 1)", s.Best.Name, "it spoils whole GPUs")
	assert.Less(t, s.Best.Loss, 2.0)

	_, err = churn.Select(m, nil, 0)
	require.ErrorIs(t, err, fragmentation.ErrEmptyMix)
	_, err = churn.Select(nil, four[2].of(t, m), 0)
	require.ErrorIs(t, err, mig.ErrUnknownModel)
}
