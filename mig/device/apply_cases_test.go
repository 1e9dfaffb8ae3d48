package device_test

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/plan"
	"github.com/gpushare/gpushare/nvmlfake"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

// bubble runs a test in synthetic time, where waits pass at once.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// What drivers do to a destruction: the first step of a plan that
// makes room for a 7g.40gb.
func TestApplyDestroyGoesWrong(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		rule     fault.Rule
		want     device.Outcome
		err      error
		sameGI   bool // the compute instance is put back into the GPU instance that still stands
		sameUUID bool
	}{
		{
			"in use for a moment after its compute instance has gone",
			fault.Rule{Method: "GpuInstance.Destroy", Times: 3, Effect: fault.Refuse, Return: nvml.ERROR_IN_USE},
			device.Done, nil, false, false,
		},
		{
			"in use for good after its compute instance has gone",
			fault.Rule{Method: "GpuInstance.Destroy", Effect: fault.Refuse, Return: nvml.ERROR_IN_USE},
			device.RolledBack, device.ErrInUse, true, false,
		},
		{
			"compute instance in use",
			fault.Rule{Method: "ComputeInstance.Destroy", Effect: fault.Refuse, Return: nvml.ERROR_IN_USE},
			device.Unchanged, device.ErrInUse, true, true,
		},
		{
			"success, and a remnant without compute instance",
			fault.Rule{Method: "GpuInstance.Destroy", Effect: fault.Pretend},
			device.RolledBack, device.ErrUnverified, true, false,
		},
		{
			"success, and the compute instance still stands",
			fault.Rule{Method: "ComputeInstance.Destroy", Effect: fault.Pretend},
			device.Unchanged, device.ErrInUse, true, true,
		},
		{
			"destroyed, yet an error",
			fault.Rule{Method: "GpuInstance.Destroy", Effect: fault.After, Return: nvml.ERROR_UNKNOWN},
			device.Done, nil, false, false,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				r := newRig(t.Context(), t, "a100-40gb")
				victim := create(t, r.plain, "1g.5gb@5")[0]
				p := r.repartition(t.Context(), t, "7g.40gb=1")
				require.NoError(t, r.rules.Set(tt.rule))
				report, err := r.gpu.Apply(t.Context(), p, device.ApplyOptions{})
				require.ErrorIs(t, err, tt.err)
				require.NotZero(t, r.rules.Fired()[0])
				assert.Equal(t, tt.want, report.Outcome, "%v", err)
				now := r.state(t.Context(), t).Instances
				assert.Equal(t, now, report.After)
				require.NoError(t, r.srv.Audit())
				if tt.want == device.Done {
					assert.Equal(t, "7g.40gb@0", layout(t, r.srv).String())
					return
				}
				assert.Equal(t, "1g.5gb@5", layout(t, r.srv).String())
				in := standing(t, r.plain, 5)
				assert.Equal(t, tt.sameGI, in.ID == victim.ID)
				assert.Equal(t, tt.sameUUID, in.Compute[0].UUID == victim.Compute[0].UUID)
				require.Equal(t, tt.sameUUID, len(report.Renewed) == 0)
				if !tt.sameUUID {
					assert.Equal(t, []string{victim.Compute[0].UUID}, report.Renewed[0].Old)
					assert.Equal(t, []string{in.Compute[0].UUID}, report.Renewed[0].New)
				}
			})
		})
	}
}

// What drivers do to a creation.
func TestApplyCreateGoesWrong(t *testing.T) {
	t.Parallel()
	const gi, ci = "Device.CreateGpuInstanceWithPlacement", "GpuInstance.CreateComputeInstance"
	tests := []struct {
		name   string
		method string
		effect fault.Effect
		code   nvml.Return
		want   device.Outcome
	}{
		{"GPU instance created, yet an error", gi, fault.After, nvml.ERROR_UNKNOWN, device.Done},
		{"compute instance created, yet an error", ci, fault.After, nvml.ERROR_UNKNOWN, device.Done},
		{"GPU instance refused", gi, fault.Refuse, nvml.ERROR_NO_PERMISSION, device.RolledBack},
		{"compute instance refused", ci, fault.Refuse, nvml.ERROR_UNKNOWN, device.RolledBack},
		// The code says that another process was faster; a GPU instance without
		// compute instance, as one stands there now, could be what that process is
		// about to furnish. The compute instance stands in a GPU instance of our own.
		{"GPU instance created, yet no room", gi, fault.After, nvml.ERROR_INSUFFICIENT_RESOURCES, device.Left},
		{"compute instance created, yet no room", ci, fault.After, nvml.ERROR_INSUFFICIENT_RESOURCES, device.RolledBack},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				r := newRig(t.Context(), t, "a100-40gb")
				create(t, r.plain, "1g.5gb@5")
				p := r.repartition(t.Context(), t, "3g.20gb=2")
				require.NoError(t, r.rules.Set(fault.Rule{Method: tt.method, Nth: 2, Times: 1, Effect: tt.effect, Return: tt.code}))
				var journal bytes.Buffer
				report, err := r.gpu.Apply(t.Context(), p, device.ApplyOptions{Journal: &journal})
				assert.Equal(t, []int{1}, r.rules.Fired())
				require.Equal(t, tt.want, report.Outcome, "%v", err)
				require.Equal(t, tt.want == device.Done, err == nil)
				assert.Equal(t, r.state(t.Context(), t).Instances, report.After)
				switch tt.want {
				case device.Done:
					assert.Equal(t, "3g.20gb@0 3g.20gb@4", layout(t, r.srv).String())
				case device.RolledBack:
					require.ErrorIs(t, err, tt.code)
					assert.Equal(t, "1g.5gb@5", layout(t, r.srv).String())
					assert.Contains(t, report.Failed.Instance.String(), "3g.20gb")
				default:
					require.ErrorIs(t, err, device.ErrChanged)
					j, err := device.ReadJournal(&journal)
					require.NoError(t, err)
					report, err := r.gpu.Resume(t.Context(), j, device.ApplyOptions{})
					require.NoError(t, err, "a later run takes it for a remnant")
					assert.Equal(t, "done: 3g.20gb@0 3g.20gb@4", report.String())
				}
			})
		})
	}
}

// A plan that must not begin changes nothing and writes no journal.
func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		act  func(t *testing.T, r *rig, p *plan.Plan)
		want []error
		text string
	}{
		{"another state", func(t *testing.T, r *rig, _ *plan.Plan) { t.Helper(); create(t, r.plain, "1g.5gb@6") }, []error{plan.ErrStale}, ""},
		{"the same with another UUID", func(t *testing.T, r *rig, _ *plan.Plan) {
			t.Helper()
			destroy(t, r.plain, 0)
			create(t, r.plain, "1g.5gb@0")
		}, []error{plan.ErrStale}, ""},
		{"another GPU", func(_ *testing.T, _ *rig, p *plan.Plan) { p.GPU = "GPU-0" }, []error{plan.ErrStale}, "GPU-0"},
		{"another model", func(_ *testing.T, _ *rig, p *plan.Plan) { p.Model = "a100-80gb" }, []error{plan.ErrStale}, "a100-80gb"},
		{"steps that do not lead to the goal", func(_ *testing.T, _ *rig, p *plan.Plan) { p.Steps = p.Steps[:1] }, []error{plan.ErrBadPlan}, ""},
		{"a process on a victim", func(t *testing.T, r *rig, _ *plan.Plan) {
			t.Helper()
			hold(t, r, 5, "python3", false)
		}, []error{plan.ErrBusy, device.ErrInUse}, "1g.5gb@5: in use by python3 (pid 4242"},
		{"MIG mode about to go", func(t *testing.T, r *rig, _ *plan.Plan) {
			t.Helper()
			dev, ret := r.srv.NVML().DeviceGetHandleByIndex(0)
			require.Equal(t, nvml.SUCCESS, ret)
			_, ret = dev.SetMigMode(nvml.DEVICE_MIG_DISABLE)
			require.Equal(t, nvml.SUCCESS, ret)
		}, []error{device.ErrDisabled}, "pending until the GPU is reset"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t.Context(), t, "a100-40gb")
			r.gpu = r.gpu.WithProcessNames(r.srv.NVML().SystemGetProcessName)
			create(t, r.plain, "1g.5gb@0", "1g.5gb@5")
			p := r.repartition(t.Context(), t, "1g.5gb=1,3g.20gb=1")
			tt.act(t, r, &p)
			before := r.state(t.Context(), t)
			var journal bytes.Buffer
			report, err := r.gpu.Apply(t.Context(), p, device.ApplyOptions{Journal: &journal})
			for _, want := range tt.want {
				require.ErrorIs(t, err, want)
			}
			require.ErrorContains(t, err, tt.text)
			assert.Equal(t, device.Unchanged, report.Outcome)
			assert.Empty(t, report.Done)
			assert.Zero(t, journal.Len())
			assert.Equal(t, before, r.state(t.Context(), t))
		})
	}
}

// hold makes a process run on the instance at a start.
func hold(t *testing.T, r *rig, start int, name string, hidden bool) {
	t.Helper()
	in := standing(t, r.plain, start)
	_, err := r.srv.HoldCompute(0, in.ID, in.Compute[0].ID, nvmlfake.Holder{PID: 4242, Name: name, MemoryMiB: 512, Hidden: hidden})
	require.NoError(t, err)
}

func TestApplyWhileMIGIsOff(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"a100-40gb", "h100-80gb-sxm5"} {
		srv, devs := newServer(t, false, model)
		d := open(t, devs[0])
		st, err := d.PlanState(t.Context())
		require.NoError(t, err)
		p, err := plan.Repartition(st, mig.Demand{})
		require.NoError(t, err)
		report, err := d.Apply(t.Context(), p, device.ApplyOptions{})
		require.ErrorIs(t, err, device.ErrDisabled)
		assert.Equal(t, device.Unchanged, report.Outcome)
		if model == "a100-40gb" {
			_, ret := devs[0].SetMigMode(nvml.DEVICE_MIG_ENABLE)
			require.Equal(t, nvml.SUCCESS, ret)
			_, err = d.Apply(t.Context(), p, device.ApplyOptions{})
			require.ErrorContains(t, err, "a change to on is pending until the GPU is reset")
			require.NoError(t, srv.Reset(0))
			_, err = d.Apply(t.Context(), p, device.ApplyOptions{})
			require.NoError(t, err)
		}
	}
}
