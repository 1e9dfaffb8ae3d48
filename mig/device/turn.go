package device

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// grace is how long an operation whose context has ended is waited for: most
// calls into the driver return in less, and what came of them is then known.
const grace = 50 * time.Millisecond

// errAborted is the outcome of an operation whose goroutine was ended from
// inside, as by runtime.Goexit in a function of the caller's.
var errAborted = errors.New("the goroutine of the operation was ended")

// lateError is the end of an operation of which one call has taken too long.
type lateError struct {
	call  string
	limit time.Duration
}

func (e *lateError) Error() string {
	return fmt.Sprintf("%s did not return within %v: %v", e.call, e.limit, context.DeadlineExceeded)
}

func (e *lateError) Unwrap() error { return context.DeadlineExceeded }

// ended says why a context has ended, nil if it has not. The error matches the
// context's, if the caller gave a cause of its own, too.
func ended(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	cause := context.Cause(ctx)
	if late := (*lateError)(nil); errors.As(cause, &late) || errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// acquire waits for the operations before this one.
func (g *GPU) acquire(ctx context.Context) error {
	if g.busy == nil {
		return fmt.Errorf("this GPU does not come from Open: %w", nvml.ERROR_INVALID_ARGUMENT)
	}
	if err := ended(ctx); err != nil {
		return err
	}
	select {
	case g.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

func (g *GPU) release() { <-g.busy }

// task is an operation in a goroutine of its own, which has the GPU's turn until
// it ends.
type task[T any] struct {
	gpu     *GPU
	ended   chan struct{} // closed when value and err are set and the turn is given back
	value   T
	err     error
	overdue chan string // a call that takes longer than the limit
	limit   time.Duration
	cancel  context.CancelCauseFunc
	settled atomic.Bool // the operation has ended, or its caller has left
}

// start waits for the GPU's turn and begins an operation. A call into the driver
// that takes longer than the limit, if there is one, ends the wait for it.
// Should the caller have left when the operation succeeds, abandoned undoes what
// nobody asks for any more.
func start[T any](ctx context.Context, g *GPU, limit time.Duration, f func(context.Context) (T, error), abandoned func(T)) (*task[T], error) {
	if err := g.acquire(ctx); err != nil {
		return nil, err
	}
	t := &task[T]{gpu: g, ended: make(chan struct{}), err: errAborted, overdue: make(chan string, 1), limit: limit}
	ctx, t.cancel = context.WithCancelCause(ctx)
	go func() {
		defer close(t.ended)
		defer g.release()
		defer t.cancel(nil)
		g.watch.arm(limit, func(call string) {
			select {
			case t.overdue <- call:
			default:
			}
		})
		defer g.watch.arm(0, nil)
		t.value, t.err = f(ctx)
		if !t.settled.CompareAndSwap(false, true) && t.err == nil && abandoned != nil {
			abandoned(t.value)
		}
	}()
	return t, nil
}

// await waits for the end of an operation, of its context, or of the patience
// with one call. In the last two cases left is true, the operation goes on, and
// the error says which call has not returned.
func (t *task[T]) await(ctx context.Context) (value T, left bool, err error) {
	var why, cause error
	select {
	case <-t.ended:
		return t.value, false, t.err
	case call := <-t.overdue:
		why = fmt.Errorf("%w: %s has not returned within %v: %w", ErrIndeterminate, call, t.limit, context.DeadlineExceeded)
		cause = &lateError{call, t.limit} // the end of the operation is known then
	case <-ctx.Done():
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-t.ended:
			return t.value, false, t.err
		case <-timer.C:
		}
		why = fmt.Errorf("%w: %s has not returned: %w", ErrIndeterminate, t.gpu.watch.current(), ended(ctx))
	}
	if !t.settled.CompareAndSwap(false, true) { // it ended just now
		<-t.ended
		return t.value, false, t.err
	}
	t.cancel(cause)
	return value, true, why
}

// do runs an operation and waits for it.
func do[T any](ctx context.Context, g *GPU, s step, f func(context.Context) (T, error), abandoned func(T)) (T, error) {
	t, err := start(ctx, g, 0, f, abandoned)
	if err != nil {
		var none T
		return none, s.fail(err)
	}
	value, _, err := t.await(ctx)
	return value, s.fail(err)
}

// pause waits, unless the context ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}
