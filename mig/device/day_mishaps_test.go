package device_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
	"github.com/gpushare/gpushare/nvmlfake"
	"github.com/gpushare/gpushare/nvmlfake/fault"
	"github.com/gpushare/gpushare/placement"
)

// occasions are what a mishap can happen to.
type occasions uint8

const (
	arrivals occasions = 1 << iota
	departures
	repairs

	always = arrivals | departures | repairs
)

// stage is a moment before a transaction.
type stage uint8

const (
	beforePlan stage = iota + 1
	beforeApply
)

const (
	creations    = "Device.CreateGpuInstance*,GpuInstance.CreateComputeInstance*"
	destructions = "GpuInstance.Destroy,ComputeInstance.Destroy"
)

// mishap is what goes wrong with one transaction.
type mishap struct {
	name    string
	on      occasions
	within  int // it happens at one of so many calls
	rule    func(w *day, u *unit, start int) fault.Rule
	at      stage // it happens then, and is no fault of a call
	strike  func(t *testing.T, w *day, u *unit, start int) bool
	journal bool // the process ends as it writes its journal
	crash   bool // the process ends
	lost    bool // the GPU has to be reset
}

// lines is at which write the journal ends.
func (m mishap) lines(w *day) int {
	if !m.journal {
		return 0
	}
	return 1 + w.rng.IntN(5)
}

func fixed(r fault.Rule) func(*day, *unit, int) fault.Rule {
	return func(*day, *unit, int) fault.Rule { return r }
}

var mishaps = []mishap{
	{name: "refused", on: arrivals | repairs, within: 2, rule: fixed(fault.Rule{
		Method: creations, Times: 1, Effect: fault.Refuse, Return: nvml.ERROR_INSUFFICIENT_RESOURCES,
	})},
	{name: "refused for good", on: always, within: 4, rule: fixed(fault.Rule{
		Method: changes, Effect: fault.Refuse, Return: nvml.ERROR_UNKNOWN,
	})},
	{name: "created, yet an error", on: arrivals | repairs, within: 2, rule: fixed(fault.Rule{
		Method: creations, Times: 1, Effect: fault.After, Return: nvml.ERROR_UNKNOWN,
	})},
	{name: "destroyed, yet an error", on: departures | repairs, within: 2, rule: fixed(fault.Rule{
		Method: destructions, Times: 1, Effect: fault.After, Return: nvml.ERROR_UNKNOWN,
	})},
	{name: "success with a remnant", on: departures | repairs, within: 2, rule: fixed(fault.Rule{
		Method: destructions, Times: 1, Effect: fault.Pretend,
	})},
	{name: "in use for a moment", on: departures | repairs, within: 1, rule: fixed(fault.Rule{
		Method: "GpuInstance.Destroy", Times: 2, Effect: fault.Refuse, Return: nvml.ERROR_IN_USE,
	})},
	{name: "in use", on: departures | repairs, within: 2, rule: fixed(fault.Rule{
		Method: destructions, Effect: fault.Refuse, Return: nvml.ERROR_IN_USE,
	})},
	{name: "slow", on: always, within: 2, rule: fixed(fault.Rule{Method: changes, Times: 1, DelayAfter: time.Minute})},
	{name: "lost", on: always, within: 2, lost: true, rule: fixed(fault.Rule{Method: changes, Times: 1, Effect: fault.Lose})},
	{name: "crash before a call", on: always, within: 2, crash: true, rule: fixed(fault.Rule{
		Method: changes, Times: 1, Before: func(fault.Call) { runtime.Goexit() },
	})},
	{name: "crash after a call", on: always, within: 2, crash: true, rule: fixed(fault.Rule{
		Method: changes, Times: 1, After: func(fault.Call) { runtime.Goexit() },
	})},
	{name: "crash in the journal", on: always, crash: true, journal: true},
	{name: "held by a monitor", on: departures, at: beforePlan, strike: func(t *testing.T, w *day, u *unit, start int) bool {
		t.Helper()
		w.monitor(t, u, start, false)
		return true
	}},
	{name: "held by a monitor since", on: departures, at: beforeApply, strike: func(t *testing.T, w *day, u *unit, start int) bool {
		t.Helper()
		w.monitor(t, u, start, false)
		return true
	}},
	{name: "held by somebody hidden", on: departures, at: beforeApply, strike: func(t *testing.T, w *day, u *unit, start int) bool {
		t.Helper()
		w.monitor(t, u, start, true)
		return true
	}},
	{name: "another creates before the plan", on: arrivals | departures, at: beforePlan, strike: func(t *testing.T, w *day, u *unit, start int) bool {
		t.Helper()
		return w.intrude(u, start)
	}},
	{name: "another creates after the plan", on: always, at: beforeApply, strike: func(t *testing.T, w *day, u *unit, start int) bool {
		t.Helper()
		return w.intrude(u, start)
	}},
	{name: "another creates meanwhile", on: always, within: 2, rule: func(w *day, u *unit, start int) fault.Rule {
		return fault.Rule{Method: changes, Times: 1, Before: func(fault.Call) { w.intrude(u, start) }}
	}},
}

// mishap draws what goes wrong with the next transaction; mostly nothing does.
func (w *day) mishap(on occasions) mishap {
	const share = 3 // one of three goes wrong
	if w.calm || w.rng.IntN(share) > 0 {
		return mishap{within: 1}
	}
	for {
		if m := mishaps[w.rng.IntN(len(mishaps))]; m.on&on != 0 {
			return m
		}
	}
}

// strike lets a mishap happen whose time has come.
func (w *day) strike(t *testing.T, m mishap, u *unit, now stage, start int) {
	t.Helper()
	if m.at == now && m.strike(t, w, u, start) {
		w.counts.Met[m.name]++
	}
}

// monitorPID is the process of whoever looks at instances.
const monitorPID = 9

// monitor lets somebody hold the instance at a start until release.
func (w *day) monitor(t *testing.T, u *unit, start int, hidden bool) {
	t.Helper()
	st, err := u.plain.State(t.Context())
	require.NoError(t, err)
	in, there := st.At(start)
	require.True(t, there)
	who := nvmlfake.Holder{PID: monitorPID, Name: "monitor", Hidden: hidden}
	if hidden && w.rng.IntN(2) == 0 {
		_, err = w.srv.HoldInstance(u.index, in.ID, who)
	} else {
		_, err = w.srv.HoldCompute(u.index, in.ID, in.Compute[0].ID, who)
	}
	require.NoError(t, err)
}

// release ends the monitor.
func (w *day) release() { w.srv.Kill(monitorPID) }

// intrude lets another process create an instance where there is room, at the
// start if it can, and run in it for a while. The books do not know of it yet.
func (w *day) intrude(u *unit, start int) bool {
	ctx := context.Background()
	l, err := w.srv.Layout(u.index)
	if err != nil {
		return false
	}
	profiles := slices.Collect(l.Model().Profiles())
	for range 20 {
		p := profiles[w.rng.IntN(len(profiles))]
		where := start
		if w.rng.IntN(2) == 0 {
			where, _ = l.DefaultStart(p)
		}
		if _, err := l.With(p, where); err != nil {
			continue
		}
		in, err := u.plain.Create(ctx, mig.Instance{Profile: p.Name, Start: where})
		if err != nil {
			continue
		}
		w.pids++
		other := &dayTask{
			Task: placement.Task{ID: fmt.Sprint("other", w.pids), Shape: fragmentation.Shape{GPUs: 1, Profile: p.Name}},
			ends: w.now + w.rng.Int64N(dayLifetime), uuid: in.Compute[0].UUID, pid: w.pids,
		}
		if _, err := w.srv.HoldCompute(u.index, in.ID, in.Compute[0].ID, nvmlfake.Holder{PID: other.pid, Name: other.ID}); err != nil {
			return false
		}
		w.intruder[other.uuid] = other
		return true
	}
	return false
}

// intruded reports whether something stands on a GPU that others have made and
// nobody has booked.
func (w *day) intruded(t *testing.T, u *unit) bool {
	t.Helper()
	st, err := u.plain.PlanState(t.Context())
	require.NoError(t, err)
	return slices.ContainsFunc(st.Instances, func(in plan.Instance) bool {
		return len(in.UUIDs) == 1 && w.intruder[in.UUIDs[0]] != nil
	})
}
