package device_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/plan"
	"github.com/gpushare/gpushare/nvmlfake"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

// rig is one GPU in MIG mode, with rules for faults between it and a second
// handle: plain does what it is told, gpu meets the faults.
type rig struct {
	srv   *nvmlfake.Server
	plain *device.GPU
	gpu   *device.GPU
	rules *fault.Rules
}

func newRig(ctx context.Context, t tb, model string) *rig {
	t.Helper()
	srv, devs := newServer(t, true, model)
	r := &rig{srv: srv, rules: &fault.Rules{}}
	var err error
	r.plain, err = device.Open(ctx, devs[0])
	require.NoError(t, err)
	r.gpu, err = device.Open(ctx, fault.WrapDevice(devs[0], r.rules))
	require.NoError(t, err)
	return r
}

// state reads the GPU past all faults.
func (r *rig) state(ctx context.Context, t tb) plan.State {
	t.Helper()
	st, err := r.plain.PlanState(ctx)
	require.NoError(t, err)
	return st
}

// repartition plans the way to a demand.
func (r *rig) repartition(ctx context.Context, t tb, want string) plan.Plan {
	t.Helper()
	d, err := mig.ParseDemand(want)
	require.NoError(t, err)
	p, err := plan.Repartition(r.state(ctx, t), d)
	require.NoError(t, err)
	return p
}

func TestApply(t *testing.T) {
	t.Parallel()
	r := newRig(t.Context(), t, "a100-40gb")
	create(t, r.plain, "1g.5gb@0", "1g.5gb@5", "2g.10gb@2")
	p := r.repartition(t.Context(), t, "1g.5gb=1,2g.10gb=1,3g.20gb=1")
	var journal bytes.Buffer
	var events []device.Event
	report, err := r.gpu.Apply(t.Context(), p, device.ApplyOptions{
		Journal: &journal,
		Observe: func(e device.Event) { events = append(events, e) },
	})
	require.NoError(t, err)
	assert.Equal(t, device.Done, report.Outcome)
	assert.Equal(t, "done: 1g.5gb@0 2g.10gb@2 3g.20gb@4", report.String())
	assert.Len(t, report.Done, 2)
	require.Len(t, events, 4)
	assert.Equal(t, plan.Destroy, events[0].Op)
	assert.Equal(t, device.PhaseBegin, events[0].Phase)
	assert.Equal(t, device.PhaseDone, events[3].Phase)
	assert.Len(t, events[3].Instance.UUIDs, 1)
	assert.Equal(t, 2, events[3].Step)
	assert.Equal(t, 2, events[3].Total)
	text, err := json.Marshal(report)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"outcome":"done"`)
	var read device.Report
	require.NoError(t, json.Unmarshal(text, &read))
	second, err := json.Marshal(read)
	require.NoError(t, err)
	assert.JSONEq(t, string(text), string(second))
	again, err := report.Wait(t.Context())
	require.NoError(t, err)
	assert.Equal(t, report, again)

	j, err := device.ReadJournal(&journal)
	require.NoError(t, err)
	assert.Equal(t, device.Done, j.Outcome())
	assert.Equal(t, p.Fingerprint, j.Plan.Fingerprint)

	// The same plan does not hold any more.
	report, err = r.gpu.Apply(t.Context(), p, device.ApplyOptions{})
	require.ErrorIs(t, err, plan.ErrStale)
	assert.Equal(t, device.Unchanged, report.Outcome)

	report, err = r.gpu.Undo(t.Context(), j, device.ApplyOptions{})
	require.NoError(t, err)
	assert.Equal(t, device.RolledBack, report.Outcome)
	assert.Equal(t, "1g.5gb@0 2g.10gb@2 1g.5gb@5", layout(t, r.srv).String())
	require.NoError(t, r.srv.Audit())
}

func TestApplyRollsBack(t *testing.T) {
	t.Parallel()
	r := newRig(t.Context(), t, "a100-40gb")
	create(t, r.plain, "1g.5gb@0", "1g.5gb@5", "2g.10gb@2")
	before := r.state(t.Context(), t)
	p := r.repartition(t.Context(), t, "1g.5gb=1,2g.10gb=1,3g.20gb=1")
	require.NoError(t, r.rules.Set(fault.Rule{Method: "GpuInstance.CreateComputeInstance", Times: 1, Effect: fault.Refuse, Return: nvml.ERROR_UNKNOWN}))
	report, err := r.gpu.Apply(t.Context(), p, device.ApplyOptions{})
	require.ErrorIs(t, err, nvml.ERROR_UNKNOWN)
	assert.Equal(t, device.RolledBack, report.Outcome, "%v", err)
	assert.Equal(t, "3g.20gb@4", report.Failed.Instance.String())
	require.Len(t, report.Renewed, 1)
	assert.Equal(t, "1g.5gb@5", report.Renewed[0].String())
	assert.Equal(t, before.Instances[2].UUIDs, report.Renewed[0].Old)
	now := r.state(t.Context(), t)
	assert.Equal(t, now.Instances, report.After)
	assert.Equal(t, now.Instances[2].UUIDs, report.Renewed[0].New)
	assert.Equal(t, "1g.5gb@0 2g.10gb@2 1g.5gb@5", layout(t, r.srv).String())
	assert.Equal(t, report.Error, err.Error())
}

// A report that was written as JSON still says that it is one of a failure.
func TestReportFromJSON(t *testing.T) {
	t.Parallel()
	var r device.Report
	require.NoError(t, json.Unmarshal([]byte(`{"outcome":"left","error":"step 2 of 3","after":null}`), &r))
	assert.Equal(t, "left", r.String())
	_, err := r.Wait(t.Context())
	require.EqualError(t, err, "step 2 of 3")
}
