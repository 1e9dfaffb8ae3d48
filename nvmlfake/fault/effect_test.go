package fault_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/nvmlfake"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

func TestNoRulesNoFault(t *testing.T) {
	t.Parallel()
	s, lib, r := start(t)
	gi, ci := create(must(lib.DeviceGetHandleByIndex(0)))
	assert.Equal(t, nvml.SUCCESS, ci.Destroy())
	assert.Equal(t, nvml.SUCCESS, gi.Destroy())
	assert.Zero(t, count(t, s, 0))
	assert.Empty(t, r.Fired())
}

// The compute instance goes, the GPU instance is in use, and the next try works.
func TestComputeInstanceGoneGPUInstanceInUse(t *testing.T) {
	t.Parallel()
	s, lib, r := start(t, fault.Rule{Method: "GpuInstance.Destroy", Times: 1, Effect: fault.Refuse, Return: nvml.ERROR_IN_USE})
	gi, ci := create(must(lib.DeviceGetHandleByIndex(0)))
	assert.Equal(t, nvml.SUCCESS, ci.Destroy())
	assert.Equal(t, nvml.ERROR_IN_USE, gi.Destroy())
	assert.Equal(t, nvml.ERROR_INVALID_ARGUMENT, code(ci.GetInfo()), "the compute instance is gone")
	assert.Equal(t, 1, count(t, s, 0))
	assert.Equal(t, nvml.SUCCESS, gi.Destroy())
	assert.Zero(t, count(t, s, 0))
	assert.Equal(t, []int{1}, r.Fired())
}

func TestSuccessWithARemnant(t *testing.T) {
	t.Parallel()
	s, lib, _ := start(t, fault.Rule{Method: "GpuInstance.Destroy, ComputeInstance.Destroy", Effect: fault.Pretend})
	gi, ci := create(must(lib.DeviceGetHandleByIndex(0)))
	assert.Equal(t, nvml.SUCCESS, ci.Destroy())
	assert.Equal(t, nvml.SUCCESS, code(ci.GetInfo()), "still there")
	assert.Equal(t, nvml.SUCCESS, gi.Destroy())
	assert.Equal(t, nvml.SUCCESS, lib.GpuInstanceDestroy(gi), "the library's function is the same call")
	assert.Equal(t, 1, count(t, s, 0))
}

// A mode that was accepted and did not change.
func TestPretendForAllCodes(t *testing.T) {
	t.Parallel()
	_, lib, _ := start(t, fault.Rule{Method: "Device.SetMigMode", Effect: fault.Pretend})
	d := must(lib.DeviceGetHandleByIndex(1))
	activation, ret := d.SetMigMode(nvml.DEVICE_MIG_DISABLE)
	assert.Equal(t, []nvml.Return{nvml.SUCCESS, nvml.SUCCESS}, []nvml.Return{activation, ret})
	current, pending, _ := d.GetMigMode()
	assert.Equal(t, []int{nvml.DEVICE_MIG_ENABLE, nvml.DEVICE_MIG_ENABLE}, []int{current, pending})
}

func TestCreatedAndYetAnError(t *testing.T) {
	t.Parallel()
	s, lib, _ := start(t, fault.Rule{Method: "Device.CreateGpuInstance*", Nth: 2, Times: 1, Effect: fault.After, Return: nvml.ERROR_UNKNOWN})
	d := must(lib.DeviceGetHandleByIndex(0))
	info := must(d.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_1_SLICE))
	first := must(d.CreateGpuInstance(&info))
	second, ret := d.CreateGpuInstanceWithPlacement(&info, &nvml.GpuInstancePlacement{Start: 0, Size: 1})
	assert.Equal(t, nvml.ERROR_UNKNOWN, ret)
	assert.Equal(t, nvml.ERROR_INVALID_ARGUMENT, code(second.GetInfo()), "an invalid handle, not nil")
	assert.Equal(t, nvml.ERROR_INVALID_ARGUMENT, second.Destroy())
	assert.Equal(t, 2, count(t, s, 0), "it is there all the same")
	assert.Len(t, must(d.GetGpuInstances(&info)), 2)
	assert.Equal(t, nvml.SUCCESS, code(first.GetInfo()))
}

// A GPU falls off the bus: nothing on it answers, by no handle and no look-up,
// until the rules are set anew. The others go on.
func TestLostGPU(t *testing.T) {
	t.Parallel()
	s, lib, r := start(t, fault.Rule{Method: "Device.CreateGpuInstance", GPU: "0", Nth: 2, Effect: fault.Lose})
	d, other := must(lib.DeviceGetHandleByIndex(0)), must(lib.DeviceGetHandleByIndex(1))
	uuid := must(d.GetUUID())
	gi, ci := create(d)
	device := must(ci.GetInfo()).Device
	migUUID := must(device.GetUUID())
	info := must(d.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_1_SLICE))
	_, ret := d.CreateGpuInstance(&info)
	lost := nvml.ERROR_GPU_IS_LOST
	assert.Equal(t, lost, ret)
	assert.Equal(t, 1, count(t, s, 0), "nothing was done")
	assert.Equal(t, lost, code(d.GetName()))
	assert.Equal(t, lost, gi.Destroy())
	assert.Equal(t, lost, code(ci.GetInfo()))
	assert.Equal(t, lost, code(device.GetUUID()))
	for _, look := range []nvml.Return{
		code(lib.DeviceGetHandleByIndex(0)), code(lib.DeviceGetHandleByUUID(uuid)),
		code(lib.DeviceGetHandleByUUID(migUUID)), code(lib.DeviceGetHandleByPciBusId("00000000:01:00.0")),
	} {
		assert.Equal(t, lost, look)
	}
	assert.Equal(t, 2, must(lib.DeviceGetCount()))
	assert.Equal(t, nvml.SUCCESS, code(other.GetName()))
	assert.Equal(t, []int{1}, r.Fired())

	require.NoError(t, r.Set())
	assert.Equal(t, nvml.SUCCESS, code(d.GetName()))
	assert.Equal(t, migUUID, must(device.GetUUID()))
}

// Another process destroys an instance and makes an equal one in the middle: the
// UUID that the client reads next is another.
func TestUUIDThatChanges(t *testing.T) {
	t.Parallel()
	s, lib, r := start(t)
	gi, ci := create(must(lib.DeviceGetHandleByIndex(0)))
	before := must(must(ci.GetInfo()).Device.GetUUID())
	require.NoError(t, r.Set(fault.Rule{Method: "GpuInstance.GetInfo", Times: 1, Before: func(fault.Call) {
		bare := must(s.NVML().DeviceGetHandleByIndex(0))
		old := must(bare.GetGpuInstanceById(int(must(gi.GetInfo()).Id)))
		whole := must(old.GetComputeInstanceProfileInfo(nvml.COMPUTE_INSTANCE_PROFILE_3_SLICE, 0))
		oldCI := must(old.GetComputeInstanceById(0))
		assert.Equal(t, nvml.SUCCESS, oldCI.Destroy())
		must(old.CreateComputeInstance(&whole))
	}}))
	must(gi.GetInfo())
	assert.Equal(t, nvml.ERROR_INVALID_ARGUMENT, code(ci.GetInfo()), "the old one is gone")
	after := must(must(must(gi.GetComputeInstanceById(0)).GetInfo()).Device.GetUUID())
	assert.NotEqual(t, before, after)
	assert.Equal(t, []int{1}, r.Fired())
}

// Several rules for one call: the first effect decides, all functions run.
func TestRulesTogether(t *testing.T) {
	t.Parallel()
	var order []string
	note := func(s string) func(fault.Call) { return func(fault.Call) { order = append(order, s) } }
	s, lib, r := start(
		t,
		fault.Rule{Method: "Device.CreateGpuInstance", Before: note("1 before"), After: note("1 after")},
		fault.Rule{Method: "Device.*", Nth: 2, Effect: fault.After, Return: nvml.ERROR_TIMEOUT, Before: note("2 before")},
		fault.Rule{Method: "Device.CreateGpuInstance", Effect: fault.Refuse, Return: nvml.ERROR_UNKNOWN, After: note("3 after")},
	)
	d := must(lib.DeviceGetHandleByIndex(0))
	info := must(d.GetGpuInstanceProfileInfo(0))
	assert.Equal(t, nvml.ERROR_TIMEOUT, code(d.CreateGpuInstance(&info)))
	assert.Equal(t, 1, count(t, s, 0))
	assert.Equal(t, []string{"1 before", "2 before", "1 after", "3 after"}, order)
	calls := r.Calls()
	assert.Equal(t, []int{0, 1, 2}, calls[len(calls)-1].Fired)
	assert.Equal(t, nvml.ERROR_TIMEOUT, calls[len(calls)-1].Return)
}

// After does the call, and what the library said is not what the client gets.
func TestFunctionsSeeTheCall(t *testing.T) {
	t.Parallel()
	var before, after fault.Call
	_, lib, _ := start(t, fault.Rule{
		Method: "MigDevice.GetUUID", Effect: fault.Refuse, Return: nvml.ERROR_UNKNOWN,
		Before: func(c fault.Call) { before = c }, After: func(c fault.Call) { after = c },
	})
	d := must(lib.DeviceGetHandleByIndex(1))
	_, ci := create(d)
	assert.Equal(t, nvml.ERROR_UNKNOWN, code(must(ci.GetInfo()).Device.GetUUID()))
	want := fault.Call{N: before.N, Method: "MigDevice.GetUUID", GPU: 1, UUID: must(d.GetUUID()), Fired: []int{0}}
	assert.Equal(t, want, before)
	want.Done, want.Return = true, nvml.ERROR_UNKNOWN
	assert.Equal(t, want, after)
}

func TestHiddenHolderByRule(t *testing.T) {
	t.Parallel()
	s, lib, _ := start(t)
	d := must(lib.DeviceGetHandleByIndex(0))
	gi, ci := create(d)
	release, err := s.HoldInstance(0, int(must(gi.GetInfo()).Id), nvmlfake.Holder{Name: "monitor", Hidden: true})
	require.NoError(t, err)
	assert.Equal(t, nvml.SUCCESS, ci.Destroy())
	assert.Equal(t, nvml.ERROR_IN_USE, gi.Destroy(), "the fake's own refusal comes through")
	release()
	assert.Equal(t, nvml.SUCCESS, gi.Destroy())
}
