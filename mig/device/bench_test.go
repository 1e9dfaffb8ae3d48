package device_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
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
