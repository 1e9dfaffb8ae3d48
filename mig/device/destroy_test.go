package device_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

func TestDestroyWhereNothingBegins(t *testing.T) {
	t.Parallel()
	srv, d := fake(t, "a100-40gb")
	create(t, d, "3g.20gb@4")
	for _, start := range []int{-1, 0, 5, 8, 1 << 40} {
		in := standing(t, d, 4)
		in.Start = start
		err := d.Destroy(t.Context(), in)
		require.ErrorIs(t, err, mig.ErrNoInstance)
		var op *device.OpError
		require.ErrorAs(t, err, &op)
		assert.Equal(t, start, op.Start)
	}
	assert.Equal(t, 1, layout(t, srv).Len())
}

func TestDestroyOfWhatIsInUse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		call       string
		ci         int
		left, text string
	}{
		{"ComputeInstance.Destroy", 0, "", "GI 2, CI 0"},
		{"GpuInstance.Destroy", device.None, "3g.20gb@4 GI 2 []", "GI 2"},
	}
	for _, tt := range tests {
		t.Run(tt.call, func(t *testing.T) {
			t.Parallel()
			srv, devs := newServer(t, true, "a100-40gb")
			f := &faults{codes: map[string]nvml.Return{tt.call: nvml.ERROR_IN_USE}}
			d := open(t, hooked{devs[0], f.hook})
			in := create(t, d, "3g.20gb@4")[0]
			before, err := d.State(t.Context())
			require.NoError(t, err)
			err = d.Destroy(t.Context(), in)
			require.ErrorIs(t, err, device.ErrInUse)
			require.ErrorContains(t, err, tt.text)
			var op *device.OpError
			require.ErrorAs(t, err, &op)
			assert.Equal(t, 2, op.GPUInstance)
			assert.Equal(t, tt.ci, op.ComputeInstance)
			assert.Equal(t, d.UUID(), op.GPU)
			after, err := d.State(t.Context())
			require.NoError(t, err)
			if tt.left == "" {
				assert.Nil(t, op.Left)
				assert.Equal(t, before, after)
			} else {
				require.NotNil(t, op.Left)
				assert.Equal(t, tt.left, op.Left.String())
				assert.Equal(t, []device.Instance{*op.Left}, after.Instances)
			}
			f.set(nil)
			require.NoError(t, d.Destroy(t.Context(), in))
			assert.Zero(t, layout(t, srv).Len())
		})
	}
}

// Whichever call of a Destroy fails: while the error leaves nothing behind,
// nothing has changed; otherwise a second Destroy finishes the work. A code that
// says that the instance has gone is not believed.
func TestDestroyResumesAfterEveryFault(t *testing.T) {
	t.Parallel()
	for _, code := range []nvml.Return{nvml.ERROR_UNKNOWN, nvml.ERROR_NOT_FOUND, nvml.ERROR_INVALID_ARGUMENT} {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			testDestroyResumes(t, code)
		})
	}
}

func testDestroyResumes(t *testing.T, code nvml.Return) {
	t.Helper()
	srv, devs := newServer(t, true, "a100-40gb")
	f := &faults{code: code}
	d := open(t, hooked{devs[0], f.hook})
	in := create(t, d, "1g.5gb@0", "3g.20gb@4")[1]
	f.calls = 0
	require.NoError(t, d.Destroy(t.Context(), in))
	total := f.calls
	for n := 1; n <= total; n++ {
		in := create(t, d, "3g.20gb@4")[0]
		before, err := d.State(t.Context())
		require.NoError(t, err)
		f.calls, f.nth = 0, n
		err = d.Destroy(t.Context(), in)
		f.nth = 0
		after, stateErr := d.State(t.Context())
		require.NoError(t, stateErr)
		if err == nil {
			require.NotEqual(t, nvml.ERROR_UNKNOWN, code, "call %d of %d", n, total)
			require.Equal(t, "1g.5gb@0", layout(t, srv).String(), "call %d of %d", n, total)
			continue
		}
		var op *device.OpError
		require.ErrorAs(t, err, &op)
		if op.Left == nil {
			require.Equal(t, before, after, "call %d: %v", n, err)
		}
		if err := d.Destroy(t.Context(), in); err != nil {
			require.ErrorIs(t, err, mig.ErrNoInstance, "call %d", n)
		}
		require.Equal(t, "1g.5gb@0", layout(t, srv).String())
	}
	require.NoError(t, srv.Audit())
}

// What another process destroys in between counts as destroyed.
func TestDestroyTogetherWithOthers(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"GetGpuInstanceById", "GetComputeInstanceById", "ComputeInstance.Destroy", "GpuInstance.Destroy"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			srv, devs := newServer(t, true, "a100-40gb")
			other := open(t, devs[0])
			in := create(t, other, "3g.20gb@4")[0]
			done := false
			f := &faults{then: func(call string) {
				if call == at && !done {
					done = true
					assert.NoError(t, other.Destroy(t.Context(), in))
				}
			}}
			d := open(t, hooked{devs[0], f.hook})
			require.NoError(t, d.Destroy(t.Context(), in))
			assert.True(t, done)
			assert.Zero(t, layout(t, srv).Len())
		})
	}
}

func TestDestroyAfterTheComputeInstanceIsGone(t *testing.T) {
	t.Parallel()
	srv, devs := newServer(t, true, "a100-40gb")
	in := create(t, open(t, devs[0]), "3g.20gb@4")[0]
	f := &faults{then: before("GetComputeInstanceById", "GetMaxMigDeviceCount", func() { empty(t, devs[0], in) })}
	require.NoError(t, open(t, hooked{devs[0], f.hook}).Destroy(t.Context(), in))
	assert.Zero(t, layout(t, srv).Len())
}

// A driver that does not find what it is told to destroy has it no longer.
func TestDestroyOfWhatIsNotFound(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"ComputeInstance.Destroy", "GpuInstance.Destroy"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			srv, devs := newServer(t, true, "a100-40gb")
			other := open(t, devs[0])
			in := create(t, other, "3g.20gb@4")[0]
			d := open(t, hooked{devs[0], func(call string) nvml.Return {
				if call != at {
					return nvml.SUCCESS
				}
				assert.NoError(t, other.Destroy(t.Context(), in))
				return nvml.ERROR_NOT_FOUND
			}})
			require.NoError(t, d.Destroy(t.Context(), in))
			assert.Zero(t, layout(t, srv).Len())
		})
	}
}

// undead is a GPU whose instances survive their destruction.
type undead struct{ nvml.Device }

type undeadGI struct{ nvml.GpuInstance }

func (u undead) GetGpuInstanceById(id int) (nvml.GpuInstance, nvml.Return) { //nolint:revive // NVML's name
	gi, ret := u.Device.GetGpuInstanceById(id)
	return undeadGI{gi}, ret
}

func (undeadGI) Destroy() nvml.Return { return nvml.SUCCESS }

func TestDestructionIsReadBack(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, true, "a100-40gb")
	d := open(t, undead{devs[0]})
	in := create(t, d, "3g.20gb@4")[0]
	for _, left := range []device.Instance{in, {Instance: in.Instance, ID: in.ID}} { // the second time without compute instance
		err := d.Destroy(t.Context(), left)
		require.ErrorIs(t, err, device.ErrUnverified)
		var op *device.OpError
		require.ErrorAs(t, err, &op)
		require.NotNil(t, op.Left)
		assert.Equal(t, "3g.20gb@4 GI 2 []", op.Left.String())
	}
}

// What is left is what a reading shows, whatever the driver has said.
func TestDestroyLeavesWhatStands(t *testing.T) {
	t.Parallel()
	for methods, want := range map[string]error{
		"ComputeInstance.Destroy":                     device.ErrInUse,
		"ComputeInstance.Destroy,GpuInstance.Destroy": device.ErrUnverified,
	} {
		r := newRig(t.Context(), t, "a100-40gb")
		in := create(t, r.plain, "3g.20gb@4")[0]
		require.NoError(t, r.rules.Set(fault.Rule{Method: methods, Effect: fault.Pretend}))
		err := r.gpu.Destroy(t.Context(), in)
		require.ErrorIs(t, err, want)
		var op *device.OpError
		require.ErrorAs(t, err, &op)
		require.NotNil(t, op.Left)
		assert.Equal(t, in, *op.Left, "the compute instance still stands")
	}
}
