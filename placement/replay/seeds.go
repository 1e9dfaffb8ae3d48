package replay

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// Seeds calls run for every seed, at most parallel at a time (0 or less: one),
// and returns the results in the order of the seeds. run must be safe to call
// concurrently. The first error ends the others' context and is returned with
// its seed; there are no results then.
func Seeds[T any](ctx context.Context, seeds []int64, parallel int, run func(ctx context.Context, seed int64) (T, error)) ([]T, error) {
	results := make([]T, len(seeds))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, parallel))
	for i, seed := range seeds {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("replay: seed %d: not started: %w", seed, err)
			}
			result, err := run(ctx, seed)
			if err != nil {
				return fmt.Errorf("replay: seed %d: %w", seed, err)
			}
			results[i] = result
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return results, nil
}
