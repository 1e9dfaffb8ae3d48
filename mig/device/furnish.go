package device

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/mig"
)

// newborn is a GPU instance that is being furnished: what has been made so far.
type newborn struct {
	in        Instance // as far as it has been read; the id is None until then
	profileID uint32
	gi        gpuInstanceHandle
	ci        nvml.ComputeInstance // created last, until it has been identified
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
	if n.ci == nil {
		return nil
	}
	s := g.step("read new compute instance").on(n.in.Instance).gi(n.in.ID)
	c, there, err := readComputeInstance(s, n.ci)
	if err == nil && there {
		if c, err = n.offer.describe(n.in, c); err == nil {
			n.in.Compute = append(n.in.Compute, c)
			n.ci = nil
		}
	}
	return s.fail(err)
}

// computeOrder is one compute instance to create.
type computeOrder struct {
	computeOffer
	at *nvml.ComputeInstancePlacement // nil: the only place there is, or the driver's choice
}

// serves reports whether a compute instance is what was ordered.
func (o computeOrder) serves(c ComputeInstance) bool {
	return c.Index == o.index && (o.at == nil || c.Start == int(o.at.Start))
}

// orders finds what a GPU instance offers for each compute instance that is
// wanted: nil is one of full size, and so is one whose index nobody knows.
func (g *GPU) orders(in Instance, gi gpuInstanceHandle, want []mig.ComputeInstance) ([]computeOrder, error) {
	s := g.step("create compute instance in").on(in.Instance).gi(in.ID)
	offers, ret := computeOffers(gi)
	if err := s.check(ret); err != nil {
		return nil, err
	}
	full, found := fullSize(offers)
	if !found {
		return nil, s.fail(fmt.Errorf("no compute instance profile is offered: %w", nvml.ERROR_NOT_SUPPORTED))
	}
	if want == nil {
		return []computeOrder{{computeOffer: full}}, nil
	}
	var all []computeOrder
	for _, c := range want {
		if c.Index == mig.NotKnown {
			c.Index = full.index
		}
		i := slices.IndexFunc(offers, func(o computeOffer) bool { return o.index == c.Index })
		if i < 0 {
			return nil, s.fail(fmt.Errorf("%s has compute profile index %d, which the device does not offer: %w: %w", c, c.Index, ErrMismatch, nvml.ERROR_NOT_SUPPORTED))
		}
		o := offers[i]
		as, err := o.describe(in, ComputeInstance{})
		if err != nil {
			return nil, s.fail(err)
		}
		if c.Profile != "" && c.Profile != as.Profile {
			return nil, s.fail(mismatch("%s has compute profile index %d, which is %s on the device", c, c.Index, as.Profile))
		}
		order := computeOrder{computeOffer: o}
		if o.index != full.index {
			order.at = &nvml.ComputeInstancePlacement{Start: uint32(c.Start), Size: g.computeSize(in.Profile, c, o)}
		}
		all = append(all, order)
	}
	return all, nil
}

// computeSize returns the compute slices that an instance covers: as it says
// itself, or the table, or one for each slice of its profile.
func (g *GPU) computeSize(profile string, c mig.ComputeInstance, o computeOffer) uint32 {
	if c.Size > 0 {
		return uint32(c.Size)
	}
	for row := range g.model.ComputeProfiles(profile) {
		if row.Index == c.Index && row.Size > 0 {
			return uint32(row.Size)
		}
	}
	return o.info.SliceCount
}

// furnish gives a GPU instance compute instances besides those it has, and reads
// it back.
func (g *GPU) furnish(ctx context.Context, n *newborn, want []mig.ComputeInstance) (Instance, error) {
	if err := g.identify(n); err != nil {
		return Instance{}, err
	}
	had := len(n.in.Compute)
	var all []computeOrder
	if want == nil || len(want) > 0 {
		var err error
		if all, err = g.orders(n.in, n.gi, want); err != nil {
			return Instance{}, err
		}
	}
	for _, o := range all {
		s := g.step("create compute instance in").on(n.in.Instance).gi(n.in.ID)
		if err := ended(ctx); err != nil {
			return Instance{}, s.fail(err)
		}
		if err := s.check(g.addCompute(n, o)); err != nil {
			return Instance{}, err
		}
		if err := g.identify(n); err != nil {
			return Instance{}, err
		}
	}
	// From here on the instance is complete: reading it back is not cut short.
	st, _, err := g.read(context.WithoutCancel(ctx))
	if err != nil {
		return Instance{}, err
	}
	s := g.step("read back").on(n.in.Instance).gi(n.in.ID)
	got, there := st.At(n.in.Start)
	switch {
	case !there:
		return Instance{}, s.fail(fmt.Errorf("%w: the GPU holds %s", ErrUnverified, st.Layout))
	case !got.restOf(n.in) || !delivered(got.Compute, had, all):
		return Instance{}, s.fail(fmt.Errorf("%w: the GPU holds %s", ErrUnverified, got.withUUIDs()))
	}
	return got, nil
}

// delivered reports whether compute instances are those that were there before,
// so many, and all that were ordered.
func delivered(got []ComputeInstance, had int, all []computeOrder) bool {
	rest := slices.Clone(got)
	for _, o := range all {
		i := slices.IndexFunc(rest, o.serves)
		if i < 0 {
			return false
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return len(rest) == had
}

// addCompute creates one compute instance. One that a driver has made although
// it answered an error counts as created, unless the code says that another
// process was faster.
func (g *GPU) addCompute(n *newborn, o computeOrder) nvml.Return {
	var ret nvml.Return
	var ci nvml.ComputeInstance
	info := o.info
	if o.at == nil {
		ci, ret = n.gi.CreateComputeInstance(&info)
	} else {
		ci, ret = n.gi.CreateComputeInstanceWithPlacement(&info, o.at)
	}
	if ret != nvml.SUCCESS && ret != nvml.ERROR_INSUFFICIENT_RESOURCES {
		if ci = g.appearedCompute(n, o); ci != nil {
			ret = nvml.SUCCESS
		}
	}
	if ret == nvml.SUCCESS {
		n.ci, n.offer = ci, o.computeOffer
	}
	return ret
}

// appearedCompute looks for a compute instance that was ordered and that was not
// there before.
func (g *GPU) appearedCompute(n *newborn, o computeOrder) nvml.ComputeInstance {
	if o.info.InstanceCount == 0 {
		return nil
	}
	info := o.info
	all, ret := n.gi.GetComputeInstances(&info)
	if ret != nvml.SUCCESS {
		return nil
	}
	s := g.step("read new compute instance").on(n.in.Instance).gi(n.in.ID)
	for _, ci := range all {
		c, there, err := readComputeInstance(s, ci)
		known := func(k ComputeInstance) bool { return k.UUID == c.UUID }
		if err != nil || !there || slices.ContainsFunc(n.in.Compute, known) {
			continue
		}
		if c.Index = o.index; o.serves(c) {
			return ci
		}
	}
	return nil
}

// takeBack destroys what a creation has made, and nothing else, and returns why
// it did. What could not be destroyed is in the error.
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
