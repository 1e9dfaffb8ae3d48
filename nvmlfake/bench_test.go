package nvmlfake_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/nvmlfake"
)

// BenchmarkCreateDestroy makes and removes a GPU instance with its compute
// instance. The baseline is a read that takes the lock and no more.
func BenchmarkCreateDestroy(b *testing.B) {
	for _, model := range []string{"a100-40gb", "h100-80gb-sxm5", "rtx-pro-6000-96gb"} {
		b.Run("gpu="+model, func(b *testing.B) {
			_, d := startGPU(b, model)
			info := must(d.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_2_SLICE))
			b.ReportAllocs()
			for b.Loop() {
				gi := must(d.CreateGpuInstance(&info))
				one := must(gi.GetComputeInstanceProfileInfo(nvml.COMPUTE_INSTANCE_PROFILE_2_SLICE, 0))
				ci := must(gi.CreateComputeInstance(&one))
				_, _ = ci.Destroy(), gi.Destroy()
			}
		})
	}
	b.Run("gpu=none/read=baseline", func(b *testing.B) {
		_, d := startGPU(b, "a100-40gb")
		b.ReportAllocs()
		for b.Loop() {
			_, _ = d.GetIndex()
		}
	})
}

// BenchmarkSnapshot writes down a machine of eight GPUs that are full, and brings
// it back. The baseline makes an empty one.
func BenchmarkSnapshot(b *testing.B) {
	cfg, err := nvmlfake.Preset("dgx-a100")
	require.NoError(b, err)
	s, lib := start(b, cfg)
	for i := range 8 {
		d := must(lib.DeviceGetHandleByIndex(i))
		for range 3 {
			_, _, _ = cut(b, d)
		}
	}
	b.Run("what=snapshot", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = s.Snapshot()
		}
	})
	b.Run("what=restore", func(b *testing.B) {
		snap := s.Snapshot()
		b.ReportAllocs()
		for b.Loop() {
			_, err := nvmlfake.Restore(snap)
			require.NoError(b, err)
		}
	})
	b.Run("what=new/baseline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := nvmlfake.New(cfg)
			require.NoError(b, err)
		}
	})
}

func BenchmarkAudit(b *testing.B) {
	s, d := startGPU(b, "a100-40gb")
	info := must(d.GetGpuInstanceProfileInfo(0))
	for range 7 {
		_ = must(d.CreateGpuInstance(&info))
	}
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, s.Audit())
	}
}
