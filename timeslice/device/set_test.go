package device_test

import (
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/nvmlfake/fault"
	"github.com/gpushare/gpushare/timeslice"
	"github.com/gpushare/gpushare/timeslice/device"
)

const graphics = timeslice.EngineGraphics

// What is set is what is read, on a GPU and on a GPU instance, with either version
// of the calls; and the setting of what was read leads to the same again.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		wrap := func(lib nvml.Interface) nvml.Interface { return lib }
		old := rapid.Bool().Draw(t, "a driver without the second version")
		if old {
			wrap = func(lib nvml.Interface) nvml.Interface {
				return oldDriver{lib, func(symbol string) bool { return strings.HasSuffix(symbol, "State_v2") }}
			}
		}
		p := start(t, rapid.Bool().Draw(t, "in a GPU instance"), wrap)
		s := p.open(t)
		to := genScheduler(t)
		st, err := s.Set(t.Context(), graphics, to)
		require.NoError(t, err)
		require.Equal(t, to.Policy, st.Policy)
		require.False(t, st.Active(), "nothing runs")

		p.run(t)
		st, err = s.State(t.Context(), graphics)
		require.NoError(t, err)
		want := to.Effective(1)
		require.Equal(t, want.Policy, st.Policy)
		require.Equal(t, want.Factor, st.Factor)
		require.Equal(t, to.SliceLength(1), st.Slice)
		switch {
		case to.Policy == timeslice.VGPUBestEffort:
			require.Equal(t, timeslice.ARRDefault, st.ARR)
		case old:
			require.Equal(t, to.ARR, st.ARR)
		default:
			require.Equal(t, want.ARR, st.ARR)
		}
		again := st.Setting()
		require.NoError(t, again.Validate(timeslice.DocumentedVGPUCapabilities()))
		require.Equal(t, want.Slice, again.Slice)
		require.Equal(t, want.Frequency, again.Frequency)
		require.Equal(t, want.Factor, again.Factor)
	})
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	p := start(t, false, nil)
	s := p.open(t)
	caps, err := s.Capabilities(t.Context())
	require.NoError(t, err)
	assert.Equal(t, timeslice.DocumentedVGPUCapabilities(), caps)
	assert.Equal(t, device.None, s.GPUInstance())
	assert.Equal(t, must(p.dev.GetUUID()), s.GPU())

	p = start(t, true, nil)
	s = p.open(t)
	_, err = s.Capabilities(t.Context())
	require.ErrorIs(t, err, device.ErrNotSupported)
	assert.Equal(t, p.id, s.GPUInstance())
}

// Settings that are refused before the driver is asked, or that it refuses.
func TestSetRefuses(t *testing.T) {
	t.Parallel()
	equal := timeslice.VGPUScheduler{Policy: timeslice.VGPUEqualShare}
	rows := []struct {
		name     string
		instance bool
		engine   timeslice.VGPUEngine
		to       timeslice.VGPUScheduler
		before   func(*testing.T, place)
		is       []error
		says     string
	}{
		{"nothing", false, graphics, timeslice.VGPUScheduler{}, nil, []error{timeslice.ErrInput}, "no vGPU policy"},
		{"a slice with ARR", false, graphics, timeslice.VGPUScheduler{Policy: timeslice.VGPUFixedShare, Slice: 2_000_000}, nil, []error{timeslice.ErrInput}, "slice 2000000 ns"},
		{"a slice of ms", false, graphics, timeslice.VGPUScheduler{Policy: timeslice.VGPUFixedShare, ARR: timeslice.ARROff, Slice: 2}, nil, []error{timeslice.ErrVGPUScheduler}, "slice 2 ns"},
		{"beyond the documented bounds, where the device tells none", true, graphics, timeslice.VGPUScheduler{Policy: timeslice.VGPUFixedShare, Frequency: 961}, nil, []error{timeslice.ErrVGPUScheduler}, "961"},
		{"an encoder's", true, timeslice.EngineNVENC0, equal, nil, []error{timeslice.ErrVGPUScheduler}, "engine nvenc0"},
		{"an encoder that is not there", false, timeslice.EngineNVENC0, timeslice.VGPUScheduler{Policy: timeslice.VGPUBestEffort}, nil, []error{device.ErrNotSupported, nvml.ERROR_NOT_SUPPORTED}, "nvenc0"},
		{"no such engine", false, 9, timeslice.VGPUScheduler{Policy: timeslice.VGPUBestEffort}, nil, []error{nvml.ERROR_INVALID_ARGUMENT}, "engine(9)"},
		{"a vGPU runs", false, graphics, equal, func(t *testing.T, p place) { t.Helper(); p.run(t) }, []error{device.ErrNotSettable, device.ErrNotSupported}, "while a vGPU runs"},
		{"a vGPU runs in the instance", true, graphics, equal, func(t *testing.T, p place) { t.Helper(); p.run(t) }, []error{device.ErrNotSettable}, "GI "},
		{"MIG is on by now", false, graphics, equal, func(t *testing.T, p place) {
			t.Helper()
			_, ret := p.dev.SetMigMode(nvml.DEVICE_MIG_ENABLE)
			require.Equal(t, nvml.SUCCESS, ret)
			require.NoError(t, p.s.Reset(0))
		}, []error{device.ErrMIG, device.ErrNotSupported}, "MIG mode is on"},
		{"the instance is gone", true, graphics, equal, func(t *testing.T, p place) { t.Helper(); require.Equal(t, nvml.SUCCESS, p.gi.Destroy()) }, []error{nvml.ERROR_INVALID_ARGUMENT}, "GI "},
		{"NVML is shut down", false, graphics, equal, func(t *testing.T, p place) { t.Helper(); require.Equal(t, nvml.SUCCESS, p.lib.Shutdown()) }, nil, "GPU-"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, row.instance, nil)
			s := p.open(t)
			if row.before != nil {
				row.before(t, p)
			}
			was := p.s.String()
			_, err := s.Set(t.Context(), row.engine, row.to)
			var op *device.OpError
			require.ErrorAs(t, err, &op)
			assert.Equal(t, s.GPU(), op.GPU)
			assert.Equal(t, s.GPUInstance(), op.GPUInstance)
			assert.Nil(t, op.Now)
			for _, is := range row.is {
				require.ErrorIs(t, err, is)
			}
			require.ErrorContains(t, err, row.says)
			assert.Equal(t, was, p.s.String(), "nothing changed")
		})
	}
}

func TestNoVGPUHost(t *testing.T) {
	t.Parallel()
	p := startPlain(t)
	s, err := device.Open(t.Context(), p.lib, p.dev)
	require.NoError(t, err)
	_, err = s.State(t.Context(), graphics)
	require.ErrorIs(t, err, device.ErrNotSupported)
	require.NotErrorIs(t, err, device.ErrMIG)
	_, err = s.Log(t.Context(), graphics)
	require.ErrorIs(t, err, device.ErrNotSupported)
	_, err = s.Set(t.Context(), graphics, timeslice.VGPUScheduler{Policy: timeslice.VGPUBestEffort})
	require.ErrorIs(t, err, device.ErrNotSupported)
	require.NotErrorIs(t, err, device.ErrNotSettable)
}

// What a driver does to a setting behind one's back is noticed, and told.
func TestSetIsVerified(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name string
		to   timeslice.VGPUScheduler
		rule fault.Rule
		is   error
		now  bool
		says string
	}{
		{"success, and nothing happened", timeslice.VGPUScheduler{Policy: timeslice.VGPUEqualShare}, fault.Rule{Method: "Device.SetVgpuSchedulerState_v2", Effect: fault.Pretend}, device.ErrUnverified, true, "policy best-effort after equal-share"},
		{"the same for a slice", timeslice.VGPUScheduler{Policy: timeslice.VGPUEqualShare, ARR: timeslice.ARROff}, fault.Rule{Method: "Device.SetVgpuSchedulerState", Effect: fault.Pretend}, device.ErrUnverified, true, "now: best-effort"},
		{"an error, and it happened", timeslice.VGPUScheduler{Policy: timeslice.VGPUFixedShare}, fault.Rule{Method: "Device.SetVgpuSchedulerState_v2", Effect: fault.After, Return: nvml.ERROR_RESET_REQUIRED}, device.ErrRebootRequired, true, "now: fixed-share"},
		{"no permission", timeslice.VGPUScheduler{Policy: timeslice.VGPUFixedShare}, fault.Rule{Method: "Device.SetVgpuSchedulerState*", Effect: fault.Refuse, Return: nvml.ERROR_NO_PERMISSION}, device.ErrNoPermission, true, "now: best-effort"},
		{"lost", timeslice.VGPUScheduler{Policy: timeslice.VGPUFixedShare}, fault.Rule{Method: "Device.SetVgpuSchedulerState_v2", Effect: fault.Lose}, device.ErrLost, false, "set the scheduler"},
		{"lost afterwards", timeslice.VGPUScheduler{Policy: timeslice.VGPUFixedShare}, fault.Rule{Method: "Device.GetVgpuSchedulerState_v2", Nth: 2, Effect: fault.Lose}, device.ErrLost, false, "reading back"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, false, func(lib nvml.Interface) nvml.Interface {
				rules, err := fault.New(0, row.rule)
				require.NoError(t, err)
				return fault.Wrap(lib, rules)
			})
			_, err := p.open(t).Set(t.Context(), graphics, row.to)
			require.ErrorIs(t, err, row.is)
			require.ErrorContains(t, err, row.says)
			var op *device.OpError
			require.ErrorAs(t, err, &op)
			assert.Equal(t, row.now, op.Now != nil)
		})
	}
}

func TestSettingOfAState(t *testing.T) {
	t.Parallel()
	for hz := timeslice.MinVGPUFrequency; hz <= timeslice.MaxVGPUFrequency; hz++ {
		st := device.State{Policy: timeslice.VGPUFixedShare, ARR: timeslice.ARROn, Slice: timeslice.SliceOfFrequency(hz)}
		require.Equal(t, hz, st.Setting().Frequency)
	}
	assert.Equal(t, uint32(480), device.State{Policy: timeslice.VGPUFixedShare, Slice: 2_084_000}.Setting().Frequency, "rounded up to microseconds")
	assert.Equal(t, timeslice.VGPUScheduler{Policy: timeslice.VGPUBestEffort}, device.State{Policy: timeslice.VGPUBestEffort, Slice: 5, Factor: 3}.Setting())
	assert.Equal(t, timeslice.VGPUScheduler{Policy: timeslice.VGPUEqualShare, ARR: timeslice.ARROn}, device.State{Policy: timeslice.VGPUEqualShare, ARR: timeslice.ARROn}.Setting())
	assert.Equal(t, "fixed-share arr=on factor=33 slice=2.083333ms",
		device.State{Policy: timeslice.VGPUFixedShare, ARR: timeslice.ARROn, Factor: 33, Slice: 2_083_333}.String())
}
