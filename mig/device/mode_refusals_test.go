package device_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

func TestSetModeDestroysNothing(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"a100-40gb", "h100-80gb-sxm5"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			srv, devs := newServer(t, true, model)
			d := open(t, devs[0])
			p, err := d.Model().Profile(map[string]string{"a100-40gb": "3g.20gb", "h100-80gb-sxm5": "3g.40gb"}[model])
			require.NoError(t, err)
			in := create(t, d, p.Name+"@4")[0]
			r := &reset{srv: srv}
			report, err := d.SetMode(t.Context(), false, r.do)
			require.ErrorIs(t, err, device.ErrOccupied)
			require.ErrorContains(t, err, p.Name+"@4", "the instance is named")
			assert.Equal(t, device.ModeReport{Before: on, After: on}, report, "not even pending")
			assert.Empty(t, r.uuids)
			assert.Equal(t, 1, layout(t, srv).Len())

			require.NoError(t, d.Destroy(t.Context(), in))
			report, err = d.SetMode(t.Context(), false, r.do)
			require.NoError(t, err)
			assert.Equal(t, off, report.After)
		})
	}
	// Another process creates one after the mode was set: no reset follows.
	t.Run("created meanwhile", func(t *testing.T) {
		t.Parallel()
		srv, devs := newServer(t, true, "a100-40gb")
		other := open(t, devs[0])
		r := &reset{srv: srv}
		d := open(t, meanwhile{devs[0], func() { create(t, other, "1g.5gb@0") }})
		report, err := d.SetMode(t.Context(), false, r.do)
		require.ErrorIs(t, err, device.ErrOccupied)
		require.ErrorIs(t, err, device.ErrPending)
		assert.Equal(t, ending, report.After)
		assert.Empty(t, r.uuids)
		assert.Equal(t, 1, layout(t, srv).Len())
		// The way back disturbs nobody.
		report, err = other.SetMode(t.Context(), true, nil)
		require.NoError(t, err)
		assert.Equal(t, device.ModeReport{Before: ending, After: on}, report)
	})
}

// meanwhile is a GPU where something happens right after a change of mode.
type meanwhile struct {
	nvml.Device
	then func()
}

func (d meanwhile) SetMigMode(mode int) (activation, ret nvml.Return) {
	activation, ret = d.Device.SetMigMode(mode)
	d.then()
	return activation, ret
}

func TestSetModeNamesWhoIsInTheWay(t *testing.T) {
	t.Parallel()
	worker := lists{compute: []nvml.ProcessInfo{process(42, 512<<20, noID, noID)}}
	t.Run("before", func(t *testing.T) {
		t.Parallel()
		srv, devs := newServer(t, false, "a100-40gb")
		r := &reset{srv: srv}
		d := open(t, peopled{Device: devs[0], whole: worker}).WithProcessNames(names)
		report, err := d.SetMode(t.Context(), true, r.do)
		require.ErrorIs(t, err, device.ErrInUse)
		require.NotErrorIs(t, err, device.ErrPending)
		require.ErrorContains(t, err, "python3 (pid 42, C, 512 MiB)")
		var inUse *device.InUseError
		require.ErrorAs(t, err, &inUse)
		require.Len(t, inUse.Blockers, 1)
		assert.Equal(t, device.ModeReport{Before: off, After: off}, report)
		assert.Empty(t, r.uuids)
	})
	t.Run("after the mode was set", func(t *testing.T) {
		t.Parallel()
		srv, devs := newServer(t, false, "a100-40gb")
		r := &reset{srv: srv}
		busy := &arriving{Device: devs[0], later: worker}
		report, err := open(t, busy).SetMode(t.Context(), true, r.do)
		require.ErrorIs(t, err, device.ErrInUse)
		require.ErrorIs(t, err, device.ErrPending)
		require.ErrorContains(t, err, "pid 42")
		assert.Equal(t, turning, report.After)
		assert.Empty(t, r.uuids)
	})
	t.Run("not in the way of withdrawing", func(t *testing.T) {
		t.Parallel()
		_, devs := newServer(t, true, "a100-40gb")
		_, ret := devs[0].SetMigMode(nvml.DEVICE_MIG_DISABLE)
		require.Equal(t, nvml.SUCCESS, ret)
		report, err := open(t, peopled{Device: devs[0], whole: worker}).SetMode(t.Context(), true, nil)
		require.NoError(t, err)
		assert.Equal(t, device.ModeReport{Before: ending, After: on}, report)
	})
	t.Run("nobody to name", func(t *testing.T) {
		t.Parallel()
		_, devs := newServer(t, false, "h100-80gb-sxm5")
		d := open(t, stuckInUse{stuck{peopled{Device: devs[0]}}})
		_, err := d.SetMode(t.Context(), true, nil)
		require.ErrorIs(t, err, device.ErrInUse)
		require.ErrorContains(t, err, "nvidia-persistenced")
	})
}

// arriving is a GPU on which processes start once its mode has been set.
type arriving struct {
	nvml.Device
	now, later lists
}

func (d *arriving) SetMigMode(mode int) (activation, ret nvml.Return) {
	d.now = d.later
	return d.Device.SetMigMode(mode)
}

func (d *arriving) GetComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return d.now.compute, nvml.SUCCESS
}

// stuckInUse is a GPU that somebody holds without being listed.
type stuckInUse struct{ stuck }

func (stuckInUse) SetMigMode(int) (activation, ret nvml.Return) {
	return nvml.ERROR_IN_USE, nvml.SUCCESS
}

func TestSetModeAndContext(t *testing.T) {
	t.Parallel()
	t.Run("before anything", func(t *testing.T) {
		t.Parallel()
		srv, devs := newServer(t, false, "a100-40gb")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := &reset{srv: srv}
		_, err := open(t, devs[0]).SetMode(ctx, true, r.do)
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, device.ErrPending)
		_, pending, _ := devs[0].GetMigMode()
		assert.Equal(t, nvml.DEVICE_MIG_DISABLE, pending)
	})
	t.Run("once the mode is set", func(t *testing.T) {
		t.Parallel()
		srv, devs := newServer(t, false, "a100-40gb")
		ctx, cancel := context.WithCancel(t.Context())
		r := &reset{srv: srv}
		report, err := open(t, meanwhile{devs[0], cancel}).SetMode(ctx, true, r.do)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, device.ErrPending)
		assert.Equal(t, turning, report.After)
		assert.Empty(t, r.uuids)
	})
	t.Run("a call that hangs", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T) {
			srv, devs := newServer(t, false, "a100-40gb")
			release := make(chan struct{})
			dev := faulty(t, devs[0], fault.Rule{Method: "Device.SetMigMode", Block: release})
			d := open(t, dev)
			r := &reset{srv: srv}
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			report, err := d.SetMode(ctx, true, r.do)
			require.ErrorIs(t, err, device.ErrIndeterminate)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, "SetMigMode has not returned")
			assert.Equal(t, device.ModeReport{}, report)
			close(release)
			st, err := d.State(t.Context()) // waits for the turn
			require.NoError(t, err)
			assert.Equal(t, turning, st.Mode)
			assert.Empty(t, r.uuids, "nobody waits for a reset any more")
		})
	})
	t.Run("during the reset", func(t *testing.T) {
		t.Parallel()
		_, devs := newServer(t, false, "a100-40gb")
		ctx, cancel := context.WithCancel(t.Context())
		_, err := open(t, devs[0]).SetMode(ctx, true, func(ctx context.Context, _ string) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, device.ErrPending)
	})
}

// A reset that fails and takes the pending mode with it leaves nothing pending.
func TestSetModeAfterABrokenReset(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, false, "a100-40gb")
	broken := errors.New("broken")
	report, err := open(t, devs[0]).SetMode(t.Context(), true, func(context.Context, string) error {
		_, ret := devs[0].SetMigMode(nvml.DEVICE_MIG_DISABLE)
		assert.Equal(t, nvml.SUCCESS, ret)
		return broken
	})
	require.ErrorIs(t, err, broken)
	require.NotErrorIs(t, err, device.ErrPending)
	assert.Equal(t, device.ModeReport{}, report)
}
