package nvmlfake

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Holder is somebody who has a GPU open, or an instance of it. It is plain data.
type Holder struct {
	PID       int    `json:"pid,omitempty"` // above 0; a hidden one may have none
	Name      string `json:"name"`          // as SystemGetProcessName tells it; the same for each hold of one PID
	MemoryMiB int    `json:"memoryMiB,omitempty"`
	// Hidden is somebody whom no list of processes shows: a monitor with an open
	// handle, a persistence daemon, a kernel module (without PID). The GPU is in
	// use all the same.
	Hidden bool `json:"hidden,omitempty"`
	// VGPU is a running vGPU: hidden, on a GPU without MIG or in a GPU instance.
	VGPU bool `json:"vgpu,omitempty"`
}

// String returns the form "train (pid 4242)", or "nvidia_drm (hidden)".
func (h Holder) String() string {
	text := h.Name + " ("
	if h.PID > 0 {
		text += "pid " + strconv.Itoa(h.PID)
	}
	if h.Hidden {
		if h.PID > 0 {
			text += ", "
		}
		text += "hidden"
	}
	if h.VGPU {
		text += ", vGPU"
	}
	return text + ")"
}

// holders are those of one place, in the order in which they came. Each is a
// pointer of its own, so that it can be let go.
type holders []*Holder

func (hs holders) plain() []Holder {
	var list []Holder
	for _, h := range hs {
		list = append(list, *h)
	}
	return list
}

func (hs holders) memoryMiB() int {
	sum := 0
	for _, h := range hs {
		sum += h.MemoryMiB
	}
	return sum
}

// without returns the holders but those to let go.
func (hs holders) without(match func(*Holder) bool) holders {
	return slices.DeleteFunc(slices.Clone(hs), match)
}

// place is what can be held: a GPU, one of its GPU instances, or a compute
// instance of that.
type place struct {
	gpu *gpuState
	gi  *giState // nil: the whole GPU
	ci  *ciState // nil: the GPU instance, or the whole GPU
}

func (p place) holders() *holders {
	switch {
	case p.ci != nil:
		return &p.ci.holders
	case p.gi != nil:
		return &p.gi.holders
	default:
		return &p.gpu.holders
	}
}

// Hold lets somebody hold a whole GPU until release is called, which can be done
// more than once. While there is one, a change of MIG mode stays pending, on
// every architecture, and Reset refuses. With MIG on there is no CUDA on the
// whole GPU, so then only a hidden one can.
//
// An error wraps ErrNoGPU, or ErrBadHolder and names the holder and what is
// wrong with it: a visible one without PID, no name, another name than the PID
// has elsewhere, one PID twice in one place, more memory than is free.
func (s *Server) Hold(gpu int, h Holder) (release func(), err error) {
	return s.hold(gpu, h, func(g *gpuState) (place, error) { return place{gpu: g}, nil })
}

// HoldInstance is Hold for a GPU instance, by its id. Whoever computes holds a
// compute instance, so this one is hidden. The GPU instance cannot be destroyed,
// though its compute instances can. The error can wrap ErrNoInstance too.
func (s *Server) HoldInstance(gpu, gi int, h Holder) (release func(), err error) {
	return s.hold(gpu, h, func(g *gpuState) (place, error) { return g.instance(gi) })
}

// HoldCompute is Hold for a compute instance, by the ids of its GPU instance and
// its own: a process that runs in the MIG device. The compute instance cannot be
// destroyed. The error can wrap ErrNoInstance too.
func (s *Server) HoldCompute(gpu, gi, ci int, h Holder) (release func(), err error) {
	return s.hold(gpu, h, func(g *gpuState) (place, error) {
		at, err := g.instance(gi)
		if err != nil {
			return at, err
		}
		for _, c := range at.gi.instances {
			if c.id == ci {
				at.ci = c
				return at, nil
			}
		}
		return at, fmt.Errorf("GPU instance %d: compute instance %d: %w", gi, ci, ErrNoInstance)
	})
}

// Kill ends a process, so that it holds nothing any more, and returns how many
// holds it had.
func (s *Server) Kill(pid int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, g := range s.gpus {
		for place := range g.holdings() {
			before := len(*place)
			*place = place.without(func(h *Holder) bool { return pid > 0 && h.PID == pid })
			n += before - len(*place)
		}
	}
	return n
}

func (s *Server) hold(gpu int, h Holder, find func(*gpuState) (place, error)) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, err := s.gpu(gpu)
	if err != nil {
		return nil, err
	}
	at, err := find(g)
	if err == nil {
		err = s.admit(at, h)
	}
	if err != nil {
		return nil, fmt.Errorf("nvmlfake: GPU %d: %w", gpu, err)
	}
	held, list := &h, at.holders()
	*list = append(*list, held)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		*list = list.without(func(o *Holder) bool { return o == held })
	}, nil
}

// admit says what speaks against a holder.
func (s *Server) admit(at place, h Holder) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s: %s", ErrBadHolder, h, fmt.Sprintf(format, args...))
	}
	switch {
	case h.Name == "":
		return refuse("no name")
	case h.PID < 0 || h.PID > math.MaxInt32 || h.PID == 0 && !h.Hidden:
		return refuse("process id %d", h.PID)
	case h.MemoryMiB < 0:
		return refuse("%d MiB", h.MemoryMiB)
	case h.VGPU && !h.Hidden:
		return refuse("a vGPU is hidden")
	case h.VGPU && at.vgpuRefusal(1) != "":
		return refuse("%s", at.vgpuRefusal(1))
	case !h.Hidden && at.gi == nil && at.gpu.current:
		return refuse("it needs a compute instance, since MIG is on")
	case !h.Hidden && at.gi != nil && at.ci == nil:
		return refuse("it needs a compute instance of GPU instance %d", at.gi.id)
	case h.PID > 0 && slices.ContainsFunc(*at.holders(), func(o *Holder) bool { return o.PID == h.PID }):
		return refuse("it is there already")
	}
	if name, known := s.processName(h.PID); known && name != h.Name {
		return refuse("process %d is %s elsewhere", h.PID, name)
	}
	free := at.gpu.spec.MemoryMiB - at.gpu.usedMiB()
	if at.gi != nil {
		free = min(free, at.gi.profile.MemoryMiB-at.gi.usedMiB())
	}
	if h.MemoryMiB > free {
		return refuse("%d MiB, of which %d are free", h.MemoryMiB, free)
	}
	return nil
}

func (s *Server) processName(pid int) (string, bool) {
	if pid <= 0 {
		return "", false
	}
	for _, g := range s.gpus {
		for place := range g.holdings() {
			for _, h := range *place {
				if h.PID == pid {
					return h.Name, true
				}
			}
		}
	}
	return "", false
}

// usedMiB returns the memory that all holders use.
func (g *gpuState) usedMiB() int {
	used := 0
	for place := range g.holdings() {
		used += place.memoryMiB()
	}
	return used
}

func (gi *giState) usedMiB() int {
	used := gi.holders.memoryMiB()
	for _, ci := range gi.instances {
		used += ci.holders.memoryMiB()
	}
	return used
}

// holdings iterates over the places of a GPU that can be held: the GPU, then
// each GPU instance with its compute instances.
func (g *gpuState) holdings() func(func(*holders) bool) {
	return func(yield func(*holders) bool) {
		if !yield(&g.holders) {
			return
		}
		for _, gi := range g.instances {
			if !yield(&gi.holders) {
				return
			}
			for _, ci := range gi.instances {
				if !yield(&ci.holders) {
					return
				}
			}
		}
	}
}

func (g *gpuState) instance(id int) (place, error) {
	for _, gi := range g.instances {
		if gi.id == id {
			return place{gpu: g, gi: gi}, nil
		}
	}
	return place{gpu: g}, fmt.Errorf("GPU instance %d: %w", id, ErrNoInstance)
}

// heldBy returns an error that names all holders, nil if there is none.
func (g *gpuState) heldBy() error {
	var all []Holder
	for place := range g.holdings() {
		all = append(all, place.plain()...)
	}
	if len(all) == 0 {
		return nil
	}
	return &HeldError{GPU: g.index, BusID: g.busID().String(), Holders: all}
}
