package device

import (
	"context"
	"fmt"

	"github.com/gpushare/gpushare/mig/plan"
)

// Resume carries a transaction on that has ended half way, as after a crash or
// with a report that says Left: from whatever stands there now to the goal of the
// plan. It also repeats one that was rolled back, and has nothing to do after one
// that is done.
//
// Each instance that stands there must have stood there before the plan, be as
// the goal wants it, or be what a step of the journal has made or left; one that
// is not makes Resume refuse with ErrChanged, which names it, before anything has
// changed. So does an instance that has to go and is in use (plan.ErrBusy,
// ErrInUse), a journal of another GPU or of another form (ErrJournal), and a MIG
// mode that is off (ErrDisabled). After a reboot nothing stands there, and the
// whole goal is created.
//
// The report is Done; with an error it is Unchanged or Left, and another Resume
// or Undo can follow, with the journal to which this one has added. Nothing is rolled
// back. Otherwise all is as in Apply.
//
// What a run made that could not write its journal is nobody's by that journal:
// where Resume and Undo refuse it, make a new plan from what stands there.
func (g *GPU) Resume(ctx context.Context, j Journal, opts ApplyOptions) (Report, error) {
	return g.transact(ctx, "resume plan", opts, func(ctx context.Context, t *transaction) error {
		t.way = wayOn
		return t.resume(ctx, j, j.Plan.Goal)
	})
}

// Undo restores the layout from before a transaction, whether it was done, has
// ended half way or was rolled back in part. All that Resume says holds, with the
// former layout in the place of the goal, and RolledBack in that of Done. The MIG
// devices that are created again have new UUIDs; the report's Renewed compares
// what stood there when Undo began.
func (g *GPU) Undo(ctx context.Context, j Journal, opts ApplyOptions) (Report, error) {
	return g.transact(ctx, "undo plan", opts, func(ctx context.Context, t *transaction) error {
		t.way, t.goal = wayBack, RolledBack
		return t.resume(ctx, j, j.Before)
	})
}

func (t *transaction) resume(ctx context.Context, j Journal, goal []plan.Instance) error {
	switch {
	case j.Schema != JournalSchema:
		return fmt.Errorf("%w: schema %d, not %d", ErrJournal, j.Schema, JournalSchema)
	case j.GPU != t.g.uuid:
		return fmt.Errorf("%w: it is of GPU %s", ErrJournal, j.GPU)
	case j.Model != t.g.model.Key():
		return fmt.Errorf("%w: it is of a %s, the GPU is a %s", ErrJournal, j.Model, t.g.model)
	}
	if _, _, err := t.begin(ctx); err != nil {
		return err
	}
	t.ledger = newLedger(j.Before)
	for _, r := range j.Records {
		t.ledger.note(r)
	}
	t.scribe.torn = j.unended || j.Torn
	if err := t.write(Record{Phase: PhaseResume}); err != nil {
		return err
	}
	return t.settle(ctx, t.reach(ctx, goal), func() error {
		if !t.stands(goal) {
			return fmt.Errorf("%w: all steps were done, and now the GPU holds %s", ErrChanged, t.now.Layout)
		}
		return nil
	})
}
