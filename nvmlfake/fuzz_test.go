package nvmlfake_test

import (
	"strings"
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

// A machine of any text is refused, or is sound, can be used, and comes back from
// its own text.
func FuzzSnapshot(f *testing.F) {
	for _, s := range []string{
		"", "{}", `{"schema":1,"gpus":[]}`, `{"schema":1,"gpus":[{"model":"a30-24gb","uuid":"GPU-1"}]}`,
		`{"schema":1,"seed":7,"gpus":[{"model":"a100-40gb","mig":true,"pendingMig":false,"created":3,"instances":[
			{"profile":"3g.20gb","start":4,"id":2,"computeInstances":[{"profile":"1c.3g.20gb","start":1,"index":0,"id":1,"device":5}],
			"holders":[{"pid":7,"name":"dcgm","hidden":true}]},{"profile":"1g.5gb","start":0}]}]}`,
		`{"schema":1,"gpus":[{"model":"h100-80gb-sxm5","holders":[{"pid":7,"name":"train","memoryMiB":5}]}]}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		snap, err := nvmlfake.ReadSnapshot(strings.NewReader(text))
		if err != nil {
			require.ErrorIs(t, err, nvmlfake.ErrBadSnapshot)
			return
		}
		s, err := nvmlfake.Restore(snap)
		require.Equal(t, err == nil, s != nil)
		if err != nil {
			require.ErrorIs(t, err, nvmlfake.ErrBadSnapshot)
			return
		}
		throughJSON(t, s)
		lib := s.NVML()
		require.Equal(t, nvml.SUCCESS, lib.Init())
		for i := range min(must(lib.DeviceGetCount()), 4) {
			d := must(lib.DeviceGetHandleByIndex(i))
			info := must(d.GetGpuInstanceProfileInfo(0))
			if gi, ret := d.CreateGpuInstance(&info); ret == nvml.SUCCESS {
				must(gi.CreateComputeInstance(computeInfoOf(gi, 0)))
			}
		}
		require.NoError(t, s.Audit())
	})
}
