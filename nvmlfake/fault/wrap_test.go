package fault_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/nvmlfake"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

const wrapper = "github.com/gpushare/gpushare/nvmlfake/fault"

// isWrapped reports whether a handle comes from package fault.
func isWrapped(h any) bool { return reflect.TypeOf(h).PkgPath() == wrapper }

// Whatever way a handle comes out, it is wrapped, and equal to the one that came
// out another way.
func TestEveryHandleIsWrapped(t *testing.T) {
	t.Parallel()
	_, lib, r := start(t)
	d := must(lib.DeviceGetHandleByIndex(0))
	gi, ci := create(d)
	giInfo, ciInfo := must(gi.GetInfo()), must(ci.GetInfo())
	device := ciInfo.Device
	uuid, migUUID := must(d.GetUUID()), must(device.GetUUID())
	info := must(d.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_3_SLICE))
	whole := must(gi.GetComputeInstanceProfileInfo(nvml.COMPUTE_INSTANCE_PROFILE_3_SLICE, 0))
	for _, same := range [][]any{
		{
			d, must(lib.DeviceGetHandleByUUID(uuid)), must(lib.DeviceGetHandleByPciBusId("00000000:01:00.0")), giInfo.Device,
			must(device.GetDeviceHandleFromMigDeviceHandle()), must(lib.DeviceGetDeviceHandleFromMigDeviceHandle(device)),
		},
		{gi, must(d.GetGpuInstanceById(int(giInfo.Id))), must(d.GetGpuInstances(&info))[0], ciInfo.GpuInstance},
		{ci, must(gi.GetComputeInstanceById(0)), must(gi.GetComputeInstances(&whole))[0]},
		{device, must(d.GetMigDeviceHandleByIndex(0)), must(lib.DeviceGetHandleByUUID(migUUID))},
	} {
		for _, h := range same {
			assert.True(t, isWrapped(h), "%T", h)
			assert.Equal(t, same[0], h)
		}
	}
	assert.True(t, isWrapped(first(lib.EventSetCreate())))

	bare := reflect.ValueOf(d).FieldByName("Device").Interface().(nvml.Device)
	assert.False(t, isWrapped(bare))
	assert.Equal(t, d, fault.WrapDevice(bare, r))
	assert.Equal(t, d, fault.WrapDevice(d, r), "once is enough")
	assert.Equal(t, uuid, must(lib.DeviceGetUUID(bare)), "also what is not wrapped can be passed in")
	bareMIG := reflect.ValueOf(device).FieldByName("Device").Interface().(nvml.Device)
	assert.Equal(t, device, fault.WrapDevice(bareMIG, r))
}

func first[T any](v T, _ nvml.Return) T { return v }

// handles are one of each kind. Gone ones come from a failed look-up.
func handles(lib nvml.Interface, gone bool) map[string]any {
	d := must(lib.DeviceGetHandleByIndex(0))
	gi, ci := create(d)
	device := must(ci.GetInfo()).Device
	if gone {
		return map[string]any{
			"device": first(lib.DeviceGetHandleByIndex(99)), "GPU instance": first(d.GetGpuInstanceById(99)),
			"compute instance": first(gi.GetComputeInstanceById(99)),
		}
	}
	return map[string]any{
		"library": lib, "device": d, "GPU instance": gi, "compute instance": ci, "MIG device": device, "events": first(lib.EventSetCreate()),
	}
}

// skipped are the methods that end the life of what is looked at.
func skipped(name string) bool { return name == "Shutdown" || name == "Destroy" }

// zeroCall calls a method with zero arguments.
func zeroCall(m reflect.Value) []reflect.Value {
	var args []reflect.Value
	for k := range m.Type().NumIn() {
		args = append(args, reflect.Zero(m.Type().In(k)))
	}
	return m.Call(args)
}

// codeOf returns the code of a call and whether it has one.
func codeOf(results []reflect.Value) (nvml.Return, bool) {
	if len(results) == 0 {
		return 0, false
	}
	return reflect.TypeAssert[nvml.Return](results[len(results)-1])
}

func isHandle(t reflect.Type) bool {
	return t.Kind() == reflect.Interface && t.PkgPath() == reflect.TypeFor[nvml.Device]().PkgPath()
}

// Without a rule that fires, every method answers what the library answers, and
// the library sees the same calls.
func TestTransparent(t *testing.T) {
	t.Parallel()
	bareServer, err := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a100-40gb", MIG: true}, {Model: "h100-80gb-sxm5", MIG: true}}})
	require.NoError(t, err)
	bareLib := bareServer.NVML()
	require.Equal(t, nvml.SUCCESS, bareLib.Init())
	server, lib, _ := start(t)
	for _, gone := range []bool{false, true} {
		bare, wrapped := handles(bareLib, gone), handles(lib, gone)
		for kind := range wrapped {
			b, w := reflect.ValueOf(bare[kind]), reflect.ValueOf(wrapped[kind])
			for i := range w.NumMethod() {
				name := w.Type().Method(i).Name
				if skipped(name) {
					continue
				}
				got, want := zeroCall(w.Method(i)), zeroCall(b.MethodByName(name))
				require.Len(t, got, len(want))
				for k := range got {
					if isHandle(got[k].Type()) || name == "GetInfo" {
						continue
					}
					assert.Equal(t, want[k].Interface(), got[k].Interface(), "%s %s gone %t", kind, name, gone)
				}
			}
		}
	}
	assert.ElementsMatch(t, bareServer.Unmodelled(), server.Unmodelled())
	require.NoError(t, server.Audit())
}

// Every method with a code can be refused; then nothing reaches the library, the
// values are zero, and a handle is an invalid one and not nil.
func TestEveryMethodCanBeRefused(t *testing.T) {
	t.Parallel()
	server, lib, r := start(t)
	all := handles(lib, false)
	require.NoError(t, r.Set(fault.Rule{Method: "*", Effect: fault.Refuse, Return: nvml.ERROR_TIMEOUT}))
	before, unmodelled := server.String(), len(server.Unmodelled())
	n := 0
	for kind, h := range all {
		v := reflect.ValueOf(h)
		for i := range v.NumMethod() {
			name := v.Type().Method(i).Name
			if v.Method(i).Type().NumIn() > 0 && isHandle(v.Method(i).Type().In(0)) {
				continue // without a handle it is not a call on one
			}
			results := zeroCall(v.Method(i))
			ret, has := codeOf(results)
			if !has {
				continue
			}
			n++
			require.Equal(t, nvml.ERROR_TIMEOUT, ret, "%s %s", kind, name)
			for _, x := range results[:len(results)-1] {
				switch {
				case isHandle(x.Type()) && isWrappedKind(x.Type()):
					require.False(t, x.IsNil(), "%s %s", kind, name)
					require.True(t, isWrapped(x.Interface()), "%s %s", kind, name)
				case x.Type() == reflect.TypeFor[nvml.Return]():
					require.Equal(t, nvml.ERROR_TIMEOUT, x.Interface(), "%s %s", kind, name)
				default:
					require.True(t, x.IsZero(), "%s %s", kind, name)
				}
			}
		}
	}
	assert.Equal(t, []int{n}, r.Fired())
	assert.Equal(t, before, server.String())
	assert.LessOrEqual(t, len(server.Unmodelled())-unmodelled, 17, "the calls that no rule sees")
}

func isWrappedKind(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[nvml.Device](), reflect.TypeFor[nvml.GpuInstance](), reflect.TypeFor[nvml.ComputeInstance](), reflect.TypeFor[nvml.EventSet]():
		return true
	default:
		return false
	}
}

// The functions of the library that take a handle are the handle's methods under
// one name, whatever is passed.
func TestFunctionsAreMethods(t *testing.T) {
	t.Parallel()
	_, lib, r := start(t)
	d := must(lib.DeviceGetHandleByIndex(0))
	gi, ci := create(d)
	require.NoError(t, r.Set(fault.Rule{Method: "DeviceGetHandleByIndex", Effect: fault.Refuse, Return: nvml.ERROR_TIMEOUT}))
	gone := first(lib.DeviceGetHandleByIndex(0))
	r.Forget()
	must(lib.DeviceGetName(d))
	must(lib.GpuInstanceGetInfo(gi))
	must(lib.ComputeInstanceGetInfo(ci))
	assert.Equal(t, nvml.ERROR_INVALID_ARGUMENT, code(lib.DeviceGetName(nil)))
	assert.Equal(t, nvml.ERROR_INVALID_ARGUMENT, lib.GpuInstanceDestroy(nil))
	assert.Equal(t, nvml.ERROR_INVALID_ARGUMENT, code(lib.DeviceGetName(gone)))
	assert.Equal(t, nvml.ERROR_INVALID_ARGUMENT, code(d.GetP2PStatus(gone, 0)), "an invalid argument does not reach the library")
	assert.Equal(t, nvml.ERROR_NOT_SUPPORTED, code(d.GetP2PStatus(d, 0)))
	var names []string
	for _, c := range r.Calls() {
		names = append(names, c.Method)
	}
	assert.Equal(t, "Device.GetName GpuInstance.GetInfo ComputeInstance.GetInfo Device.GetName GpuInstance.Destroy Device.GetName Device.GetP2PStatus Device.GetP2PStatus", strings.Join(names, " "))
}
