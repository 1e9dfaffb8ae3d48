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

// hold runs a process in the compute instance, as long as nobody resets the GPU
// before it starts.
func hold(t *testing.T, rng *rand.Rand, s *nvmlfake.Server, gpu int, gi nvml.GpuInstance, ci nvml.ComputeInstance) {
	t.Helper()
	info, ret := gi.GetInfo()
	if ret != nvml.SUCCESS {
		return
	}
	h := nvmlfake.Holder{PID: 1 + rng.IntN(1<<30), Name: "process", MemoryMiB: rng.IntN(100), Hidden: rng.IntN(2) == 0}
	release, err := s.HoldCompute(gpu, int(info.Id), 0, h)
	if err != nil {
		assert.ErrorIs(t, err, nvmlfake.ErrNoInstance)
		return
	}
	assert.NotEqual(t, nvml.SUCCESS, ci.Destroy(), "in use, or gone")
	release()
}

// hammer makes a GPU instance with a compute instance and looks at it while
// others may reset the GPU. What this client made is its own until then.
func hammer(t *testing.T, rng *rand.Rand, s *nvmlfake.Server, lib nvml.Interface) {
	t.Helper()
	// In use, since after a reset another client's hold can meet this one's
	// instance: ids are used again.
	answers := []nvml.Return{nvml.SUCCESS, nvml.ERROR_INVALID_ARGUMENT, nvml.ERROR_IN_USE}
	index := rng.IntN(2)
	d := must(lib.DeviceGetHandleByIndex(index))
	switch rng.IntN(50) {
	case 0:
		if err := s.Reset(index); err != nil {
			assert.ErrorIs(t, err, nvmlfake.ErrHeld)
		}
		return
	case 1:
		if _, err := nvmlfake.Restore(s.Snapshot()); err != nil {
			t.Error(err)
		}
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
			hold(t, rng, s, index, gi, ci)
			_, _ = d.GetMigDeviceHandleByIndex(rng.IntN(7))
			_, _ = d.GetFanSpeed()
			assert.Contains(t, answers, ci.Destroy())
		}
	}
	assert.Contains(t, answers, gi.Destroy())
	assert.NoError(t, s.Audit())
}
