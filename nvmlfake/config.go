package nvmlfake

import (
	"fmt"
	"slices"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

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
	// Table, if there is one, is the model itself, such as one that was read from
	// a device, and Model may be empty or one of its product names.
	Table *mig.Model
	MIG   bool // MIG mode is enabled, current and pending
	// VGPUHost says that the driver is that of a vGPU host: only there is a vGPU
	// scheduler, and only there does Server.RunVGPU start something.
	VGPUHost bool
}

// New returns a server with the given GPUs, without instances. The library is
// not initialised: the first call of a client is Init, as on hardware. The
// error names the GPU's index and wraps mig.ErrUnknownModel or
// mig.ErrAmbiguousModel, or mig.ErrUnknownGeometry for a model whose placements
// nobody has published, such as rtx-pro-5000-48gb, rtx-pro-4500-32gb and
// thor-igpu.
func New(cfg Config) (*Server, error) {
	s := &Server{seed: cfg.Seed, staleHandles: cfg.StaleHandles}
	for i, g := range cfg.GPUs {
		state, err := s.newGPU(i, g)
		if err != nil {
			return nil, fmt.Errorf("nvmlfake: GPU %d: %w", i, err)
		}
		s.gpus = append(s.gpus, state)
	}
	return s, nil
}

func (s *Server) newGPU(index int, cfg GPU) (*gpuState, error) {
	model := cfg.Table
	if model == nil {
		found, err := mig.Lookup(cfg.Model)
		if err != nil {
			return nil, err
		}
		model = found
	}
	spec := model.Spec()
	if spec.MemorySlices == 0 || len(spec.Profiles) == 0 {
		return nil, fmt.Errorf("model %s: %w", model, mig.ErrUnknownGeometry)
	}
	for _, c := range spec.ComputeProfiles {
		if c.Index >= nvml.COMPUTE_INSTANCE_PROFILE_COUNT {
			return nil, fmt.Errorf("model %s: compute profile %s: index %d, and NVML knows only those below %d",
				model, c.Name, c.Index, nvml.COMPUTE_INSTANCE_PROFILE_COUNT)
		}
	}
	g := &gpuState{
		srv: s, index: index, model: model, table: cfg.Table, spec: complete(spec),
		offers:  map[string][]mig.ComputeProfile{},
		uuid:    gpuUUID(s.seed, index),
		current: cfg.MIG, pending: cfg.MIG, layout: model.Empty(),
		vgpuHost: cfg.VGPUHost,
	}
	for _, c := range g.spec.ComputeProfiles {
		g.offers[c.GPUInstance] = append(g.offers[c.GPUInstance], c)
	}
	g.product, g.pciID = product(g.spec, cfg.Model)
	return g, nil
}

// product returns the product name and PCI id of a GPU configured as name. The
// tables list names and ids of a model in one order as far as both are known.
func product(spec mig.Spec, name string) (string, uint32) {
	if len(spec.ProductNames) == 0 || len(spec.PCIDeviceIDs) == 0 {
		pci := uint32(0)
		if len(spec.PCIDeviceIDs) > 0 {
			pci = spec.PCIDeviceIDs[0]
		}
		full := spec.Description
		if len(spec.ProductNames) > 0 {
			full = spec.ProductNames[0]
		}
		return full, pci
	}
	at := slices.IndexFunc(spec.ProductNames, func(p string) bool { return strings.EqualFold(p, name) })
	full := spec.ProductNames[max(at, 0)]
	// Older drivers report some names without the vendor's.
	bare := strings.TrimPrefix(full, "NVIDIA ")
	at = slices.IndexFunc(spec.ProductNames, func(p string) bool { return strings.TrimPrefix(p, "NVIDIA ") == bare })
	return full, spec.PCIDeviceIDs[min(at, len(spec.PCIDeviceIDs)-1)]
}
