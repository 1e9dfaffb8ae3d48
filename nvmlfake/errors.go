package nvmlfake

import (
	"errors"
	"fmt"
	"strings"
)

// The conditions that a caller may want to tell apart.
var (
	// ErrNoGPU says that a server has no GPU of that index.
	ErrNoGPU = errors.New("no such GPU")
	// ErrNoInstance says that a GPU has no GPU instance, or a GPU instance no
	// compute instance, of that id.
	ErrNoInstance = errors.New("no such instance")
	// ErrBadHolder says that a holder is not one that can be.
	ErrBadHolder = errors.New("bad holder")
	// ErrNoScheduler says that there is no vGPU scheduler of that engine in that
	// place.
	ErrNoScheduler = errors.New("no such vGPU scheduler")
	// ErrHeld says that a GPU is in use.
	ErrHeld = errors.New("in use")
	// ErrBadSnapshot says that a snapshot is not one that a server can have.
	ErrBadSnapshot = errors.New("bad snapshot")
	// ErrUnknownPreset says that there is no preset of that name.
	ErrUnknownPreset = errors.New("unknown preset")
)

// HeldError says who keeps a GPU from being reset. It is an ErrHeld.
type HeldError struct {
	GPU     int      // NVML's index
	BusID   string   // PCI address, "00000000:01:00.0"
	Holders []Holder // of the GPU, then of its instances; hidden ones too
}

// Error names the GPU and every holder.
func (e *HeldError) Error() string {
	names := make([]string, len(e.Holders))
	for i, h := range e.Holders {
		names[i] = h.String()
	}
	return fmt.Sprintf("nvmlfake: GPU %d (%s) is in use by %s", e.GPU, e.BusID, strings.Join(names, ", "))
}

// Is reports whether target is ErrHeld.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }
