package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

func ops(steps []plan.ModeStep) []plan.ModeOp {
	list := []plan.ModeOp{}
	for _, s := range steps {
		list = append(list, s.Op)
	}
	return list
}

func TestMode(t *testing.T) {
	t.Parallel()
	const on, off = true, false
	ampere, hopper, unknown := lookup(t, "a30-24gb"), lookup(t, "h100-80gb-sxm5"), lookup(t, "rtx-pro-6000-96gb")
	for _, c := range []struct {
		name                   string
		model                  *mig.Model
		current, pending, want bool
		ops                    []plan.ModeOp
	}{
		{"on already", ampere, on, on, on, []plan.ModeOp{}},
		{"off already, of nothing known", nil, off, off, off, []plan.ModeOp{}},
		{"on, Ampere", ampere, off, off, on, []plan.ModeOp{plan.SetMode, plan.Reset}},
		{"off, Ampere", ampere, on, on, off, []plan.ModeOp{plan.SetMode, plan.Reset}},
		{"pending on Ampere", ampere, off, on, on, []plan.ModeOp{plan.Reset}},
		{"a pending change is taken back", ampere, on, off, on, []plan.ModeOp{plan.SetMode}},
		{"on, Hopper", hopper, off, off, on, []plan.ModeOp{plan.SetMode}},
		{"off, Hopper", hopper, on, on, off, []plan.ModeOp{plan.SetMode}},
		{"held up by a client on Hopper", hopper, off, on, on, []plan.ModeOp{plan.SetMode}},
		{"no source says", unknown, off, off, on, []plan.ModeOp{plan.SetMode, plan.ResetIfPending}},
		{"no model", nil, on, on, off, []plan.ModeOp{plan.SetMode, plan.ResetIfPending}},
		{"no source says, but it waits", unknown, off, on, on, []plan.ModeOp{plan.Reset}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			steps := plan.Mode(c.model, c.current, c.pending, c.want)
			assert.Equal(t, c.ops, ops(steps))
			for _, s := range steps {
				assert.NotEmpty(t, s.Why)
			}
		})
	}
}

// TestModeOfEveryModel: by the table's own word, and so by architecture.
func TestModeOfEveryModel(t *testing.T) {
	t.Parallel()
	for m := range mig.Models() {
		got := ops(plan.Mode(m, false, false, true))
		switch s := m.Spec(); {
		case s.Architecture == "Ampere":
			assert.Equal(t, []plan.ModeOp{plan.SetMode, plan.Reset}, got, m.Key())
		case s.ModeNeedsResetKnown:
			assert.Equal(t, []plan.ModeOp{plan.SetMode}, got, m.Key())
		default:
			assert.Equal(t, []plan.ModeOp{plan.SetMode, plan.ResetIfPending}, got, m.Key())
		}
	}
}
