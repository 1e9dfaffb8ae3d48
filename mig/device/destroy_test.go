package device_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
)

func TestDestroyWhereNothingBegins(t *testing.T) {
	t.Parallel()
	srv, d := fake(t, "a100-40gb")
	create(t, d, "3g.20gb@4")
	for _, start := range []int{-1, 0, 5, 8, 1 << 40} {
		err := d.Destroy(t.Context(), start)
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
			create(t, d, "3g.20gb@4")
			before, err := d.State(t.Context())
			require.NoError(t, err)
			err = d.Destroy(t.Context(), 4)
			require.ErrorIs(t, err, device.ErrInUse)
			require.ErrorContains(t, err, tt.text)
			var op *device.OpError
			require.ErrorAs(t, err, &op)
			assert.Equal(t, 2, op.GPUInstance)
			assert.Equal(t, tt.ci, op.ComputeInstance)
			assert.Equal(t, d.UUID(), op.Device)
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
			require.NoError(t, d.Destroy(t.Context(), 4))
			assert.Zero(t, layout(t, srv).Len())
		})
	}
}

// Whichever call of a Destroy fails: while the error leaves nothing behind,
// nothing has changed; otherwise a second Destroy finishes the work.
func TestDestroyResumesAfterEveryFault(t *testing.T) {
	t.Parallel()
	srv, devs := newServer(t, true, "a100-40gb")
	f := &faults{code: nvml.ERROR_UNKNOWN}
	d := open(t, hooked{devs[0], f.hook})
	create(t, d, "1g.5gb@0", "3g.20gb@4")
	f.calls = 0
	require.NoError(t, d.Destroy(t.Context(), 4))
	total := f.calls
	for n := 1; n <= total; n++ {
		create(t, d, "3g.20gb@4")
		before, err := d.State(t.Context())
		require.NoError(t, err)
		f.calls, f.nth = 0, n
		err = d.Destroy(t.Context(), 4)
		f.nth = 0
		after, stateErr := d.State(t.Context())
		require.NoError(t, stateErr)
		require.ErrorIs(t, err, nvml.ERROR_UNKNOWN, "call %d of %d", n, total)
		var op *device.OpError
		require.ErrorAs(t, err, &op)
		if op.Left == nil {
			require.Equal(t, before, after, "call %d: %v", n, err)
		}
		if err := d.Destroy(t.Context(), 4); err != nil {
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
			create(t, other, "3g.20gb@4")
			done := false
			f := &faults{then: func(call string) {
				if call == at && !done {
					done = true
					assert.NoError(t, other.Destroy(t.Context(), 4))
				}
			}}
			d := open(t, hooked{devs[0], f.hook})
			require.NoError(t, d.Destroy(t.Context(), 4))
			assert.True(t, done)
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
	create(t, d, "3g.20gb@4")
	err := d.Destroy(t.Context(), 4)
	require.ErrorIs(t, err, device.ErrUnverified)
	var op *device.OpError
	require.ErrorAs(t, err, &op)
	require.NotNil(t, op.Left)
	assert.Equal(t, "3g.20gb@4", op.Left.Instance.String())
}
