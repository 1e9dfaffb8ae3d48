package fault_test

import (
	"fmt"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/nvmlfake"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

// failer is what *testing.T, *testing.B and *rapid.T have in common.
type failer interface {
	require.TestingT
	Helper()
}

// start returns a machine with two GPUs in MIG mode, and its library under the
// rules, initialised. The list of calls is empty.
func start(t failer, rules ...fault.Rule) (*nvmlfake.Server, nvml.Interface, *fault.Rules) {
	t.Helper()
	server, err := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{
		{Model: "a100-40gb", MIG: true}, {Model: "h100-80gb-sxm5", MIG: true},
	}})
	require.NoError(t, err)
	r, err := fault.New(7)
	require.NoError(t, err)
	lib := fault.Wrap(server.NVML(), r)
	require.Equal(t, nvml.SUCCESS, lib.Init())
	require.NoError(t, r.Set(rules...))
	r.Forget()
	return server, lib, r
}

// must returns the value of a call that has to succeed.
func must[T any](v T, ret nvml.Return) T {
	if ret != nvml.SUCCESS {
		panic(fmt.Sprintf("unexpected %v", ret))
	}
	return v
}

// code returns the code of a call.
func code[T any](_ T, ret nvml.Return) nvml.Return { return ret }

// create makes a GPU instance of three slices with a compute instance.
func create(d nvml.Device) (nvml.GpuInstance, nvml.ComputeInstance) {
	info := must(d.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_3_SLICE))
	gi := must(d.CreateGpuInstance(&info))
	whole := must(gi.GetComputeInstanceProfileInfo(nvml.COMPUTE_INSTANCE_PROFILE_3_SLICE, 0))
	return gi, must(gi.CreateComputeInstance(&whole))
}

// count returns how many GPU instances there are.
func count(t testing.TB, s *nvmlfake.Server, gpu int) int {
	t.Helper()
	layout, err := s.Layout(gpu)
	require.NoError(t, err)
	return layout.Len()
}

// genRule draws a rule that refuses some of the calls that genCall makes.
func genRule(t *rapid.T) fault.Rule {
	return fault.Rule{
		Method:      rapid.SampledFrom([]string{"Device.GetName", "Device.GetUUID", "Device.*", "Device.GetName,Device.GetIndex"}).Draw(t, "method"),
		GPU:         rapid.SampledFrom([]string{"", "0", "1"}).Draw(t, "GPU"),
		Nth:         rapid.IntRange(0, 4).Draw(t, "nth"),
		Times:       rapid.IntRange(0, 3).Draw(t, "times"),
		UntilCall:   rapid.SampledFrom([]string{"", "", "Device.GetIndex"}).Draw(t, "until"),
		Probability: rapid.SampledFrom([]float64{0, 0, 0.5}).Draw(t, "probability"),
		Effect:      fault.Refuse,
		Return:      nvml.Return(rapid.IntRange(1, 9).Draw(t, "code")),
	}
}
