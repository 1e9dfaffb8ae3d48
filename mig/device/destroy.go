package device

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/mig"
)

// Destroy destroys a GPU instance that was read before, as Create or State
// returned it: its compute instances first. Then it asks for the instance again
// to see that it is gone.
//
// What stands on the GPU must be that instance: same id, same placement, and no
// compute instance but those that were read, told by their MIG UUIDs. Compute
// instances may be fewer by now. An instance without any cannot be told from
// another of the same profile, start and id that has none.
//
// The error is an *OpError that matches:
//   - ErrChanged: another instance stands there. It is left alone;
//   - mig.ErrNoInstance: none begins there, so that the instance is gone
//     already, which a caller may take for done. What another process destroys
//     during the call is no error;
//   - ErrInUse: a client holds it, or somebody has created a compute instance in
//     it meanwhile; the error has the ids of the GPU instance and of the compute
//     instance, and an *InUseError in the chain the processes that NVML lists there;
//   - ErrUnverified: the driver said yes, and the instance still stands;
//   - the context's error, if it ended before the last change.
//
// Destroying cannot be undone, so a Destroy that fails after the first compute
// instance leaves the rest, in Left; a second Destroy, of the whole or of the
// rest, carries on. While Left is nil nothing has changed.
//
// NVML cannot compare and destroy in one call. Each destruction follows at once
// on a check of what is destroyed; a change by another process in between goes
// unseen.
func (g *GPU) Destroy(ctx context.Context, in Instance) error {
	s := g.step("destroy GPU instance").on(in.Instance).gi(in.ID)
	_, err := do(ctx, g, s, func(ctx context.Context) (any, error) { return nil, g.withUsers(ctx, in.ID, g.destroy(ctx, in)) }, nil)
	return err
}

// destroy is Destroy for who has the turn.
func (g *GPU) destroy(ctx context.Context, in Instance) error {
	s := g.step("destroy GPU instance").on(in.Instance).gi(in.ID)
	st, offers, err := g.read(ctx)
	if err != nil {
		return err
	}
	if !st.Mode.Current {
		return s.fail(fmt.Errorf("at memory slice %d: %w: %w", in.Start, mig.ErrNoInstance, ErrDisabled))
	}
	now, there := st.At(in.Start)
	if !there {
		_, err := st.Layout.Without(in.Start)
		return s.fail(err)
	}
	if !now.restOf(in) {
		return s.fail(fmt.Errorf("%w: %s, not %s", ErrChanged, now.withUUIDs(), in.withUUIDs()))
	}
	p, err := g.model.Profile(now.Profile)
	if err != nil {
		return s.fail(err)
	}
	o, err := find(offers, p)
	if err != nil {
		return s.fail(err)
	}
	return g.remove(ctx, now, o.info.Id)
}

// remove destroys the compute instances of a GPU instance, then the GPU
// instance, and asks whether it is gone. What is gone already counts as
// destroyed. The error says what is left as soon as something is.
func (g *GPU) remove(ctx context.Context, in Instance, profileID uint32) error {
	left := in
	s := g.step("destroy compute instance").on(in.Instance).gi(in.ID)
	for len(left.Compute) > 0 {
		c := left.Compute[0]
		s = s.ci(c.ID)
		if err := ended(ctx); err != nil {
			return s.fail(err)
		}
		if err := again(func() error { return g.removeCompute(s, in, profileID, c) }); err != nil {
			return s.fail(err)
		}
		left.Compute = append([]ComputeInstance(nil), left.Compute[1:]...)
		s = s.left(&left)
	}
	s.Op = "destroy GPU instance"
	s = s.ci(None)
	if err := ended(ctx); err != nil {
		return s.fail(err)
	}
	err := again(func() error {
		gi, err := g.same(in, profileID)
		if gi == nil {
			return err
		}
		return unlessGone(gi.Destroy())
	})
	if err != nil {
		g.recount(&left, in, profileID)
		return s.fail(err)
	}
	if err = again(func() error { return g.gone(in, profileID) }); err != nil {
		g.recount(&left, in, profileID)
	}
	return s.left(&left).fail(err)
}

// recount puts back into what is left the compute instances that still stand,
// though the driver has said that they are gone.
func (g *GPU) recount(left *Instance, before Instance, profileID uint32) {
	gi, err := g.same(before, profileID)
	if err != nil || gi == nil {
		return
	}
	now, err := g.readCompute(before, gi)
	if err != nil {
		return
	}
	left.Compute = slices.DeleteFunc(now, func(c ComputeInstance) bool {
		return !slices.ContainsFunc(before.Compute, func(b ComputeInstance) bool { return b.UUID == c.UUID })
	})
}

// removeCompute destroys a compute instance if it is the one that was read.
func (g *GPU) removeCompute(s step, in Instance, profileID uint32, c ComputeInstance) error {
	gi, err := g.same(in, profileID)
	if gi == nil {
		return err
	}
	handle, ret := gi.GetComputeInstanceById(c.ID)
	if ret == nvml.SUCCESS {
		now, there, err := readComputeInstance(s, handle)
		if !there {
			return err
		}
		if now.UUID != c.UUID {
			return fmt.Errorf("%w: %s, not %s", ErrChanged, now.UUID, c.UUID)
		}
		ret = handle.Destroy()
	}
	return unlessGone(ret)
}

// same finds a GPU instance by its id, and makes sure that it is the one that
// was read, since ids are used again. Without an error, a nil handle says that
// it is gone.
func (g *GPU) same(in Instance, profileID uint32) (gpuInstanceHandle, error) {
	gi, ret := g.handle.GetGpuInstanceById(in.ID)
	var info nvml.GpuInstanceInfo
	if ret == nvml.SUCCESS {
		info, ret = gi.GetInfo()
	}
	if ret != nvml.SUCCESS {
		return nil, unlessGone(ret)
	}
	if at := info.Placement; info.ProfileId != profileID || int(at.Start) != in.Start || int(at.Size) != in.Size {
		return nil, fmt.Errorf("%w: GI %d has profile id %d and covers %d slices from %d, not id %d and %d from %d",
			ErrChanged, in.ID, info.ProfileId, at.Size, at.Start, profileID, in.Size, in.Start)
	}
	return gi, nil
}

// gone looks for a GPU instance that was destroyed. It returns nil if there is
// none, or another.
func (g *GPU) gone(in Instance, profileID uint32) error {
	gi, err := g.same(in, profileID)
	switch {
	case errors.Is(err, ErrChanged):
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnverified, err)
	case gi == nil:
		return nil
	}
	now := Instance{Instance: in.Instance, ID: in.ID}
	if now.Compute, err = g.readCompute(in, gi); err == nil && !now.restOf(in) {
		return nil
	}
	return ErrUnverified
}

// again repeats what has met an invalid handle, as one becomes when another
// process destroys the instance in between: the next look tells what happened.
func again(f func() error) error {
	for i := 1; ; i++ {
		if err := f(); i == readings || !errors.Is(err, nvml.ERROR_INVALID_ARGUMENT) {
			return err
		}
	}
}
