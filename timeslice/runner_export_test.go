package timeslice

import "context"

// Await waits for the end of a process.
func Await(ctx context.Context, done <-chan error) (ended bool, err error) { return await(ctx, done) }
