package device_test

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/nvmlfake"
	"github.com/gpushare/gpushare/nvmlfake/fault"
	"github.com/gpushare/gpushare/timeslice"
	"github.com/gpushare/gpushare/timeslice/device"
)

// startPlain is a GPU that is not that of a vGPU host.
func startPlain(t *testing.T) place {
	t.Helper()
	s, err := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: plainModel}}})
	require.NoError(t, err)
	p := place{s: s, lib: s.NVML()}
	require.Equal(t, nvml.SUCCESS, p.lib.Init())
	p.dev = must(p.lib.DeviceGetHandleByIndex(0))
	return p
}

// A function that the driver lacks is never called: the real binding ends the
// process there.
func TestMissingFunctionsAreNotCalled(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name   string
		lacks  string // in the names
		calls  []string
		refuse bool // all of it
	}{
		{"all there", "-", []string{"GetVgpuSchedulerCapabilities", "GetVgpuSchedulerLog_v2", "GetVgpuSchedulerState_v2", "SetVgpuSchedulerState_v2"}, false},
		{"no second version", "_v2", []string{"GetVgpuSchedulerCapabilities", "GetVgpuSchedulerLog", "GetVgpuSchedulerState", "SetVgpuSchedulerState"}, false},
		{"no capabilities", "Capabilities", []string{"GetVgpuSchedulerLog_v2", "GetVgpuSchedulerState_v2", "SetVgpuSchedulerState_v2"}, false},
		{"nothing", "VgpuScheduler", nil, true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			rules, err := fault.New(0)
			require.NoError(t, err)
			p := start(t, false, func(lib nvml.Interface) nvml.Interface {
				return oldDriver{fault.Wrap(lib, rules), func(symbol string) bool { return strings.Contains(symbol, row.lacks) }}
			})
			s := p.open(t)
			rules.Forget()
			_, err = s.Set(t.Context(), graphics, timeslice.VGPUScheduler{Policy: timeslice.VGPUEqualShare, Factor: 5})
			_, logErr := s.Log(t.Context(), graphics)
			if row.refuse {
				require.ErrorIs(t, err, device.ErrNotSupported)
				require.ErrorIs(t, logErr, nvml.ERROR_FUNCTION_NOT_FOUND)
			} else {
				require.NoError(t, err)
				require.NoError(t, logErr)
			}
			var called []string
			for _, c := range rules.Calls() {
				called = append(called, strings.TrimPrefix(c.Method, "Device."))
			}
			slices.Sort(called)
			assert.Equal(t, row.calls, slices.Compact(called))
		})
	}
}

// flagDriver takes what turns ARR on for a flag, not for an ARR number.
type flagDriver struct {
	nvml.Device
	always bool // ARR is on whatever it is told
}

func (d flagDriver) SetVgpuSchedulerState(to *nvml.VgpuSchedulerSetState) nvml.Return {
	numbers := *to
	numbers.EnableARRMode = nvml.VGPU_SCHEDULER_ARR_DISABLE
	if to.EnableARRMode != 0 || d.always {
		numbers.EnableARRMode, numbers.SchedulerParams = nvml.VGPU_SCHEDULER_ARR_ENABLE, [8]byte{}
	}
	return d.Device.SetVgpuSchedulerState(&numbers)
}

// A slice turns ARR off, whichever way the driver wants to be told.
func TestFieldThatTurnsARROff(t *testing.T) {
	t.Parallel()
	to := timeslice.VGPUScheduler{Policy: timeslice.VGPUFixedShare, ARR: timeslice.ARROff, Slice: 5_000_000}
	p := start(t, false, nil)
	s, err := device.Open(t.Context(), p.lib, flagDriver{p.dev, false})
	require.NoError(t, err)
	st, err := s.Set(t.Context(), graphics, to)
	require.NoError(t, err)
	assert.Equal(t, device.State{Engine: graphics, Policy: timeslice.VGPUFixedShare, ARR: timeslice.ARROff}, st)
	p.run(t)
	st, err = s.State(t.Context(), graphics)
	require.NoError(t, err)
	assert.Equal(t, device.State{Engine: graphics, Policy: timeslice.VGPUFixedShare, ARR: timeslice.ARROff, Slice: 5_000_000}, st)

	p = start(t, false, nil)
	s, err = device.Open(t.Context(), p.lib, flagDriver{p.dev, true})
	require.NoError(t, err)
	_, err = s.Set(t.Context(), graphics, to)
	require.ErrorIs(t, err, device.ErrUnverified)
	require.ErrorContains(t, err, "ARR on after fixed-share arr=off slice=5ms")
}

// stateDriver answers with a state of its own.
type stateDriver struct {
	nvml.Device
	state nvml.VgpuSchedulerGetState
}

func (d stateDriver) GetVgpuSchedulerState() (nvml.VgpuSchedulerGetState, nvml.Return) {
	return d.state, nvml.SUCCESS
}

func (stateDriver) GetVgpuSchedulerState_v2(info nvml.VgpuSchedulerStateInfo_v2) (nvml.VgpuSchedulerStateInfo_v2, nvml.Return) { //nolint:revive // NVML's name
	return info, nvml.ERROR_NOT_SUPPORTED
}

// The bytes of the union that is read, by mode.
func TestUnionThatIsRead(t *testing.T) {
	t.Parallel()
	word := func(first, second uint32) (b [8]byte) {
		binary.NativeEndian.PutUint32(b[:], first)
		binary.NativeEndian.PutUint32(b[4:], second)
		return b
	}
	rows := []struct {
		name   string
		arr    uint32
		union  [8]byte
		factor uint32
		slice  int64
	}{
		{"on", nvml.VGPU_SCHEDULER_ARR_ENABLE, word(33, 2_083_333), 33, 2_083_333},
		{"off: what lies in the second word is nothing", nvml.VGPU_SCHEDULER_ARR_DISABLE, word(2_000_000, 7), 0, 2_000_000},
		{"default, with a factor", nvml.VGPU_SCHEDULER_ARR_DEFAULT, word(33, 2_083_333), 33, 2_083_333},
		{"default, with a slice only", nvml.VGPU_SCHEDULER_ARR_DEFAULT, word(2_000_000, 0), 0, 2_000_000},
		{"default, with a factor only", nvml.VGPU_SCHEDULER_ARR_DEFAULT, word(33, 0), 33, 0},
		{"nothing scheduled by default", nvml.VGPU_SCHEDULER_ARR_DEFAULT, word(0, 0), 0, 0},
		{"nothing scheduled", nvml.VGPU_SCHEDULER_ARR_ENABLE, word(0, 0), 0, 0},
		{"longer than an int32", nvml.VGPU_SCHEDULER_ARR_DISABLE, word(4_000_000_000, 0), 0, 4_000_000_000},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, false, nil)
			s, err := device.Open(t.Context(), p.lib, stateDriver{p.dev, nvml.VgpuSchedulerGetState{SchedulerPolicy: 2, ArrMode: row.arr, SchedulerParams: row.union}})
			require.NoError(t, err)
			st, err := s.State(t.Context(), graphics)
			require.NoError(t, err)
			assert.Equal(t, device.State{Engine: graphics, Policy: timeslice.VGPUEqualShare, ARR: timeslice.ARRMode(row.arr), Factor: row.factor, Slice: row.slice}, st)
			assert.Equal(t, row.slice > 0, st.Active())
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	p := start(t, true, nil)
	_, err := device.Open(t.Context(), p.lib, nil)
	require.ErrorIs(t, err, nvml.ERROR_INVALID_ARGUMENT)
	_, err = device.Open(t.Context(), nil, p.dev)
	require.ErrorIs(t, err, nvml.ERROR_INVALID_ARGUMENT)
	_, err = device.OpenInstance(t.Context(), p.lib, nil)
	require.ErrorIs(t, err, nvml.ERROR_INVALID_ARGUMENT)
	profile := must(p.gi.GetComputeInstanceProfileInfo(nvml.COMPUTE_INSTANCE_PROFILE_2_SLICE, 0))
	ci := must(p.gi.CreateComputeInstance(&profile))
	_, err = device.Open(t.Context(), p.lib, must(ci.GetInfo()).Device)
	require.ErrorIs(t, err, device.ErrMIGDevice)
	require.Equal(t, nvml.SUCCESS, ci.Destroy())
	require.Equal(t, nvml.SUCCESS, p.gi.Destroy())
	_, err = device.OpenInstance(t.Context(), p.lib, p.gi)
	require.ErrorIs(t, err, nvml.ERROR_INVALID_ARGUMENT)
	_, err = new(device.Scheduler).State(t.Context(), graphics)
	require.ErrorIs(t, err, nvml.ERROR_INVALID_ARGUMENT)
}

// Only the first version of the calls takes a slice: where a driver lacks it, that
// is said, and nothing happens.
func TestSliceWithoutTheFirstVersion(t *testing.T) {
	t.Parallel()
	p := start(t, false, func(lib nvml.Interface) nvml.Interface {
		return oldDriver{lib, func(symbol string) bool { return symbol == "nvmlDeviceSetVgpuSchedulerState" }}
	})
	s, was := p.open(t), p.s.String()
	_, err := s.Set(t.Context(), graphics, timeslice.VGPUScheduler{Policy: timeslice.VGPUFixedShare, ARR: timeslice.ARROff, Slice: 5_000_000})
	var op *device.OpError
	require.ErrorAs(t, err, &op)
	assert.Nil(t, op.Now)
	require.ErrorIs(t, err, device.ErrNotSupported)
	require.ErrorIs(t, err, nvml.ERROR_FUNCTION_NOT_FOUND)
	require.ErrorContains(t, err, "no call that takes fixed-share arr=off slice=5ms")
	assert.Equal(t, was, p.s.String())
}

// A call that does not return: its caller goes away when its context ends, and the
// next operation waits for its turn.
func TestCallThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		p := start(t, false, func(lib nvml.Interface) nvml.Interface {
			rules, err := fault.New(0, fault.Rule{Method: "Device.GetVgpuSchedulerState_v2", Times: 1, Effect: fault.Pass, Block: block})
			require.NoError(t, err)
			return fault.Wrap(lib, rules)
		})
		s := p.open(t)
		reason := errors.New("the operator lost patience")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, reason)
		defer cancel()
		_, err := s.State(ctx, graphics)
		require.ErrorIs(t, err, device.ErrIndeterminate)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, reason)
		_, err = s.State(ctx, graphics)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, device.ErrIndeterminate, "it has not begun")
		ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err = s.State(ctx, graphics)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, device.ErrIndeterminate, "it has waited for its turn")
		close(block)
		st, err := s.State(t.Context(), graphics)
		require.NoError(t, err)
		assert.Equal(t, timeslice.VGPUBestEffort, st.Policy)
	})
}
