package nvmlfake

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gpushare/gpushare/mig"
)

// Audit checks that the state does not contradict itself and returns an error
// that names the GPU and the first contradiction. One means a bug in this
// package. It works it all out anew from the instances, at a few microseconds a
// GPU, so a test can run it after each call.
func (s *Server) Audit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refs < 0 {
		return fmt.Errorf("nvmlfake: %d initialisations", s.refs)
	}
	uuids, names := map[string]bool{}, map[int]string{}
	for _, g := range s.gpus {
		if err := g.audit(uuids, names); err != nil {
			return fmt.Errorf("nvmlfake: GPU %d: %w", g.index, err)
		}
	}
	return nil
}

func (g *gpuState) audit(uuids map[string]bool, names map[int]string) error {
	if uuids[g.uuid] {
		return fmt.Errorf("UUID %s stands there twice", g.uuid)
	}
	uuids[g.uuid] = true
	if !g.current && len(g.instances) > 0 {
		return fmt.Errorf("%d instances though MIG is off", len(g.instances))
	}
	if err := g.auditLayout(); err != nil {
		return err
	}
	if err := g.auditHolders(names); err != nil {
		return err
	}
	if err := (place{gpu: g}).auditVGPU(); err != nil {
		return err
	}
	last, indices, live := -1, map[int]bool{}, uint64(0)
	for _, gi := range g.instances {
		if gi.gone || gi.gpu != g {
			return fmt.Errorf("GPU instance %d is listed but gone", gi.id)
		}
		if gi.id <= last {
			return fmt.Errorf("GPU instance %d is listed after %d", gi.id, last)
		}
		last = gi.id
		if err := cmp.Or(gi.audit(), place{gpu: g, gi: gi}.auditVGPU()); err != nil {
			return fmt.Errorf("GPU instance %d: %w", gi.id, err)
		}
		for _, ci := range gi.instances {
			live++
			if indices[ci.index] || ci.index < 0 || ci.index >= g.maxMIGDevices() {
				return fmt.Errorf("MIG device %d is out of range or stands there twice", ci.index)
			}
			indices[ci.index] = true
			if uuids[ci.uuid] {
				return fmt.Errorf("UUID %s stands there twice", ci.uuid)
			}
			uuids[ci.uuid] = true
		}
	}
	if live > g.created {
		return fmt.Errorf("%d MIG devices, %d ever created", live, g.created)
	}
	return nil
}

// auditLayout compares the instances with the layout and with the limits of
// the hardware, for which it does not ask the layout.
func (g *gpuState) auditLayout() error {
	var instances []mig.Instance
	memory, compute, mib := 0, 0, 0
	for _, gi := range g.instances {
		instances = append(instances, mig.Instance{Profile: gi.profile.Name, Start: gi.start})
		memory += gi.profile.Size
		compute += gi.profile.ComputeSlices
		mib += gi.profile.MemoryMiB
	}
	layout, err := g.model.Layout(instances...)
	switch {
	case err != nil:
		return err
	case layout != g.layout:
		return fmt.Errorf("instances %s but layout %s", layout, g.layout)
	case memory > g.spec.MemorySlices || compute > g.spec.ComputeSlices || g.table == nil && mib > g.spec.MemoryMiB:
		return fmt.Errorf("%d memory slices, %d compute slices and %d MiB given out", memory, compute, mib)
	default:
		return nil
	}
}

// auditHolders checks who is there, and that nobody uses memory twice. It knows
// the name of each process that was met before.
func (g *gpuState) auditHolders(names map[int]string) error {
	used := 0
	for place := range g.holdings() {
		pids := map[int]bool{}
		for _, h := range *place {
			if h.Name == "" || h.PID < 0 || h.PID == 0 && !h.Hidden || h.MemoryMiB < 0 {
				return fmt.Errorf("holder %+v", *h)
			}
			if name, met := names[h.PID]; h.PID > 0 && (pids[h.PID] || met && name != h.Name) {
				return fmt.Errorf("holder %s stands there twice or is %s too", h, name)
			}
			names[h.PID], pids[h.PID] = h.Name, true
			if h.VGPU && !h.Hidden {
				return fmt.Errorf("vGPU %s is not hidden", h)
			}
			used += h.MemoryMiB
		}
	}
	visible := func(hs holders) bool { return slices.ContainsFunc(hs, func(h *Holder) bool { return !h.Hidden }) }
	if g.current && visible(g.holders) {
		return fmt.Errorf("%s on the whole GPU though MIG is on", g.holders[0])
	}
	for _, gi := range g.instances {
		if visible(gi.holders) {
			return fmt.Errorf("%s on GPU instance %d and in no compute instance", gi.holders[0], gi.id)
		}
		if gi.usedMiB() > gi.profile.MemoryMiB {
			return fmt.Errorf("GPU instance %d: %d MiB used", gi.id, gi.usedMiB())
		}
	}
	if used > g.spec.MemoryMiB {
		return fmt.Errorf("%d MiB used", used)
	}
	return nil
}

func (gi *giState) audit() error {
	taken := make([]bool, gi.profile.ComputeSlices)
	last := -1
	for _, ci := range gi.instances {
		if ci.gone || ci.gi != gi {
			return fmt.Errorf("compute instance %d is listed but gone", ci.id)
		}
		if ci.id <= last {
			return fmt.Errorf("compute instance %d is listed after %d", ci.id, last)
		}
		last = ci.id
		for i := ci.start; i < ci.start+ci.profile.Size; i++ {
			if i < 0 || i >= len(taken) || taken[i] {
				return fmt.Errorf("compute instance %d covers slice %d, which is taken or not there", ci.id, i)
			}
			taken[i] = true
		}
	}
	return nil
}
