package fault_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/nvmlfake"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

// BenchmarkCall is a call that only reads, without a wrapper and under rules of
// which none fires.
func BenchmarkCall(b *testing.B) {
	s, err := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a100-40gb", MIG: true}}})
	require.NoError(b, err)
	require.Equal(b, nvml.SUCCESS, s.NVML().Init())
	rule := fault.Rule{Method: "GpuInstance.*", Effect: fault.Refuse, Return: nvml.ERROR_UNKNOWN}
	later := fault.Rule{Method: "*", Nth: 1 << 40, Effect: fault.Refuse, Return: nvml.ERROR_UNKNOWN}
	for _, row := range []struct {
		name  string
		rules []fault.Rule
	}{
		{"rules=none", nil},
		{"rules=1", []fault.Rule{rule}},
		{"rules=8", []fault.Rule{rule, rule, rule, rule, later, later, later, later}},
	} {
		b.Run(row.name, func(b *testing.B) {
			r, err := fault.New(0, row.rules...)
			require.NoError(b, err)
			measure(b, fault.Wrap(s.NVML(), r), r)
		})
	}
	b.Run("wrapper=no/baseline", func(b *testing.B) { measure(b, s.NVML(), nil) })
}

func measure(b *testing.B, lib nvml.Interface, r *fault.Rules) {
	b.Helper()
	d := must(lib.DeviceGetHandleByIndex(0))
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		_, _ = d.GetIndex()
		if i++; r != nil && i%1024 == 0 {
			r.Forget()
		}
	}
}
