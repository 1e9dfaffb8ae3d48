package fault_test

import (
	"sync"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/nvmlfake/fault"
)

// Many clients under rules that others replace: every answer is one that a rule
// or the library gives, nothing is recorded twice, and the fake's state holds.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	s, lib, r := start(t)
	sets := [][]fault.Rule{
		nil,
		{{Method: "GpuInstance.Destroy", Probability: 0.3, Effect: fault.Refuse, Return: nvml.ERROR_IN_USE}},
		{{Method: "Device.CreateGpuInstance", Effect: fault.After, Return: nvml.ERROR_UNKNOWN, Until: func(c fault.Call) bool { return c.GPU == 1 }}},
		{{Method: "*", GPU: "1", Nth: 5, Effect: fault.Lose}},
	}
	const clients, rounds = 8, 100
	var ready, done sync.WaitGroup
	barrier := make(chan struct{})
	for c := range clients {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-barrier
			for i := range rounds {
				if c == 0 && i%10 == 0 {
					if err := r.Set(sets[i/10%len(sets)]...); err != nil {
						t.Error(err)
					}
				}
				hammer(t, lib, c%2)
				_, _ = r.Fired(), r.Calls()
			}
		})
	}
	ready.Wait()
	close(barrier)
	done.Wait()
	require.NoError(t, s.Audit())
	seen := map[int]bool{}
	for _, c := range r.Calls() {
		require.True(t, c.Done)
		require.False(t, seen[c.N])
		seen[c.N] = true
	}
}

func hammer(t *testing.T, lib nvml.Interface, gpu int) {
	t.Helper()
	codes := []nvml.Return{nvml.SUCCESS, nvml.ERROR_IN_USE, nvml.ERROR_UNKNOWN, nvml.ERROR_GPU_IS_LOST, nvml.ERROR_INSUFFICIENT_RESOURCES}
	d, ret := lib.DeviceGetHandleByIndex(gpu)
	if ret != nvml.SUCCESS {
		assert.Equal(t, nvml.ERROR_GPU_IS_LOST, ret)
		return
	}
	info, ret := d.GetGpuInstanceProfileInfo(0)
	assert.Contains(t, codes, ret)
	if ret != nvml.SUCCESS {
		return
	}
	gi, ret := d.CreateGpuInstance(&info)
	assert.Contains(t, codes, ret)
	if ret == nvml.SUCCESS {
		assert.Contains(t, codes, gi.Destroy())
	}
}
