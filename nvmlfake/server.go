package nvmlfake

import (
	"fmt"
	"strings"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/mig"
)

// Server is a machine with GPUs and the one driver that all clients of NVML
// look at. Obtain one from New. It is safe for concurrent use, and so are the
// library and all handles that come from it: one lock guards a server, and
// every call takes effect at once or not at all.
type Server struct {
	mu           sync.Mutex
	seed         uint64
	staleHandles bool
	refs         int // calls of Init without their Shutdown
	gpus         []*gpuState
	calls        []Call
}

// Call counts the calls of a method that is not modelled.
type Call struct {
	Method string // "GetExcludedDeviceCount", "Device.GetFanSpeed"
	Count  int
}

// NVML returns the library. All libraries of one server share its state,
// including the count of initialisations, as the clients in one process do.
func (s *Server) NVML() nvml.Interface { return libraryHandle{libraryBase{s}} }

// Reset resets a GPU: its instances are gone, with all handles to them, the
// pending MIG mode becomes the current one, and the vGPU scheduler is the default
// again. While somebody holds the GPU nothing
// happens: the error is then a *HeldError, which is an ErrHeld. It wraps ErrNoGPU
// if there is no such GPU.
func (s *Server) Reset(gpu int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, err := s.gpu(gpu)
	if err != nil {
		return err
	}
	if err := g.heldBy(); err != nil {
		return err
	}
	g.destroyAll()
	g.current = g.pending
	g.vgpu = vgpuState{}
	return nil
}

// Reboot restarts the machine: instances are gone on every GPU, and so are the
// clients and whoever held one, so that the library wants Init again.
//
// On Ampere the MIG mode survives, since the board stores it, and a pending
// mode becomes current. On Hopper and later it comes back disabled; that is
// partly confirmed: a hosting provider's manual says so, the vendor's text was
// not found. A GPU of which no source says is treated like Hopper.
func (s *Server) Reboot() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refs = 0
	for _, g := range s.gpus {
		g.destroyAll()
		g.holders = nil
		g.vgpu = vgpuState{}
		g.pending = g.pending && g.spec.ModeNeedsReset
		g.current = g.pending
	}
}

// Layout returns the GPU instances that exist on a GPU. It asks the driver's
// own books, so it works without Init. The error wraps ErrNoGPU.
func (s *Server) Layout(gpu int) (mig.Layout, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, err := s.gpu(gpu)
	if err != nil {
		return mig.Layout{}, err
	}
	return g.layout, nil
}

// Unmodelled returns the calls of methods that the fake does not model, in the
// order in which each was called first. The slice is the caller's.
func (s *Server) Unmodelled() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// String draws the state of all GPUs: a line each, and one per instance and holder.
func (s *Server) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "nvmlfake: %d GPUs, %d initialisations\n", len(s.gpus), s.refs)
	for _, g := range s.gpus {
		fmt.Fprintf(&b, "GPU %d %s MIG %s (pending %s)\n", g.index, g.model, onOff(g.current), onOff(g.pending))
		g.holders.draw(&b, "  ")
		g.vgpu.draw(&b, "  ")
		for _, gi := range g.instances {
			fmt.Fprintf(&b, "  GI %d %s@%d\n", gi.id, gi.profile.Name, gi.start)
			gi.holders.draw(&b, "    ")
			gi.vgpu.draw(&b, "    ")
			for _, ci := range gi.instances {
				fmt.Fprintf(&b, "    CI %d %s@%d device %d %s\n", ci.id, ci.profile.Name, ci.start, ci.index, ci.uuid)
				ci.holders.draw(&b, "      ")
			}
		}
	}
	return b.String()
}

func (hs holders) draw(b *strings.Builder, indent string) {
	for _, h := range hs {
		fmt.Fprintf(b, "%sheld by %s\n", indent, h)
	}
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

func (s *Server) gpu(index int) (*gpuState, error) {
	if index < 0 || index >= len(s.gpus) {
		return nil, fmt.Errorf("nvmlfake: GPU %d of %d: %w", index, len(s.gpus), ErrNoGPU)
	}
	return s.gpus[index], nil
}

// unmodelled records a call of the generated base and returns its code.
func (s *Server) unmodelled(method string) nvml.Return {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record(method)
	if s.refs == 0 {
		return nvml.ERROR_UNINITIALIZED
	}
	return nvml.ERROR_NOT_SUPPORTED
}

func (s *Server) record(method string) {
	for i := range s.calls {
		if s.calls[i].Method == method {
			s.calls[i].Count++
			return
		}
	}
	s.calls = append(s.calls, Call{Method: method, Count: 1})
}

// handle is what a client holds: something of a server, alive or gone.
type handle interface {
	server() *Server
	valid() bool // with the server's lock held
}

// call runs f under the server's lock if the library is initialised and the
// handle valid. Otherwise it answers as nvml.h says, with the zero value.
func call[T any](h handle, f func() (T, nvml.Return)) (T, nvml.Return) {
	s := h.server()
	s.mu.Lock()
	defer s.mu.Unlock()
	var zero T
	if s.refs == 0 {
		return zero, nvml.ERROR_UNINITIALIZED
	}
	if !h.valid() {
		return zero, nvml.ERROR_INVALID_ARGUMENT
	}
	return f()
}
