package replay_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/placement/replay"
)

// TestSeedsOrder: results come in the order of the seeds whatever ends first,
// and no more than the wanted number run at a time, but as many as that.
func TestSeedsOrder(t *testing.T) {
	t.Parallel()
	for _, parallel := range []int{-1, 1, 3, 9} {
		synctest.Test(t, func(t *testing.T) {
			var running, most atomic.Int64
			results, err := replay.Seeds(t.Context(), []int64{5, 4, 3, 2, 1}, parallel, func(_ context.Context, seed int64) (int64, error) {
				most.Store(max(most.Load(), running.Add(1)))
				time.Sleep(time.Duration(seed) * time.Second)
				running.Add(-1)
				return 10 * seed, nil
			})
			require.NoError(t, err)
			assert.Equal(t, []int64{50, 40, 30, 20, 10}, results)
			assert.LessOrEqual(t, most.Load(), int64(max(1, parallel)))
			if parallel > 1 {
				assert.Greater(t, most.Load(), int64(1))
			}
		})
	}
}

func TestSeedsError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	results, err := replay.Seeds(t.Context(), []int64{42, 43, 44}, 1, func(ctx context.Context, seed int64) (int, error) {
		if seed == 43 {
			return 7, broken
		}
		return 1, ctx.Err()
	})
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "seed 43")
	assert.Nil(t, results)
}

func TestSeedsStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := replay.Seeds(ctx, []int64{1}, 1, func(context.Context, int64) (int, error) {
		t.Error("a run was started")
		return 0, nil
	})
	require.ErrorIs(t, err, context.Canceled)
}

func TestNoSeeds(t *testing.T) {
	t.Parallel()
	results, err := replay.Seeds(t.Context(), nil, 2, func(context.Context, int64) (int, error) { return 1, nil })
	require.NoError(t, err)
	assert.Empty(t, results)
}
