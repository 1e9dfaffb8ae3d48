package device_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/plan"
)

var (
	sweepPlans = flag.Int("sweep.plans", 1000, "random plans of the fault sweep")
	sweepFull  = flag.Bool("sweep.full", false, "every kind of fault at every change of every plan, instead of one for each step in turn")
)

// standsAs compares what stands with a list, by the test's own means.
func standsAs(a, b []plan.Instance, uuids bool) bool {
	text := func(all []plan.Instance) []string {
		var lines []string
		for _, in := range all {
			var inside []string
			for i, c := range in.Compute {
				line := fmt.Sprint(c.Profile, c.Index, "@", c.Start)
				if uuids {
					line += in.UUIDs[i]
				}
				inside = append(inside, line)
			}
			slices.Sort(inside)
			lines = append(lines, fmt.Sprint(in.Profile, "@", in.Start, inside))
		}
		slices.Sort(lines)
		return lines
	}
	return slices.Equal(text(a), text(b))
}

// tally counts how the runs ended.
type tally struct {
	runs, resumed, undone, fired atomic.Int64
	mu                           sync.Mutex
	outcomes                     map[string]int
}

func (ta *tally) count(o device.Outcome) {
	ta.runs.Add(1)
	ta.mu.Lock()
	defer ta.mu.Unlock()
	if ta.outcomes == nil {
		ta.outcomes = map[string]int{}
	}
	ta.outcomes[string(o)]++
}

// run applies the plan with a fault at the n-th change, and checks what became of
// it, then lets a second run carry on.
func (c sweepCase) run(ctx context.Context, t *testing.T, kind faultKind, n int, ta *tally) {
	t.Helper()
	r := c.rig(ctx, t)
	sh := &shot{rig: r, release: make(chan struct{})}
	rule := kind.rule(sh)
	rule.Method, rule.Nth = changes, n
	if kind.only != "" {
		rule.Method, rule.Nth = "GpuInstance."+kind.only+",ComputeInstance."+kind.only, 1+n/2
	}
	if kind.any {
		rule.Method, rule.Nth = "*", 1+n*7919%c.calls
	}
	require.NoError(t, r.rules.Set(rule))
	name := fmt.Sprintf("%s at change %d of %v (from %v)", kind.name, n, c.plan, c.from)

	var journal bytes.Buffer
	opts := device.ApplyOptions{Journal: &journal, CallTimeout: 10 * time.Second}
	runCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	if kind.hangs {
		opts.CallTimeout = 0
		time.AfterFunc(time.Second, cancel)
		time.AfterFunc(time.Hour, func() { close(sh.release) })
	}
	report, err := r.gpu.Apply(runCtx, c.plan, opts)
	if report.Outcome == device.Indeterminate {
		require.ErrorIs(t, err, device.ErrIndeterminate, name)
		report, err = report.Wait(ctx)
	}
	if r.rules.Fired()[0] > 0 {
		ta.fired.Add(1)
	}
	require.NoError(t, r.rules.Set())
	ta.count(report.Outcome)

	now := r.state(ctx, t).Instances
	sh.keeps(t, now, name)
	before := c.from.Instances
	if kind.late && report.After != nil {
		before, now = report.Before, report.After
	}
	crashed := strings.HasPrefix(kind.name, "crash") && report.After == nil
	switch report.Outcome {
	case device.Done:
		require.NoError(t, err, name)
		require.True(t, standsAs(now, c.plan.Goal, false), "silent success: %s: %v", name, now)
	case device.RolledBack:
		require.Error(t, err, name)
		require.True(t, standsAs(now, before, false), "%s: %v", name, now)
	case device.Unchanged:
		require.Error(t, err, name)
		require.True(t, standsAs(now, before, true), "%s: %v", name, now)
	case device.Left:
		require.Error(t, err, name)
		require.False(t, kind.heals, "%s: %v", name, err)
	default:
		require.Fail(t, "outcome", "%s: %q", name, report.Outcome)
	}
	if report.After != nil {
		require.True(t, standsAs(now, report.After, true), "%s: report %v, device %v: %v", name, report.After, now, err)
	}
	require.NoError(t, r.srv.Audit())
	c.secondRun(ctx, t, r, sh, journal.Bytes(), kind, name, crashed, ta)
}

func (c sweepCase) secondRun(ctx context.Context, t *testing.T, r *rig, sh *shot, journal []byte, kind faultKind, name string, crashed bool, ta *tally) {
	t.Helper()
	if len(journal) == 0 {
		return
	}
	if crashed && len(name)%2 == 0 { // it was about to write
		journal = append(slices.Clone(journal), `{"phase":"do`...)
	}
	j, err := device.ReadJournal(bytes.NewReader(journal))
	require.NoError(t, err, name)
	second, goal := r.gpu.Resume, c.plan.Goal
	want := device.Done
	if ta.runs.Load()%3 == 0 {
		second, goal, want = r.gpu.Undo, c.from.Instances, device.RolledBack
		ta.undone.Add(1)
	} else {
		ta.resumed.Add(1)
	}
	var more bytes.Buffer
	report, err := second(ctx, j, device.ApplyOptions{Journal: &more})
	if kind.foreign && err != nil {
		// What another process has done is in the way, and left alone, until that
		// process takes it away.
		require.ErrorIs(t, err, device.ErrChanged, name)
		require.NotNil(t, sh.undo, name)
		sh.keeps(t, r.state(ctx, t).Instances, name)
		sh.undo()
		report, err = second(ctx, j, device.ApplyOptions{})
	}
	require.NoError(t, err, "%s: second run; journal\n%s", name, journal)
	require.Equal(t, want, report.Outcome, name)
	require.True(t, standsAs(r.state(ctx, t).Instances, goal, false), "second run after %s", name)
	require.NoError(t, r.srv.Audit())
	if _, err := device.ReadJournal(bytes.NewReader(append(slices.Clone(journal), more.Bytes()...))); err != nil {
		require.NoError(t, err, "%s: the journal of both", name)
	}
}

// A fault at every step of every plan: what stands there afterwards is the former
// layout, the goal, or what the report says, and from there a second run reaches
// the goal or the former layout. Nothing is a success that is none.
func TestFaultSweep(t *testing.T) {
	t.Parallel()
	models := sweepModels()
	require.NotEmpty(t, models)
	plans := *sweepPlans
	if testing.Short() || raceEnabled {
		plans = min(plans, 60)
	}
	ta := &tally{}
	t.Run("plans", func(t *testing.T) {
		t.Parallel()
		const workers = 4
		for w := range workers {
			t.Run(fmt.Sprint("part=", w), func(t *testing.T) {
				t.Parallel()
				for i := w; i < plans; i += workers {
					sweepOne(t, i, models, ta)
				}
			})
		}
	})
	t.Cleanup(func() {
		t.Logf("%d plans, %d runs with a fault (met in %d), ends %v; second runs: %d to the goal, %d back; silent successes: 0",
			plans, ta.runs.Load(), ta.fired.Load(), ta.outcomes, ta.resumed.Load(), ta.undone.Load())
	})
}

func sweepOne(t *testing.T, i int, models []*mig.Model, ta *tally) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		c := sweepCaseOf(ctx, t, i, models)
		c.count(ctx, t)
		for n := range c.changes {
			switch {
			case *sweepFull:
				for _, kind := range faultKinds {
					c.run(ctx, t, kind, n+1, ta)
				}
			case (n+i)%2 == 0: // a step has two changes or more
				c.run(ctx, t, faultKinds[(i+n*5)%len(faultKinds)], n+1, ta)
			}
		}
	})
}
