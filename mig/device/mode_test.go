package device_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/nvmlfake"
)

// reset counts the resets of a fake's first GPU.
type reset struct {
	srv   *nvmlfake.Server
	uuids []string
	err   error // of a reset that is refused
	idle  bool  // says it did, and did not
}

func (r *reset) do(_ context.Context, uuid string) error {
	r.uuids = append(r.uuids, uuid)
	if r.err != nil || r.idle {
		return r.err
	}
	return r.srv.Reset(0)
}

var (
	off     = device.Mode{}
	on      = device.Mode{Current: true, Pending: true}
	turning = device.Mode{Pending: true} // on, after a reset
	ending  = device.Mode{Current: true} // off, after a reset
)

// Every model, from every mode to every mode, with and without a way to reset.
func TestSetMode(t *testing.T) {
	t.Parallel()
	for m := range mig.Models() {
		if m.MemorySlices() == 0 {
			continue
		}
		t.Run(m.Key(), func(t *testing.T) {
			t.Parallel()
			waits := m.Spec().ModeNeedsReset
			for _, before := range []device.Mode{off, on, turning, ending} {
				if !waits && before.Current != before.Pending {
					continue // cannot be
				}
				for _, want := range []bool{false, true} {
					for _, withReset := range []bool{false, true} {
						srv, devs := newServer(t, before.Current, m.Key())
						if before.Current != before.Pending {
							_, ret := devs[0].SetMigMode(map[bool]int{false: nvml.DEVICE_MIG_DISABLE, true: nvml.DEVICE_MIG_ENABLE}[before.Pending])
							require.Equal(t, nvml.SUCCESS, ret)
						}
						d := open(t, devs[0])
						r := &reset{srv: srv}
						var f device.ResetFunc
						if withReset {
							f = r.do
						}
						report, err := d.SetMode(t.Context(), want, f)
						now := device.Mode{Current: want, Pending: want}
						needed := waits && before.Current != want
						if needed && !withReset {
							require.ErrorIs(t, err, device.ErrPending, "%+v to %v", before, want)
							now.Current = !want
						} else {
							require.NoError(t, err, "%+v to %v", before, want)
						}
						assert.Equal(t, device.ModeReport{Before: before, After: now, Reset: needed && withReset}, report)
						st, err := d.State(t.Context())
						require.NoError(t, err)
						assert.Equal(t, now, st.Mode)
						assert.Len(t, r.uuids, map[bool]int{false: 0, true: 1}[report.Reset])
						for _, uuid := range r.uuids {
							assert.Equal(t, d.UUID(), uuid)
						}
					}
				}
			}
		})
	}
}

func TestCase39ResetByGeneration(t *testing.T) {
	t.Parallel()
	for model, wantReset := range map[string]bool{"a100-40gb": true, "a100-80gb": true, "a30-24gb": true, "h100-80gb-sxm5": false, "h100-80gb-pcie": false} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			srv, devs := newServer(t, false, model)
			r := &reset{srv: srv}
			report, err := open(t, devs[0]).SetMode(t.Context(), true, r.do)
			require.NoError(t, err)
			assert.Equal(t, wantReset, report.Reset)
			assert.Equal(t, on, report.After)

			// Nothing can be created while the mode is pending.
			_, devs = newServer(t, false, model)
			d := open(t, devs[0])
			_, err = d.SetMode(t.Context(), true, nil)
			smallest := slices.Collect(d.Model().PlainProfiles())[0]
			_, created := d.Create(t.Context(), mig.Instance{Profile: smallest.Name, Start: 0})
			if wantReset {
				require.ErrorIs(t, err, device.ErrPending)
				require.ErrorIs(t, created, device.ErrDisabled)
			} else {
				require.NoError(t, err)
				require.NoError(t, created)
			}
		})
	}
}

// A kernel module that NVML does not list keeps four GPUs from being reset: two
// of them are named, the mode stays pending, and nothing else happens.
func TestCase40ResetBlockedByClient(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, false, "a100-40gb")
	f := &faults{}
	var calls []string
	d := open(t, hooked{devs[0], f.hook})
	f.then = func(call string) { calls = append(calls, call) }
	run := func(_ context.Context, name string, args ...string) (stdout, stderr []byte, exit int, err error) {
		assert.Equal(t, "nvidia-smi", name)
		assert.Equal(t, []string{"--gpu-reset", "--id=" + d.UUID()}, args)
		calls = append(calls, "reset")
		return []byte("The following GPUs could not be reset:\n" +
			"  GPU 00000000:01:00.0: In use by another client\n" +
			"  GPU 00000000:47:00.0: In use by another client\n\n" +
			"2 devices are currently being used by one or more other processes\n"), nil, 255, nil
	}
	report, err := d.SetMode(t.Context(), true, device.NvidiaSMIReset(run))
	require.ErrorIs(t, err, device.ErrPending)
	require.ErrorIs(t, err, device.ErrInUse)
	var refused *device.ResetError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, []device.ResetRefusal{
		{BusID: "0000:01:00.0", Reason: "In use by another client"}, {BusID: "0000:47:00.0", Reason: "In use by another client"},
	}, refused.Refused)
	assert.Equal(t, 255, refused.Exit)
	require.ErrorContains(t, err, "0000:47:00.0: In use by another client")
	assert.Equal(t, device.ModeReport{Before: off, After: turning}, report)
	assert.Equal(t, []string{"reset", "GetMigMode"}, calls[len(calls)-2:], "only a reading follows")
}

// The same where the driver itself refuses: of four GPUs two are held by a
// kernel module, and those two are named by their bus ids.
func TestCase40TwoOfFour(t *testing.T) {
	t.Parallel()
	srv, devs := newServer(t, false, "a100-40gb", "a100-40gb", "a100-40gb", "a100-40gb")
	var want []string
	for _, gpu := range []int{0, 2} {
		_, err := srv.Hold(gpu, nvmlfake.Holder{Name: "nvidia_drm", Hidden: true})
		require.NoError(t, err)
		pci, ret := devs[gpu].GetPciInfo()
		require.Equal(t, nvml.SUCCESS, ret)
		want = append(want, fmt.Sprintf("%04x:%02x:%02x.0", pci.Domain, pci.Bus, pci.Device))
	}
	var blocked []string
	for i, dev := range devs {
		d := open(t, dev)
		report, err := d.SetMode(t.Context(), true, func(context.Context, string) error { return srv.Reset(i) })
		if err == nil {
			assert.Equal(t, device.ModeReport{Before: off, After: on, Reset: true}, report)
			create(t, d, "3g.20gb@4")
			continue
		}
		assert.Equal(t, device.ModeReport{Before: off, After: turning}, report, "pending, and no reset was tried")
		require.ErrorIs(t, err, device.ErrPending)
		var inUse *device.InUseError
		require.ErrorAs(t, err, &inUse)
		assert.Empty(t, inUse.Blockers, "nobody to name")
		require.ErrorContains(t, err, "kernel module")
		blocked = append(blocked, inUse.BusID)
	}
	assert.Equal(t, want, blocked)
}

// reluctant is a GPU that answers a change of mode in its own way.
type reluctant struct {
	nvml.Device
	activation, ret nvml.Return
	ignore          bool // the mode is not even pending afterwards
}

func (d reluctant) SetMigMode(mode int) (activation, ret nvml.Return) {
	if d.ret == nvml.SUCCESS && !d.ignore {
		activation, _ = d.Device.SetMigMode(mode)
	}
	if d.activation != nvml.SUCCESS {
		activation = d.activation
	}
	return activation, d.ret
}

// The first result of the binding is what became of the activation, the second
// the code of the call.
func TestSetModeCodes(t *testing.T) {
	t.Parallel()
	refusal := &device.ResetError{Refused: []device.ResetRefusal{{BusID: "0000:01:00.0", Reason: "Insufficient Permissions"}}, Exit: 4}
	tests := []struct {
		name   string
		dev    reluctant
		reset  reset
		resets int
		after  device.Mode
		want   []error // none: success
		not    []error
	}{
		{name: "in use", dev: reluctant{activation: nvml.ERROR_IN_USE}, after: turning, want: []error{device.ErrPending, device.ErrInUse, nvml.ERROR_IN_USE}},
		{name: "reset required", dev: reluctant{activation: nvml.ERROR_RESET_REQUIRED}, resets: 1, after: on},
		{name: "no reset through this call", dev: reluctant{activation: nvml.ERROR_NOT_SUPPORTED}, resets: 1, after: on},
		{name: "another code", dev: reluctant{activation: nvml.ERROR_UNKNOWN}, after: turning, want: []error{device.ErrPending, nvml.ERROR_UNKNOWN}},
		{name: "no root", dev: reluctant{ret: nvml.ERROR_NO_PERMISSION}, after: off, want: []error{device.ErrNoPermission}, not: []error{device.ErrPending}},
		{name: "no MIG", dev: reluctant{ret: nvml.ERROR_NOT_SUPPORTED, activation: nvml.ERROR_RESET_REQUIRED}, after: off, want: []error{device.ErrNotSupported}, not: []error{device.ErrPending}},
		{name: "said yes and did nothing", dev: reluctant{ignore: true}, after: off, want: []error{device.ErrUnverified}, not: []error{device.ErrPending}},
		{name: "reset refused", reset: reset{err: refusal}, resets: 1, after: turning, want: []error{device.ErrPending, device.ErrNoPermission, refusal}, not: []error{device.ErrInUse}},
		{name: "reset that does nothing", reset: reset{idle: true}, resets: 1, after: turning, want: []error{device.ErrUnverified}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv, devs := newServer(t, false, "a100-40gb")
			tt.dev.Device = devs[0]
			r := tt.reset
			r.srv = srv
			report, err := open(t, tt.dev).SetMode(t.Context(), true, r.do)
			if tt.want == nil {
				require.NoError(t, err)
			} else {
				var op *device.OpError
				require.ErrorAs(t, err, &op)
				assert.Equal(t, "switch MIG mode on", op.Op)
			}
			for _, want := range tt.want {
				require.ErrorIs(t, err, want)
			}
			for _, not := range tt.not {
				require.NotErrorIs(t, err, not)
			}
			assert.Equal(t, tt.after, report.After)
			assert.Len(t, r.uuids, tt.resets)
		})
	}
	t.Run("pending though none is needed", func(t *testing.T) {
		t.Parallel()
		srv, devs := newServer(t, false, "h100-80gb-sxm5")
		r := reset{srv: srv}
		_, err := open(t, stuck{devs[0]}).SetMode(t.Context(), true, r.do)
		require.ErrorIs(t, err, device.ErrUnverified)
		require.ErrorIs(t, err, device.ErrPending)
		assert.Empty(t, r.uuids)
	})
}

// stuck is a GPU whose mode stays pending for ever.
type stuck struct{ nvml.Device }

func (stuck) GetMigMode() (current, pending int, ret nvml.Return) {
	return nvml.DEVICE_MIG_DISABLE, nvml.DEVICE_MIG_ENABLE, nvml.SUCCESS
}

// Every call that fails is told, and tells whether the mode is pending.
func TestSetModeSurfacesEveryFault(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		srv, devs := newServer(t, true, "a100-40gb")
		f := &faults{code: nvml.ERROR_UNKNOWN}
		d := open(t, hooked{devs[0], f.hook})
		f.calls, f.nth = 0, n
		r := &reset{srv: srv}
		report, err := d.SetMode(t.Context(), false, r.do)
		if f.calls < n {
			require.NoError(t, err)
			require.Equal(t, off, report.After)
			require.Greater(t, n, 20, "the calls were counted")
			return
		}
		require.ErrorIs(t, err, nvml.ERROR_UNKNOWN, "call %d", n)
		current, pending, _ := devs[0].GetMigMode()
		if current == nvml.DEVICE_MIG_ENABLE && pending == nvml.DEVICE_MIG_DISABLE && report.After == ending {
			require.ErrorIs(t, err, device.ErrPending, "call %d", n)
		}
	}
}

func TestSetModeOfZeroGPU(t *testing.T) {
	t.Parallel()
	var g device.GPU
	_, err := g.SetMode(t.Context(), true, nil)
	require.ErrorIs(t, err, nvml.ERROR_INVALID_ARGUMENT)
	require.NotErrorIs(t, err, device.ErrPending)
}

// MIG mode is switched on where that needs a reset. On hardware the reset is
// device.NvidiaSMIReset(device.Exec).
func ExampleGPU_SetMode() {
	srv, err := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a100-40gb"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	lib := srv.NVML()
	if ret := lib.Init(); ret != nvml.SUCCESS {
		fmt.Println(ret)
		return
	}
	handle, ret := lib.DeviceGetHandleByIndex(0)
	if ret != nvml.SUCCESS {
		fmt.Println(ret)
		return
	}
	ctx := context.Background()
	gpu, err := device.Open(ctx, handle)
	if err != nil {
		fmt.Println(err)
		return
	}
	gpu = gpu.WithProcessNames(lib.SystemGetProcessName)
	reset := func(context.Context, string) error { return srv.Reset(0) }

	stop, err := srv.Hold(0, nvmlfake.Holder{PID: 4242, Name: "python3", MemoryMiB: 512})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = gpu.SetMode(ctx, true, reset)
	var inUse *device.InUseError
	if errors.As(err, &inUse) {
		fmt.Println("refused:", inUse)
	}
	stop()
	report, err := gpu.SetMode(ctx, true, reset)
	fmt.Printf("%+v %v\n", report, err)
	// Output:
	// refused: 0000:01:00.0 is in use by python3 (pid 4242, C, 512 MiB)
	// {Before:{Current:false Pending:false} After:{Current:true Pending:true} Reset:true} <nil>
}
