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
// instance as read, which is what Destroy takes. The size may be left 0. The
// driver decides whether there is room; what it refuses is explained from what
// stands on the GPU.
//
// The error is an *OpError that matches:
//   - mig.ErrUnknownProfile, mig.ErrBadName, mig.ErrIllegalStart,
//     mig.ErrBadInstance: no such instance on this model;
//   - ErrDisabled, ErrNotSupported, ErrNoPermission, ErrMismatch: not on this
//     GPU, now or at all;
//   - mig.ErrConflict: an instance is in the way, and the *mig.ConflictError
//     in the chain names it; ErrNoRoom: none is, and the driver refuses;
//   - ErrUnverified: the driver said yes, and the GPU does not show it;
//   - the context's error, if it ended before the compute instance existed.
//
// When an error is returned the GPU instance has been taken back. If that
// failed as well, Left holds it and the chain holds both causes. Only what this
// call created is taken back: where another process has replaced it, the error
// matches ErrChanged and Left is nil; where one has put a compute instance of
// its own into it, ErrInUse.
func (g *GPU) Create(ctx context.Context, want mig.Instance) (Instance, error) {
	s := g.step("create GPU instance").on(want)
	if err := g.acquire(ctx); err != nil {
		return Instance{}, s.fail(err)
	}
	defer g.release()
	if err := g.model.Validate(want); err != nil {
		return Instance{}, s.fail(err)
	}
	p, err := g.model.Profile(want.Profile)
	if err != nil {
		return Instance{}, s.fail(err)
	}
	want.Profile, want.Size = p.Name, p.Size
	s = s.on(want)
	o, err := g.creatable(ctx, want, p)
	if err != nil {
		return Instance{}, s.fail(err)
	}
	if err := ctx.Err(); err != nil {
		return Instance{}, s.fail(err)
	}
	placement := nvml.GpuInstancePlacement{Start: uint32(want.Start), Size: uint32(want.Size)}
	gi, ret := g.handle.CreateGpuInstanceWithPlacement(&o.info, &placement)
	if ret == nvml.ERROR_INSUFFICIENT_RESOURCES {
		return Instance{}, s.fail(g.whyNot(ctx, p, want.Start, ret))
	}
	if err := s.check(ret); err != nil {
		return Instance{}, err
	}
	n := newborn{in: Instance{Instance: want, ID: None}, profileID: o.info.Id, gi: gi}
	in, err := g.furnish(ctx, &n)
	if err != nil {
		return Instance{}, g.takeBack(ctx, &n, err)
	}
	return in, nil
}

// creatable returns the profile as this GPU offers it, if it offers the start.
func (g *GPU) creatable(ctx context.Context, want mig.Instance, p mig.Profile) (offer, error) {
	st, offers, err := g.read(ctx)
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
	s := g.step("list placements of").on(want)
	places, ret := g.handle.GetGpuInstancePossiblePlacements(&o.info)
	if err := s.check(ret); err != nil {
		return offer{}, err
	}
	if !slices.Contains(places, nvml.GpuInstancePlacement{Start: uint32(want.Start), Size: uint32(want.Size)}) {
		return offer{}, mismatch("by the table of %s it covers %d slices from %d, the device offers %s",
			g.model, want.Size, want.Start, placementList(places))
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
func (g *GPU) whyNot(ctx context.Context, p mig.Profile, start int, ret nvml.Return) error {
	st, _, err := g.read(context.WithoutCancel(ctx))
	if err != nil {
		return fmt.Errorf("%w; and why cannot be told: %w", ret, err)
	}
	if _, inTheWay := st.Layout.With(p, start); inTheWay != nil {
		return fmt.Errorf("%w: %w", inTheWay, ret)
	}
	return fmt.Errorf("%w (%s): %w", ErrNoRoom, st.Layout, ret)
}

// newborn is what a Create has made so far.
type newborn struct {
	in        Instance // as far as it has been read; the id is None until then
	profileID uint32
	gi        gpuInstanceHandle
	ci        nvml.ComputeInstance // nil until it exists
	offer     computeOffer         // of ci
}

// identify reads who the new instances are, unless that is known.
func (g *GPU) identify(n *newborn) error {
	if n.in.ID == None {
		info, ret := n.gi.GetInfo()
		if err := g.step("read new GPU instance").on(n.in.Instance).check(ret); err != nil {
			return err
		}
		n.in.ID = int(info.Id)
	}
	if n.ci == nil || n.in.Compute != nil {
		return nil
	}
	s := g.step("read new compute instance").on(n.in.Instance).gi(n.in.ID)
	c, there, err := readComputeInstance(s, n.ci)
	if err == nil && there {
		c, err = n.offer.describe(n.in, c)
		n.in.Compute = []ComputeInstance{c}
	}
	return s.fail(err)
}

// furnish gives a new GPU instance its compute instance and reads both back.
func (g *GPU) furnish(ctx context.Context, n *newborn) (Instance, error) {
	if err := g.identify(n); err != nil {
		return Instance{}, err
	}
	s := g.step("create compute instance in").on(n.in.Instance).gi(n.in.ID)
	offers, ret := computeOffers(n.gi)
	if err := s.check(ret); err != nil {
		return Instance{}, err
	}
	o, found := fullSize(offers)
	if !found {
		return Instance{}, s.fail(fmt.Errorf("no compute instance profile is offered: %w", nvml.ERROR_NOT_SUPPORTED))
	}
	if err := ctx.Err(); err != nil {
		return Instance{}, s.fail(err)
	}
	ci, ret := n.gi.CreateComputeInstance(&o.info)
	if ret != nvml.SUCCESS {
		return Instance{}, s.check(ret)
	}
	n.ci, n.offer = ci, o
	if err := g.identify(n); err != nil {
		return Instance{}, err
	}
	// From here on the instance is complete: reading it back is not cut short.
	st, _, err := g.read(context.WithoutCancel(ctx))
	if err != nil {
		return Instance{}, err
	}
	s = g.step("read back").on(n.in.Instance).gi(n.in.ID)
	got, there := st.At(n.in.Start)
	switch {
	case !there:
		return Instance{}, s.fail(fmt.Errorf("%w: the GPU holds %s", ErrUnverified, st.Layout))
	case !got.restOf(n.in) || len(got.Compute) != 1 || got.Compute[0].Index != o.index:
		return Instance{}, s.fail(fmt.Errorf("%w: the GPU holds %s", ErrUnverified, got.withUUIDs()))
	}
	return got, nil
}

// takeBack destroys what Create made, and nothing else, and returns why it did.
// What could not be destroyed is in the error.
func (g *GPU) takeBack(ctx context.Context, n *newborn, why error) error {
	err := g.identify(n)
	switch {
	case n.in.ID != None: // a compute instance that cannot be identified keeps it in use
		err = g.remove(context.WithoutCancel(ctx), n.in, n.profileID)
	case errors.Is(err, nvml.ERROR_INVALID_ARGUMENT), errors.Is(err, nvml.ERROR_NOT_FOUND):
		err = nil // another process was faster
	}
	if err == nil {
		return why
	}
	left := &n.in
	if failed := (*OpError)(nil); errors.As(err, &failed) && failed.Left != nil {
		left = failed.Left
	}
	if errors.Is(err, ErrChanged) {
		left = nil
	}
	return g.step("take back").on(n.in.Instance).gi(n.in.ID).left(left).fail(fmt.Errorf("%w; after %w", err, why))
}
