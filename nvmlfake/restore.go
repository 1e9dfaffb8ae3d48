package nvmlfake

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/mig"
)

// Restore returns a server with the machine of a snapshot, on which the library
// is not initialised. What the snapshot leaves out is filled in, in the order of
// the lists. An error wraps ErrBadSnapshot, names the place ("gpus[0].instances[1]")
// and the value, and wraps what package mig says of it.
func Restore(snap Snapshot) (*Server, error) {
	if snap.Schema != Schema {
		return nil, fmt.Errorf("nvmlfake: %w: schema %d, and only %d can be restored", ErrBadSnapshot, snap.Schema, Schema)
	}
	s := &Server{seed: snap.Seed, staleHandles: snap.StaleHandles}
	r := restorer{s: s, uuids: map[string]bool{}}
	for i, gs := range snap.GPUs {
		if err := r.gpu(i, gs); err != nil {
			return nil, fmt.Errorf("nvmlfake: %w: gpus[%d]%w", ErrBadSnapshot, i, err)
		}
	}
	// Only now is it known which UUIDs are taken.
	for _, ci := range r.nameless {
		ci.uuid = ci.gi.gpu.nextUUID()
	}
	for _, g := range s.gpus {
		g.created = max(g.created, uint64(g.liveDevices()))
	}
	if err := s.Audit(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadSnapshot, err)
	}
	return s, nil
}

// restorer builds a server. Its errors begin with the rest of the place.
type restorer struct {
	s        *Server
	uuids    map[string]bool // of GPUs, and of MIG devices where given
	nameless []*ciState
}

func (r *restorer) gpu(index int, gs GPUSnapshot) error {
	name := cmp.Or(gs.Product, gs.Model)
	g, err := r.s.newGPU(index, GPU{Model: gs.Model, Table: gs.Table, MIG: gs.MIG, VGPUHost: gs.VGPUHost})
	if err != nil {
		return fmt.Errorf(".model: %w", err)
	}
	known := slices.ContainsFunc(g.spec.ProductNames, func(p string) bool { return strings.EqualFold(p, gs.Product) })
	if gs.Product != "" && !known && gs.Product != g.product {
		return fmt.Errorf(".product: %q is none of %s", gs.Product, g.model)
	}
	g.product, g.pciID = product(g.spec, name)
	g.uuid = cmp.Or(gs.UUID, g.uuid)
	if err := r.uuid("GPU-", g.uuid); err != nil {
		return err
	}
	if gs.PendingMIG != nil {
		g.pending = *gs.PendingMIG
	}
	if gs.Created > maxCreated {
		return fmt.Errorf(".created: %d is above %d", gs.Created, uint64(maxCreated))
	}
	g.created = gs.Created
	r.s.gpus = append(r.s.gpus, g)
	if len(gs.Instances) > 0 && !g.current {
		return fmt.Errorf(".instances: there are %d though MIG is off", len(gs.Instances))
	}
	if err := r.holders(place{gpu: g}, gs.Holders); err != nil {
		return err
	}
	if err := (place{gpu: g}).restoreScheduler(gs.VGPUScheduler); err != nil {
		return err
	}
	var open []*ciState // without an index of their MIG device
	for i, is := range gs.Instances {
		more, err := r.instance(g, is)
		if err != nil {
			return fmt.Errorf(".instances[%d]%w", i, err)
		}
		open = append(open, more...)
	}
	for _, ci := range open {
		ci.index = g.lowestFreeIndex()
	}
	for _, gi := range g.instances {
		slices.SortFunc(gi.instances, func(a, b *ciState) int { return cmp.Compare(a.id, b.id) })
		for _, ci := range gi.instances {
			g.remember(ci)
		}
	}
	return nil
}

// uuid takes note of a UUID.
func (r *restorer) uuid(kind, uuid string) error {
	rest, ok := strings.CutPrefix(uuid, kind)
	switch {
	case !ok || !isUUID(rest):
		return fmt.Errorf(".uuid: %q does not have the form %sxxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", uuid, kind)
	case r.uuids[uuid]:
		return fmt.Errorf(".uuid: %q stands there twice", uuid)
	}
	r.uuids[uuid] = true
	return nil
}

func (r *restorer) holders(at place, list []Holder) error {
	for i, h := range list {
		if err := r.s.admit(at, h); err != nil {
			return fmt.Errorf(".holders[%d]: %w", i, err)
		}
		*at.holders() = append(*at.holders(), &h)
	}
	return nil
}

// restoreScheduler gives a GPU, or a GPU instance, its vGPU scheduler.
func (p place) restoreScheduler(from *VGPUSnapshot) error {
	if from == nil {
		return nil
	}
	s := scheduler{from.Policy, from.ARR, from.Factor, from.Frequency, from.Timeslice}
	p.vgpu().graphics = s
	if err := p.auditVGPU(); err != nil || s == (scheduler{}) {
		return fmt.Errorf(".vgpuScheduler: %+v cannot be", *from)
	}
	return nil
}

// instance adds a GPU instance and returns those of its compute instances whose
// MIG device has no index yet.
func (r *restorer) instance(g *gpuState, is InstanceSnapshot) ([]*ciState, error) {
	p, err := g.model.Profile(is.Profile)
	if err != nil {
		return nil, fmt.Errorf(".profile: %w", err)
	}
	p = g.spec.Profiles[slices.IndexFunc(g.spec.Profiles, func(q mig.Profile) bool { return q.Name == p.Name })]
	gi, err := g.create(p, is.Start)
	if err != nil {
		return nil, fmt.Errorf(".start: %w", err)
	}
	if is.ID != nil {
		if *is.ID < 0 || *is.ID > maxID || slices.ContainsFunc(g.instances, func(o *giState) bool { return o != gi && o.id == *is.ID }) {
			return nil, fmt.Errorf(".id: %d is taken or not from 0 to %d", *is.ID, maxID)
		}
		gi.id = *is.ID
		slices.SortFunc(g.instances, func(a, b *giState) int { return cmp.Compare(a.id, b.id) })
	}
	if err := r.holders(place{gpu: g, gi: gi}, is.Holders); err != nil {
		return nil, err
	}
	if err := (place{gpu: g, gi: gi}).restoreScheduler(is.VGPUScheduler); err != nil {
		return nil, err
	}
	list := is.Compute
	if list == nil {
		full, ok := mig.FullSize(gi.profiles())
		if !ok {
			return nil, fmt.Errorf(".profile: nobody knows what %s offers", p.Name)
		}
		list = []ComputeSnapshot{{Profile: full.Name, Index: &full.Index, Start: full.Starts.Lowest()}}
	}
	var open, noID []*ciState
	for i, cs := range list {
		ci, err := r.compute(gi, cs)
		if err != nil {
			return nil, fmt.Errorf(".computeInstances[%d]%w", i, err)
		}
		if cs.Device == nil {
			open = append(open, ci)
		}
		if cs.ID == nil {
			noID = append(noID, ci)
		}
		if cs.UUID == "" {
			r.nameless = append(r.nameless, ci)
		}
	}
	for _, ci := range noID {
		ci.id = gi.lowestFreeID()
	}
	return open, nil
}

// The largest id of an instance and the largest count that a snapshot may give.
const (
	maxID      = 1 << 16
	maxCreated = 1 << 53
)

// compute adds a compute instance. What is not given is -1, or no UUID.
func (r *restorer) compute(gi *giState, cs ComputeSnapshot) (*ciState, error) {
	p, err := gi.named(cs)
	if err != nil {
		return nil, err
	}
	if cs.Start < 0 || cs.Start >= mig.MaxUnits || !gi.room().freeStarts(p).Has(cs.Start) {
		return nil, fmt.Errorf(".start: %s@%d is not there or taken in %s@%d", p.Name, cs.Start, gi.profile.Name, gi.start)
	}
	ci := &ciState{gi: gi, profile: p, start: cs.Start, id: -1, index: -1, uuid: cs.UUID}
	if cs.ID != nil {
		ci.id = *cs.ID
		if ci.id < 0 || ci.id > maxID || slices.ContainsFunc(gi.instances, func(o *ciState) bool { return o.id == ci.id }) {
			return nil, fmt.Errorf(".id: %d is taken or not from 0 to %d", ci.id, maxID)
		}
	}
	if cs.Device != nil {
		ci.index = *cs.Device
		if ci.index < 0 || ci.index >= gi.gpu.maxMIGDevices() || gi.gpu.migDevice(ci.index) != nil {
			return nil, fmt.Errorf(".device: %d is taken or not below %d", ci.index, gi.gpu.maxMIGDevices())
		}
	}
	if cs.UUID != "" {
		if err := r.uuid("MIG-", cs.UUID); err != nil {
			return nil, err
		}
	}
	gi.instances = append(gi.instances, ci)
	return ci, r.holders(place{gpu: gi.gpu, gi: gi, ci: ci}, cs.Holders)
}

// named returns the compute profile that a snapshot means.
func (gi *giState) named(cs ComputeSnapshot) (mig.ComputeProfile, error) {
	offers := gi.profiles()
	n, err := mig.ParseName(cs.Profile)
	if err != nil {
		return mig.ComputeProfile{}, fmt.Errorf(".profile: %w", err)
	}
	rows := slices.DeleteFunc(slices.Clone(offers), func(c mig.ComputeProfile) bool {
		return c.Name != n.String() || cs.Index != nil && c.Index != *cs.Index
	})
	if len(rows) == 0 {
		var names []string
		for _, c := range offers {
			names = append(names, fmt.Sprintf("%s (index %d)", c.Name, c.Index))
		}
		index := ""
		if cs.Index != nil {
			index = fmt.Sprintf(" of index %d", *cs.Index)
		}
		return mig.ComputeProfile{}, fmt.Errorf(".profile: %w: %s has no %q%s, but %s",
			mig.ErrUnknownProfile, gi.profile.Name, cs.Profile, index, strings.Join(names, ", "))
	}
	if n.String() == gi.profile.Name {
		full, _ := mig.FullSize(rows)
		return full, nil
	}
	return slices.MaxFunc(rows, func(a, b mig.ComputeProfile) int { return cmp.Compare(a.MaxInstances, b.MaxInstances) }), nil
}
