package device_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/timeslice/device"
)

// BenchmarkScheduler reads a state and a full log from the fake. The baselines are
// the bare calls.
func BenchmarkScheduler(b *testing.B) {
	p := start(b, false, nil)
	p.log(b, turns(0, device.LogCapacity)...)
	s := p.open(b)
	b.Run("state", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := s.State(b.Context(), graphics)
			require.NoError(b, err)
		}
	})
	b.Run("state/baseline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = must(p.dev.GetVgpuSchedulerState_v2(nvml.VgpuSchedulerStateInfo_v2{EngineId: nvml.VGPU_SCHEDULER_ENGINE_TYPE_GRAPHICS}))
		}
	})
	b.Run("log", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := s.Log(b.Context(), graphics)
			require.NoError(b, err)
		}
	})
	b.Run("log/baseline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = must(p.dev.GetVgpuSchedulerLog_v2(nvml.VgpuSchedulerLogInfo_v2{EngineId: nvml.VGPU_SCHEDULER_ENGINE_TYPE_GRAPHICS}))
		}
	})
}
