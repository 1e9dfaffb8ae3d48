package device_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/plan"
	"github.com/gpushare/gpushare/nvmlfake"
	"github.com/gpushare/gpushare/placement"
)

func instanceAt(st plan.State, start int) (plan.Instance, bool) {
	i := slices.IndexFunc(st.Instances, func(in plan.Instance) bool { return in.Start == start })
	if i < 0 {
		return plan.Instance{}, false
	}
	return st.Instances[i], true
}

// standing reads what begins at a start, past all faults.
func (w *day) standing(t *testing.T, u *unit, start int) (plan.Instance, bool) {
	t.Helper()
	st, err := u.plain.PlanState(t.Context())
	require.NoError(t, err)
	return instanceAt(st, start)
}

// carry carries out a plan with a mishap, and what is left half done to one end
// or the other. It reports whether the goal stands. Unless somebody else was
// there, what stood before stands otherwise.
func (w *day) carry(t *testing.T, u *unit, p plan.Plan, m mishap, start int) (ok bool, journal []byte) {
	t.Helper()
	w.counts.Plans++
	before, err := u.plain.PlanState(t.Context())
	require.NoError(t, err)
	w.strike(t, m, u, beforeApply, start)
	file := &crashing{n: m.lines(w), tenths: w.rng.IntN(11)}
	if m.rule != nil {
		rule := m.rule(w, u, start)
		rule.GPU, rule.Nth = u.gpu.UUID(), 1+w.rng.IntN(m.within)
		require.NoError(t, w.rules.Set(rule))
	}
	report, err := u.gpu.Apply(t.Context(), p, device.ApplyOptions{Journal: file, CallTimeout: 10 * time.Second})
	if report.Outcome == device.Indeterminate {
		require.ErrorIs(t, err, device.ErrIndeterminate)
		report, err = report.Wait(t.Context())
	}
	if m.rule != nil && w.rules.Fired()[0] > 0 || m.journal && file.n <= 0 {
		w.counts.Met[m.name]++
	}
	require.NoError(t, w.rules.Set())
	w.counts.Ended[string(report.Outcome)]++
	w.history = append(w.history[max(0, len(w.history)-9):], fmt.Sprintf("%d: GPU %d: %v: %s: %v %v", w.now, u.index, p, m.name, report, err))
	switch {
	case err == nil:
		require.Equal(t, device.Done, report.Outcome)
		ok = true
	case report.Outcome == device.Left:
		ok = w.recover(t, u, report, m, file)
	default:
		require.NotEqual(t, device.Done, report.Outcome, "%v", err)
	}
	if len(w.intruder) == 0 {
		want := before.Instances
		if ok {
			want = p.Goal
		}
		st, err := u.plain.PlanState(t.Context())
		require.NoError(t, err)
		require.True(t, standsAs(want, st.Instances, false), "%s: %v: want %v, not %v", m.name, p, want, st)
	}
	return ok, file.Bytes()
}

// recover brings what a transaction has left to its goal or back, by its journal.
func (w *day) recover(t *testing.T, u *unit, report device.Report, m mishap, file *crashing) (ok bool) {
	t.Helper()
	switch {
	case m.crash && report.After == nil:
		w.crashed = true
	case m.lost:
		for _, a := range w.booked(u) { // they die with the GPU
			if task := w.tasks[a.Task.ID]; task != nil {
				w.stop(task)
			}
		}
		require.NoError(t, w.srv.Reset(u.index))
		w.counts.Resets++
	}
	for try := range 10 {
		u.gpu = w.open(t, w.lib, u)
		j, err := device.ReadJournal(bytes.NewReader(file.Bytes()))
		if err != nil { // the process ended before the first line was there
			require.ErrorIs(t, err, device.ErrJournal)
			require.True(t, m.journal)
			return false
		}
		file.n = 0
		if try == 0 && m.crash {
			file.n = w.rng.IntN(6) // and once more
		}
		opts := device.ApplyOptions{Journal: file}
		if w.rng.IntN(2) == 0 {
			report, err = u.gpu.Resume(t.Context(), j, opts)
			w.counts.Resumed++
		} else {
			report, err = u.gpu.Undo(t.Context(), j, opts)
			w.counts.Undone++
		}
		switch {
		case err == nil:
			return report.Outcome == device.Done
		case len(w.intruder) > 0:
			require.ErrorIs(t, err, device.ErrChanged)
			return false
		}
		require.True(t, m.crash && report.After == nil, "%s: %v", m.name, err)
	}
	require.Fail(t, "no end to it")
	return false
}

// start lets a task run on the instance that stands at its place.
func (w *day) start(t *testing.T, task *dayTask, u *unit, start int) {
	t.Helper()
	require.Zero(t, task.pid, "%s runs, and its MIG device has changed", task.ID)
	st, err := u.plain.State(t.Context())
	require.NoError(t, err)
	in, there := st.At(start)
	require.True(t, there)
	require.Len(t, in.Compute, 1)
	if task.uuid != "" && task.uuid != in.Compute[0].UUID {
		w.counts.Restarted++
	}
	task.uuid, task.moving = in.Compute[0].UUID, false
	if task.leaving {
		return
	}
	w.pids++
	task.pid = w.pids
	_, err = w.srv.HoldCompute(u.index, in.ID, in.Compute[0].ID, nvmlfake.Holder{PID: task.pid, Name: task.ID})
	require.NoError(t, err)
}

// stop ends the process of a task.
func (w *day) stop(task *dayTask) {
	if task.pid != 0 {
		w.srv.Kill(task.pid)
	}
	task.pid = 0
}

// reconcile makes the books of a GPU what stands there: tasks whose MIG device is
// another by now start anew, those whose instance is gone lose their booking,
// others' instances are booked, and what is nobody's is removed. It returns the
// tasks that were evicted; only one that was stopped can be.
func (w *day) reconcile(t *testing.T, u *unit) (evicted []*dayTask) {
	t.Helper()
	from, err := u.plain.PlanState(t.Context())
	require.NoError(t, err)
	known := map[int]bool{} // by start
	for _, a := range w.booked(u) {
		task := w.tasks[a.Task.ID]
		in, there := instanceAt(from, a.Spot.Start)
		switch {
		case !there || in.Profile != a.Task.Shape.Profile || len(in.UUIDs) != 1 || w.intruder[in.UUIDs[0]] != nil:
			require.True(t, task.moving, "%s has lost its instance: %v", task.ID, from)
			require.True(t, w.engine.Release(task.ID))
			delete(w.tasks, task.ID)
			task.uuid, task.moving = "", false
			evicted = append(evicted, task)
			w.counts.Evicted++
		case in.UUIDs[0] != task.uuid || task.moving || task.pid == 0 && !task.leaving:
			w.start(t, task, u, a.Spot.Start)
			known[a.Spot.Start] = true
		default:
			known[a.Spot.Start] = true
		}
	}
	var kept []plan.Instance
	for _, in := range from.Instances {
		if known[in.Start] {
			kept = append(kept, in)
			continue
		}
		var task *dayTask
		if len(in.UUIDs) == 1 {
			task = w.intruder[in.UUIDs[0]]
		}
		if task == nil {
			continue
		}
		delete(w.intruder, in.UUIDs[0])
		kept = append(kept, in)
		w.tasks[task.ID] = task
		require.NoError(t, w.engine.Place(u.node, placement.Assignment{
			Task: task.Task, Spot: placement.Spot{GPUs: placement.GPUs(u.local), Start: in.Start},
		}))
		w.counts.Others++
	}
	if len(kept) < len(from.Instances) {
		w.counts.Remnants += len(from.Instances) - len(kept)
		now, err := u.gpu.PlanState(t.Context())
		require.NoError(t, err)
		p, err := plan.Restore(now, kept)
		require.NoError(t, err)
		_, err = u.gpu.Apply(t.Context(), p, device.ApplyOptions{})
		require.NoError(t, err)
	}
	return evicted
}
