package device

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// What fails on the way to a layout is tried so often, with waits that double.
const (
	reachTries = 4
	reachWait  = 100 * time.Millisecond
)

// rollBack restores the layout that stood there before and returns why it did,
// and what went wrong. It is not cut short.
func (t *transaction) rollBack(ctx context.Context, cause error) error {
	ctx = context.WithoutCancel(ctx)
	_ = t.note(Record{Phase: PhaseBack, Error: cause.Error()}, Event{})
	if err := t.reach(ctx, t.report.Before); err != nil {
		cause = fmt.Errorf("%w; on the way back: %w", cause, err)
	}
	return t.settle(ctx, cause, nil)
}

// reach brings the GPU to a layout, from whatever a transaction has left. It
// destroys only what the ledger owns and nobody uses. Another's instance, or one
// in use, ends a later run before it changes anything; the run itself, on its way
// back, restores what has room beside it and then reports it.
func (t *transaction) reach(ctx context.Context, goal []plan.Instance) error {
	for i, wait := 1, reachWait; ; i, wait = i+1, 2*wait {
		over, err := t.approach(ctx, goal)
		if over || err == nil || i == reachTries {
			return err
		}
		if stop := pause(ctx, wait); stop != nil {
			return fmt.Errorf("%w; %w", stop, err)
		}
	}
}

// approach is one try. It reports whether another is of no use.
func (t *transaction) approach(ctx context.Context, goal []plan.Instance) (over bool, err error) {
	if err := ended(ctx); err != nil {
		return true, err
	}
	from, blockers, err := t.look(ctx)
	if err != nil {
		return false, err
	}
	if err := t.g.cutAndToStay(t.now.Mode); err != nil {
		return true, err
	}
	target, pinned, err := t.target(from, goal)
	if err != nil {
		return true, err
	}
	changed, refurnishErr := t.refurnish(ctx, from, target)
	if t.mute() {
		return true, also(refurnishErr, t.broken)
	}
	if changed { // and others may have changed something meanwhile
		if from, blockers, err = t.look(ctx); err != nil {
			return false, also(err, refurnishErr)
		}
		if target, pinned, err = t.target(from, goal); err != nil {
			return true, also(err, refurnishErr)
		}
	}
	for i := range from.Instances {
		from.Instances[i].Busy = from.Instances[i].Busy || slices.Contains(pinned, placed(from.Instances[i]))
	}
	p, err := plan.Restore(from, target)
	if err != nil {
		return true, t.explain(err, blockers)
	}
	for i, step := range p.Steps {
		err := t.perform(ctx, step, i+1, len(p.Steps), t.way != wayOn)
		if err == nil {
			continue
		}
		if step.Op == plan.Destroy && errors.Is(err, ErrInUse) && t.way == live {
			t.stuck = append(t.stuck, placed(step.Instance))
		}
		return ended(ctx) != nil || t.mute(), also(fmt.Errorf("%s %s: %w", step.Op, step.Instance.Instance, err), refurnishErr)
	}
	return t.compare(ctx, goal, pinned, blockers)
}

// mute reports whether a run has to stop since it cannot write its journal. The way
// back goes on.
func (t *transaction) mute() bool { return t.broken != nil && t.way != live }

// look reads the GPU and who is busy.
func (t *transaction) look(ctx context.Context) (plan.State, []Blocker, error) {
	st, err := t.reread(ctx)
	if err != nil {
		return plan.State{}, nil, err
	}
	t.ledger.prune(st)
	return t.g.planState(ctx, st)
}

// target is the goal as far as it can be had beside what must not be touched,
// which it contains and which is returned by place.
func (t *transaction) target(from plan.State, goal []plan.Instance) (target []plan.Instance, pinned []mig.Instance, err error) {
	layout := t.g.model.Empty()
	add := func(in plan.Instance) bool {
		p, err := t.g.model.Profile(in.Profile)
		if err != nil {
			return false
		}
		next, err := layout.With(p, in.Start)
		if err != nil {
			return false
		}
		layout = next
		target = append(target, in)
		return true
	}
	for i, in := range from.Instances {
		want, wanted := at(goal, placed(in))
		fits := wanted && sameLayout([]plan.Instance{in}, []plan.Instance{want})
		owned := t.ledger.owns(in, t.way) && !slices.Contains(t.stuck, placed(in))
		switch {
		case fits || owned && !in.Busy:
			continue
		case t.way != live && !owned:
			return nil, nil, fmt.Errorf("%w: %s belongs neither to the layout before the plan nor to its goal", ErrChanged, t.now.Instances[i].withUUIDs())
		case t.way != live:
			continue // plan.Restore says that it is busy
		}
		pinned = append(pinned, placed(in))
		add(in)
	}
	for _, in := range goal {
		add(in)
	}
	return target, pinned, nil
}

// refurnish puts back the compute instances that a GPU instance of the goal has
// lost, or has not got yet, where the GPU instance itself still stands. It
// reports whether anything may have changed.
func (t *transaction) refurnish(ctx context.Context, from plan.State, target []plan.Instance) (changed bool, err error) {
	for i, in := range from.Instances {
		want, wanted := at(target, placed(in))
		lacking := missing(want.Compute, in.Compute)
		if !wanted || in.Busy || len(lacking) == 0 || !within(in.Compute, want.Compute) || !t.ledger.owns(in, t.way) {
			continue
		}
		changed = true
		step := plan.Step{Op: plan.Create, Instance: plan.Instance{Instance: in.Instance, Compute: want.Compute}}
		e := Event{Step: 1, Total: 1, Back: t.way != wayOn, Op: step.Op, Instance: step.Instance, Phase: PhaseBegin}
		if t.note(Record{Phase: PhaseBegin, Step: &step}, e) != nil && t.mute() {
			return changed, err
		}
		now, failed := t.furnish(ctx, t.now.Instances[i], lacking)
		if failed != nil {
			err = also(err, fmt.Errorf("furnish %s again: %w", in.Instance, failed))
			e.Phase, e.Err = PhaseFailed, failed
			_ = t.note(Record{Phase: PhaseFailed, Step: &step, Left: &in, Error: failed.Error()}, e)
			continue
		}
		step.Instance = now.plan()
		e.Phase, e.Instance = PhaseDone, step.Instance
		if t.way == wayOn {
			t.report.Done = append(t.report.Done, step)
		} else {
			t.report.Back = append(t.report.Back, step)
		}
		_ = t.note(Record{Phase: PhaseDone, Step: &step}, e)
		t.publish()
	}
	return changed, err
}

// furnish gives a GPU instance that stands compute instances besides those it has.
func (t *transaction) furnish(ctx context.Context, in Instance, lacking []mig.ComputeInstance) (Instance, error) {
	p, err := t.g.model.Profile(in.Profile)
	if err != nil {
		return Instance{}, err
	}
	offers, err := t.g.offers(ctx)
	if err != nil {
		return Instance{}, err
	}
	o, err := find(offers, p)
	if err != nil {
		return Instance{}, err
	}
	gi, err := t.g.same(in, o.info.Id)
	if err == nil && gi == nil {
		err = fmt.Errorf("%w: it is gone", ErrChanged)
	}
	if err != nil {
		return Instance{}, err
	}
	n := newborn{in: in, profileID: o.info.Id, gi: gi}
	n.in.Compute = slices.Clone(in.Compute)
	return t.g.furnish(ctx, &n, lacking)
}

// compare reads the GPU at the end of the way and says what differs. What was
// left alone is named, and another try is of no use.
func (t *transaction) compare(ctx context.Context, goal []plan.Instance, pinned []mig.Instance, blockers []Blocker) (over bool, err error) {
	st, err := t.reread(context.WithoutCancel(ctx))
	if err != nil {
		return false, err
	}
	for _, place := range pinned {
		in, there := st.At(place.Start)
		if !there {
			continue
		}
		why := "it is not of this plan, or in use"
		if held := holders(blockers, in.ID); len(held) > 0 {
			why = (&InUseError{Blockers: held}).Error()
		}
		err = also(err, fmt.Errorf("%w: %s was left alone: %s", ErrChanged, in.withUUIDs(), why))
	}
	if err != nil {
		return true, err
	}
	if !t.stands(goal) {
		return false, fmt.Errorf("%w: the GPU holds %s", ErrUnverified, st.Layout)
	}
	return false, nil
}

// stands reports whether the last reading is a layout.
func (t *transaction) stands(goal []plan.Instance) bool {
	now := t.now.Plan()
	if sameLayout(now.Instances, goal) {
		return true
	}
	now.Model = t.g.model // full size can be written in several ways
	p, err := plan.Restore(now, goal)
	return err == nil && len(p.Steps) == 0
}

// explain adds to a refusal who keeps the instances busy.
func (t *transaction) explain(err error, blockers []Blocker) error {
	refusal := (*plan.Refusal)(nil)
	if !errors.As(err, &refusal) {
		return err
	}
	for _, busy := range refusal.Busy {
		in, _ := t.now.At(busy.Start)
		if held := holders(blockers, in.ID); len(held) > 0 {
			err = fmt.Errorf("%w: %s: %w", err, busy.Instance, &InUseError{Blockers: held})
		}
	}
	return err
}
