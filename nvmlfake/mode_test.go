package nvmlfake_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/nvmlfake"
)

const (
	off = nvml.DEVICE_MIG_DISABLE
	on  = nvml.DEVICE_MIG_ENABLE
)

// modes are what GetMigMode and SetMigMode return.
type modes struct{ current, pending int }

func modesOf(t *testing.T, d nvml.Device) modes {
	t.Helper()
	current, pending, ret := d.GetMigMode()
	require.Equal(t, nvml.SUCCESS, ret)
	return modes{current, pending}
}

// setMode expects the call to succeed and returns the activation status.
func setMode(t *testing.T, d nvml.Device, want int) nvml.Return {
	t.Helper()
	activation, ret := d.SetMigMode(want)
	require.Equal(t, nvml.SUCCESS, ret)
	return activation
}

// Case: a change of mode needs a reset on Ampere (A100, A30), not on Hopper and
// later.
func TestModeByArchitecture(t *testing.T) {
	t.Parallel()
	rows := []struct {
		model       string
		needsReset  bool
		afterReboot int // of a GPU with MIG on
	}{
		{"a30-24gb", true, on},
		{"a100-40gb", true, on},
		{"a100-80gb", true, on},
		{"h100-80gb-sxm5", false, off},
		{"h100-80gb-pcie", false, off},
		{"h200-141gb", false, off},
		{"b200-180gb", false, off},
		{"rtx-pro-6000-96gb", false, off}, // partly confirmed
	}
	for _, row := range rows {
		t.Run(row.model, func(t *testing.T) {
			t.Parallel()
			s, lib := start(t, nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: row.model}}})
			d := must(lib.DeviceGetHandleByIndex(0))
			require.Equal(t, modes{off, off}, modesOf(t, d))
			for _, want := range []int{on, off, on} {
				was := modesOf(t, d).current
				activation := setMode(t, d, want)
				if row.needsReset {
					assert.Equal(t, nvml.ERROR_RESET_REQUIRED, activation)
					assert.Equal(t, modes{was, want}, modesOf(t, d))
					require.NoError(t, s.Reset(0))
				} else {
					assert.Equal(t, nvml.SUCCESS, activation)
				}
				assert.Equal(t, modes{want, want}, modesOf(t, d))
			}
			s.Reboot()
			require.Equal(t, nvml.ERROR_UNINITIALIZED, code(d.GetName()), "clients are gone too")
			require.Equal(t, nvml.SUCCESS, lib.Init())
			assert.Equal(t, modes{row.afterReboot, row.afterReboot}, modesOf(t, d))
			require.NoError(t, s.Audit())
		})
	}
}

func TestPendingModeCanBeTakenBack(t *testing.T) {
	t.Parallel()
	s, lib := start(t, nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a100-40gb"}}})
	d := must(lib.DeviceGetHandleByIndex(0))
	require.Equal(t, nvml.ERROR_RESET_REQUIRED, setMode(t, d, on))
	assert.Equal(t, nvml.SUCCESS, setMode(t, d, off))
	require.NoError(t, s.Reset(0))
	assert.Equal(t, modes{off, off}, modesOf(t, d))
}

// While MIG is pending only, nothing can be created; while only its end is
// pending, everything still can.
func TestPendingModeDecidesNothing(t *testing.T) {
	t.Parallel()
	s, lib := start(t, nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a100-40gb"}}})
	d := must(lib.DeviceGetHandleByIndex(0))
	info := infoOf(t, d, "a100-40gb", "1g.5gb")
	require.Equal(t, nvml.ERROR_RESET_REQUIRED, setMode(t, d, on))
	assert.Equal(t, nvml.ERROR_NOT_SUPPORTED, code(d.CreateGpuInstance(info)))
	require.NoError(t, s.Reset(0))
	require.Equal(t, nvml.ERROR_RESET_REQUIRED, setMode(t, d, off))
	assert.Equal(t, nvml.SUCCESS, code(d.CreateGpuInstance(info)))
	s.Reboot()
	layout, err := s.Layout(0)
	require.NoError(t, err)
	assert.Zero(t, layout.Len(), "instances never survive")
	require.Equal(t, nvml.SUCCESS, lib.Init())
	assert.Equal(t, modes{off, off}, modesOf(t, d), "the pending mode came with the reboot")
}

// An instance keeps MIG on until it is gone, or until the GPU is reset.
func TestModeInUse(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"a100-40gb", "h100-80gb-sxm5"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			s, d := startGPU(t, model)
			info := must(d.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_2_SLICE))
			gi := must(d.CreateGpuInstance(&info))
			assert.Equal(t, nvml.ERROR_IN_USE, setMode(t, d, off))
			assert.Equal(t, modes{on, off}, modesOf(t, d))
			require.NoError(t, s.Audit())
			require.Equal(t, nvml.SUCCESS, gi.Destroy())
			assert.NotEqual(t, nvml.ERROR_IN_USE, setMode(t, d, off))

			require.Equal(t, nvml.SUCCESS, code(d.SetMigMode(on)))
			require.NoError(t, s.Reset(0))
			_ = must(d.CreateGpuInstance(&info))
			assert.Equal(t, nvml.ERROR_IN_USE, setMode(t, d, off))
			require.NoError(t, s.Reset(0))
			assert.Equal(t, modes{off, off}, modesOf(t, d), "a reset asks nobody")
			require.NoError(t, s.Audit())
		})
	}
}
