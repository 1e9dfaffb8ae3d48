package nvmlfake_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/nvmlfake"
)

func TestUnmodelledCallsAreRecorded(t *testing.T) {
	t.Parallel()
	s, lib := start(t, nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a30-24gb"}}})
	d := must(lib.DeviceGetHandleByIndex(0))
	assert.Empty(t, s.Unmodelled())
	speed, ret := d.GetFanSpeed()
	assert.Equal(t, []any{uint32(0), nvml.ERROR_NOT_SUPPORTED}, []any{speed, ret})
	events, ret := lib.EventSetCreate()
	assert.Equal(t, nvml.ERROR_NOT_SUPPORTED, ret)
	assert.Equal(t, nvml.ERROR_NOT_SUPPORTED, events.Free(), "a handle, not nil")
	assert.Equal(t, nvml.ERROR_NOT_SUPPORTED, code(lib.DeviceGetFanSpeed(d)))
	assert.Equal(t, nvml.ERROR_NOT_SUPPORTED, code(lib.UnitGetCount()))
	want := []nvmlfake.Call{{Method: "Device.GetFanSpeed", Count: 2}, {Method: "EventSetCreate", Count: 1}, {Method: "EventSet.Free", Count: 1}, {Method: "UnitGetCount", Count: 1}}
	calls := s.Unmodelled()
	assert.Equal(t, want, calls)
	calls[0].Count = 99
	assert.Equal(t, want, s.Unmodelled(), "the slice is the caller's")
}

// Every method of every kind of handle can be called with zero arguments, on a
// live handle, on a dead one and without Init. None panics, none returns a nil
// handle where the method can fail, and none succeeds without Init.
func TestNoMethodPanics(t *testing.T) {
	t.Parallel()
	handles := func(lib nvml.Interface) map[string]any {
		d := must(lib.DeviceGetHandleByIndex(0))
		gi := must(d.CreateGpuInstance(infoOf(t, d, "a100-40gb", "2g.10gb")))
		ci := must(gi.CreateComputeInstance(computeInfoOf(gi, 0)))
		return map[string]any{
			"library": lib, "device": d, "GPU instance": gi, "compute instance": ci,
			"MIG device": must(ci.GetInfo()).Device,
			"events":     first(lib.EventSetCreate()),
			"unit":       first(lib.UnitGetHandleByIndex(0)),
			"sample":     first(lib.GpmSampleAlloc()),
		}
	}
	for _, state := range []string{"live", "dead", "uninitialised"} {
		for _, kind := range []string{"library", "device", "GPU instance", "compute instance", "MIG device", "events", "unit", "sample"} {
			t.Run(state+" "+kind, func(t *testing.T) {
				t.Parallel()
				s, lib := start(t, nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a100-40gb", MIG: true}}})
				h := handles(lib)[kind]
				switch state {
				case "dead":
					require.NoError(t, s.Reset(0))
				case "uninitialised":
					require.Equal(t, nvml.SUCCESS, lib.Shutdown())
				}
				before := s.String()
				callAll(t, h, state)
				require.NoError(t, s.Audit())
				if state == "uninitialised" {
					assert.Equal(t, before, s.String(), "nothing changes without Init")
				}
			})
		}
	}
}

func first[T any](v T, _ nvml.Return) T { return v }

func callAll(t *testing.T, h any, state string) {
	t.Helper()
	v := reflect.ValueOf(h)
	for i := range v.NumMethod() {
		name := v.Type().Method(i).Name
		if strings.HasPrefix(name, "Init") || name == "Shutdown" {
			continue
		}
		var args []reflect.Value
		for k := range v.Method(i).Type().NumIn() {
			args = append(args, reflect.Zero(v.Method(i).Type().In(k)))
		}
		var results []reflect.Value
		require.NotPanics(t, func() { results = v.Method(i).Call(args) }, name)
		ret, hasCode := nvml.SUCCESS, false
		for _, r := range results {
			if r.Kind() == reflect.Interface && r.Type().PkgPath() == reflect.TypeFor[nvml.Device]().PkgPath() {
				assert.False(t, r.IsNil(), "%s returns a nil handle", name)
			}
			if c, ok := reflect.TypeAssert[nvml.Return](r); ok {
				ret, hasCode = c, true
			}
		}
		// The binding itself checks for nil handles and nil arguments, before
		// it asks the library.
		if state == "uninitialised" && hasCode && ret != nvml.ERROR_INVALID_ARGUMENT {
			assert.Equal(t, nvml.ERROR_UNINITIALIZED, ret, name)
		}
	}
}

// The library's functions that take a handle are those of the handle.
func TestFunctionsForward(t *testing.T) {
	t.Parallel()
	s, lib := start(t, nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a100-40gb", MIG: true}}})
	d := must(lib.DeviceGetHandleByIndex(0))
	assert.Equal(t, must(d.GetName()), must(lib.DeviceGetName(d)))
	assert.Equal(t, must(d.GetUUID()), must(lib.DeviceGetUUID(d)))
	info := infoOf(t, d, "a100-40gb", "2g.10gb")
	gi := must(lib.DeviceCreateGpuInstance(d, info))
	assert.Equal(t, must(gi.GetInfo()), must(lib.GpuInstanceGetInfo(gi)))
	ci := must(lib.GpuInstanceCreateComputeInstance(gi, computeInfoOf(gi, 1)))
	assert.Equal(t, must(ci.GetInfo()), must(lib.ComputeInstanceGetInfo(ci)))
	assert.Equal(t, nvml.ERROR_IN_USE, lib.GpuInstanceDestroy(gi))
	assert.Equal(t, nvml.SUCCESS, lib.ComputeInstanceDestroy(ci))
	assert.Equal(t, nvml.SUCCESS, lib.GpuInstanceDestroy(gi))
	assert.Equal(t, nvml.ERROR_INVALID_ARGUMENT, code(lib.DeviceGetName(nil)))
	activation, ret := lib.DeviceSetMigMode(d, nvml.DEVICE_MIG_DISABLE)
	assert.Equal(t, []nvml.Return{nvml.ERROR_RESET_REQUIRED, nvml.SUCCESS}, []nvml.Return{activation, ret})
	assert.Empty(t, s.Unmodelled())

	// All others forward too: what is recorded is the method of the handle.
	v := reflect.ValueOf(lib)
	for i := range v.NumMethod() {
		m := v.Type().Method(i)
		if f := v.Method(i); f.Type().NumIn() > 0 && f.Type().In(0) == reflect.TypeFor[nvml.Device]() {
			args := []reflect.Value{reflect.ValueOf(d)}
			for k := 1; k < f.Type().NumIn(); k++ {
				args = append(args, reflect.Zero(f.Type().In(k)))
			}
			f.Call(args)
			for _, c := range s.Unmodelled() {
				require.NotEqual(t, m.Name, c.Method)
			}
		}
	}
	require.NoError(t, s.Audit())
}
