package device_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

// An operation whose context ends while a call into the driver hangs returns
// soon, says which call, and the GPU is put in order when the call returns: the
// next operation waits for that. Nothing leaks: a bubble ends only when all its
// goroutines have.
func TestACallThatHangs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, called string
		act                  func(ctx context.Context, r *rig, in device.Instance) error
		want                 string // what stands afterwards
	}{
		{"State", "Device.GetGpuInstances", "GetGpuInstances", func(ctx context.Context, r *rig, _ device.Instance) error {
			_, err := r.gpu.State(ctx)
			return err
		}, "1g.5gb@0"},
		{"PlanState", "Device.GetMigMode", "GetMigMode", func(ctx context.Context, r *rig, _ device.Instance) error {
			_, err := r.gpu.PlanState(ctx)
			return err
		}, "1g.5gb@0"},
		{"Create, at its first change", "Device.CreateGpuInstanceWithPlacement", "CreateGpuInstanceWithPlacement", func(ctx context.Context, r *rig, _ device.Instance) error {
			_, err := r.gpu.Create(ctx, mig.Instance{Profile: "3g.20gb", Start: 4})
			return err
		}, "1g.5gb@0"},
		{"Create, at its last change", "GpuInstance.CreateComputeInstance", "CreateComputeInstance", func(ctx context.Context, r *rig, _ device.Instance) error {
			_, err := r.gpu.Create(ctx, mig.Instance{Profile: "3g.20gb", Start: 4})
			return err
		}, "1g.5gb@0"},
		{"Destroy, at its last change", "GpuInstance.Destroy", "GpuInstance.Destroy", func(ctx context.Context, r *rig, in device.Instance) error {
			return r.gpu.Destroy(ctx, in)
		}, "empty"},
		{"Destroy, before", "ComputeInstance.GetInfo", "ComputeInstance.GetInfo", func(ctx context.Context, r *rig, in device.Instance) error {
			return r.gpu.Destroy(ctx, in)
		}, "1g.5gb@0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				r := newRig(t.Context(), t, "a100-40gb")
				in := create(t, r.plain, "1g.5gb@0")[0]
				hang := make(chan struct{})
				require.NoError(t, r.rules.Set(fault.Rule{Method: tt.method, Times: 1, Block: hang}))
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				err := tt.act(ctx, r, in)
				assert.Less(t, time.Since(began), 2*time.Second)
				require.ErrorIs(t, err, device.ErrIndeterminate)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorContains(t, err, tt.called+" has not returned")
				var op *device.OpError
				require.ErrorAs(t, err, &op)

				short, stop := context.WithTimeout(t.Context(), time.Second)
				defer stop()
				_, err = r.gpu.State(short)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.NotErrorIs(t, err, device.ErrIndeterminate, "it has not begun")
				time.AfterFunc(time.Minute, func() { close(hang) })
				st, err := r.gpu.State(t.Context())
				require.NoError(t, err)
				assert.Equal(t, tt.want, st.Layout.String())
				require.NoError(t, r.srv.Audit())
			})
		})
	}
}

func TestOpenWhileACallHangs(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		_, devs := newServer(t, true, "a100-40gb")
		rules, err := fault.New(1, fault.Rule{Method: "Device.GetMemoryInfo", Delay: time.Minute})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = device.Open(ctx, fault.WrapDevice(devs[0], rules))
		require.ErrorIs(t, err, device.ErrIndeterminate)
		require.ErrorContains(t, err, "GetMemoryInfo has not returned")
		time.Sleep(time.Minute) // until it has
	})
}

// A call that is slow, but not too slow, is no obstacle.
func TestSlowCalls(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		r := newRig(t.Context(), t, "a100-40gb")
		require.NoError(t, r.rules.Set(fault.Rule{Method: "*", Delay: 900 * time.Millisecond}))
		began := time.Now()
		report, err := r.gpu.Apply(t.Context(), r.repartition(t.Context(), t, "7g.40gb=1"), device.ApplyOptions{CallTimeout: time.Second})
		require.NoError(t, err)
		assert.Equal(t, device.Done, report.Outcome)
		assert.Greater(t, time.Since(began), time.Minute)
	})
}

// A goroutine that is ended from inside gives the turn back.
func TestTheGoroutineEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t.Context(), t, "a100-40gb")
	require.NoError(t, r.rules.Set(fault.Rule{Method: "Device.GetMigMode", Times: 1, Before: func(fault.Call) { runtime.Goexit() }}))
	_, err := r.gpu.State(t.Context())
	require.ErrorContains(t, err, "was ended")
	_, err = r.gpu.State(t.Context())
	require.NoError(t, err)
}

func TestOpenModel(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, true, "a100-40gb")
	own, err := mig.Lookup("a100-40gb")
	require.NoError(t, err)
	d, err := device.OpenModel(t.Context(), disguised{devs[0], 0x123410DE, "?", 40 << 30}, own)
	require.NoError(t, err)
	assert.Same(t, own, d.Model())
	create(t, d, "3g.20gb@4")

	other, err := mig.Lookup("a30-24gb")
	require.NoError(t, err)
	d, err = device.OpenModel(t.Context(), devs[0], other)
	require.NoError(t, err)
	_, err = d.Create(t.Context(), mig.Instance{Profile: "1g.6gb", Start: 0})
	require.ErrorIs(t, err, device.ErrMismatch, "the table is another's")

	_, err = device.OpenModel(t.Context(), devs[0], nil)
	require.ErrorIs(t, err, mig.ErrUnknownModel)
	_, err = device.OpenModel(t.Context(), nil, own)
	require.ErrorIs(t, err, nvml.ERROR_INVALID_ARGUMENT)
}
