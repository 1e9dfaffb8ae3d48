package device_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/plan"
)

// The cost of a reading beside that of the calls alone that any reader of the
// same GPU must make. On hardware the calls cost more, their number stays.
func BenchmarkState(b *testing.B) {
	_, devs := newServer(b, true, "a100-40gb")
	f := &faults{}
	d := open(b, hooked{devs[0], f.hook})
	create(b, d, "1g.5gb@0", "1g.5gb@1", "2g.10gb@2", "3g.20gb@4")
	b.Run("by=State", func(b *testing.B) {
		b.ReportAllocs()
		f.calls = 0
		for b.Loop() {
			_, err := d.State(b.Context())
			require.NoError(b, err)
		}
		b.ReportMetric(float64(f.calls)/float64(b.N), "calls/op")
	})
	b.Run("by=list", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for i := range nvml.GPU_INSTANCE_PROFILE_COUNT {
				info, ret := devs[0].GetGpuInstanceProfileInfo(i)
				if ret == nvml.SUCCESS {
					_, ret = devs[0].GetGpuInstances(&info)
					require.Equal(b, nvml.SUCCESS, ret)
				}
			}
		}
	})
}

func BenchmarkCreateDestroy(b *testing.B) {
	_, d := fake(b, "a100-40gb")
	b.ReportAllocs()
	for b.Loop() {
		in, err := d.Create(b.Context(), mig.Instance{Profile: "3g.20gb", Start: 4})
		require.NoError(b, err)
		require.NoError(b, d.Destroy(b.Context(), in))
	}
}

// A repartition there and back, as two transactions, beside the bare calls that
// change the same and check nothing.
func BenchmarkApply(b *testing.B) {
	ctx := b.Context()
	b.Run("by=Apply", func(b *testing.B) {
		r := newRig(ctx, b, "a100-40gb")
		create(b, r.plain, "1g.5gb@0", "2g.10gb@2", "1g.5gb@5")
		there := r.repartition(ctx, b, "1g.5gb=1,2g.10gb=1,3g.20gb=1")
		from := r.state(ctx, b)
		b.ReportAllocs()
		changes := 0
		for b.Loop() {
			p, err := plan.Restore(r.state(ctx, b), there.Goal)
			require.NoError(b, err)
			_, err = r.plain.Apply(ctx, p, device.ApplyOptions{})
			require.NoError(b, err)
			back, err := plan.Restore(r.state(ctx, b), from.Instances)
			require.NoError(b, err)
			_, err = r.plain.Apply(ctx, back, device.ApplyOptions{})
			require.NoError(b, err)
			changes += len(p.Steps) + len(back.Steps)
		}
		b.ReportMetric(float64(changes)/float64(b.N), "steps/op")
	})
	b.Run("by=calls", func(b *testing.B) {
		_, devs := newServer(b, true, "a100-40gb")
		small, ret := devs[0].GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_1_SLICE)
		require.Equal(b, nvml.SUCCESS, ret)
		large, ret := devs[0].GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_3_SLICE)
		require.Equal(b, nvml.SUCCESS, ret)
		change := func(info *nvml.GpuInstanceProfileInfo, start, size uint32) {
			gi, ret := devs[0].CreateGpuInstanceWithPlacement(info, &nvml.GpuInstancePlacement{Start: start, Size: size})
			require.Equal(b, nvml.SUCCESS, ret)
			ci, ret := gi.GetComputeInstanceProfileInfo(map[bool]int{true: 0, false: 2}[size == 1], 0)
			require.Equal(b, nvml.SUCCESS, ret)
			instance, ret := gi.CreateComputeInstance(&ci)
			require.Equal(b, nvml.SUCCESS, ret)
			require.Equal(b, nvml.SUCCESS, instance.Destroy())
			require.Equal(b, nvml.SUCCESS, gi.Destroy())
		}
		b.ReportAllocs()
		for b.Loop() {
			change(&small, 5, 1)
			change(&large, 4, 4)
		}
	})
}
