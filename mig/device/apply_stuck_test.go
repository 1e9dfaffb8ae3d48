package device_test

import (
	"context"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/plan"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

// A process that starts on a victim in mid-plan is named, and so is one on what a
// caller destroys by hand.
func TestWhoUsesAVictimIsNamed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		r := newRig(t.Context(), t, "a100-40gb")
		r.gpu = r.gpu.WithProcessNames(r.srv.NVML().SystemGetProcessName)
		create(t, r.plain, "1g.5gb@0", "1g.5gb@6")
		report, err := r.gpu.Apply(t.Context(), r.repartition(t.Context(), t, "7g.40gb=1"), device.ApplyOptions{Observe: func(e device.Event) {
			if e.Step == 2 && e.Phase == device.PhaseBegin && !e.Back {
				hold(t, r, e.Instance.Start, "python3", false)
			}
		}})
		require.ErrorIs(t, err, device.ErrInUse)
		require.ErrorIs(t, err, nvml.ERROR_IN_USE)
		require.ErrorContains(t, err, "in use by python3 (pid 4242, C, 512 MiB)")
		assert.Equal(t, "rolledBack: 1g.5gb@0 1g.5gb@6", report.String())

		err = r.gpu.Destroy(t.Context(), standing(t, r.plain, 6))
		var used *device.InUseError
		require.ErrorAs(t, err, &used)
		require.Len(t, used.Blockers, 1)
		assert.Equal(t, 4242, used.Blockers[0].PID)
		var op *device.OpError
		require.ErrorAs(t, err, &op)
		assert.Equal(t, 0, op.ComputeInstance)
	})
}

// stuckWriter takes an hour for its second line.
type stuckWriter struct{ n int }

func (w *stuckWriter) Write(p []byte) (int, error) {
	if w.n++; w.n == 2 {
		time.Sleep(time.Hour)
	}
	return len(p), nil
}

// What hangs is named also where it is no call into the driver; a limit for such
// calls does not concern it.
func TestWhatHangsIsNamed(t *testing.T) {
	t.Parallel()
	slow := func(device.Event) { time.Sleep(time.Hour) }
	for what, opts := range map[string]device.ApplyOptions{
		"the write of the journal": {Journal: &stuckWriter{}, CallTimeout: time.Minute},
		"the observer":             {Observe: slow, Journal: io.Discard, CallTimeout: time.Minute},
	} {
		bubble(t, func(t *testing.T) {
			r := newRig(t.Context(), t, "a100-40gb")
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			report, err := r.gpu.Apply(ctx, r.repartition(t.Context(), t, "7g.40gb=1"), opts)
			require.ErrorIs(t, err, device.ErrIndeterminate)
			require.ErrorContains(t, err, what+" has not returned: context deadline exceeded")
			report, err = report.Wait(t.Context())
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, device.Unchanged, report.Outcome)
		})
	}
}

// The goroutine of a transaction is ended after its caller has left: what stands
// there is not known, and the report says so.
func TestWaitForAnEndedGoroutine(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		r := newRig(t.Context(), t, "a100-40gb")
		create(t, r.plain, "1g.5gb@6")
		require.NoError(t, r.rules.Set(fault.Rule{Method: "Device.Create*", Times: 1, Delay: time.Hour, Before: func(fault.Call) { runtime.Goexit() }}))
		report, err := r.gpu.Apply(t.Context(), r.repartition(t.Context(), t, "7g.40gb=1"), device.ApplyOptions{CallTimeout: time.Second})
		require.ErrorIs(t, err, device.ErrIndeterminate)
		report, err = report.Wait(t.Context())
		require.ErrorContains(t, err, "was ended")
		assert.Equal(t, device.Left, report.Outcome)
		assert.Equal(t, err.Error(), report.Error)
		assert.Nil(t, report.After)
		require.Len(t, report.Done, 1)
		assert.Equal(t, plan.Destroy, report.Done[0].Op)
	})
}

// A caller's own reason for the end of a context comes with the context's error.
func TestCauseOfTheEnd(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		r := newRig(t.Context(), t, "a100-40gb")
		create(t, r.plain, "1g.5gb@6")
		ctx, cancel := context.WithCancelCause(t.Context())
		report, err := r.gpu.Apply(ctx, r.repartition(t.Context(), t, "7g.40gb=1"), device.ApplyOptions{Observe: func(e device.Event) {
			if e.Op == plan.Destroy && e.Phase == device.PhaseDone {
				cancel(errDisk)
			}
		}})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errDisk)
		assert.Equal(t, device.RolledBack, report.Outcome)
		_, err = r.gpu.State(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errDisk)
	})
}

// One answer that a list of profiles is at its end does not hide what stands there.
func TestProfileListEndsEarly(t *testing.T) {
	t.Parallel()
	r := newRig(t.Context(), t, "a100-40gb")
	in := create(t, r.plain, "2g.10gb@4")[0]
	empty(t, deviceOf(t, r), in) // so that no MIG device shows it
	for nth := 1; nth <= 8; nth++ {
		require.NoError(t, r.rules.Set(fault.Rule{Method: "Device.GetGpuInstanceProfileInfo", Nth: nth, Times: 1, Effect: fault.Refuse, Return: nvml.ERROR_INVALID_ARGUMENT}))
		st, err := r.gpu.State(t.Context())
		require.NoError(t, err)
		require.Equal(t, []int{1}, r.rules.Fired())
		require.Equal(t, "2g.10gb@4", st.Layout.String(), "at call %d", nth)
	}
}
