package device

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/timeslice"
)

// grace is how long an operation whose context has ended is waited for: most
// calls into the driver return in less, and what came of them is then known.
const grace = 50 * time.Millisecond

// ended says why a context has ended. The error matches the context's, if the
// caller gave a cause of its own, too.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ctx.Err()) {
		return cause
	}
	return fmt.Errorf("%w: %w", ctx.Err(), cause)
}

// failed is an error of an operation.
func (s *Scheduler) failed(op string, engine timeslice.VGPUEngine, err error) *OpError {
	return &OpError{Op: op, GPU: s.uuid, GPUInstance: s.instance, Engine: engine, Err: err}
}

// do runs an operation when those before it have ended, in a goroutine of its own
// that has the turn until it ends.
func do[T any](ctx context.Context, s *Scheduler, op string, engine timeslice.VGPUEngine, f func(context.Context) (T, error)) (T, error) {
	var none T
	if s.turn == nil {
		return none, s.failed(op, engine, fmt.Errorf("this Scheduler does not come from Open: %w", nvml.ERROR_INVALID_ARGUMENT))
	}
	if ctx.Err() != nil {
		return none, s.failed(op, engine, ended(ctx))
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return none, s.failed(op, engine, ended(ctx))
	}
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		defer func() { <-s.turn }()
		value, err := f(ctx)
		done <- outcome{value, err}
	}()
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case o = <-done:
		case <-timer.C:
			return none, s.failed(op, engine, fmt.Errorf("%w: a call into the driver has not returned: %w", ErrIndeterminate, ended(ctx)))
		}
	}
	if inner := (*OpError)(nil); o.err != nil && !errors.As(o.err, &inner) {
		o.err = s.failed(op, engine, o.err)
	}
	if o.err != nil {
		return none, o.err
	}
	return o.value, nil
}
