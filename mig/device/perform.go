package device

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// A driver can go on reporting a GPU instance as in use for a moment after its
// compute instances have gone: its destruction is tried so often, with waits that
// double, 1.5 seconds in all.
const (
	inUseTries = 5
	inUseWait  = 100 * time.Millisecond
)

// A reading that fails is repeated where there is no caller to ask again.
const (
	rereadTries = 4
	rereadWait  = 50 * time.Millisecond
)

// perform does one step, with its records.
func (t *transaction) perform(ctx context.Context, step plan.Step, n, total int, back bool) error {
	if err := ended(ctx); err != nil {
		return err
	}
	e := Event{Step: n, Total: total, Back: back, Op: step.Op, Instance: step.Instance, Phase: PhaseBegin}
	if err := t.note(Record{Phase: PhaseBegin, Step: &step}, e); err != nil {
		return err
	}
	done, left, err := t.carryOut(ctx, step)
	if err != nil {
		e.Phase, e.Err = PhaseFailed, err
		_ = t.note(Record{Phase: PhaseFailed, Step: &step, Left: left, Error: err.Error()}, e)
		return err
	}
	e.Phase, e.Instance = PhaseDone, done.Instance
	if back {
		t.report.Back = append(t.report.Back, done)
	} else {
		t.report.Done = append(t.report.Done, done)
	}
	err = t.note(Record{Phase: PhaseDone, Step: &done}, e)
	t.publish()
	return err
}

// note keeps the books, writes the journal and tells the observer. Its error is
// that of the journal, once: what comes later is written if it can be.
func (t *transaction) note(r Record, e Event) error {
	t.ledger.note(r)
	err := t.write(r)
	if t.broken != nil {
		err = nil
	}
	t.broken = also(t.broken, err)
	if t.opts.Observe != nil && r.Step != nil && (err == nil || r.Phase != PhaseBegin) {
		t.g.watch.while("the observer", func() { t.opts.Observe(e) })
	}
	return err
}

// write writes a line of the journal.
func (t *transaction) write(v any) (err error) {
	t.g.watch.while("the write of the journal", func() { err = t.scribe.write(v) })
	return err
}

// carryOut does what a step says. It returns the step as it was done or, with an
// error, what is left of the instance where the step has left something half done.
func (t *transaction) carryOut(ctx context.Context, step plan.Step) (done plan.Step, left *plan.Instance, err error) {
	if step.Op == plan.Destroy {
		err = t.destroy(ctx, step.Start)
	} else {
		var in Instance
		if in, err = t.g.create(ctx, step.Instance.Instance, step.Compute); err == nil {
			t.now.Instances = append(t.now.Instances, in)
			return plan.Step{Op: step.Op, Instance: in.plan()}, nil, nil
		}
	}
	if err == nil {
		return step, nil, nil
	}
	if failed := (*OpError)(nil); errors.As(err, &failed) && failed.Left != nil {
		p := failed.Left.plan()
		left = &p
	}
	return plan.Step{}, left, err
}

// destroy destroys the instance that was read at a start. That it is gone
// already is no error: the step's purpose is fulfilled.
func (t *transaction) destroy(ctx context.Context, start int) error {
	in, there := t.now.At(start)
	if !there {
		return nil
	}
	err := t.g.destroy(ctx, in)
	for i, wait := 1, inUseWait; i < inUseTries && emptyInUse(err); i, wait = i+1, 2*wait {
		if stop := pause(ctx, wait); stop != nil {
			err = fmt.Errorf("%w; %w", stop, err)
			break
		}
		if again := t.g.destroy(ctx, in); again == nil || !errors.Is(again, mig.ErrNoInstance) {
			err = again
		} else {
			err = nil
		}
	}
	if err == nil || errors.Is(err, mig.ErrNoInstance) {
		t.forget(start)
		return nil
	}
	// An error of the driver's is no proof that nothing was done.
	if st, readErr := t.reread(context.WithoutCancel(ctx)); readErr == nil {
		if _, there := st.At(start); !there {
			return nil
		}
	}
	return t.g.withUsers(ctx, in.ID, err)
}

// emptyInUse reports whether a destruction has stopped at a GPU instance without
// compute instances that is in use.
func emptyInUse(err error) bool {
	failed := (*OpError)(nil)
	return errors.Is(err, ErrInUse) && errors.As(err, &failed) && failed.ComputeInstance == None &&
		(failed.Left == nil || len(failed.Left.Compute) == 0)
}

// forget takes an instance off what was read.
func (t *transaction) forget(start int) {
	var rest []Instance
	for _, in := range t.now.Instances {
		if in.Start != start {
			rest = append(rest, in)
		}
	}
	t.now.Instances = rest
}

// reread reads the GPU, several times if need be.
func (t *transaction) reread(ctx context.Context) (State, error) {
	for i, wait := 1, rereadWait; ; i, wait = i+1, 2*wait {
		st, _, err := t.g.read(ctx)
		if err == nil {
			t.now = st
			return st, nil
		}
		if i == rereadTries || errors.Is(err, ErrMismatch) {
			return State{}, err
		}
		if stop := pause(ctx, wait); stop != nil {
			return State{}, fmt.Errorf("%w; %w", stop, err)
		}
	}
}
