package device

import (
	"context"
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
	return do(ctx, g, s, func(ctx context.Context) (Instance, error) {
		return g.create(ctx, want, nil)
	}, func(in Instance) { // of which nobody will hear
		_ = g.destroy(context.WithoutCancel(ctx), in)
	})
}

// create is Create for who has the turn, with the compute instances that it is
// to hold: nil is one of full size, an empty list none.
func (g *GPU) create(ctx context.Context, want mig.Instance, compute []mig.ComputeInstance) (Instance, error) {
	s := g.step("create GPU instance").on(want)
	if err := g.model.Validate(want); err != nil {
		return Instance{}, s.fail(err)
	}
	p, err := g.model.Profile(want.Profile)
	if err != nil {
		return Instance{}, s.fail(err)
	}
	want.Profile, want.Size = p.Name, p.Size
	s = s.on(want)
	st, o, err := g.creatable(ctx, want, p)
	if err != nil {
		return Instance{}, s.fail(err)
	}
	if err := ended(ctx); err != nil {
		return Instance{}, s.fail(err)
	}
	placement := nvml.GpuInstancePlacement{Start: uint32(want.Start), Size: uint32(want.Size)}
	gi, ret := g.handle.CreateGpuInstanceWithPlacement(&o.info, &placement)
	if ret == nvml.ERROR_INSUFFICIENT_RESOURCES {
		return Instance{}, s.fail(g.whyNot(ctx, p, want.Start, ret))
	}
	n := newborn{in: Instance{Instance: want, ID: None}, profileID: o.info.Id}
	if gi != nil {
		n.gi = gi
	}
	if ret != nvml.SUCCESS {
		if n.gi = g.appeared(st, want, o); n.gi == nil {
			return Instance{}, s.check(ret)
		}
	}
	if n.gi == nil {
		return Instance{}, s.fail(fmt.Errorf("%w: no handle of it", ErrUnverified))
	}
	in, err := g.furnish(ctx, &n, compute)
	if err != nil {
		return Instance{}, g.takeBack(ctx, &n, err)
	}
	return in, nil
}

// creatable returns what stands on the GPU, and the profile as this GPU offers
// it, if it offers the start.
func (g *GPU) creatable(ctx context.Context, want mig.Instance, p mig.Profile) (State, offer, error) {
	st, offers, err := g.read(ctx)
	if err != nil {
		return State{}, offer{}, err
	}
	if !st.Mode.Current {
		if st.Mode.Pending {
			return State{}, offer{}, fmt.Errorf("%w until the GPU is reset", ErrDisabled)
		}
		return State{}, offer{}, ErrDisabled
	}
	o, err := find(offers, p)
	if err != nil {
		return State{}, offer{}, err
	}
	s := g.step("list placements of").on(want)
	places, ret := g.handle.GetGpuInstancePossiblePlacements(&o.info)
	if err := s.check(ret); err != nil {
		return State{}, offer{}, err
	}
	if !slices.Contains(places, nvml.GpuInstancePlacement{Start: uint32(want.Start), Size: uint32(want.Size)}) {
		return State{}, offer{}, mismatch("by the table of %s it covers %d slices from %d, the device offers %s",
			g.model, want.Size, want.Start, placementList(places))
	}
	return st, o, nil
}

// appeared looks for a GPU instance that a creation has made although it
// answered an error: of the very profile and placement, empty, and not there
// before. A driver that refuses since another process was faster says so with a
// code of its own, which never leads here.
func (g *GPU) appeared(before State, want mig.Instance, o offer) gpuInstanceHandle {
	if _, there := before.At(want.Start); there || o.info.InstanceCount == 0 {
		return nil
	}
	info := o.info
	all, ret := g.handle.GetGpuInstances(&info)
	if ret != nvml.SUCCESS {
		return nil
	}
	for _, gi := range all {
		now, ret := gi.GetInfo()
		if ret != nvml.SUCCESS || int(now.Placement.Start) != want.Start || int(now.Placement.Size) != want.Size {
			continue
		}
		compute, err := g.readCompute(Instance{Instance: want, ID: int(now.Id)}, gi)
		if err == nil && len(compute) == 0 {
			return gi
		}
	}
	return nil
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
