package churn_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/fleet"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/churn"
)

// Counting says whether all fits, as the exact search over the GPUs does.
func TestRepackingCountsRight(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"a100-40gb", "a30-24gb", "rtx-pro-6000-96gb"} {
		m := model(t, key)
		fits, err := churn.Fits(m)
		require.NoError(t, err)
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(1, 3).Draw(t, "GPUs")
			gpus := make([]fleet.GPU, n)
			for i := range gpus {
				gpus[i].Layout = m.Empty()
			}
			want := mig.Demand{}
			for p := range m.PlainProfiles() {
				want[p.Name] = rapid.IntRange(0, n*p.MaxInstances/3+1).Draw(t, p.Name)
			}
			_, err := fleet.Fit(gpus, want, 0)
			if errors.Is(err, fleet.ErrGaveUp) {
				t.Skip("not known")
			}
			assert.Equal(t, err == nil, fits(want, n), "%s on %d GPUs", want, n)
		})
	}
}

// Free moves lose fewer slices than any rule without.
func TestRepackingIsAReference(t *testing.T) {
	t.Parallel()
	m := model(t, "a100-40gb")
	trace := newTrace(t, churn.Config{
		Fleet: []churn.Group{{Model: m, GPUs: 64}}, Mix: eight[0].of(t, m), Load: 1, WarmUp: 6, Arrivals: 5000,
	})
	free, err := trace.RunRepacking()
	require.NoError(t, err)
	first := run(t, trace, placement.FirstFit())
	assert.Equal(t, first.Requests.Offered, free.Requests.Offered)
	assert.Less(t, free.Slices.Rejected*3, first.Slices.Rejected*2)

	h100 := model(t, "pg506-96gb")
	trace = newTrace(t, churn.Config{
		Fleet: []churn.Group{{Model: m, GPUs: 1}, {Model: h100, GPUs: 1}}, Mix: eight[0].of(t, m), Load: 1, Arrivals: 1,
	})
	_, err = trace.RunRepacking()
	require.ErrorIs(t, err, churn.ErrBadConfig)
}
