package nvmlfake_test

import (
	"encoding/binary"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/nvmlfake"
)

const (
	graphics = nvml.VGPU_SCHEDULER_ENGINE_TYPE_GRAPHICS
	nvenc0   = nvml.VGPU_SCHEDULER_ENGINE_TYPE_NVENC0
	nvenc1   = nvml.VGPU_SCHEDULER_ENGINE_TYPE_NVENC1

	bestEffort = nvml.VGPU_SCHEDULER_POLICY_BEST_EFFORT
	equalShare = nvml.VGPU_SCHEDULER_POLICY_EQUAL_SHARE
	fixedShare = nvml.VGPU_SCHEDULER_POLICY_FIXED_SHARE

	arrDefault = nvml.VGPU_SCHEDULER_ARR_DEFAULT
	arrOff     = nvml.VGPU_SCHEDULER_ARR_DISABLE
	arrOn      = nvml.VGPU_SCHEDULER_ARR_ENABLE
)

// startHost returns a vGPU host with one GPU.
func startHost(t failer, model string, withMIG bool) (*nvmlfake.Server, nvml.Device) {
	t.Helper()
	s, lib := start(t, nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: model, MIG: withMIG, VGPUHost: true}}})
	return s, must(lib.DeviceGetHandleByIndex(0))
}

// startHostInstance returns a vGPU host of GB20x with one GPU instance and its id.
func startHostInstance(t failer, profile string) (*nvmlfake.Server, nvml.GpuInstance, int) {
	t.Helper()
	const model = "rtx-pro-6000-96gb"
	s, d := startHost(t, model, true)
	gi := must(d.CreateGpuInstance(infoOf(t, d, model, profile)))
	return s, gi, int(must(gi.GetInfo()).Id)
}

// words is a union of two numbers as a C program lays it out.
func words(first, second uint32) [8]byte {
	var b [8]byte
	binary.NativeEndian.PutUint32(b[:4], first)
	binary.NativeEndian.PutUint32(b[4:], second)
	return b
}

func stop(t failer, f func(), err error) func() {
	t.Helper()
	require.NoError(t, err)
	return f
}

// The union that is written and the one that is read differ: a frequency goes in,
// a slice comes out.
func TestVGPUSchedulerUnions(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name                  string
		set                   nvml.VgpuSchedulerSetState
		policy, arr           uint32
		params                [8]byte
		factorV2, timesliceV2 uint32
	}{
		{"best effort has no parameters", nvml.VgpuSchedulerSetState{SchedulerPolicy: bestEffort, EnableARRMode: arrOn, SchedulerParams: words(7, 7)}, bestEffort, arrDefault, words(0, 0), 0, 0},
		{"ARR: factor and frequency, then factor and slice", nvml.VgpuSchedulerSetState{SchedulerPolicy: equalShare, EnableARRMode: arrOn, SchedulerParams: words(60, 960)}, equalShare, arrOn, words(60, 1041666), 60, 1041666},
		{"ARR by default: its defaults", nvml.VgpuSchedulerSetState{SchedulerPolicy: fixedShare}, fixedShare, arrDefault, words(33, 2083333), 33, 2083333},
		{"a slice, in the first word both times", nvml.VgpuSchedulerSetState{SchedulerPolicy: fixedShare, EnableARRMode: arrOff, SchedulerParams: words(3_000_000, 0)}, fixedShare, arrOff, words(3_000_000, 0), 0, 3_000_000},
		{"the default slice; the second word is not looked at", nvml.VgpuSchedulerSetState{SchedulerPolicy: equalShare, EnableARRMode: arrOff, SchedulerParams: words(0, 480)}, equalShare, arrOff, words(2_000_000, 0), 0, 2_000_000},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s, d := startHost(t, "a100-40gb", false)
			require.Equal(t, nvml.SUCCESS, d.SetVgpuSchedulerState(&row.set))
			assert.Equal(t, nvml.VgpuSchedulerGetState{SchedulerPolicy: row.policy, ArrMode: row.arr}, must(d.GetVgpuSchedulerState()), "nothing is scheduled yet")
			f, err := s.RunVGPU(0, "vm")
			defer stop(t, f, err)()
			assert.Equal(t, nvml.VgpuSchedulerGetState{SchedulerPolicy: row.policy, ArrMode: row.arr, SchedulerParams: row.params}, must(d.GetVgpuSchedulerState()))
			assert.Equal(t, nvml.VgpuSchedulerStateInfo_v2{EngineId: graphics, SchedulerPolicy: row.policy, AvgFactor: row.factorV2, Timeslice: row.timesliceV2},
				must(d.GetVgpuSchedulerState_v2(nvml.VgpuSchedulerStateInfo_v2{EngineId: graphics})))
			require.NoError(t, s.Audit())
			throughJSON(t, s)
		})
	}
}

// The second version sets a frequency and turns ARR on.
func TestVGPUSchedulerV2(t *testing.T) {
	t.Parallel()
	s, gi, id := startHostInstance(t, "2g.48gb")
	set := nvml.VgpuSchedulerState{EngineId: graphics, SchedulerPolicy: equalShare, EnableARRMode: arrOff, SchedulerParams: words(5_000_000, 0)}
	assert.Equal(t, nvml.ERROR_ARGUMENT_VERSION_MISMATCH, gi.SetVgpuSchedulerState(&set), "the binding does not fill it in")
	set.Version = nvml.STRUCT_VERSION(set, 1)
	require.Equal(t, nvml.SUCCESS, gi.SetVgpuSchedulerState(&set))
	f, err := s.RunVGPUIn(0, id, "vm")
	end := stop(t, f, err)
	info := must(gi.GetVgpuSchedulerState())
	assert.Equal(t, nvml.STRUCT_VERSION(info, 1), info.Version)
	assert.Equal(t, []uint32{graphics, equalShare, arrOff}, []uint32{info.EngineId, info.SchedulerPolicy, info.ArrMode})
	assert.Equal(t, words(5_000_000, 0), info.SchedulerParams)
	assert.Equal(t, nvml.ERROR_NOT_SUPPORTED, gi.SetVgpuSchedulerState(&set), "a vGPU runs")
	assert.Equal(t, nvml.ERROR_IN_USE, gi.Destroy(), "a vGPU runs")
	end()
	end()
	require.Equal(t, nvml.SUCCESS, gi.SetVgpuSchedulerState_v2(&nvml.VgpuSchedulerState_v2{EngineId: graphics, SchedulerPolicy: fixedShare, AvgFactor: 1, Frequency: 63}))
	_, err = s.RunVGPUIn(0, id, "vm")
	require.NoError(t, err)
	info = must(gi.GetVgpuSchedulerState())
	assert.Equal(t, []uint32{fixedShare, arrOn}, []uint32{info.SchedulerPolicy, info.ArrMode})
	assert.Equal(t, words(1, 15873015), info.SchedulerParams)
	require.NoError(t, s.Audit())
	throughJSON(t, s)
}

// Which codes the calls give, and that a refusal changes nothing.
func TestVGPUSchedulerRefusals(t *testing.T) {
	t.Parallel()
	legal := nvml.VgpuSchedulerSetState{SchedulerPolicy: equalShare, EnableARRMode: arrOff, SchedulerParams: words(1_000_000, 0)}
	change := func(f func(*nvml.VgpuSchedulerSetState)) *nvml.VgpuSchedulerSetState {
		to := legal
		f(&to)
		return &to
	}
	params := func(policy, arr, first, second uint32) *nvml.VgpuSchedulerSetState {
		return &nvml.VgpuSchedulerSetState{SchedulerPolicy: policy, EnableARRMode: arr, SchedulerParams: words(first, second)}
	}
	const unsupported, invalid = nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_INVALID_ARGUMENT
	rows := []struct {
		name     string
		model    string
		mig      bool
		noHost   bool
		vgpu     bool // one runs
		want     nvml.Return
		readable bool
		set      *nvml.VgpuSchedulerSetState
	}{
		{"legal", "a30-24gb", false, false, false, nvml.SUCCESS, true, &legal},
		{"no vGPU host", "a30-24gb", false, true, false, unsupported, false, &legal},
		{"MIG is on", "rtx-pro-6000-96gb", true, false, false, unsupported, false, &legal},
		{"a vGPU runs", "h100-80gb-sxm5", false, false, true, unsupported, true, &legal},
		{"nil", "a30-24gb", false, false, false, invalid, true, nil},
		{"nil on no vGPU host", "a30-24gb", false, true, false, invalid, false, nil},
		{"policy unknown", "a30-24gb", false, false, false, invalid, true, change(func(to *nvml.VgpuSchedulerSetState) { to.SchedulerPolicy = 0 })},
		{"the resource manager's number of fixed share", "a30-24gb", false, false, false, invalid, true, change(func(to *nvml.VgpuSchedulerSetState) { to.SchedulerPolicy = 4 })},
		{"no such mode", "a30-24gb", false, false, false, invalid, true, change(func(to *nvml.VgpuSchedulerSetState) { to.EnableARRMode = 3 })},
		{"slice in ms", "a30-24gb", false, false, false, invalid, true, params(equalShare, arrOff, 2, 0)},
		{"slice too short", "a30-24gb", false, false, false, invalid, true, params(equalShare, arrOff, 999_999, 0)},
		{"slice too long", "a30-24gb", false, false, false, invalid, true, params(equalShare, arrOff, 30_000_001, 0)},
		{"a slice where ARR has a factor", "a30-24gb", false, false, false, invalid, true, params(equalShare, arrOn, 2_000_000, 0)},
		{"factor too large", "a30-24gb", false, false, false, invalid, true, params(fixedShare, arrOn, 61, 0)},
		{"frequency too low", "a30-24gb", false, false, false, invalid, true, params(fixedShare, arrDefault, 0, 62)},
		{"frequency too high", "a30-24gb", false, false, false, invalid, true, params(fixedShare, arrOn, 0, 961)},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s, lib := start(t, nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: row.model, MIG: row.mig, VGPUHost: !row.noHost}}})
			d := must(lib.DeviceGetHandleByIndex(0))
			if row.vgpu {
				_, err := s.RunVGPU(0, "vm")
				require.NoError(t, err)
			}
			before := s.String()
			assert.Equal(t, row.want, d.SetVgpuSchedulerState(row.set))
			if row.want != nvml.SUCCESS {
				assert.Equal(t, before, s.String())
			}
			want := unsupported
			if row.readable {
				want = nvml.SUCCESS
			}
			assert.Equal(t, want, code(d.GetVgpuSchedulerState()))
			assert.Equal(t, want, code(d.GetVgpuSchedulerCapabilities()))
			assert.Equal(t, want, code(d.GetVgpuSchedulerLog()))
			assert.Equal(t, want, code(d.GetVgpuSchedulerState_v2(nvml.VgpuSchedulerStateInfo_v2{EngineId: graphics})))
			assert.Equal(t, want, code(d.GetVgpuSchedulerLog_v2(nvml.VgpuSchedulerLogInfo_v2{EngineId: graphics})))
			for _, engine := range []uint32{0, 4} {
				assert.Equal(t, invalid, code(d.GetVgpuSchedulerState_v2(nvml.VgpuSchedulerStateInfo_v2{EngineId: engine})))
			}
			assert.Equal(t, invalid, d.SetVgpuSchedulerState_v2(nil))
			require.NoError(t, s.Audit())
			assert.Empty(t, s.Unmodelled())
		})
	}
}

// Inside a GPU instance vGPUs are scheduled on GB20x only, and only as many
// encoders have schedulers as there are.
func TestVGPUSchedulersByModel(t *testing.T) {
	t.Parallel()
	asks := func(get func(nvml.VgpuSchedulerStateInfo_v2) (nvml.VgpuSchedulerStateInfo_v2, nvml.Return)) []bool {
		var answers []bool
		for _, engine := range []uint32{graphics, nvenc0, nvenc1} {
			info, ret := get(nvml.VgpuSchedulerStateInfo_v2{EngineId: engine})
			if ret == nvml.SUCCESS {
				info.EngineId -= engine
				require.Equal(t, nvml.VgpuSchedulerStateInfo_v2{SchedulerPolicy: bestEffort}, info)
			}
			answers = append(answers, ret == nvml.SUCCESS)
		}
		return answers
	}
	rows := []struct {
		model, profile string // no profile: the GPU
		want           []bool
	}{
		{"a100-80gb", "", []bool{true, false, false}},
		{"b200-180gb", "", []bool{true, false, false}},
		{"rtx-pro-6000-96gb", "", []bool{true, true, true}},
		{"h100-80gb-sxm5", "3g.40gb", []bool{false, false, false}},
		{"b200-180gb", "1g.23gb", []bool{false, false, false}},
		{"rtx-pro-6000-96gb", "1g.24gb", []bool{true, true, false}},
		{"rtx-pro-6000-96gb", "2g.48gb", []bool{true, true, true}},
		{"rtx-pro-6000-96gb", "1g.24gb-me", []bool{true, false, false}},
	}
	for _, row := range rows {
		_, d := startHost(t, row.model, row.profile != "")
		if row.profile == "" {
			assert.Equal(t, row.want, asks(d.GetVgpuSchedulerState_v2), row.model)
			continue
		}
		gi := must(d.CreateGpuInstance(infoOf(t, d, row.model, row.profile)))
		assert.Equal(t, row.want, asks(gi.GetVgpuSchedulerState_v2), row.model, row.profile)
		assert.Equal(t, row.want[0], code(gi.GetVgpuSchedulerState()) == nvml.SUCCESS)
		assert.Equal(t, row.want[0], code(gi.GetVgpuSchedulerLog()) == nvml.SUCCESS)
	}
	_, d := startHost(t, "rtx-pro-6000-96gb", false)
	assert.Equal(t, nvml.SUCCESS, d.SetVgpuSchedulerState_v2(&nvml.VgpuSchedulerState_v2{EngineId: nvenc1, SchedulerPolicy: bestEffort}))
	assert.Equal(t, nvml.ERROR_NOT_SUPPORTED, d.SetVgpuSchedulerState_v2(&nvml.VgpuSchedulerState_v2{EngineId: nvenc1, SchedulerPolicy: equalShare}))
}
