package nvmlfake_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/nvmlfake"
)

// Many clients at once on one server: the state never contradicts itself, and
// no two clients are granted one thing.
func TestConcurrentClients(t *testing.T) {
	t.Parallel()
	s, err := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a100-40gb", MIG: true}, {Model: "h100-80gb-sxm5", MIG: true}}})
	require.NoError(t, err)
	const clients, rounds = 8, 200
	var ready, done sync.WaitGroup
	barrier := make(chan struct{})
	for c := range clients {
		ready.Add(1)
		done.Go(func() {
			rng := rand.New(rand.NewPCG(7, uint64(c)))
			ready.Done()
			<-barrier
			lib := s.NVML()
			assert.Equal(t, nvml.SUCCESS, lib.Init())
			for range rounds {
				hammer(t, rng, s, lib)
			}
			assert.Equal(t, nvml.SUCCESS, lib.Shutdown())
		})
	}
	ready.Wait()
	close(barrier)
	done.Wait()
	require.NoError(t, s.Audit())
	require.Equal(t, nvml.ERROR_UNINITIALIZED, s.NVML().Shutdown(), "every Init had its Shutdown")
}

// hammer makes a GPU instance with a compute instance and looks at it while
// others may reset the GPU. What this client made is its own until then.
func hammer(t *testing.T, rng *rand.Rand, s *nvmlfake.Server, lib nvml.Interface) {
	t.Helper()
	index := rng.IntN(2)
	d := must(lib.DeviceGetHandleByIndex(index))
	if rng.IntN(50) == 0 {
		assert.NoError(t, s.Reset(index))
		return
	}
	info, ret := d.GetGpuInstanceProfileInfo(rng.IntN(5))
	assert.Equal(t, nvml.SUCCESS, ret)
	gi, ret := d.CreateGpuInstance(&info)
	if ret != nvml.SUCCESS {
		assert.Equal(t, nvml.ERROR_INSUFFICIENT_RESOURCES, ret)
		return
	}
	one, ret := gi.GetComputeInstanceProfileInfo(0, 0)
	if ret == nvml.SUCCESS {
		if ci, ret := gi.CreateComputeInstance(&one); ret == nvml.SUCCESS {
			_, _ = ci.GetInfo()
			_, _ = d.GetMigDeviceHandleByIndex(rng.IntN(7))
			_, _ = d.GetFanSpeed()
			assert.Contains(t, []nvml.Return{nvml.SUCCESS, nvml.ERROR_INVALID_ARGUMENT}, ci.Destroy())
		}
	}
	assert.Contains(t, []nvml.Return{nvml.SUCCESS, nvml.ERROR_INVALID_ARGUMENT}, gi.Destroy(), "nobody else's instance can be in it")
	assert.NoError(t, s.Audit())
}
