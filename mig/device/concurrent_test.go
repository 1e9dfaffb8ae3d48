package device_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/plan"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

func TestContext(t *testing.T) {
	t.Parallel()
	srv, devs := newServer(t, true, "a100-40gb")
	ctx, cancel := context.WithCancel(t.Context())
	f := &faults{}
	d := open(t, hooked{devs[0], f.hook})
	create(t, d, "1g.5gb@0")
	before := layout(t, srv)
	end := func(at string) { // the context ends during that call
		ctx, cancel = context.WithCancel(t.Context())
		f.then = func(call string) {
			if call == at {
				cancel()
			}
		}
	}
	for _, at := range []string{"GetMigMode", "GetGpuInstanceProfileInfo", "CreateGpuInstanceWithPlacement"} {
		end(at)
		_, err := d.Create(ctx, mig.Instance{Profile: "3g.20gb", Start: 4})
		require.ErrorIs(t, err, context.Canceled, at)
		require.Equal(t, before, layout(t, srv), at)
	}
	// Once the compute instance exists the work is done: nothing is cut short.
	end("CreateComputeInstance")
	in, err := d.Create(ctx, mig.Instance{Profile: "3g.20gb", Start: 4})
	require.NoError(t, err)

	end("GetMigMode")
	require.ErrorIs(t, d.Destroy(ctx, in), context.Canceled)
	assert.Equal(t, 2, layout(t, srv).Len())
	end("ComputeInstance.Destroy")
	err = d.Destroy(ctx, in)
	require.ErrorIs(t, err, context.Canceled)
	var op *device.OpError
	require.ErrorAs(t, err, &op)
	require.NotNil(t, op.Left, "the compute instance is gone, and cannot be had back")
	assert.Empty(t, op.Left.Compute)
	f.then = nil
	require.NoError(t, d.Destroy(t.Context(), in), "a second time carries on")
	assert.Equal(t, before, layout(t, srv))

	cancel()
	_, err = d.State(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

// Who waits for an operation before theirs stops waiting with the context.
func TestContextEndsTheWait(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, true, "a100-40gb")
	started, finish := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f := &faults{}
	d := open(t, hooked{devs[0], f.hook})
	f.then = func(string) {
		once.Do(func() { close(started) })
		<-finish
	}
	done := make(chan error)
	go func() {
		_, err := d.State(t.Context())
		done <- err
	}()
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	_, err := d.Create(ctx, mig.Instance{Profile: "3g.20gb", Start: 4})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, d.Destroy(ctx, device.Instance{}), context.Canceled)
	close(finish)
	require.NoError(t, <-done)
}

// Many callers of one value and of two for one GPU: what they were told
// they have is what is there.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	srv, devs := newServer(t, true, "a100-40gb")
	gpus := []*device.GPU{open(t, devs[0]), open(t, devs[0])}
	var wg sync.WaitGroup
	var mu sync.Mutex
	made := map[int]device.Instance{}
	begin := make(chan struct{})
	for i := range 8 {
		wg.Go(func() {
			<-begin
			d := gpus[i%2]
			for start := range 7 {
				in, err := d.Create(t.Context(), mig.Instance{Profile: "1g.5gb", Start: start})
				if errors.Is(err, mig.ErrConflict) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				_, twice := made[start]
				made[start] = in
				mu.Unlock()
				assert.False(t, twice, "two were given slice %d", start)
				_, err = d.State(t.Context())
				assert.NoError(t, err)
			}
		})
	}
	close(begin)
	wg.Wait()
	require.Len(t, made, 7)
	st, err := gpus[0].State(t.Context())
	require.NoError(t, err)
	for _, in := range st.Instances {
		assert.Equal(t, made[in.Start], in)
	}
	require.NoError(t, srv.Audit())
}

// Two transactions on one GPU at once, by two values that know nothing of each
// other: whatever they make of it, nobody is told a lie.
func TestConcurrentTransactions(t *testing.T) {
	t.Parallel()
	for i := range 20 {
		bubble(t, func(t *testing.T) {
			r := newRig(t.Context(), t, "a100-40gb")
			create(t, r.plain, "1g.5gb@0", "1g.5gb@5")
			plans := []plan.Plan{r.repartition(t.Context(), t, "7g.40gb=1"), r.repartition(t.Context(), t, "1g.5gb=2,2g.10gb=2")}
			require.NoError(t, r.rules.Set(fault.Rule{Method: "*", Delay: time.Duration(i+1) * time.Millisecond, Probability: 0.3}))
			second := open(t, fault.WrapDevice(deviceOf(t, r), r.rules))
			reports := make([]device.Report, 2)
			var wg sync.WaitGroup
			for k, d := range []*device.GPU{r.gpu, second} {
				wg.Go(func() {
					var err error
					reports[k], err = d.Apply(t.Context(), plans[k], device.ApplyOptions{})
					assert.Equal(t, err == nil, reports[k].Outcome == device.Done)
				})
			}
			wg.Wait()
			require.NoError(t, r.srv.Audit())
			now := r.state(t.Context(), t).Instances
			assert.True(t, standsAs(now, reports[0].After, true) || standsAs(now, reports[1].After, true),
				"%v: %v, %v", now, reports[0], reports[1])
		})
	}
}
