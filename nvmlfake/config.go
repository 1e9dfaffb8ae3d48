package nvmlfake

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/mig"
)

// Config says what a server is made of.
type Config struct {
	GPUs []GPU // in the order of NVML indices; none is legal
	// Seed decides the UUIDs: they are a pure function of Seed and the GPU's
	// index and, for a MIG device, of how many were created on the GPU before.
	Seed uint64
	// StaleHandles makes GetMigDeviceHandleByIndex go on handing out a device
	// that is gone, until its index is taken again, its GPU is reset, or the
	// library is initialised anew: one report says that a driver did so when
	// another process had destroyed the device. Calls on the handle fail as
	// they do otherwise. A client must pass with and without.
	StaleHandles bool
}

// GPU says what one GPU is and how it starts.
type GPU struct {
	Model string // as mig.Lookup takes it: a key or an NVML product name
	MIG   bool   // MIG mode is enabled, current and pending
}

// New returns a server with the given GPUs, without instances. The library is
// not initialised: the first call of a client is Init, as on hardware. The
// error names the GPU's index and wraps mig.ErrUnknownModel, or
// mig.ErrUnknownGeometry for a model whose placements nobody has published.
func New(cfg Config) (*Server, error) {
	s := &Server{seed: cfg.Seed, staleHandles: cfg.StaleHandles}
	for i, g := range cfg.GPUs {
		model, err := mig.Lookup(g.Model)
		if err != nil {
			return nil, fmt.Errorf("nvmlfake: GPU %d: %w", i, err)
		}
		if model.MemorySlices() == 0 {
			return nil, fmt.Errorf("nvmlfake: GPU %d: model %s: %w", i, model, mig.ErrUnknownGeometry)
		}
		s.gpus = append(s.gpus, newGPU(s.seed, i, model, g))
	}
	return s, nil
}

// product returns the product name and PCI id of a GPU configured as name. The
// tables list names and ids of a model in one order as far as both are known.
func product(spec mig.Spec, name string) (string, uint32) {
	if len(spec.ProductNames) == 0 || len(spec.PCIDeviceIDs) == 0 {
		return spec.Description, 0
	}
	at := slices.IndexFunc(spec.ProductNames, func(p string) bool { return strings.EqualFold(p, name) })
	full := spec.ProductNames[max(at, 0)]
	// Older drivers report some names without the vendor's.
	bare := strings.TrimPrefix(full, "NVIDIA ")
	at = slices.IndexFunc(spec.ProductNames, func(p string) bool { return strings.TrimPrefix(p, "NVIDIA ") == bare })
	return full, spec.PCIDeviceIDs[min(at, len(spec.PCIDeviceIDs)-1)]
}
