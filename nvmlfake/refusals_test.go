package nvmlfake_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scene is what a refusal starts from: an A100 with a 2g.10gb at 0 that holds
// two compute instances of one slice, and a 3g.20gb at 4 that holds none.
type scene struct {
	d                 nvml.Device
	two, three        nvml.GpuInstance
	ci                nvml.ComputeInstance
	mig               nvml.Device
	one               *nvml.GpuInstanceProfileInfo     // 1g.5gb
	twoInfo, fourInfo *nvml.GpuInstanceProfileInfo     // 2g.10gb, 4g.20gb
	half, full        *nvml.ComputeInstanceProfileInfo // 1c and 2c of the 2g.10gb
}

func newScene(t *testing.T, d nvml.Device) scene {
	t.Helper()
	const model = "a100-40gb"
	sc := scene{
		d: d, one: infoOf(t, d, model, "1g.5gb"),
		twoInfo: infoOf(t, d, model, "2g.10gb"), fourInfo: infoOf(t, d, model, "4g.20gb"),
	}
	sc.two = must(d.CreateGpuInstanceWithPlacement(sc.twoInfo, &nvml.GpuInstancePlacement{Start: 0, Size: 2}))
	sc.three = must(d.CreateGpuInstanceWithPlacement(infoOf(t, d, model, "3g.20gb"), &nvml.GpuInstancePlacement{Start: 4, Size: 4}))
	sc.half, sc.full = computeInfoOf(sc.two, 0), computeInfoOf(sc.two, 1)
	sc.ci = must(sc.two.CreateComputeInstance(sc.half))
	_ = must(sc.two.CreateComputeInstance(sc.half))
	sc.mig = must(sc.ci.GetInfo()).Device
	return sc
}

type refusal struct {
	method, situation string
	want              nvml.Return
	call              func(sc scene) nvml.Return
}

// Every refusal: method, situation, code. None changes anything.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const (
		invalid     = nvml.ERROR_INVALID_ARGUMENT
		unsupported = nvml.ERROR_NOT_SUPPORTED
		notFound    = nvml.ERROR_NOT_FOUND
		noResources = nvml.ERROR_INSUFFICIENT_RESOURCES
		inUse       = nvml.ERROR_IN_USE
	)
	place := func(start, size uint32) *nvml.GpuInstancePlacement {
		return &nvml.GpuInstancePlacement{Start: start, Size: size}
	}
	computePlace := func(start, size uint32) *nvml.ComputeInstancePlacement {
		return &nvml.ComputeInstancePlacement{Start: start, Size: size}
	}
	unknown := &nvml.GpuInstanceProfileInfo{Id: 99, InstanceCount: 1}
	noCompute := &nvml.ComputeInstanceProfileInfo{Id: nvml.COMPUTE_INSTANCE_PROFILE_7_SLICE, InstanceCount: 1}
	badCompute := &nvml.ComputeInstanceProfileInfo{Id: 99, InstanceCount: 1}
	rows := []refusal{
		{"SetMigMode", "a mode that is none", invalid, func(sc scene) nvml.Return { _, ret := sc.d.SetMigMode(2); return ret }},
		{"GetAttributes", "of a GPU", unsupported, func(sc scene) nvml.Return { return code(sc.d.GetAttributes()) }},
		{"GetGpuInstanceId", "of a GPU", invalid, func(sc scene) nvml.Return { return code(sc.d.GetGpuInstanceId()) }},
		{"GetComputeInstanceId", "of a GPU", invalid, func(sc scene) nvml.Return { return code(sc.d.GetComputeInstanceId()) }},
		{"GetDeviceHandleFromMigDeviceHandle", "of a GPU", invalid, func(sc scene) nvml.Return { return code(sc.d.GetDeviceHandleFromMigDeviceHandle()) }},
		{"GetMigDeviceHandleByIndex", "a hole", notFound, func(sc scene) nvml.Return { return code(sc.d.GetMigDeviceHandleByIndex(2)) }},
		{"GetMigDeviceHandleByIndex", "beyond the maximum", invalid, func(sc scene) nvml.Return { return code(sc.d.GetMigDeviceHandleByIndex(7)) }},
		{"GetMigDeviceHandleByIndex", "negative", invalid, func(sc scene) nvml.Return { return code(sc.d.GetMigDeviceHandleByIndex(-1)) }},

		{"GetGpuInstanceProfileInfo", "an index that NVML does not know", invalid, func(sc scene) nvml.Return {
			return code(sc.d.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_COUNT))
		}},
		{"GetGpuInstanceProfileInfo", "negative", invalid, func(sc scene) nvml.Return { return code(sc.d.GetGpuInstanceProfileInfo(-1)) }},
		{"GetGpuInstanceProfileInfo", "not on this GPU", unsupported, func(sc scene) nvml.Return {
			return code(sc.d.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_8_SLICE))
		}},
		{"GetGpuInstancePossiblePlacements", "nil", invalid, func(sc scene) nvml.Return { return code(sc.d.GetGpuInstancePossiblePlacements(nil)) }},
		{"GetGpuInstancePossiblePlacements", "unknown id", invalid, func(sc scene) nvml.Return { return code(sc.d.GetGpuInstancePossiblePlacements(unknown)) }},
		{"GetGpuInstanceRemainingCapacity", "nil", invalid, func(sc scene) nvml.Return { return code(sc.d.GetGpuInstanceRemainingCapacity(nil)) }},
		{"GetGpuInstanceRemainingCapacity", "unknown id", invalid, func(sc scene) nvml.Return { return code(sc.d.GetGpuInstanceRemainingCapacity(unknown)) }},
		{"CreateGpuInstance", "nil", invalid, func(sc scene) nvml.Return { return code(sc.d.CreateGpuInstance(nil)) }},
		{"CreateGpuInstance", "unknown id", invalid, func(sc scene) nvml.Return { return code(sc.d.CreateGpuInstance(unknown)) }},
		{"CreateGpuInstance", "no room", noResources, func(sc scene) nvml.Return { return code(sc.d.CreateGpuInstance(sc.fourInfo)) }},
		{"CreateGpuInstanceWithPlacement", "nil profile", invalid, func(sc scene) nvml.Return { return code(sc.d.CreateGpuInstanceWithPlacement(nil, place(2, 1))) }},
		{"CreateGpuInstanceWithPlacement", "nil placement", invalid, func(sc scene) nvml.Return { return code(sc.d.CreateGpuInstanceWithPlacement(sc.one, nil)) }},
		{"CreateGpuInstanceWithPlacement", "taken", noResources, func(sc scene) nvml.Return { return code(sc.d.CreateGpuInstanceWithPlacement(sc.one, place(1, 1))) }},
		{"CreateGpuInstanceWithPlacement", "no legal start", invalid, func(sc scene) nvml.Return { return code(sc.d.CreateGpuInstanceWithPlacement(sc.one, place(7, 1))) }},
		{"CreateGpuInstanceWithPlacement", "a start beyond any GPU", invalid, func(sc scene) nvml.Return {
			return code(sc.d.CreateGpuInstanceWithPlacement(sc.one, place(1<<31, 1)))
		}},
		{"CreateGpuInstanceWithPlacement", "wrong size", invalid, func(sc scene) nvml.Return { return code(sc.d.CreateGpuInstanceWithPlacement(sc.one, place(2, 2))) }},
		{"CreateGpuInstanceWithPlacement", "size zero", invalid, func(sc scene) nvml.Return { return code(sc.d.CreateGpuInstanceWithPlacement(sc.one, place(2, 0))) }},
		{"GetGpuInstances", "nil", invalid, func(sc scene) nvml.Return { return code(sc.d.GetGpuInstances(nil)) }},
		{"GetGpuInstances", "no room in the buffer", invalid, func(sc scene) nvml.Return {
			return code(sc.d.GetGpuInstances(&nvml.GpuInstanceProfileInfo{Id: sc.one.Id}))
		}},
		{"GetGpuInstances", "unknown id", invalid, func(sc scene) nvml.Return { return code(sc.d.GetGpuInstances(unknown)) }},
		{"GetGpuInstanceById", "absent", notFound, func(sc scene) nvml.Return { return code(sc.d.GetGpuInstanceById(0)) }},
		{"GetGpuInstanceById", "negative", notFound, func(sc scene) nvml.Return { return code(sc.d.GetGpuInstanceById(-1)) }},
		{"GpuInstance.Destroy", "holds compute instances", inUse, func(sc scene) nvml.Return { return sc.two.Destroy() }},

		{"GetComputeInstanceProfileInfo", "an index that NVML does not know", invalid, func(sc scene) nvml.Return {
			return code(sc.two.GetComputeInstanceProfileInfo(nvml.COMPUTE_INSTANCE_PROFILE_COUNT, 0))
		}},
		{"GetComputeInstanceProfileInfo", "negative", invalid, func(sc scene) nvml.Return { return code(sc.two.GetComputeInstanceProfileInfo(-1, 0)) }},
		{"GetComputeInstanceProfileInfo", "no such engine profile", invalid, func(sc scene) nvml.Return {
			return code(sc.two.GetComputeInstanceProfileInfo(0, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_COUNT))
		}},
		{"GetComputeInstanceProfileInfo", "larger than the GPU instance", unsupported, func(sc scene) nvml.Return {
			return code(sc.two.GetComputeInstanceProfileInfo(nvml.COMPUTE_INSTANCE_PROFILE_3_SLICE, 0))
		}},
		{"GetComputeInstancePossiblePlacements", "nil", invalid, func(sc scene) nvml.Return { return code(sc.two.GetComputeInstancePossiblePlacements(nil)) }},
		{"GetComputeInstancePossiblePlacements", "unknown id", invalid, func(sc scene) nvml.Return { return code(sc.two.GetComputeInstancePossiblePlacements(badCompute)) }},
		{"GetComputeInstanceRemainingCapacity", "nil", invalid, func(sc scene) nvml.Return { return code(sc.two.GetComputeInstanceRemainingCapacity(nil)) }},
		{"GetComputeInstanceRemainingCapacity", "not in this GPU instance", unsupported, func(sc scene) nvml.Return {
			return code(sc.two.GetComputeInstanceRemainingCapacity(noCompute))
		}},
		{"CreateComputeInstance", "nil", invalid, func(sc scene) nvml.Return { return code(sc.two.CreateComputeInstance(nil)) }},
		{"CreateComputeInstance", "not in this GPU instance", unsupported, func(sc scene) nvml.Return { return code(sc.two.CreateComputeInstance(noCompute)) }},
		{"CreateComputeInstance", "no room", noResources, func(sc scene) nvml.Return { return code(sc.two.CreateComputeInstance(sc.full)) }},
		{"CreateComputeInstanceWithPlacement", "nil placement", invalid, func(sc scene) nvml.Return { return code(sc.two.CreateComputeInstanceWithPlacement(sc.half, nil)) }},
		{"CreateComputeInstanceWithPlacement", "taken", noResources, func(sc scene) nvml.Return {
			return code(sc.two.CreateComputeInstanceWithPlacement(sc.half, computePlace(1, 1)))
		}},
		{"CreateComputeInstanceWithPlacement", "no legal start", invalid, func(sc scene) nvml.Return {
			return code(sc.two.CreateComputeInstanceWithPlacement(sc.half, computePlace(2, 1)))
		}},
		{"CreateComputeInstanceWithPlacement", "wrong size", invalid, func(sc scene) nvml.Return {
			return code(sc.two.CreateComputeInstanceWithPlacement(sc.half, computePlace(0, 2)))
		}},
		{"GetComputeInstances", "nil", invalid, func(sc scene) nvml.Return { return code(sc.two.GetComputeInstances(nil)) }},
		{"GetComputeInstances", "no room in the buffer", invalid, func(sc scene) nvml.Return {
			return code(sc.two.GetComputeInstances(&nvml.ComputeInstanceProfileInfo{}))
		}},
		{"GetComputeInstances", "too little room in the buffer", nvml.ERROR_INSUFFICIENT_SIZE, func(sc scene) nvml.Return {
			return code(sc.two.GetComputeInstances(&nvml.ComputeInstanceProfileInfo{InstanceCount: 1}))
		}},
		{"GetComputeInstanceById", "absent", notFound, func(sc scene) nvml.Return { return code(sc.three.GetComputeInstanceById(0)) }},

		{"GetMigMode", "of a MIG device", unsupported, func(sc scene) nvml.Return { _, _, ret := sc.mig.GetMigMode(); return ret }},
		{"SetMigMode", "of a MIG device", unsupported, func(sc scene) nvml.Return { _, ret := sc.mig.SetMigMode(on); return ret }},
		{"CreateGpuInstance", "on a MIG device", unsupported, func(sc scene) nvml.Return { return code(sc.mig.CreateGpuInstance(sc.one)) }},
	}
	for _, row := range rows {
		t.Run(row.method+" "+row.situation, func(t *testing.T) {
			t.Parallel()
			s, d := startGPU(t, "a100-40gb")
			sc := newScene(t, d)
			before := s.String()
			assert.Equal(t, row.want, row.call(sc))
			assert.Equal(t, before, s.String())
			require.NoError(t, s.Audit())
		})
	}
}

// With MIG off the questions about the GPU are answered, those about its
// instances are not.
func TestModeOff(t *testing.T) {
	t.Parallel()
	s, d := startGPU(t, "h100-80gb-sxm5")
	require.Equal(t, nvml.SUCCESS, setMode(t, d, off))
	info := infoOf(t, d, "h100-80gb-sxm5", "1g.10gb")
	assert.Len(t, must(d.GetGpuInstancePossiblePlacements(info)), 7)
	assert.Zero(t, must(d.GetMaxMigDeviceCount()))
	for name, ret := range map[string]nvml.Return{
		"GetGpuInstanceRemainingCapacity": code(d.GetGpuInstanceRemainingCapacity(info)),
		"CreateGpuInstance":               code(d.CreateGpuInstance(info)),
		"CreateGpuInstanceWithPlacement":  code(d.CreateGpuInstanceWithPlacement(info, &nvml.GpuInstancePlacement{Size: 1})),
		"GetGpuInstances":                 code(d.GetGpuInstances(info)),
		"GetGpuInstanceById":              code(d.GetGpuInstanceById(7)),
		"GetMigDeviceHandleByIndex":       code(d.GetMigDeviceHandleByIndex(0)),
	} {
		assert.Equal(t, nvml.ERROR_NOT_SUPPORTED, ret, name)
	}
	require.NoError(t, s.Audit())
}

// A buffer of one for two instances.
func TestListNeedsRoom(t *testing.T) {
	t.Parallel()
	_, d := startGPU(t, "a100-40gb")
	info := infoOf(t, d, "a100-40gb", "1g.5gb")
	require.Empty(t, must(d.GetGpuInstances(info)))
	for range 2 {
		_ = must(d.CreateGpuInstance(info))
	}
	assert.Len(t, must(d.GetGpuInstances(info)), 2)
	info.InstanceCount = 1
	assert.Equal(t, nvml.ERROR_INSUFFICIENT_SIZE, code(d.GetGpuInstances(info)))
}
