package device

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/mig"
)

// Create creates a GPU instance of a profile at a memory slice, with one
// compute instance of full size in it, reads the GPU again and returns the
// instance as read. The driver decides whether there is room; what it refuses
// is explained from what stands on the GPU.
//
// The error is an *OpError that matches:
//   - mig.ErrUnknownProfile, mig.ErrBadName, mig.ErrIllegalStart: no such
//     instance on this model;
//   - ErrDisabled, ErrNotSupported, ErrNoPermission, ErrMismatch: not on this
//     GPU, now or at all;
//   - mig.ErrConflict: an instance is in the way, and the *mig.ConflictError
//     in the chain names it; ErrNoRoom: none is, and the driver refuses;
//   - ErrUnverified: the driver said yes, and the GPU shows no such instance;
//   - the context's error, if it ended before the compute instance existed.
//
// When an error is returned the GPU instance has been taken back. If that
// failed as well, Left holds it and the chain holds both causes.
func (d *Device) Create(ctx context.Context, profile string, start int) (Instance, error) {
	s := d.step("create GPU instance").on(mig.Instance{Profile: profile, Start: start})
	if err := d.acquire(ctx); err != nil {
		return Instance{}, s.fail(err)
	}
	defer d.release()
	p, err := d.model.Profile(profile)
	if err != nil {
		return Instance{}, s.fail(err)
	}
	want := mig.Instance{Profile: p.Name, Start: start, Size: p.Size}
	s = s.on(want)
	if err := d.model.Validate(want); err != nil {
		return Instance{}, s.fail(err)
	}
	o, err := d.creatable(ctx, want, p)
	if err != nil {
		return Instance{}, s.fail(err)
	}
	if err := ctx.Err(); err != nil {
		return Instance{}, s.fail(err)
	}
	placement := nvml.GpuInstancePlacement{Start: uint32(want.Start), Size: uint32(want.Size)}
	handle, ret := d.dev.CreateGpuInstanceWithPlacement(&o.info, &placement)
	if ret == nvml.ERROR_INSUFFICIENT_RESOURCES {
		return Instance{}, s.fail(d.whyNot(ctx, p, start, ret))
	}
	if err := s.check(ret); err != nil {
		return Instance{}, err
	}
	in, err := d.furnish(ctx, want, handle)
	if err != nil {
		return Instance{}, d.takeBack(ctx, in, handle, err)
	}
	return in, nil
}

// creatable returns the profile as this GPU offers it, if it offers the start.
func (d *Device) creatable(ctx context.Context, want mig.Instance, p mig.Profile) (offer, error) {
	st, offers, err := d.read(ctx)
	if err != nil {
		return offer{}, err
	}
	if !st.Mode.Current {
		if st.Mode.Pending {
			return offer{}, fmt.Errorf("%w until the GPU is reset", ErrDisabled)
		}
		return offer{}, ErrDisabled
	}
	o, err := find(offers, p)
	if err != nil {
		return offer{}, err
	}
	s := d.step("list placements of").on(want)
	places, ret := d.dev.GetGpuInstancePossiblePlacements(&o.info)
	if err := s.check(ret); err != nil {
		return offer{}, err
	}
	if !slices.Contains(places, nvml.GpuInstancePlacement{Start: uint32(want.Start), Size: uint32(want.Size)}) {
		return offer{}, mismatch("by the table of %s it covers %d slices from %d, the device offers %s",
			d.model, want.Size, want.Start, placementList(places))
	}
	return o, nil
}

func placementList(places []nvml.GpuInstancePlacement) string {
	text := "no placement"
	for i, p := range places {
		if i == 0 {
			text = "start:size"
		}
		text += fmt.Sprintf(" %d:%d", p.Start, p.Size)
	}
	return text
}

// whyNot tells the two meanings of insufficient resources apart.
func (d *Device) whyNot(ctx context.Context, p mig.Profile, start int, ret nvml.Return) error {
	st, _, err := d.read(context.WithoutCancel(ctx))
	if err != nil {
		return fmt.Errorf("%w; and why cannot be told: %w", ret, err)
	}
	if _, inTheWay := st.Layout.With(p, start); inTheWay != nil {
		return fmt.Errorf("%w: %w", inTheWay, ret)
	}
	return fmt.Errorf("%w (%s): %w", ErrNoRoom, st.Layout, ret)
}

// furnish gives a new GPU instance its compute instance and reads both back.
// Beside an error it returns what is known of the instance.
func (d *Device) furnish(ctx context.Context, want mig.Instance, gi gpuInstance) (Instance, error) {
	in := Instance{Instance: want, ID: None}
	s := d.step("read new GPU instance").on(want)
	info, ret := gi.GetInfo()
	if err := s.check(ret); err != nil {
		return in, err
	}
	in.ID = int(info.Id)
	s = d.step("create compute instance in").on(want).gi(in.ID)
	offers, ret := computeOffers(gi)
	if err := s.check(ret); err != nil {
		return in, err
	}
	o, found := fullSize(offers)
	if !found {
		return in, s.fail(fmt.Errorf("no compute instance profile is offered: %w", nvml.ERROR_NOT_SUPPORTED))
	}
	if err := ctx.Err(); err != nil {
		return in, s.fail(err)
	}
	if _, ret := gi.CreateComputeInstance(&o.info); ret != nvml.SUCCESS {
		return in, s.check(ret)
	}
	// From here on the instance is complete: reading it back is not cut short.
	st, _, err := d.read(context.WithoutCancel(ctx))
	if err != nil {
		return in, err
	}
	s = d.step("read back").on(want).gi(in.ID)
	got, there := st.At(want.Start)
	switch {
	case !there || got.ID != in.ID || got.Instance != want:
		return in, s.fail(fmt.Errorf("%w: the GPU holds %s", ErrUnverified, st.Layout))
	case len(got.Compute) != 1 || got.Compute[0].Index != o.index || got.Compute[0].UUID == "":
		return got, s.fail(fmt.Errorf("%w: the GPU holds %s", ErrUnverified, got))
	}
	return got, nil
}

// takeBack destroys what Create made and returns why it did. What could not be
// destroyed is in the error.
func (d *Device) takeBack(ctx context.Context, in Instance, gi gpuInstance, why error) error {
	if in.ID != None {
		if compute, err := d.readCompute(in, gi); err == nil {
			in.Compute = compute
		}
	}
	err := d.remove(context.WithoutCancel(ctx), in, gi)
	if err == nil {
		return why
	}
	left := &in
	if failed := (*OpError)(nil); errors.As(err, &failed) && failed.Left != nil {
		left = failed.Left
	}
	return d.step("take back").on(in.Instance).gi(in.ID).left(left).fail(fmt.Errorf("%w; after %w", err, why))
}
