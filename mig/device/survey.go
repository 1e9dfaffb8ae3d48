package device

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/mig"
)

// Survey makes a table of what a live device says of itself: its profiles, where
// each can be placed, and the compute profiles of the GPU instances that exist.
// mig.NewModel takes the result, so that a GPU which no table knows, or whose
// driver reports other figures, can be asked all that package mig answers, and
// OpenModel opens the GPU with it.
//
// Names are made from the device's memory, by mig.MemoryGB, and from the
// profile's index, which decides its attributes. What was read is Exact. What
// the device cannot say comes from the table of its model, where there is one: the
// key, the description, the multiprocessors of the whole GPU, the minimum driver,
// whether a change of mode needs a reset, and, marked Derived, the compute profiles
// of a profile of which no GPU instance exists. Without a table they stay absent,
// and the key is made from the product name and the memory.
//
// Placements are absent where the driver does not tell them, as older ones with
// MIG mode off: the table is then one of unknown geometry. MediaAlone is as the
// table has it, unless an instance with +me stands on the GPU and the remaining
// capacity beside it shows the rule.
//
// A profile that cannot be expressed (its index is newer than this package, or
// another has its name or id already) is left out, and Sources says so.
//
// Nothing is changed. The error is an *OpError that matches ErrNotSupported
// where the device reports no profile at all, because it has no MIG or because
// an older driver wants MIG mode on for that; ErrMismatch where what it says
// contradicts itself; or what an operation of a GPU can return.
func Survey(ctx context.Context, dev nvml.Device) (mig.Spec, error) {
	g := &GPU{busy: make(chan struct{}, 1), watch: &watch{}}
	s := g.step("survey")
	if dev == nil {
		return mig.Spec{}, s.fail(fmt.Errorf("no device handle: %w", nvml.ERROR_INVALID_ARGUMENT))
	}
	g.handle = watchedGPU{dev, g.watch}
	return do(ctx, g, s, func(ctx context.Context) (mig.Spec, error) {
		v := survey{g: g}
		if err := v.identity(ctx); err != nil {
			return mig.Spec{}, err
		}
		v.table = knownModel(v.spec)
		if err := v.run(ctx); err != nil {
			return mig.Spec{}, err
		}
		v.complete()
		return v.spec, nil
	}, nil)
}

// knownModel returns the table of a device, by PCI id and memory, or else by
// product name and memory; nil if there is none.
func knownModel(device mig.Spec) *mig.Model {
	if m, err := mig.LookupPCI(device.PCIDeviceIDs[0], device.MemoryMiB); err == nil {
		return m
	}
	for m := range mig.Models() {
		spec := m.Spec()
		named := func(product string) bool { return strings.EqualFold(product, device.ProductNames[0]) }
		if spec.NameMemoryGB == device.NameMemoryGB && slices.ContainsFunc(spec.ProductNames, named) {
			return m
		}
	}
	return nil
}

// survey is a Survey under way.
type survey struct {
	g     *GPU
	table *mig.Model // nil: none is known
	spec  mig.Spec
	infos map[string]nvml.GpuInstanceProfileInfo // by name of the profile
}

// run reads the profiles, and what the instances that exist tell beyond them.
func (v *survey) run(ctx context.Context) error {
	mode, err := v.g.mode()
	if err != nil {
		return err
	}
	if err := v.profiles(ctx); err != nil {
		return err
	}
	if err := v.placements(ctx); err != nil {
		return err
	}
	if v.table != nil {
		v.spec.MediaAlone = v.table.Spec().MediaAlone
	}
	if !mode.Current {
		return nil
	}
	if err := v.computeProfiles(ctx); err != nil {
		return err
	}
	return v.mediaAlone(ctx)
}

// identity reads what the device is.
func (v *survey) identity(ctx context.Context) error {
	g := v.g
	uuid, ret := g.handle.GetUUID()
	if err := g.step("read the UUID").check(ret); err != nil {
		return err
	}
	g.uuid = uuid
	s := g.step("survey")
	if isMIG, ret := g.handle.IsMigDeviceHandle(); ret == nvml.SUCCESS && isMIG {
		return s.fail(fmt.Errorf("a MIG device, not a GPU: %w", nvml.ERROR_INVALID_ARGUMENT))
	}
	name, ret := g.handle.GetName()
	if err := g.step("read the product name").check(ret); err != nil {
		return err
	}
	pci, ret := g.handle.GetPciInfo()
	if err := g.step("read the PCI id").check(ret); err != nil {
		return err
	}
	memory, ret := g.handle.GetMemoryInfo()
	if err := g.step("read the total memory").check(ret); err != nil {
		return err
	}
	arch, ret := g.handle.GetArchitecture()
	if ret == nvml.ERROR_NOT_SUPPORTED || ret == nvml.ERROR_FUNCTION_NOT_FOUND {
		arch, ret = nvml.DEVICE_ARCH_UNKNOWN, nvml.SUCCESS
	}
	if err := g.step("read the architecture").check(ret); err != nil {
		return err
	}
	if err := ended(ctx); err != nil {
		return s.fail(err)
	}
	g.totalMiB = int((memory.Total + 1<<20 - 1) >> 20)
	v.spec = mig.Spec{
		ProductNames: []string{name},
		PCIDeviceIDs: []uint32{pci.PciDeviceId},
		Architecture: architecture(arch),
		MemoryMiB:    g.totalMiB,
		NameMemoryGB: (g.totalMiB + 1023) / 1024,
		Confidence:   mig.Exact,
		Sources:      []string{"read through NVML from a " + name},
	}
	return nil
}

// architecture names those that MIG exists on; others are left empty.
func architecture(arch nvml.DeviceArchitecture) string {
	switch arch {
	case nvml.DEVICE_ARCH_AMPERE:
		return "Ampere"
	case nvml.DEVICE_ARCH_HOPPER:
		return "Hopper"
	case nvml.DEVICE_ARCH_BLACKWELL:
		return "Blackwell"
	case nvml.DEVICE_ARCH_RUBIN:
		return "Rubin"
	default:
		return ""
	}
}

// leftOut notes what the table does not hold, and why.
func (v *survey) leftOut(format string, args ...any) {
	v.spec.Sources = append(v.spec.Sources, "left out: "+fmt.Sprintf(format, args...))
}

// profiles reads the rows of the GPU instance profiles.
func (v *survey) profiles(ctx context.Context) error {
	v.infos = map[string]nvml.GpuInstanceProfileInfo{}
	var stop error
	s := v.g.step("list GPU instance profiles")
	ret := profiles(func(index int) nvml.Return {
		if stop = s.fail(ended(ctx)); stop != nil {
			return nvml.ERROR_INVALID_ARGUMENT
		}
		info, ret := v.g.handle.GetGpuInstanceProfileInfo(index)
		if ret == nvml.SUCCESS {
			if stop = s.fail(v.add(index, info)); stop != nil {
				return nvml.ERROR_INVALID_ARGUMENT
			}
		}
		return ret
	})
	if stop != nil {
		return stop
	}
	if err := s.check(ret); err != nil {
		return err
	}
	if len(v.spec.Profiles) == 0 {
		return s.fail(fmt.Errorf("the device reports none that can be used, as one without MIG does, or an older driver while MIG mode is off: %w", nvml.ERROR_NOT_SUPPORTED))
	}
	slices.SortStableFunc(v.spec.Profiles, compareProfiles)
	for _, p := range v.spec.Profiles {
		v.spec.ComputeSlices = max(v.spec.ComputeSlices, p.ComputeSlices)
	}
	return nil
}

// attributes returns what the index of a profile says about its attributes, and
// whether this package knows the index.
func attributes(index int) (mig.Attrs, bool) {
	switch index {
	case nvml.GPU_INSTANCE_PROFILE_1_SLICE, nvml.GPU_INSTANCE_PROFILE_2_SLICE, nvml.GPU_INSTANCE_PROFILE_3_SLICE,
		nvml.GPU_INSTANCE_PROFILE_4_SLICE, nvml.GPU_INSTANCE_PROFILE_7_SLICE, nvml.GPU_INSTANCE_PROFILE_8_SLICE,
		nvml.GPU_INSTANCE_PROFILE_6_SLICE, nvml.GPU_INSTANCE_PROFILE_1_SLICE_REV2:
		return 0, true
	case nvml.GPU_INSTANCE_PROFILE_1_SLICE_REV1, nvml.GPU_INSTANCE_PROFILE_2_SLICE_REV1:
		return mig.MediaExtensions, true
	case nvml.GPU_INSTANCE_PROFILE_1_SLICE_GFX, nvml.GPU_INSTANCE_PROFILE_2_SLICE_GFX,
		nvml.GPU_INSTANCE_PROFILE_4_SLICE_GFX, nvml.GPU_INSTANCE_PROFILE_3_SLICE_GFX:
		return mig.Graphics, true
	case nvml.GPU_INSTANCE_PROFILE_1_SLICE_NO_ME, nvml.GPU_INSTANCE_PROFILE_2_SLICE_NO_ME:
		return mig.NoMedia, true
	case nvml.GPU_INSTANCE_PROFILE_1_SLICE_ALL_ME, nvml.GPU_INSTANCE_PROFILE_2_SLICE_ALL_ME:
		return mig.AllMedia, true
	default:
		return 0, false
	}
}

// add turns what the device says of a profile into a row.
func (v *survey) add(index int, info nvml.GpuInstanceProfileInfo) error {
	total, memory := uint64(v.g.totalMiB), info.MemorySizeMB
	if memory > total {
		return mismatch("profile index %d (id %d) has %d MiB, the GPU %d", index, info.Id, memory, total)
	}
	attrs, known := attributes(index)
	if !known {
		v.leftOut("profile index %d (id %d, %d slices, %d MiB), which this package does not know", index, info.Id, info.SliceCount, memory)
		return nil
	}
	name := mig.Name{GPUSlices: int(info.SliceCount), MemoryGB: mig.MemoryGB(int(memory), int(total)), Attrs: attrs}.String()
	if _, err := mig.ParseName(name); err != nil {
		return mismatch("profile index %d (id %d) has %d slices: %v", index, info.Id, info.SliceCount, err)
	}
	for _, p := range v.spec.Profiles {
		if p.Name == name || p.ID == int(info.Id) {
			v.leftOut("profile index %d, %s with id %d, since index %d is %s with id %d", index, name, info.Id, p.Index, p.Name, p.ID)
			return nil
		}
	}
	if info.InstanceCount == 0 {
		v.leftOut("profile index %d, %s with id %d, of which no instance can exist", index, name, info.Id)
		return nil
	}
	v.infos[name] = info
	v.spec.Profiles = append(v.spec.Profiles, mig.Profile{
		Name: name, Index: index, ID: int(info.Id),
		ComputeSlices: int(info.SliceCount), MaxInstances: int(info.InstanceCount),
		MemoryMiB: int(memory), SMs: int(info.MultiprocessorCount),
		Engines: mig.Engines{
			Copy: int(info.CopyEngineCount), Decoders: int(info.DecoderCount), Encoders: int(info.EncoderCount),
			JPEG: int(info.JpegCount), OFA: int(info.OfaCount),
		},
		Attrs: attrs, Confidence: mig.Exact,
	})
	return nil
}

// compareProfiles is the order of a table: smallest first, and of one size the
// plain profile before its variants.
func compareProfiles(a, b mig.Profile) int {
	rank := func(p mig.Profile) int {
		return slices.Index([]mig.Attrs{0, mig.MediaExtensions, mig.AllMedia, mig.NoMedia, mig.Graphics}, p.Attrs)
	}
	// Variants of one size can differ a little in memory, but not in name.
	memory := func(p mig.Profile) int {
		name, _ := mig.ParseName(p.Name) // it was parsed when the row was made
		return name.MemoryGB
	}
	return cmp.Or(
		cmp.Compare(a.ComputeSlices, b.ComputeSlices), cmp.Compare(memory(a), memory(b)),
		cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Index, b.Index),
	)
}

// placements reads where each profile can be placed, as far as the device says.
func (v *survey) placements(ctx context.Context) error {
	for i := range v.spec.Profiles {
		p := &v.spec.Profiles[i]
		s := v.g.step("list placements of")
		s.Profile = p.Name
		if err := ended(ctx); err != nil {
			return s.fail(err)
		}
		info := v.infos[p.Name]
		places, ret := v.g.handle.GetGpuInstancePossiblePlacements(&info)
		if ret == nvml.ERROR_NOT_SUPPORTED {
			continue
		}
		if err := s.check(ret); err != nil {
			return err
		}
		for _, at := range places {
			size := int(at.Size)
			if at.Size == 0 || at.Start >= mig.MaxUnits || at.Size > mig.MaxUnits-at.Start || p.Size != 0 && p.Size != size {
				return s.fail(mismatch("the device offers %s", placementList(places)))
			}
			p.Size, p.Geometry = size, mig.Exact
			p.Starts |= mig.MaskOf(int(at.Start))
			v.spec.MemorySlices = max(v.spec.MemorySlices, int(at.Start)+size)
		}
	}
	return nil
}

// complete adds what only a table can know.
func (v *survey) complete() {
	if v.table == nil {
		v.spec.Key = key(v.spec)
		v.spec.Description = v.spec.ProductNames[0]
		switch v.spec.Architecture {
		case "Ampere":
			v.spec.ModeNeedsReset, v.spec.ModeNeedsResetKnown = true, true
		case "Hopper":
			v.spec.ModeNeedsResetKnown = true
		}
		return
	}
	t := v.table.Spec()
	v.spec.Key, v.spec.Description, v.spec.MinDriver, v.spec.SMs = t.Key, t.Description, t.MinDriver, t.SMs
	v.spec.ModeNeedsReset, v.spec.ModeNeedsResetKnown = t.ModeNeedsReset, t.ModeNeedsResetKnown
	if v.spec.Architecture == "" {
		v.spec.Architecture = t.Architecture
	}
	v.spec.Sources = append(v.spec.Sources, "the table of "+t.Key)
	v.deriveCompute(t)
}

// key makes a short key from the product name and the memory.
func key(s mig.Spec) string {
	words := strings.FieldsFunc(strings.ToLower(s.ProductNames[0]), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	if len(words) > 1 && words[0] == "nvidia" {
		words = words[1:]
	}
	if len(words) == 0 {
		words = []string{"gpu"}
	}
	if memory := fmt.Sprintf("%dgb", s.NameMemoryGB); words[len(words)-1] != memory {
		words = append(words, memory)
	}
	return strings.Join(words, "-")
}
