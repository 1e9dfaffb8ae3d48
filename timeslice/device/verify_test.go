package device_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/timeslice"
	"github.com/gpushare/gpushare/timeslice/device"
)

// talkativeDriver tells factor and slice also while nothing runs, and changes what
// it is given.
type talkativeDriver struct {
	nvml.Device
	policy, factor, slice uint32
}

func (d talkativeDriver) GetVgpuSchedulerState() (nvml.VgpuSchedulerGetState, nvml.Return) {
	return nvml.VgpuSchedulerGetState{}, nvml.ERROR_UNKNOWN
}

func (d talkativeDriver) GetVgpuSchedulerState_v2(info nvml.VgpuSchedulerStateInfo_v2) (nvml.VgpuSchedulerStateInfo_v2, nvml.Return) { //nolint:revive // NVML's name
	info.SchedulerPolicy, info.AvgFactor, info.Timeslice = d.policy, d.factor, d.slice
	return info, nvml.SUCCESS
}

// What is shown is compared with what was set; a default is anything.
func TestShownValuesAreVerified(t *testing.T) {
	t.Parallel()
	adaptive := timeslice.VGPUScheduler{Policy: timeslice.VGPUEqualShare, ARR: timeslice.ARROn, Factor: 20, Frequency: 480}
	fixed := timeslice.VGPUScheduler{Policy: timeslice.VGPUEqualShare, ARR: timeslice.ARROff, Slice: 5_000_000}
	rows := []struct {
		name          string
		to            timeslice.VGPUScheduler
		factor, slice uint32
		says          string // empty: all is well
	}{
		{"as set", adaptive, 20, 2_083_333, ""},
		{"in whole microseconds", adaptive, 20, 2_083_000, ""},
		{"another slice", adaptive, 20, 1_041_666, "slice 1041666 ns, not 2083333"},
		{"another factor", adaptive, 33, 2_083_333, "averaging factor 33"},
		{"ARR was turned off", adaptive, 0, 2_083_333, "ARR off"},
		{"default frequency", timeslice.VGPUScheduler{Policy: timeslice.VGPUEqualShare, Factor: 20}, 20, 9_999_999, ""},
		{"default factor", timeslice.VGPUScheduler{Policy: timeslice.VGPUEqualShare, Frequency: 480}, 33, 2_083_333, ""},
		{"default mode, which is off here", timeslice.VGPUScheduler{Policy: timeslice.VGPUEqualShare}, 0, 2_000_000, ""},
		{"a slice", fixed, 0, 5_000_000, ""},
		{"a slice cut short", fixed, 0, 4_998_999, "slice 4998999 ns, not 5000000"},
		{"a slice for which ARR is on", fixed, 33, 5_000_000, "ARR on"},
		{"a slice that is not shown", fixed, 0, 0, ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, false, nil)
			s, err := device.Open(t.Context(), p.lib, talkativeDriver{p.dev, nvml.VGPU_SCHEDULER_POLICY_EQUAL_SHARE, row.factor, row.slice})
			require.NoError(t, err)
			st, err := s.Set(t.Context(), graphics, row.to)
			if row.says == "" {
				require.NoError(t, err)
				assert.Equal(t, int64(row.slice), st.Slice)
				return
			}
			require.ErrorIs(t, err, device.ErrUnverified)
			require.ErrorContains(t, err, row.says)
		})
	}
}
