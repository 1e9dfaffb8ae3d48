package device_test

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/plan"
	"github.com/gpushare/gpushare/placement"
)

// run lets a day pass and everybody leave in the end, and returns what it held.
func (w *day) run(t *testing.T, hours int) dayCounts {
	t.Helper()
	begin := time.Now()
	defer func() {
		if t.Failed() {
			t.Log("before that:\n" + strings.Join(w.history, "\n"))
		}
	}()
	for _, next := range w.arrivals(t, hours) {
		w.pass(t, next.Arrive)
		w.now = next.Arrive
		w.counts.Arrived++
		w.arrive(t, &dayTask{Task: next.Task, ends: next.Arrive + next.Lifetime})
		w.end(t)
	}
	w.calm = true
	w.pass(t, 1<<62)
	require.Empty(t, w.tasks)
	for n := range w.engine.Nodes() {
		require.Equal(t, n.Capacity(), n.State())
	}
	w.counts.Slept = time.Since(begin)
	return w.counts
}

// pass lets the tasks leave whose time comes until then, the first first. Those
// whose departure failed before try again.
func (w *day) pass(t *testing.T, until int64) {
	t.Helper()
	for {
		var due []*dayTask
		for _, task := range w.tasks {
			if task.ends <= until {
				due = append(due, task)
			}
		}
		if len(due) == 0 {
			return
		}
		first := slices.MinFunc(due, func(a, b *dayTask) int {
			return cmp.Or(cmp.Compare(a.ends, b.ends), cmp.Compare(a.ID, b.ID))
		})
		w.now = max(w.now, first.ends)
		if !w.leave(t, first) {
			w.counts.Stayed++
			first.ends = w.now + 60_000 // try again in a minute
		} else if !first.others() {
			w.improve(t)
		}
		w.end(t)
	}
}

// end ends a step: after a crash the books are rebuilt from what was recorded.
func (w *day) end(t *testing.T) {
	t.Helper()
	w.counts.Steps++
	w.rules.Forget()
	if w.crashed {
		w.crashed = false
		w.rebuild(t)
	}
	w.check(t)
}

func (w *day) rebuild(t *testing.T) {
	t.Helper()
	var recorded []placement.Recorded
	for n := range w.engine.Nodes() {
		for a := range n.Assignments() {
			recorded = append(recorded, placement.Recorded{Node: n.Name(), Assignment: a})
		}
	}
	var wrong []placement.Contradiction
	var err error
	w.cluster, wrong, err = placement.RebuildCluster(w.specs, recorded)
	require.NoError(t, err)
	require.Empty(t, wrong)
	w.engine = placement.NewEngine(w.cluster, w.policy)
	spare := w.repair.Spare()
	w.repair, err = w.engine.Repairer(w.rule)
	require.NoError(t, err)
	for range spare * w.rule.Every {
		w.repair.Admitted() // what was earned was recorded, too
	}
	w.counts.Rebuilt++
}

// tries is how often a task is placed whose placement is not carried out.
const tries = 3

// arrive decides where a task goes, books it, and creates its instance. Where that
// fails the books take it back, and it is decided anew.
func (w *day) arrive(t *testing.T, task *dayTask) {
	t.Helper()
	if w.learner != nil && w.learner.Observe(&task.Task) {
		w.policy = w.learner.Policy()
		w.engine.SetPolicy(w.policy)
		w.repair.Use(w.policy)
	}
	for range tries {
		to, ok := w.choose(t, task)
		if !ok {
			w.counts.Refused++
			return
		}
		if w.put(t, task, to) {
			w.counts.Placed++
			w.repair.Admitted()
			return
		}
		w.counts.Retried++
	}
	w.counts.Failed++
}

// choose asks the engine, which must decide as the plain rule does, and then
// whether tasks can be moved.
func (w *day) choose(t *testing.T, task *dayTask) (placement.Site, bool) {
	t.Helper()
	node, choice := w.engine.Choose(&task.Task)
	plain, want := w.cluster.Choose(w.policy, &task.Task)
	require.Equal(t, want, choice)
	require.Same(t, plain, node)
	if node != nil {
		return placement.Site{Node: node.Name(), Spot: choice.Spot}, true
	}
	rescue, ok := w.repair.Admit(&task.Task)
	if !ok {
		return placement.Site{}, false
	}
	if !w.move(t, rescue.Moves) {
		node, choice := w.engine.Choose(&task.Task) // what moving has left may do
		if node == nil {
			return placement.Site{}, false
		}
		return placement.Site{Node: node.Name(), Spot: choice.Spot}, true
	}
	w.counts.Rescued++
	return rescue.Site, true
}

// put books a task and creates its instance. Readers go on deciding meanwhile.
func (w *day) put(t *testing.T, task *dayTask, to placement.Site) bool {
	t.Helper()
	wait := w.readers(t)
	require.NoError(t, w.engine.Place(to.Node, placement.Assignment{Task: task.Task, Spot: to.Spot}))
	u := w.at(to)
	m := w.mishap(arrivals)
	w.strike(t, m, u, beforePlan, to.Spot.Start)
	from, err := u.gpu.PlanState(t.Context())
	require.NoError(t, err)
	want := plan.Instance{Instance: mig.Instance{Profile: task.Shape.Profile, Start: to.Spot.Start}}
	p, err := plan.Restore(from, append(slices.Clone(from.Instances), want))
	ok := err == nil
	if ok {
		ok, _ = w.carry(t, u, p, m, to.Spot.Start)
	} else {
		require.NotEmpty(t, w.intruder, "the books grant what cannot stand: %v", err)
		require.True(t, errors.Is(err, mig.ErrConflict) || errors.Is(err, mig.ErrNoFit), "%v", err)
	}
	in, there := w.standing(t, u, to.Spot.Start)
	switch {
	case ok && in.Busy:
		// A resumed transaction takes what stands as the goal wants it, whoever has
		// made it; that somebody runs there tells.
		require.NotNil(t, w.intruder[in.UUIDs[0]])
		ok = false
	case !ok && there && in.Profile == task.Shape.Profile && len(in.UUIDs) == 1 && !in.Busy:
		require.NotEmpty(t, w.intruder, "a failed transaction has left its goal")
		ok = true // all was done, and another was there besides
	}
	wait()
	if ok {
		w.tasks[task.ID] = task
	} else {
		require.True(t, w.engine.Release(task.ID))
	}
	w.reconcile(t, u)
	return ok
}

// readers decide about the view of now while the writer goes on, and compare with
// the plain rule over the nodes of that view.
func (w *day) readers(t *testing.T) (wait func()) {
	t.Helper()
	view, policy := w.engine.View(), w.policy
	var wg sync.WaitGroup
	for range 2 {
		task := placement.Task{Shape: w.mix[w.rng.IntN(len(w.mix))].Shape}
		wg.Go(func() {
			node, choice := view.Choose(&task)
			var want *placement.Node
			var best placement.Choice
			for n := range view.Nodes() {
				if c := policy.Choose(n, &task); c.OK() && (want == nil || c.Score > best.Score) {
					want, best = n, c
				}
			}
			if assert.Same(t, want, node) && want != nil {
				assert.Equal(t, best, choice)
			}
		})
	}
	return wg.Wait
}

// leave ends a task and destroys its instance. The books keep it until that is
// gone, so that nobody else gets the place.
func (w *day) leave(t *testing.T, task *dayTask) bool {
	t.Helper()
	task.leaving = true
	w.stop(task)
	at := w.site(t, task.ID)
	u := w.at(at)
	m := w.mishap(departures)
	w.strike(t, m, u, beforePlan, at.Spot.Start)
	from, err := u.gpu.PlanState(t.Context())
	require.NoError(t, err)
	gone := func(in plan.Instance) bool { return slices.Equal(in.UUIDs, []string{task.uuid}) }
	require.True(t, slices.ContainsFunc(from.Instances, gone))
	p, err := plan.Restore(from, slices.DeleteFunc(slices.Clone(from.Instances), gone))
	ok := err == nil
	if ok {
		ok, _ = w.carry(t, u, p, m, at.Spot.Start)
	} else {
		require.ErrorIs(t, err, plan.ErrBusy)
		require.Equal(t, "held by a monitor", m.name)
	}
	w.release()
	if _, there := w.standing(t, u, at.Spot.Start); !ok && !there {
		require.NotEmpty(t, w.intruder, "a failed transaction has left its goal")
		ok = true
	}
	if ok {
		require.True(t, w.engine.Release(task.ID))
		delete(w.tasks, task.ID)
		if !task.others() {
			w.counts.Departed++
		}
	}
	w.reconcile(t, u)
	return ok
}

// improve moves what gains, after every third departure: the rest of the budget is
// for those that are refused.
func (w *day) improve(t *testing.T) {
	t.Helper()
	if w.counts.Departed%3 > 0 {
		return
	}
	if moves := w.repair.Improve(); len(moves) > 0 && w.move(t, moves) {
		w.counts.Improved++
	}
}

// move carries out moves: the tasks stop, the plans of all GPUs are carried out,
// and the books follow. Where a plan fails, those before it are undone.
func (w *day) move(t *testing.T, moves []placement.Move) bool {
	t.Helper()
	plans, err := w.cluster.Plans(moves)
	require.NoError(t, err)
	touched := map[*unit]bool{}
	for _, m := range moves {
		task := w.tasks[m.Task]
		w.stop(task)
		task.moving = true
		for _, s := range []placement.Site{m.From, m.To} {
			if s.Node != "" {
				touched[w.at(s)] = true
			}
		}
	}
	type finished struct {
		u       *unit
		journal []byte
	}
	var done []finished
	ok := true
	for _, p := range plans {
		u := w.at(placement.Site{Node: p.Node, Spot: placement.Spot{GPUs: placement.GPUs(p.GPU)}})
		start := 0
		if len(p.Plan.Steps) > 0 {
			start = p.Plan.Steps[len(p.Plan.Steps)-1].Start
		}
		var journal []byte
		if ok, journal = w.carry(t, u, p.Plan, w.mishap(repairs), start); !ok {
			break
		}
		done = append(done, finished{u, journal})
	}
	w.release()
	if ok {
		require.NoError(t, w.repair.Apply(moves))
		w.counts.Moves += placement.Moved(moves)
	} else {
		w.counts.Abandoned++
		for _, f := range slices.Backward(done) {
			j, err := device.ReadJournal(bytes.NewReader(f.journal))
			require.NoError(t, err)
			report, err := f.u.gpu.Undo(t.Context(), j, device.ApplyOptions{})
			if err != nil {
				// Another has made what the goal wants, and the run was resumed.
				require.ErrorIs(t, err, device.ErrChanged)
				require.True(t, w.intruded(t, f.u), "%v", err)
				continue
			}
			require.Equal(t, device.RolledBack, report.Outcome)
			w.counts.Undone++
		}
	}
	var homeless []*dayTask
	for _, u := range w.units {
		if touched[u] {
			homeless = append(homeless, w.reconcile(t, u)...)
		}
	}
	for _, task := range homeless { // whoever has lost its place is placed anew
		w.again(t, task)
	}
	return ok
}

// again places a task that was evicted, where there is room for it.
func (w *day) again(t *testing.T, task *dayTask) {
	t.Helper()
	if node, choice := w.engine.Choose(&task.Task); node != nil && !task.leaving &&
		w.put(t, task, placement.Site{Node: node.Name(), Spot: choice.Spot}) {
		return
	}
	w.counts.Homeless++
}
