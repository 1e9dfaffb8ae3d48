package device_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/plan"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

// A context that ends between two calls rolls back; one that ends in a call that
// does not return is answered at once all the same.
func TestApplyIsCancelled(t *testing.T) {
	t.Parallel()
	t.Run("before", func(t *testing.T) {
		t.Parallel()
		r := newRig(t.Context(), t, "a100-40gb")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		report, err := r.gpu.Apply(ctx, r.repartition(t.Context(), t, "3g.20gb=1"), device.ApplyOptions{})
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, device.ErrIndeterminate)
		assert.Equal(t, device.Unchanged, report.Outcome)
		assert.NotEmpty(t, report.Error)
	})
	t.Run("between two steps", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T) {
			r := newRig(t.Context(), t, "a100-40gb")
			create(t, r.plain, "1g.5gb@6")
			ctx, cancel := context.WithCancel(t.Context())
			report, err := r.gpu.Apply(ctx, r.repartition(t.Context(), t, "7g.40gb=1"), device.ApplyOptions{Observe: func(e device.Event) {
				if e.Op == plan.Destroy && e.Phase == device.PhaseDone {
					cancel()
				}
			}})
			require.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, device.RolledBack, report.Outcome)
			assert.Equal(t, "1g.5gb@6", layout(t, r.srv).String())
		})
	})
	t.Run("after the last step", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T) {
			r := newRig(t.Context(), t, "a100-40gb")
			ctx, cancel := context.WithCancel(t.Context())
			report, err := r.gpu.Apply(ctx, r.repartition(t.Context(), t, "7g.40gb=1"), device.ApplyOptions{Observe: func(e device.Event) {
				if e.Phase == device.PhaseDone {
					cancel()
				}
			}})
			require.NoError(t, err)
			assert.Equal(t, device.Done, report.Outcome)
		})
	})
}

func TestApplyWhileACallHangs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		timeout time.Duration
		method  string
		called  string
		final   device.Outcome
	}{
		{"cancelled in a destruction", 0, "GpuInstance.Destroy", "GpuInstance.Destroy", device.RolledBack},
		{"too slow in a destruction", 5 * time.Second, "GpuInstance.Destroy", "GpuInstance.Destroy", device.RolledBack},
		{"cancelled in a creation", 0, "Device.CreateGpuInstanceWithPlacement", "CreateGpuInstanceWithPlacement", device.RolledBack},
		{"too slow in the last call of the last step", 5 * time.Second, "GpuInstance.CreateComputeInstance", "CreateComputeInstance", device.Done},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				r := newRig(t.Context(), t, "a100-40gb")
				create(t, r.plain, "1g.5gb@6")
				p := r.repartition(t.Context(), t, "7g.40gb=1")
				hang := make(chan struct{})
				require.NoError(t, r.rules.Set(fault.Rule{Method: tt.method, Times: 1, Block: hang}))
				ctx, cancel := context.WithCancel(t.Context())
				if tt.timeout == 0 {
					time.AfterFunc(time.Second, cancel)
				}
				defer cancel()
				began := time.Now()
				var journal bytes.Buffer
				report, err := r.gpu.Apply(ctx, p, device.ApplyOptions{CallTimeout: tt.timeout, Journal: &journal})
				assert.Less(t, time.Since(began), 6*time.Second)
				require.ErrorIs(t, err, device.ErrIndeterminate)
				if tt.timeout == 0 {
					require.ErrorIs(t, err, context.Canceled)
				} else {
					require.ErrorIs(t, err, context.DeadlineExceeded)
				}
				require.ErrorContains(t, err, tt.called+" has not returned")
				assert.Equal(t, device.Indeterminate, report.Outcome)
				assert.Nil(t, report.After)

				// Whoever comes next waits, and so does Wait.
				short, stop := context.WithTimeout(t.Context(), time.Second)
				defer stop()
				_, err = r.gpu.State(short)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				again, err := report.Wait(short)
				require.ErrorIs(t, err, device.ErrIndeterminate)
				assert.Equal(t, device.Indeterminate, again.Outcome)

				time.AfterFunc(time.Minute, func() { close(hang) })
				report, err = report.Wait(t.Context())
				require.Equal(t, tt.final, report.Outcome, "%v", err)
				require.Equal(t, tt.final == device.Done, err == nil)
				require.NotErrorIs(t, err, device.ErrIndeterminate, "it is known now")
				switch {
				case err == nil:
				case tt.timeout == 0:
					require.ErrorIs(t, err, context.Canceled)
				default:
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.ErrorContains(t, err, tt.called+" did not return within 5s")
				}
				assert.Equal(t, r.state(t.Context(), t).Instances, report.After)
				j, err := device.ReadJournal(&journal)
				require.NoError(t, err)
				assert.Equal(t, tt.final, j.Outcome())
			})
		})
	}
}
