package plan_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig/plan"
)

// gateMachine drives a gate with a wandering demand and keeps the whole history,
// from which every promise is read off.
type gateMachine struct {
	gate   plan.Gate
	now    time.Time
	asked  []asked // every call of Next
	passes []time.Time
	fails  []time.Time
}

type asked struct {
	at     time.Time
	wanted string
}

func newGateMachine(t *rapid.T) *gateMachine {
	length := func(label string) time.Duration {
		return time.Duration(rapid.IntRange(0, 20).Draw(t, label)) * time.Second
	}
	return &gateMachine{
		gate: plan.Gate{Persist: length("persist"), Dwell: length("dwell"), CoolDown: length("cool-down")},
		now:  time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

// Ask lets some time pass and evaluates.
func (g *gateMachine) Ask(t *rapid.T) {
	g.now = g.now.Add(time.Duration(rapid.IntRange(0, 6).Draw(t, "seconds")) * time.Second)
	wanted := rapid.SampledFrom([]string{"", "a", "a", "a", "a", "b"}).Draw(t, "wanted")
	g.asked = append(g.asked, asked{g.now, wanted})
	gate, d := g.gate.Next(g.now, wanted)
	g.gate = gate
	pass := g.allowed()
	require.Equal(t, pass, d.Pass(), "%+v", d)
	assert.Equal(t, wanted == "", d.Reason == plan.NotWanted)
	if pass {
		assert.Zero(t, d.Wait)
		g.passes = append(g.passes, g.now)
		g.asked = nil // a new stretch begins
		return
	}
	if wanted != "" {
		assert.Positive(t, d.Wait)
		_, early := gate.Next(g.now.Add(d.Wait-1), wanted)
		_, due := gate.Next(g.now.Add(d.Wait), wanted)
		assert.True(t, !early.Pass() && due.Pass(), "it passes when the wait says")
	}
}

// Fail reports that the last change failed.
func (g *gateMachine) Fail(t *rapid.T) {
	if len(g.passes) == 0 {
		t.Skip("nothing was changed")
	}
	g.now = g.now.Add(time.Second)
	g.gate = g.gate.Fail(g.now)
	g.fails = append(g.fails, g.now)
	g.asked = nil
}

// Store writes the gate down and reads it back.
func (g *gateMachine) Store(t *rapid.T) {
	text, err := json.Marshal(g.gate)
	require.NoError(t, err)
	var read plan.Gate
	require.NoError(t, json.Unmarshal(text, &read))
	assert.Equal(t, g.gate, read)
	g.gate = read
}

// allowed decides from the history whether the last question may pass.
func (g *gateMachine) allowed() bool {
	last := g.asked[len(g.asked)-1]
	if last.wanted == "" {
		return false
	}
	since := last.at
	for i := len(g.asked) - 1; i >= 0 && g.asked[i].wanted == last.wanted; i-- {
		since = g.asked[i].at
	}
	ok := last.at.Sub(since) >= g.gate.Persist
	for _, p := range g.passes {
		ok = ok && last.at.Sub(p) >= g.gate.Dwell
	}
	for _, f := range g.fails {
		ok = ok && last.at.Sub(f) >= g.gate.CoolDown
	}
	return ok
}

// Check: no two changes within the dwell, whatever happened.
func (g *gateMachine) Check(t *rapid.T) {
	for i := range g.passes {
		if i > 0 {
			assert.GreaterOrEqual(t, g.passes[i].Sub(g.passes[i-1]), g.gate.Dwell)
		}
	}
}

func TestGate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		t.Repeat(rapid.StateMachineActions(newGateMachine(t)))
	})
}

// TestGateFlappingNeverPasses: a demand that changes sooner than Persist gets
// nothing, however long it goes on; one that persists passes within Persist and
// Dwell.
func TestGateFlappingNeverPasses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		persist := time.Duration(rapid.IntRange(2, 50).Draw(t, "persist")) * time.Second
		dwell := time.Duration(rapid.IntRange(0, 50).Draw(t, "dwell")) * time.Second
		now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		g, _ := plan.Gate{Dwell: dwell}.Next(now, "first") // something has just changed
		g.Persist = persist
		var d plan.Decision
		for i := range 30 {
			for range rapid.IntRange(1, int(persist/time.Second)-1).Draw(t, "stretch") {
				g, d = g.Next(now, string(rune('a'+i%2)))
				require.False(t, d.Pass())
				now = now.Add(time.Second)
			}
		}
		begin := now
		for !d.Pass() {
			g, d = g.Next(now, "steady")
			require.LessOrEqual(t, now.Sub(begin), persist+dwell)
			now = now.Add(time.Second)
		}
	})
}

// TestGateClockStepsBack: it waits longer, by at most the full durations, and never
// for ever.
func TestGateClockStepsBack(t *testing.T) {
	t.Parallel()
	late := time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
	early := late.AddDate(-10, 0, 0)
	g := plan.Gate{Persist: time.Minute, Dwell: time.Hour, CoolDown: 2 * time.Hour}
	g.Changed, g.Failed, g.Wanted, g.Since = late, late, "a", late
	g, d := g.Next(early, "a")
	assert.Equal(t, plan.Decision{Reason: plan.Cooling, Wait: 2 * time.Hour}, d)
	_, d = g.Next(early.Add(2*time.Hour), "a")
	assert.True(t, d.Pass())
}

func TestZeroGateLetsAllPass(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	g, d := plan.Gate{}.Next(now, "a")
	assert.True(t, d.Pass())
	_, d = g.Next(now, "b")
	assert.True(t, d.Pass())
	_, d = g.Next(now, "")
	assert.Equal(t, plan.Decision{Reason: plan.NotWanted}, d)
}
