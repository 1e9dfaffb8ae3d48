package nvmlfake_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/nvmlfake"
)

// chain is a GPU instance with one compute instance of full size.
type chain struct {
	gi   nvml.GpuInstance
	ci   nvml.ComputeInstance
	mig  nvml.Device
	uuid string
}

func newChain(t *testing.T, d nvml.Device) chain {
	t.Helper()
	gi := must(d.CreateGpuInstance(infoOf(t, d, "a100-40gb", "2g.10gb")))
	ci := must(gi.CreateComputeInstance(computeInfoOf(gi, 1)))
	mig := must(ci.GetInfo()).Device
	return chain{gi, ci, mig, must(mig.GetUUID())}
}

func (c chain) assertDead(t *testing.T) {
	t.Helper()
	const want = nvml.ERROR_INVALID_ARGUMENT
	assert.Equal(t, want, code(c.gi.GetInfo()))
	assert.Equal(t, want, c.gi.Destroy())
	assert.Equal(t, want, code(c.gi.GetComputeInstanceProfileInfo(0, 0)))
	assert.Equal(t, want, code(c.gi.CreateComputeInstance(&nvml.ComputeInstanceProfileInfo{})))
	c.assertDeviceDead(t)
}

func (c chain) assertDeviceDead(t *testing.T) {
	t.Helper()
	const want = nvml.ERROR_INVALID_ARGUMENT
	assert.Equal(t, want, code(c.ci.GetInfo()))
	assert.Equal(t, want, c.ci.Destroy())
	assert.Equal(t, want, code(c.mig.GetName()))
	assert.Equal(t, want, code(c.mig.GetUUID()))
	assert.Equal(t, want, code(c.mig.GetGpuInstanceId()))
	assert.Equal(t, want, code(c.mig.GetAttributes()))
	assert.Equal(t, want, code(c.mig.IsMigDeviceHandle()))
	assert.Equal(t, want, code(c.mig.GetDeviceHandleFromMigDeviceHandle()))
}

// Old handles are dead and stay so when a new instance takes over the place,
// the ids and the index; the new one has another UUID.
func TestHandlesDie(t *testing.T) {
	t.Parallel()
	ways := map[string]func(t *testing.T, s *nvmlfake.Server, c chain){
		"destroyed": func(t *testing.T, _ *nvmlfake.Server, c chain) {
			t.Helper()
			require.Equal(t, nvml.SUCCESS, c.ci.Destroy())
			c.assertDeviceDead(t)
			require.Equal(t, nvml.SUCCESS, c.gi.Destroy())
		},
		"reset": func(t *testing.T, s *nvmlfake.Server, _ chain) {
			t.Helper()
			require.NoError(t, s.Reset(0))
		},
		"rebooted": func(t *testing.T, s *nvmlfake.Server, _ chain) {
			t.Helper()
			s.Reboot()
			require.Equal(t, nvml.SUCCESS, s.NVML().Init())
		},
	}
	for name, end := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, d := startGPU(t, "a100-40gb")
			lib := s.NVML()
			before := newChain(t, d)
			idBefore := must(before.mig.GetGpuInstanceId())
			end(t, s, before)
			before.assertDead(t)
			assert.Equal(t, nvml.ERROR_NOT_FOUND, code(lib.DeviceGetHandleByUUID(before.uuid)))

			after := newChain(t, d)
			assert.Equal(t, idBefore, must(after.mig.GetGpuInstanceId()), "ids are used again")
			assert.Zero(t, must(after.mig.GetIndex()), "and so are indices")
			assert.NotEqual(t, before.uuid, after.uuid)
			before.assertDead(t)
			assert.Equal(t, nvml.ERROR_NOT_FOUND, code(lib.DeviceGetHandleByUUID(before.uuid)))
			require.NoError(t, s.Audit())
		})
	}
}

// A handle obtained twice is one handle.
func TestHandlesAreEqual(t *testing.T) {
	t.Parallel()
	s, d := startGPU(t, "a100-40gb")
	c := newChain(t, d)
	info := must(c.ci.GetInfo())
	assert.Equal(t, c.gi, info.GpuInstance)
	assert.Equal(t, c.gi, must(d.GetGpuInstanceById(int(must(c.gi.GetInfo()).Id))))
	assert.Equal(t, c.ci, must(c.gi.GetComputeInstanceById(0)))
	assert.Equal(t, d, must(c.gi.GetInfo()).Device)
	assert.Equal(t, d, must(c.mig.GetDeviceHandleFromMigDeviceHandle()))
	assert.Equal(t, c.mig, must(d.GetMigDeviceHandleByIndex(must(c.mig.GetIndex()))))
	assert.Equal(t, c.mig, must(s.NVML().DeviceGetHandleByUUID(c.uuid)))
}
