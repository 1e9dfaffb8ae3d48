package device_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/plan"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

// Several things go wrong in one run, another process among them: nothing is a
// success that is none, what is another's stays, and a second run or a new plan
// reaches the goal.
func TestSeveralFaults(t *testing.T) {
	t.Parallel()
	runs := 400
	if testing.Short() || raceEnabled {
		runs = 60
	}
	kinds := slices.DeleteFunc(slices.Clone(faultKinds), func(k faultKind) bool { return k.hangs })
	models := sweepModels()
	ends := map[string]int{}
	for i := range runs {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(i), 11))
			ends[severalFaults(t, rng, sweepCaseOf(t.Context(), t, i, models), kinds)]++
		})
	}
	t.Logf("%d runs with several faults, ends %v", runs, ends)
}

func severalFaults(t *testing.T, rng *rand.Rand, c sweepCase, kinds []faultKind) string {
	t.Helper()
	ctx := t.Context()
	c.count(ctx, t)
	sh := &shot{rig: c.rig(ctx, t)}
	var rules []fault.Rule
	var name string
	others := false
	for range 2 + rng.IntN(2) {
		kind := kinds[rng.IntN(len(kinds))]
		if strings.HasPrefix(kind.name, "another") {
			if others {
				continue
			}
			others = true
		}
		rule := kind.rule(sh)
		rule.Method, rule.Nth = "*", 1+rng.IntN(2*c.calls)
		switch {
		case kind.only != "":
			rule.Method, rule.Nth = "GpuInstance."+kind.only+",ComputeInstance."+kind.only, 1+rng.IntN(c.changes)
		case !kind.any && rng.IntN(2) == 0:
			rule.Method, rule.Nth = changes, 1+rng.IntN(c.changes)
		case rule.Times == 0:
			rule.Times = 3
		}
		rules = append(rules, rule)
		name += fmt.Sprintf("%s at %d of %s, ", kind.name, rule.Nth, rule.Method)
	}
	name += fmt.Sprintf("in %v (from %v)", c.plan, c.from)
	require.NoError(t, sh.rig.rules.Set(rules...))

	var journal bytes.Buffer
	report, err := sh.rig.gpu.Apply(ctx, c.plan, device.ApplyOptions{Journal: &journal, CallTimeout: 10 * time.Second})
	if report.Outcome == device.Indeterminate {
		report, err = report.Wait(ctx)
	}
	require.NoError(t, sh.rig.rules.Set())
	end := string(report.Outcome)
	sh.truthful(t, report, err, c.plan.Goal, name)

	if journal.Len() > 0 {
		j, err := device.ReadJournal(&journal)
		require.NoError(t, err, name)
		report, err = sh.rig.gpu.Resume(ctx, j, device.ApplyOptions{})
		sh.truthful(t, report, err, c.plan.Goal, name)
		if err != nil {
			require.ErrorIs(t, err, device.ErrChanged, name)
			end += ", a new plan"
		}
	}
	if sh.undo != nil {
		sh.undo()
	}
	p, err := plan.Restore(sh.rig.state(ctx, t), c.plan.Goal)
	require.NoError(t, err, name)
	_, err = sh.rig.gpu.Apply(ctx, p, device.ApplyOptions{})
	require.NoError(t, err, name)
	require.True(t, standsAs(sh.rig.state(ctx, t).Instances, c.plan.Goal, false), name)
	return end
}

// truthful checks a report by itself, and that what is another's still stands.
func (sh *shot) truthful(t *testing.T, r device.Report, err error, goal []plan.Instance, name string) {
	t.Helper()
	require.NoError(t, sh.rig.srv.Audit())
	sh.keeps(t, sh.rig.state(t.Context(), t).Instances, name)
	require.Equal(t, err == nil, r.Outcome == device.Done, "%s: %v: %v", name, r, err)
	switch r.Outcome {
	case device.Done:
		require.True(t, standsAs(r.After, goal, false), "silent success: %s: %v", name, r)
	case device.RolledBack:
		require.True(t, standsAs(r.After, r.Before, false), name)
	case device.Unchanged:
		require.True(t, r.After == nil || standsAs(r.After, r.Before, true), name)
	case device.Left:
	case device.Indeterminate:
		require.Fail(t, "a final report", "%s: %v", name, r)
	}
}
