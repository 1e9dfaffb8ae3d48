package nvmlfake_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/nvmlfake"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	_, err := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a100-40gb"}, {Model: "a100-41gb"}}})
	require.ErrorIs(t, err, mig.ErrUnknownModel)
	require.ErrorContains(t, err, "GPU 1")
	require.ErrorContains(t, err, "a100-41gb")
}

func TestNoGPUs(t *testing.T) {
	t.Parallel()
	s, lib := start(t, nvmlfake.Config{})
	assert.Zero(t, must(lib.DeviceGetCount()))
	require.NoError(t, s.Audit())
	require.ErrorIs(t, s.Reset(0), nvmlfake.ErrNoGPU)
	require.ErrorIs(t, s.Reset(-1), nvmlfake.ErrNoGPU)
	_, err := s.Layout(0)
	require.ErrorIs(t, err, nvmlfake.ErrNoGPU)
}

func TestInitCounts(t *testing.T) {
	t.Parallel()
	s, err := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a30-24gb"}}})
	require.NoError(t, err)
	one, two := s.NVML(), s.NVML()
	assert.Equal(t, nvml.ERROR_UNINITIALIZED, one.Shutdown())
	assert.Equal(t, nvml.ERROR_UNINITIALIZED, code(one.DeviceGetCount()))
	assert.Equal(t, nvml.ERROR_UNINITIALIZED, code(one.DeviceGetHandleByIndex(0)))
	require.Equal(t, nvml.SUCCESS, one.Init())
	require.Equal(t, nvml.SUCCESS, two.InitWithFlags(nvml.INIT_FLAG_NO_ATTACH))
	d := must(one.DeviceGetHandleByIndex(0))
	require.Equal(t, nvml.SUCCESS, one.Shutdown())
	assert.Equal(t, nvml.SUCCESS, code(d.GetName()), "one of two initialisations is left")
	require.Equal(t, nvml.SUCCESS, two.Shutdown())
	assert.Equal(t, nvml.ERROR_UNINITIALIZED, code(d.GetName()))
	assert.Equal(t, nvml.ERROR_UNINITIALIZED, code(d.GetFanSpeed()), "of the base, too")
	assert.Equal(t, nvml.ERROR_UNINITIALIZED, two.Shutdown())
	require.NoError(t, s.Audit())
}

func TestSystem(t *testing.T) {
	t.Parallel()
	_, lib := start(t, nvmlfake.Config{})
	driver, version := must(lib.SystemGetDriverVersion()), must(lib.SystemGetNVMLVersion())
	assert.Regexp(t, `^\d+\.\d+(\.\d+)?$`, driver)
	assert.True(t, strings.HasSuffix(version, driver), "%s is CUDA's major version and %s", version, driver)
	assert.Equal(t, 13000, must(lib.SystemGetCudaDriverVersion()))
	assert.Equal(t, 13000, must(lib.SystemGetCudaDriverVersion_v2()))
	assert.Equal(t, nvml.ERROR_IN_USE.Error(), lib.ErrorString(nvml.ERROR_IN_USE))
}

func TestHandles(t *testing.T) {
	t.Parallel()
	_, lib := start(t, nvmlfake.Config{Seed: 3, GPUs: []nvmlfake.GPU{{Model: "a100-40gb"}, {Model: "NVIDIA H100 80GB HBM3"}}})
	require.Equal(t, 2, must(lib.DeviceGetCount()))
	d := must(lib.DeviceGetHandleByIndex(1))
	assert.Equal(t, 1, must(d.GetIndex()))
	assert.Equal(t, 1, must(d.GetMinorNumber()))
	uuid := must(d.GetUUID())
	assert.Equal(t, d, must(lib.DeviceGetHandleByUUID(uuid)), "one device, equal handles")
	assert.NotEqual(t, uuid, must(must(lib.DeviceGetHandleByIndex(0)).GetUUID()))

	for _, id := range []string{"00000000:02:00.0", "0000:02:00.0", "0000:02:00", "2:0.0", "0:2:0"} {
		assert.Equal(t, d, must(lib.DeviceGetHandleByPciBusId(id)), id)
	}
	for id, want := range map[string]nvml.Return{
		"00000000:03:00.0": nvml.ERROR_NOT_FOUND,
		"00000000:02:00.1": nvml.ERROR_NOT_FOUND,
		"00000001:02:00.0": nvml.ERROR_NOT_FOUND,
		"":                 nvml.ERROR_INVALID_ARGUMENT,
		"02:00":            nvml.ERROR_INVALID_ARGUMENT,
		"0:0:2:0":          nvml.ERROR_INVALID_ARGUMENT,
		"00000000:xy:00.0": nvml.ERROR_INVALID_ARGUMENT,
		"0000:02:00.":      nvml.ERROR_INVALID_ARGUMENT,
	} {
		assert.Equal(t, want, code(lib.DeviceGetHandleByPciBusId(id)), "%q", id)
	}
	for _, index := range []int{-1, 2, 1 << 40} {
		bad, ret := lib.DeviceGetHandleByIndex(index)
		assert.Equal(t, nvml.ERROR_INVALID_ARGUMENT, ret)
		assert.Equal(t, nvml.ERROR_INVALID_ARGUMENT, code(bad.GetName()), "an invalid handle, not nil")
	}
}

// Case of case: an address is hexadecimal in either case.
func TestPCIAddressCase(t *testing.T) {
	t.Parallel()
	gpus := make([]nvmlfake.GPU, 12)
	for i := range gpus {
		gpus[i].Model = "a30-24gb"
	}
	_, lib := start(t, nvmlfake.Config{GPUs: gpus})
	for _, id := range []string{"00000000:0A:00.0", "0000:0a:00.0"} {
		assert.Equal(t, 9, must(must(lib.DeviceGetHandleByPciBusId(id)).GetIndex()))
	}
}

func TestBasics(t *testing.T) {
	t.Parallel()
	rows := []struct {
		model, name  string
		architecture nvml.DeviceArchitecture
		brand        nvml.BrandType
		major, minor int
		pci          uint32
		mib          uint64
	}{
		{"a30-24gb", "NVIDIA A30", nvml.DEVICE_ARCH_AMPERE, nvml.BRAND_NVIDIA, 8, 0, 0x20B710DE, 24576},
		{"a100-40gb", "NVIDIA A100-SXM4-40GB", nvml.DEVICE_ARCH_AMPERE, nvml.BRAND_NVIDIA, 8, 0, 0x20B010DE, 40960},
		{"nvidia a100 80gb pcie", "NVIDIA A100 80GB PCIe", nvml.DEVICE_ARCH_AMPERE, nvml.BRAND_NVIDIA, 8, 0, 0x20B510DE, 81920},
		{"A100-PCIE-40GB", "A100-PCIE-40GB", nvml.DEVICE_ARCH_AMPERE, nvml.BRAND_NVIDIA, 8, 0, 0x20B110DE, 40960},
		{"H100-80GB-SXM5", "NVIDIA H100 80GB HBM3", nvml.DEVICE_ARCH_HOPPER, nvml.BRAND_NVIDIA, 9, 0, 0x233010DE, 81559},
		{"NVIDIA H200 NVL", "NVIDIA H200 NVL", nvml.DEVICE_ARCH_HOPPER, nvml.BRAND_NVIDIA, 9, 0, 0x233B10DE, 141 * 1024},
		{"b200-180gb", "NVIDIA B200", nvml.DEVICE_ARCH_BLACKWELL, nvml.BRAND_NVIDIA, 10, 0, 0x290110DE, 183359},
		{"gb300", "NVIDIA GB300", nvml.DEVICE_ARCH_BLACKWELL, nvml.BRAND_NVIDIA, 10, 3, 0x31C210DE, 284208},
		{"rtx-pro-6000-96gb", "NVIDIA RTX PRO 6000 Blackwell Server Edition", nvml.DEVICE_ARCH_BLACKWELL, nvml.BRAND_NVIDIA_RTX, 12, 0, 0x2BB510DE, 97887},
	}
	for _, row := range rows {
		t.Run(row.model, func(t *testing.T) {
			t.Parallel()
			_, lib := start(t, nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: row.model}}})
			d := must(lib.DeviceGetHandleByIndex(0))
			assert.Equal(t, row.name, must(d.GetName()))
			assert.Equal(t, row.architecture, must(d.GetArchitecture()))
			assert.Equal(t, row.brand, must(d.GetBrand()))
			major, minor, ret := d.GetCudaComputeCapability()
			assert.Equal(t, []any{row.major, row.minor, nvml.SUCCESS}, []any{major, minor, ret})
			info := must(d.GetPciInfo())
			assert.Equal(t, row.pci, info.PciDeviceId)
			assert.Equal(t, "00000000:01:00.0", text(info.BusId[:]))
			assert.Equal(t, "0000:01:00.0", text(info.BusIdLegacy[:]))
			memory := must(d.GetMemoryInfo())
			assert.Equal(t, nvml.Memory{Total: row.mib << 20, Free: row.mib << 20}, memory)
			v2 := must(d.GetMemoryInfo_v2())
			assert.Equal(t, memory.Total, v2.Total)
			assert.False(t, must(d.IsMigDeviceHandle()))
			m, err := mig.LookupPCI(info.PciDeviceId, int(memory.Total>>20))
			require.NoError(t, err)
			found, err := mig.Lookup(row.model)
			require.NoError(t, err)
			assert.Same(t, found, m, "what the device says leads back to its table")
		})
	}
}

// text reads a C string.
func text(chars []int8) string {
	var b strings.Builder
	for _, c := range chars {
		if c == 0 {
			break
		}
		b.WriteByte(byte(c))
	}
	return b.String()
}

func TestLookupSymbol(t *testing.T) {
	t.Parallel()
	s, err := nvmlfake.New(nvmlfake.Config{})
	require.NoError(t, err)
	lib := s.NVML()
	require.ErrorIs(t, lib.Extensions().LookupSymbol("nvmlDeviceGetMigMode"), nvml.ERROR_UNINITIALIZED)
	require.Equal(t, nvml.SUCCESS, lib.Init())
	for _, symbol := range []string{
		"nvmlInit", "nvmlInit_v2", "nvmlDeviceGetMigMode", "nvmlDeviceGetMaxMigDeviceCount",
		"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetGpuInstanceProfileInfo",
		"nvmlGpuInstanceGetComputeInstanceProfileInfo", "nvmlComputeInstanceGetInfo_v2",
	} {
		require.NoError(t, lib.Extensions().LookupSymbol(symbol), symbol)
	}
	for _, symbol := range []string{
		"", "nvml", "DeviceGetMigMode", "nvmlNoSuchFunction", "nvmlDeviceGetMigMode_x2",
		"nvmlDeviceGetGpuInstanceProfileInfoV", "nvmlDeviceGetGpuInstanceProfileInfoByIdV",
		"nvmlGpuInstanceGetComputeInstanceProfileInfoV", "nvmlDeviceGetC2cModeInfoV", "nvmlDeviceGetGpuFabricInfoV",
		"nvmlDeviceGetNvLinkInfo", "nvmlDeviceGetTemperatureV", "nvmlGpmMetricsGet", "nvmlGpmQueryDeviceSupport",
	} {
		err := lib.Extensions().LookupSymbol(symbol)
		require.ErrorIs(t, err, nvml.ERROR_FUNCTION_NOT_FOUND, symbol)
		assert.True(t, errors.Is(err, nvml.ERROR_FUNCTION_NOT_FOUND) && strings.Contains(err.Error(), symbol))
	}
}

// The same seed and the same calls give the same UUIDs, another seed others.
func TestUUIDsAreDeterministic(t *testing.T) {
	t.Parallel()
	list := func(seed uint64) []string {
		_, lib := start(t, nvmlfake.Config{Seed: seed, GPUs: []nvmlfake.GPU{{Model: "h100-80gb-sxm5", MIG: true}, {Model: "h100-80gb-sxm5", MIG: true}}})
		var uuids []string
		for i := range 2 {
			d := must(lib.DeviceGetHandleByIndex(i))
			uuids = append(uuids, must(d.GetUUID()))
			for range 3 {
				gi := must(d.CreateGpuInstance(infoOf(t, d, "h100-80gb-sxm5", "1g.10gb")))
				info := must(must(gi.CreateComputeInstance(computeInfoOf(gi, 0))).GetInfo())
				uuids = append(uuids, must(info.Device.GetUUID()))
			}
		}
		return uuids
	}
	one, again, other := list(1), list(1), list(2)
	assert.Equal(t, one, again)
	seen := map[string]bool{}
	for _, u := range append(one, other...) {
		assert.False(t, seen[u], "%s", u)
		seen[u] = true
		if strings.HasPrefix(u, "MIG-") {
			assert.Regexp(t, `^MIG-[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, u)
		} else {
			assert.Regexp(t, `^GPU-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`, u)
		}
	}
}
