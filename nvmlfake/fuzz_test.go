package nvmlfake_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/nvmlfake"
)

func FuzzMachine(f *testing.F) { f.Fuzz(rapid.MakeFuzz(runMachine)) }

// Look-ups by text never panic, and succeed only for what is there.
func FuzzLookups(f *testing.F) {
	for _, s := range []string{
		"", "GPU-", "MIG-GPU-/0/0", "MIG-GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c/1/0",
		"GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c", "0:1:0.0", "00000000:01:00.0", "1:0.0", "::.", "nvmlInit_v2", "nvml_v",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		_, lib := start(t, nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a30-24gb"}}})
		if d, ret := lib.DeviceGetHandleByUUID(s); ret == nvml.SUCCESS {
			require.Equal(t, s, must(d.GetUUID()))
		}
		if d, ret := lib.DeviceGetHandleByPciBusId(s); ret == nvml.SUCCESS {
			require.Equal(t, uint32(1), must(d.GetPciInfo()).Bus)
		}
		_ = lib.Extensions().LookupSymbol(s)
	})
}
