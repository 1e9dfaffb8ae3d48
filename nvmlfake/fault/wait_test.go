package fault_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/nvmlfake/fault"
)

// Waits take the time they say, which passes at once in a bubble.
func TestDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, lib, _ := start(
			t,
			fault.Rule{Method: "GpuInstance.Destroy", Delay: time.Minute, DelayAfter: time.Hour},
			fault.Rule{Method: "Device.GetName", Delay: time.Second, Effect: fault.Refuse, Return: nvml.ERROR_TIMEOUT},
		)
		d := must(lib.DeviceGetHandleByIndex(0))
		gi, ci := create(d)
		begin := time.Now()
		assert.Equal(t, nvml.SUCCESS, ci.Destroy())
		assert.Zero(t, time.Since(begin))
		assert.Equal(t, nvml.SUCCESS, gi.Destroy())
		assert.Equal(t, time.Hour+time.Minute, time.Since(begin))
		assert.Equal(t, nvml.ERROR_TIMEOUT, code(d.GetName()), "a refusal takes its time too")
		assert.Equal(t, time.Hour+time.Minute+time.Second, time.Since(begin))
	})
}

// A call that hangs is under way, the others go on, and it is done when it is
// released.
func TestHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		s, lib, r := start(t, fault.Rule{Method: "GpuInstance.Destroy", Times: 1, Block: block})
		d := must(lib.DeviceGetHandleByIndex(0))
		gi, ci := create(d)
		require.Equal(t, nvml.SUCCESS, ci.Destroy())
		r.Forget()
		answer := make(chan nvml.Return, 1)
		go func() { answer <- gi.Destroy() }()
		synctest.Wait()
		assert.Empty(t, answer)
		assert.False(t, r.Calls()[0].Done)
		assert.Equal(t, 1, count(t, s, 0), "not done yet")
		assert.Equal(t, nvml.SUCCESS, code(gi.GetInfo()), "another call is not held up")
		require.NoError(t, r.Set(), "new rules do not release it")
		synctest.Wait()
		assert.Equal(t, 1, count(t, s, 0))
		close(block)
		synctest.Wait()
		assert.Equal(t, nvml.SUCCESS, <-answer)
		assert.True(t, r.Calls()[0].Done)
		assert.Zero(t, count(t, s, 0))
	})
}

// A call that did its work and does not come back.
func TestHangAfterTheWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, lib, _ := start(t, fault.Rule{Method: "Device.CreateGpuInstance", DelayAfter: time.Hour})
		d := must(lib.DeviceGetHandleByIndex(0))
		info := must(d.GetGpuInstanceProfileInfo(0))
		var back atomic.Bool
		go func() {
			_, _ = d.CreateGpuInstance(&info)
			back.Store(true)
		}()
		time.Sleep(time.Minute)
		assert.False(t, back.Load())
		assert.Equal(t, 1, count(t, s, 0))
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.True(t, back.Load())
	})
}
