package device

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// ApplyOptions are the options of Apply, Resume and Undo, all of them optional.
type ApplyOptions struct {
	// Journal takes the record that lets a second run carry on: see Journal. Apply
	// begins one, in an empty file; Resume and Undo add to the one they were given, so
	// theirs is the same file, opened for appending. Writes come from one goroutine at a
	// time. One that fails before the first change makes Apply refuse, one that fails
	// later counts as a failed step; the roll back then goes on, and goes on trying to
	// write.
	Journal io.Writer

	// Observe is called before and after each step, from the goroutine that does
	// the work, also after the context has ended. The GPU's turn is taken
	// meanwhile: it must not wait for this GPU.
	Observe func(Event)

	// CallTimeout bounds each single call into the driver; 0 does not. A call that
	// takes longer ends the transaction as the end of the context does.
	CallTimeout time.Duration
}

// Event is what an observer is told.
type Event struct {
	Step, Total int // from 1, of those of the plan or of the way back
	Back        bool
	Op          plan.Op
	Instance    plan.Instance // of a creation that is done: with its UUIDs
	Phase       Phase         // PhaseBegin, PhaseDone or PhaseFailed
	Err         error         // of PhaseFailed
}

// Apply carries out a plan as one transaction: afterwards the goal stands, or
// what stood there before, or the report says what does.
//
// Before anything changes, the GPU is read and the plan refused unless it starts
// from exactly this state. The error then matches
//   - ErrDisabled: MIG mode is off, or a change of it is pending;
//   - plan.ErrStale: another state, another GPU;
//   - ErrInUse and plan.ErrBusy: a process runs on an instance that the plan
//     destroys; the *InUseError in the chain names it;
//   - plan.ErrBadPlan or an error of package mig: not a plan for this model;
//   - or the journal cannot be written.
//
// Then the steps are done one by one, each verified by reading the GPU. When one
// fails, or the context ends between two calls, what was done is undone: the
// report is RolledBack with the former layout, or Unchanged if not even an UUID
// has changed, or Left with what stands there, where that could not be had. The
// roll back destroys nothing that the transaction did not create or that a
// process uses by then. The error is the cause, with what went wrong on the way
// back. Without an error the report is Done, and the GPU was read at the end and
// holds the goal. One error comes with Done: the journal's last line could not be
// written.
//
// When the context ends in a call into the driver, or a call takes longer than
// CallTimeout, Apply returns soon all the same, with a report that says
// Indeterminate and ErrIndeterminate. The rest happens in the background once the
// call returns: the roll back, or the last verification, and the journal.
// Report.Wait waits for it, and so does every other operation on this GPU.
func (g *GPU) Apply(ctx context.Context, p plan.Plan, opts ApplyOptions) (Report, error) {
	return g.transact(ctx, "apply plan", opts, func(ctx context.Context, t *transaction) error {
		return t.apply(ctx, p)
	})
}

// transaction is one run of Apply, Resume or Undo.
type transaction struct {
	g      *GPU
	opts   ApplyOptions
	report Report
	ledger ledger
	now    State // as read last, and kept up since
	way    way
	scribe scribe
	broken error          // the journal's first error
	stuck  []mig.Instance // in use by somebody whom NVML does not list
	goal   Outcome
	latest atomic.Pointer[Report] // a copy for who does not wait for the end
}

// transact runs a transaction in a goroutine of its own.
func (g *GPU) transact(ctx context.Context, op string, opts ApplyOptions, work func(context.Context, *transaction) error) (Report, error) {
	s := g.step(op)
	t := &transaction{g: g, opts: opts, goal: Done, scribe: scribe{w: opts.Journal}}
	t.report = Report{GPU: g.uuid, Outcome: Unchanged}
	if g.model != nil {
		t.report.Model = g.model.Key()
	}
	t.publish()
	finish := func(r Report, err error) (Report, error) {
		if r.err = s.fail(err); r.err != nil {
			r.Error = r.err.Error()
		}
		return r, r.err
	}
	run, err := start(ctx, g, opts.CallTimeout, func(ctx context.Context) (Report, error) {
		err := work(ctx, t)
		return finish(t.report, err)
	}, nil)
	if err != nil {
		return finish(t.report, err)
	}
	r, left, err := run.await(ctx)
	switch {
	case left:
		r = *t.latest.Load()
		r.Outcome, r.After, r.pending = Indeterminate, nil, run
	case errors.Is(err, errAborted):
		r = *t.latest.Load()
		r.Outcome, r.After = Left, nil
	default:
		return r, err
	}
	return finish(r, err)
}

// publish makes a copy of the report for who does not wait for the end.
func (t *transaction) publish() {
	r := t.report
	r.Done, r.Back = slices.Clone(r.Done), slices.Clone(r.Back)
	t.latest.Store(&r)
}

func (t *transaction) apply(ctx context.Context, p plan.Plan) error {
	from, blockers, err := t.begin(ctx)
	if err != nil {
		return err
	}
	if err := admissible(p, from, t.now, blockers); err != nil {
		return err
	}
	t.ledger = newLedger(from.Instances)
	header := Journal{Schema: JournalSchema, GPU: t.g.uuid, Model: t.g.model.Key(), Plan: p, Before: t.report.Before}
	if err := t.write(header); err != nil {
		return err
	}
	for i, step := range p.Steps {
		if err = t.perform(ctx, step, i+1, len(p.Steps), false); err != nil {
			t.report.Failed = &p.Steps[i]
			return t.rollBack(ctx, fmt.Errorf("step %d of %d, %s %s: %w", i+1, len(p.Steps), step.Op, step.Instance.Instance, err))
		}
	}
	return t.settle(ctx, nil, func() error { return t.reached(p) })
}

// begin reads the GPU before a transaction and makes sure that MIG mode is on
// and to stay so.
func (t *transaction) begin(ctx context.Context) (plan.State, []Blocker, error) {
	st, _, err := t.g.read(ctx)
	if err != nil {
		return plan.State{}, nil, err
	}
	t.now = st
	t.report.Before, t.report.After = st.planned(), st.planned()
	t.publish()
	if err := t.g.cutAndToStay(st.Mode); err != nil {
		return plan.State{}, nil, err
	}
	from, blockers, err := t.g.planState(ctx, st)
	return from, blockers, err
}

// admissible checks a plan against what stands on the GPU.
func admissible(p plan.Plan, from plan.State, st State, blockers []Blocker) error {
	if p.GPU != "" && p.GPU != from.GPU {
		return fmt.Errorf("%w: it is for %s", plan.ErrStale, p.GPU)
	}
	err := p.Check(from)
	if !errors.Is(err, plan.ErrBusy) {
		return err
	}
	for _, step := range p.Steps {
		in, there := st.At(step.Start)
		if held := holders(blockers, in.ID); step.Op == plan.Destroy && there && len(held) > 0 {
			err = fmt.Errorf("%w: %s: %w", err, in.Instance, &InUseError{Blockers: held})
		}
	}
	return err
}

// reached reports as an error what a last reading lacks of the plan's goal: the
// very instances that were to be kept, the very ones that were created, and no
// others.
func (t *transaction) reached(p plan.Plan) error {
	var want []plan.Instance
	for _, in := range p.Goal {
		own, there := at(t.report.Before, placed(in))
		for _, step := range t.report.Done {
			if step.Op == plan.Create && placed(step.Instance) == placed(in) {
				own, there = step.Instance, true
			}
		}
		if there {
			want = append(want, own)
		}
	}
	if len(want) != len(p.Goal) || !sameInstances(t.report.After, want) {
		return fmt.Errorf("%w: all steps were done, and now the GPU holds %s", ErrChanged, t.now.Layout)
	}
	return nil
}

// settle ends a transaction: it reads the GPU and says what has become of it.
func (t *transaction) settle(ctx context.Context, err error, reached func() error) error {
	st, readErr := t.reread(context.WithoutCancel(ctx))
	r := &t.report
	r.Outcome, r.After = Left, nil
	if readErr != nil {
		err = also(err, fmt.Errorf("what stands there could not be read: %w", readErr))
	} else {
		r.After = st.planned()
		if err == nil {
			err = reached()
		}
		r.Renewed = renewed(r.Before, r.After)
		switch {
		case err == nil:
			r.Outcome = t.goal
		case sameInstances(r.Before, r.After):
			r.Outcome = Unchanged
		case t.way == live && sameLayout(r.Before, r.After):
			r.Outcome = RolledBack
		}
	}
	if err == nil && t.broken != nil {
		err = t.broken
	}
	end := Record{Phase: PhaseEnd, Outcome: r.Outcome}
	if err != nil {
		end.Error = err.Error()
	}
	if journalErr := t.write(end); journalErr != nil && t.broken == nil {
		err = also(err, journalErr)
	}
	return err
}

// also returns two errors as one, or the one that there is.
func also(err, more error) error {
	switch {
	case err == nil:
		return more
	case more == nil:
		return err
	default:
		return fmt.Errorf("%w; %w", err, more)
	}
}
