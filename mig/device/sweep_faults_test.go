package device_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

// changes are the calls that change a GPU.
const changes = "Device.CreateGpuInstance*,GpuInstance.CreateComputeInstance*,GpuInstance.Destroy,ComputeInstance.Destroy"

// faultKind is a way in which a call of a transaction goes wrong.
type faultKind struct {
	name string
	only string // methods; empty: all changes
	rule func(sh *shot) fault.Rule
	// foreign: another process acts, and the goal may be out of reach until it has
	// taken that back.
	foreign bool
	hangs   bool // the call returns only when it is released
	any     bool // at one of all calls, instead of at a change
	late    bool // it may change something after the last reading
	heals   bool // it passes, so that the former layout or the goal can be had
}

// shot is one run with one fault.
type shot struct {
	rig     *rig
	release chan struct{}
	undo    func() // takes back what another process has made
	theirs  string // UUID of what it has made
}

// keeps makes sure that what another process has made still stands.
func (sh *shot) keeps(t *testing.T, all []plan.Instance, name string) {
	t.Helper()
	if sh.undo != nil {
		require.True(t, slices.ContainsFunc(all, func(in plan.Instance) bool { return slices.Contains(in.UUIDs, sh.theirs) }), "%s: another's instance is gone", name)
	}
}

func refuse(code nvml.Return, times int) func(*shot) fault.Rule {
	return func(*shot) fault.Rule { return fault.Rule{Times: times, Effect: fault.Refuse, Return: code} }
}

func after(code nvml.Return) func(*shot) fault.Rule {
	return func(*shot) fault.Rule { return fault.Rule{Times: 1, Effect: fault.After, Return: code} }
}

var faultKinds = []faultKind{
	{name: "in use once", heals: true, rule: refuse(nvml.ERROR_IN_USE, 1)},
	{name: "in use for good", rule: refuse(nvml.ERROR_IN_USE, 0)},
	{name: "no room once", heals: true, rule: refuse(nvml.ERROR_INSUFFICIENT_RESOURCES, 1)},
	{name: "no room for good", rule: refuse(nvml.ERROR_INSUFFICIENT_RESOURCES, 0)},
	{name: "unknown once", heals: true, rule: refuse(nvml.ERROR_UNKNOWN, 1)},
	{name: "unknown thrice", heals: true, rule: refuse(nvml.ERROR_UNKNOWN, 3)},
	{name: "unknown for good", rule: refuse(nvml.ERROR_UNKNOWN, 0)},
	{name: "not found once", heals: true, rule: refuse(nvml.ERROR_NOT_FOUND, 1)},
	{name: "invalid once", heals: true, rule: refuse(nvml.ERROR_INVALID_ARGUMENT, 1)},
	{name: "lost for a moment", heals: true, rule: refuse(nvml.ERROR_GPU_IS_LOST, 1)},
	{name: "no permission for good", rule: refuse(nvml.ERROR_NO_PERMISSION, 0)},
	{name: "lost", rule: func(*shot) fault.Rule { return fault.Rule{Times: 1, Effect: fault.Lose} }},
	{name: "done, yet unknown", heals: true, rule: after(nvml.ERROR_UNKNOWN)},
	{name: "done, yet in use", heals: true, rule: after(nvml.ERROR_IN_USE)},
	{name: "done, yet no room", rule: after(nvml.ERROR_INSUFFICIENT_RESOURCES)},
	{name: "done, yet lost", heals: true, rule: after(nvml.ERROR_GPU_IS_LOST)},
	{name: "pretended once", heals: true, only: "Destroy", rule: func(*shot) fault.Rule { return fault.Rule{Times: 1, Effect: fault.Pretend} }},
	{name: "pretended for good", only: "Destroy", rule: func(*shot) fault.Rule { return fault.Rule{Effect: fault.Pretend} }},
	{name: "hangs", heals: true, hangs: true, rule: func(sh *shot) fault.Rule { return fault.Rule{Times: 1, Block: sh.release} }},
	{name: "too slow", heals: true, rule: func(*shot) fault.Rule { return fault.Rule{Times: 1, Delay: time.Minute} }},
	{name: "all too slow", rule: func(*shot) fault.Rule { return fault.Rule{Delay: time.Minute} }},
	{name: "done, and too slow", heals: true, rule: func(*shot) fault.Rule { return fault.Rule{Times: 1, DelayAfter: time.Minute} }},
	{name: "crash before", rule: func(*shot) fault.Rule {
		return fault.Rule{Times: 1, Before: func(fault.Call) { runtime.Goexit() }}
	}},
	{name: "crash after", rule: func(*shot) fault.Rule {
		return fault.Rule{Times: 1, After: func(fault.Call) { runtime.Goexit() }}
	}},
	{name: "any call unknown once", heals: true, any: true, rule: refuse(nvml.ERROR_UNKNOWN, 1)},
	{name: "any call lost", any: true, rule: func(*shot) fault.Rule { return fault.Rule{Times: 1, Effect: fault.Lose} }},
	{name: "any call hangs", heals: true, any: true, hangs: true, rule: func(sh *shot) fault.Rule { return fault.Rule{Times: 1, Block: sh.release} }},
	{name: "crash before any call", any: true, rule: func(*shot) fault.Rule {
		return fault.Rule{Times: 1, Before: func(fault.Call) { runtime.Goexit() }}
	}},
	{name: "another creates", foreign: true, rule: func(sh *shot) fault.Rule {
		return fault.Rule{Times: 1, Before: func(fault.Call) { sh.intrude() }}
	}},
	{name: "another replaces", foreign: true, rule: func(sh *shot) fault.Rule {
		return fault.Rule{Times: 1, Before: func(fault.Call) { sh.replace() }}
	}},
	{name: "another destroys", rule: func(sh *shot) fault.Rule {
		return fault.Rule{Times: 1, Before: func(fault.Call) { sh.steal() }}
	}},
	{name: "another creates before any call", foreign: true, any: true, late: true, rule: func(sh *shot) fault.Rule {
		return fault.Rule{Times: 1, Before: func(fault.Call) { sh.intrude() }}
	}},
	{name: "another replaces before any call", foreign: true, any: true, late: true, rule: func(sh *shot) fault.Rule {
		return fault.Rule{Times: 1, Before: func(fault.Call) { sh.replace() }}
	}},
	{name: "another destroys before any call", any: true, late: true, rule: func(sh *shot) fault.Rule {
		return fault.Rule{Times: 1, Before: func(fault.Call) { sh.steal() }}
	}},
}

// intrude creates an instance wherever there is room, as another process would.
func (sh *shot) intrude() {
	l, err := sh.rig.srv.Layout(0)
	if err != nil {
		return
	}
	for p := range l.Model().Profiles() {
		if start, free := l.DefaultStart(p); free {
			in, err := sh.rig.plain.Create(context.Background(), mig.Instance{Profile: p.Name, Start: start})
			if err == nil {
				sh.theirs = in.Compute[0].UUID
				sh.undo = func() { _ = sh.rig.plain.Destroy(context.Background(), in) }
			}
			return
		}
	}
}

// replace destroys the first instance that can run something and creates it again.
// Where a compute instance has just been created and its UUID not been read yet,
// nobody can tell the one from the other (see the package's text), so it waits.
func (sh *shot) replace() {
	st, err := sh.rig.plain.State(context.Background())
	if err != nil || sh.unnamed() {
		return
	}
	for _, in := range st.Instances {
		if len(in.Compute) > 0 && sh.rig.plain.Destroy(context.Background(), in) == nil {
			now, err := sh.rig.plain.Create(context.Background(), in.Instance)
			if err == nil {
				sh.theirs = now.Compute[0].UUID
				sh.undo = func() { _ = sh.rig.plain.Destroy(context.Background(), now) }
			}
			return
		}
	}
}

// unnamed reports whether the last compute instance that was created has no UUID
// yet to whoever created it.
func (sh *shot) unnamed() bool {
	unnamed := false
	for _, c := range sh.rig.rules.Calls() {
		switch {
		case !c.Done:
		case strings.HasPrefix(c.Method, "GpuInstance.CreateComputeInstance"):
			unnamed = c.Return == nvml.SUCCESS
		case c.Method == "MigDevice.GetUUID" && c.Return == nvml.SUCCESS:
			unnamed = false
		}
	}
	return unnamed
}

// steal destroys the first instance.
func (sh *shot) steal() {
	st, err := sh.rig.plain.State(context.Background())
	if err == nil && len(st.Instances) > 0 {
		_ = sh.rig.plain.Destroy(context.Background(), st.Instances[0])
	}
}
