package device

import (
	"context"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/mig"
)

// Destroy destroys the GPU instance that begins at a memory slice, its compute
// instances first, and asks for it again to see that it is gone. What another
// process has destroyed meanwhile counts as destroyed.
//
// The error is an *OpError that matches mig.ErrNoInstance if no instance begins
// there, ErrInUse if a client holds it (the ids of the GPU instance and of the
// compute instance are in the error), ErrUnverified if the driver said yes and
// the instance still stands, or the context's error.
//
// Destroying cannot be undone, so a Destroy that fails after the first compute
// instance leaves the rest, in Left; a second Destroy carries on from there.
// While Left is nil nothing has changed.
func (d *Device) Destroy(ctx context.Context, start int) error {
	s := d.step("destroy GPU instance")
	s.Start = start
	if err := d.acquire(ctx); err != nil {
		return s.fail(err)
	}
	defer d.release()
	st, _, err := d.read(ctx)
	if err != nil {
		return err
	}
	if !st.Mode.Current {
		return s.fail(fmt.Errorf("at memory slice %d: %w: %w", start, mig.ErrNoInstance, ErrDisabled))
	}
	in, there := st.At(start)
	if !there {
		_, err := st.Layout.Without(start)
		return s.fail(err)
	}
	s = s.on(in.Instance).gi(in.ID)
	handle, ret := d.dev.GetGpuInstanceById(in.ID)
	if ret == nvml.ERROR_NOT_FOUND {
		return nil
	}
	if err := s.check(ret); err != nil {
		return err
	}
	return d.remove(ctx, in, handle)
}

// remove destroys the compute instances of a GPU instance, then the GPU
// instance, and asks whether it is gone. The error says what is left as soon as
// something has been destroyed. A handle that has become invalid is one that
// another process was faster with, if the driver no longer finds the number.
func (d *Device) remove(ctx context.Context, in Instance, gi gpuInstance) error {
	left := in
	s := d.step("destroy compute instance").on(in.Instance).gi(in.ID)
	for len(left.Compute) > 0 {
		s = s.ci(left.Compute[0].ID)
		if err := ctx.Err(); err != nil {
			return s.fail(err)
		}
		handle, ret := gi.GetComputeInstanceById(left.Compute[0].ID)
		if ret == nvml.SUCCESS {
			ret = handle.Destroy()
		}
		vanished := ret == nvml.ERROR_NOT_FOUND || ret == nvml.ERROR_INVALID_ARGUMENT && !d.exists(in.ID, left.Compute[0].ID)
		if err := s.check(ret); err != nil && !vanished {
			return err
		}
		left.Compute = append([]ComputeInstance(nil), left.Compute[1:]...)
		s = s.left(&left)
	}
	s.Op = "destroy GPU instance"
	s = s.ci(None)
	if err := ctx.Err(); err != nil {
		return s.fail(err)
	}
	ret := gi.Destroy()
	vanished := ret == nvml.ERROR_NOT_FOUND || ret == nvml.ERROR_INVALID_ARGUMENT && d.gone(in) == nil
	if err := s.check(ret); err != nil && !vanished {
		return err
	}
	return s.left(&left).fail(d.gone(in))
}

// gone asks for a GPU instance by its number and compares where it begins,
// since numbers are used again. It returns nil only if the instance is gone.
func (d *Device) gone(in Instance) error {
	if in.ID == None {
		return nil
	}
	handle, ret := d.dev.GetGpuInstanceById(in.ID)
	if ret == nvml.SUCCESS {
		var info nvml.GpuInstanceInfo
		info, ret = handle.GetInfo()
		if ret == nvml.SUCCESS && (int(info.Placement.Start) != in.Start || int(info.Placement.Size) != in.Size) {
			return nil
		}
	}
	switch ret {
	case nvml.ERROR_NOT_FOUND:
		return nil
	case nvml.SUCCESS:
		return ErrUnverified
	default:
		return fmt.Errorf("%w: %w", ErrUnverified, ret)
	}
}
