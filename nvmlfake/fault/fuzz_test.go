package fault_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/nvmlfake/fault"
)

// A rule of any text is refused or can be used; it never panics.
func FuzzRule(f *testing.F) {
	for _, method := range []string{"*", "Device.GetName", "Device.[A-", "a,b", "", ",", "MigDevice.*,GpuInstance.Destroy"} {
		f.Add(method, "0", "", 1, 1, 0.5, uint8(fault.Refuse), 3)
		f.Add("Device.GetName", method, method, 0, 0, 0.0, uint8(fault.Lose), 0)
	}
	f.Fuzz(func(t *testing.T, method, gpu, until string, nth, times int, probability float64, effect uint8, ret int) {
		r, err := fault.New(1, fault.Rule{
			Method: method, GPU: gpu, UntilCall: until, Nth: nth, Times: times, Probability: probability,
			Effect: fault.Effect(effect), Return: nvml.Return(ret),
		})
		require.Equal(t, err == nil, r != nil)
		if err != nil {
			require.ErrorIs(t, err, fault.ErrBadRule)
			return
		}
		_, bare, _ := start(t)
		lib := fault.Wrap(bare, r)
		d, _ := lib.DeviceGetHandleByIndex(0)
		_, _ = d.GetName()
		_, _ = d.GetMigDeviceHandleByIndex(0)
		require.NotNil(t, d)
	})
}
