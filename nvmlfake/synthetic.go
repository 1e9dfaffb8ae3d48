package nvmlfake

import "github.com/gpushare/gpushare/mig"

// The figures that Synthetic names, by their NVML fields.
const (
	totalMemory = "Memory.Total"
	memorySize  = "MemorySizeMB"
	processors  = "MultiprocessorCount"
	copyEngines = "CopyEngineCount"
	decoders    = "DecoderCount"
	encoders    = "EncoderCount"
	jpegEngines = "JpegCount"
	ofaEngines  = "OfaCount"
)

// Synthetic names the figures that the fake reports though no source gives
// them, by their NVML fields, in the order of NVML's structure: of the GPU as a
// whole for an empty profile ("Memory.Total"), of a GPU instance's profile
// ("MemorySizeMB", "DecoderCount"), or of the compute instances of that name
// ("1c.3g.90gb": "MultiprocessorCount"). It is empty where all is known, and
// for a profile that the model does not offer.
//
// One rule makes them, so that a client has a number to work with: what is
// known of the whole, cut by share. Memory is the share of memory slices, in
// whole 64 MiB, rounded down, which gives the profile its right name under
// mig.MemoryGB; an unknown total is the largest that gives the model's names;
// multiprocessors are the share of compute slices, in whole pairs, rounded
// down; an engine count is that of one slice times the slices.
//
// Tests that compare the fake with a table or a device leave these out.
func Synthetic(m *mig.Model, profile string) []string {
	spec := m.Spec()
	if profile == "" {
		if spec.MemoryMiB == 0 {
			return []string{totalMemory}
		}
		return nil
	}
	for _, p := range spec.Profiles {
		if p.Name == profile {
			return unknown(p)
		}
	}
	for _, c := range spec.ComputeProfiles {
		if c.Name == profile && c.SMs == 0 {
			return []string{processors}
		}
	}
	return nil
}

func unknown(p mig.Profile) []string {
	var fields []string
	for _, f := range []struct {
		name    string
		unknown bool
	}{
		{processors, p.SMs == 0},
		{copyEngines, p.Engines.Copy == mig.NotKnown},
		{decoders, p.Engines.Decoders == mig.NotKnown},
		{encoders, p.Engines.Encoders == mig.NotKnown},
		{jpegEngines, p.Engines.JPEG == mig.NotKnown},
		{ofaEngines, p.Engines.OFA == mig.NotKnown},
		{memorySize, p.MemoryMiB == 0},
	} {
		if f.unknown {
			fields = append(fields, f.name)
		}
	}
	return fields
}

// complete returns the table with a synthetic figure in every gap.
func complete(spec mig.Spec) mig.Spec {
	if spec.MemoryMiB == 0 {
		spec.MemoryMiB = spec.NameMemoryGB * 1024
	}
	one := spec.Profiles[0].Engines // the smallest plain profile stands first
	sms := map[string]int{}
	computeSlices := map[string]int{}
	for i := range spec.Profiles {
		p := &spec.Profiles[i]
		if p.MemoryMiB == 0 {
			p.MemoryMiB = spec.MemoryMiB * p.Size / spec.MemorySlices / 64 * 64
		}
		if p.SMs == 0 {
			p.SMs = share(spec.SMs, p.ComputeSlices, spec.ComputeSlices)
		}
		e := &p.Engines
		for _, f := range []struct {
			count *int
			one   int
		}{
			{&e.Copy, one.Copy},
			{&e.Decoders, one.Decoders},
			{&e.Encoders, one.Encoders},
			{&e.JPEG, one.JPEG},
			{&e.OFA, one.OFA},
		} {
			if *f.count == mig.NotKnown {
				*f.count = max(f.one, 0) * p.ComputeSlices
			}
		}
		sms[p.Name], computeSlices[p.Name] = p.SMs, p.ComputeSlices
	}
	for i := range spec.ComputeProfiles {
		if c := &spec.ComputeProfiles[i]; c.SMs == 0 {
			c.SMs = share(sms[c.GPUInstance], c.Slices, computeSlices[c.GPUInstance])
		}
	}
	return spec
}

// share returns the part of multiprocessors that falls to some of all slices,
// in whole pairs unless it is everything.
func share(sms, slices, all int) int {
	if slices == all {
		return sms
	}
	return sms * slices / all / 2 * 2
}
