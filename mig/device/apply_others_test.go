package device_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/plan"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

// Another process creates an instance while a plan is carried out: it stays,
// and the report names it.
func TestApplyWhileOthersCreate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, at string
		want     string // what stands in the end
	}{
		{"out of the way", "1g.5gb@0", "1g.5gb@0 1g.5gb@3 1g.5gb@5"},
		{"where the plan is going to create", "1g.5gb@6", "1g.5gb@3 1g.5gb@5 1g.5gb@6"},
		{"the very instance of the plan", "3g.20gb@4", "1g.5gb@3 3g.20gb@4"},
		{"where the plan has just destroyed", "1g.10gb@4", "1g.5gb@3 1g.10gb@4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				r := newRig(t.Context(), t, "a100-40gb")
				create(t, r.plain, "1g.5gb@3", "1g.5gb@5")
				p := r.repartition(t.Context(), t, "1g.5gb=1,3g.20gb=1")
				require.NoError(t, r.rules.Set(fault.Rule{Method: "Device.CreateGpuInstanceWithPlacement", Times: 1, Before: func(fault.Call) {
					want, err := mig.ParseInstance(tt.at)
					assert.NoError(t, err)
					_, err = r.plain.Create(context.WithoutCancel(t.Context()), want)
					assert.NoError(t, err)
				}}))
				report, err := r.gpu.Apply(t.Context(), p, device.ApplyOptions{})
				require.ErrorIs(t, err, device.ErrChanged)
				assert.Equal(t, device.Left, report.Outcome)
				if tt.name == "out of the way" {
					// All steps were done: nothing is gained by undoing them.
					assert.Equal(t, "1g.5gb@0 1g.5gb@3 3g.20gb@4", layout(t, r.srv).String())
				} else {
					require.ErrorIs(t, err, mig.ErrConflict)
					require.ErrorContains(t, err, tt.at)
					assert.Equal(t, tt.want, layout(t, r.srv).String())
				}
			})
		})
	}
}

// Another process destroys an instance and creates the same again while a plan is
// carried out: it has another UUID by then, and is not the plan's victim.
func TestApplyWhileOthersReplace(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		start int // of what is replaced
		want  string
	}{
		{"a victim", 6, "1g.5gb@0 1g.5gb@6"},
		{"an instance that is to be kept", 0, "1g.5gb@0 3g.20gb@4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				r := newRig(t.Context(), t, "a100-40gb")
				create(t, r.plain, "1g.5gb@0", "1g.5gb@6")
				p := r.repartition(t.Context(), t, "1g.5gb=1,3g.20gb=1")
				require.Equal(t, plan.Destroy, p.Steps[0].Op)
				require.Equal(t, 6, p.Steps[0].Start)
				var theirs device.Instance
				report, err := r.gpu.Apply(t.Context(), p, device.ApplyOptions{Observe: func(e device.Event) {
					if e.Step == 1 && e.Phase == device.PhaseBegin && !e.Back {
						destroy(t, r.plain, tt.start)
						theirs = create(t, r.plain, fmt.Sprint("1g.5gb@", tt.start))[0]
					}
				}})
				require.ErrorIs(t, err, device.ErrChanged)
				assert.Equal(t, tt.want, layout(t, r.srv).String())
				assert.Equal(t, theirs, standing(t, r.plain, tt.start), "it is another's")
				assert.True(t, standsAs(r.state(t.Context(), t).Instances, report.After, true))
				if tt.start == 6 {
					assert.Equal(t, device.RolledBack, report.Outcome, "by layout; the report lists the UUID that is another's")
					require.Len(t, report.Renewed, 1)
					assert.Equal(t, theirs.Compute[0].UUID, report.Renewed[0].New[0])
				} else {
					assert.Equal(t, device.Left, report.Outcome)
				}
			})
		})
	}
}

// Another process takes the place of what the way back is about to furnish again: it
// is left alone.
func TestRollBackSparesWhatOthersCreate(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		r := newRig(t.Context(), t, "a100-40gb")
		create(t, r.plain, "1g.5gb@5")
		p := r.repartition(t.Context(), t, "7g.40gb=1")
		require.NoError(t, r.rules.Set(fault.Rule{Method: "GpuInstance.Destroy", Times: 1, Effect: fault.Pretend}))
		var theirs device.Instance
		report, err := r.gpu.Apply(t.Context(), p, device.ApplyOptions{Observe: func(e device.Event) {
			if e.Back && e.Op == plan.Create && theirs.Compute == nil {
				destroy(t, r.plain, 5)
				theirs = create(t, r.plain, "2g.10gb@4")[0]
			}
		}})
		require.ErrorIs(t, err, device.ErrChanged)
		require.NotEmpty(t, theirs.Compute)
		assert.Equal(t, "left: 2g.10gb@4", report.String())
		assert.Equal(t, theirs, standing(t, r.plain, 4))
	})
}

// Another process destroys everything while a second run goes on, before any of its
// readings: it is no success, unless the last one shows the goal.
func TestOthersDestroyWhileResuming(t *testing.T) {
	t.Parallel()
	for nth := 1; ; nth++ {
		fired := 0
		bubble(t, func(t *testing.T) {
			r := newRig(t.Context(), t, "a100-40gb")
			j, err := device.ReadJournal(strings.NewReader(journalOf(t, r)))
			require.NoError(t, err)
			require.NoError(t, r.srv.Reset(0))
			require.NoError(t, r.rules.Set(fault.Rule{Method: "Device.GetMigMode", Nth: nth, Times: 1, Before: func(fault.Call) {
				st, err := r.plain.State(context.WithoutCancel(t.Context()))
				assert.NoError(t, err)
				for _, in := range st.Instances {
					assert.NoError(t, r.plain.Destroy(context.WithoutCancel(t.Context()), in))
				}
			}}))
			report, err := r.gpu.Resume(t.Context(), j, device.ApplyOptions{})
			fired = r.rules.Fired()[0]
			require.Equal(t, standsAs(report.After, j.Plan.Goal, false), err == nil, "before reading %d: %v, %v", nth, report, err)
			require.Equal(t, err == nil, report.Outcome == device.Done)
		})
		if fired == 0 {
			require.Greater(t, nth, 5)
			return
		}
	}
}

// Somebody starts to use what the plan has created before it fails.
func TestRollBackSparesWhatIsInUse(t *testing.T) {
	t.Parallel()
	for _, hidden := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			r := newRig(t.Context(), t, "a100-40gb")
			create(t, r.plain, "1g.5gb@2", "1g.5gb@6")
			p := r.repartition(t.Context(), t, "4g.20gb=1,3g.20gb=1")
			require.NoError(t, r.rules.Set(fault.Rule{Method: "Device.CreateGpuInstanceWithPlacement", Nth: 2, Times: 1, Effect: fault.Refuse, Return: nvml.ERROR_UNKNOWN}))
			taken := 0
			report, err := r.gpu.Apply(t.Context(), p, device.ApplyOptions{Observe: func(e device.Event) {
				if e.Op == plan.Create && e.Phase == device.PhaseDone && !e.Back && taken == 0 {
					taken = e.Instance.Size
					hold(t, r, e.Instance.Start, "python3", hidden)
				}
			}})
			require.Equal(t, 4, taken)
			require.ErrorIs(t, err, nvml.ERROR_UNKNOWN)
			require.ErrorIs(t, err, device.ErrChanged)
			require.ErrorContains(t, err, "was left alone")
			assert.Equal(t, device.Left, report.Outcome)
			assert.True(t, standsAs(r.state(t.Context(), t).Instances, report.After, true))
			l := layout(t, r.srv)
			assert.Equal(t, 2, l.Len(), "what is in use, and what has room beside it: %v", l)
		})
	}
}

// An instance without compute instances counts as one that nothing can run on: a
// plan may destroy it, and a roll back puts it back as it was.
func TestApplyToARemnant(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		r := newRig(t.Context(), t, "a100-40gb")
		in := create(t, r.plain, "2g.10gb@4")[0]
		dev, ret := r.srv.NVML().DeviceGetHandleByIndex(0)
		require.Equal(t, nvml.SUCCESS, ret)
		empty(t, dev, in)
		st := r.state(t.Context(), t)
		require.Empty(t, st.Instances[0].Compute)
		p := r.repartition(t.Context(), t, "2g.10gb=1,1g.5gb=1")
		require.Equal(t, plan.Destroy, p.Steps[len(p.Steps)-2].Op, "it does not serve")
		require.NoError(t, r.rules.Set(fault.Rule{Method: "GpuInstance.CreateComputeInstance", Effect: fault.Refuse, Return: nvml.ERROR_UNKNOWN}))
		report, err := r.gpu.Apply(t.Context(), p, device.ApplyOptions{})
		require.ErrorIs(t, err, nvml.ERROR_UNKNOWN)
		require.Contains(t, []device.Outcome{device.RolledBack, device.Unchanged}, report.Outcome, "%v", err)
		assert.Equal(t, st.Instances, r.state(t.Context(), t).Instances)
		require.NoError(t, r.rules.Set())
		report, err = r.gpu.Apply(t.Context(), p, device.ApplyOptions{})
		require.NoError(t, err)
		assert.Equal(t, device.Done, report.Outcome)
	})
}

// Compute instances of part size are created at their starts, and restored there.
func TestApplyComputeInstances(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		r := newRig(t.Context(), t, "a100-40gb")
		goal := []plan.Instance{{
			Instance: mig.Instance{Profile: "3g.20gb", Start: 4, Size: 4},
			Compute:  []mig.ComputeInstance{{Profile: "1c.3g.20gb", Start: 2, Size: 1}, {Profile: "2c.3g.20gb", Start: 0, Size: 2, Index: 1}},
		}}
		p, err := plan.Restore(r.state(t.Context(), t), goal)
		require.NoError(t, err)
		report, err := r.gpu.Apply(t.Context(), p, device.ApplyOptions{})
		require.NoError(t, err)
		require.Equal(t, device.Done, report.Outcome)
		before := standing(t, r.plain, 4)
		require.Len(t, before.Compute, 2)
		starts := map[string]int{}
		for _, c := range before.Compute {
			starts[c.Profile] = c.Start
		}
		assert.Equal(t, map[string]int{"1c.3g.20gb": 2, "2c.3g.20gb": 0}, starts)

		p = r.repartition(t.Context(), t, "7g.40gb=1")
		require.NoError(t, r.rules.Set(fault.Rule{Method: "Device.CreateGpuInstanceWithPlacement", Times: 1, Effect: fault.Refuse, Return: nvml.ERROR_UNKNOWN}))
		report, err = r.gpu.Apply(t.Context(), p, device.ApplyOptions{})
		require.ErrorIs(t, err, nvml.ERROR_UNKNOWN)
		require.Equal(t, device.RolledBack, report.Outcome)
		require.True(t, standsAs(r.state(t.Context(), t).Instances, goal, false))
		require.Len(t, report.Renewed, 1)
		assert.Len(t, report.Renewed[0].Old, 2)
	})
}
