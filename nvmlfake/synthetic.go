package nvmlfake

import (
	"fmt"
	"slices"

	"github.com/gpushare/gpushare/mig"
)

// The figures that Synthetic names, by their NVML fields.
const (
	totalMemory = "Memory.Total"
	profileID   = "Id"
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
// ("Id", "MemorySizeMB", "DecoderCount"), or of the compute instances of that
// name ("1c.3g.90gb": "MultiprocessorCount"). It is empty where all is known, and
// for a profile that the model does not offer.
//
// Rules make them, so that a client has a number to work with: what is known of
// the whole, cut by share. Memory is the share of memory slices, in whole 64
// MiB, rounded down, which gives the profile its right name under mig.MemoryGB;
// an unknown total is the largest that gives the model's names. Multiprocessors
// are the share of compute slices, in whole pairs, rounded down; an unknown total
// is that of the smallest profile, or 14 (Ampere), 16 (Hopper) or 18, for each
// slice. An engine count is that of one slice times the slices, where one slice
// has one copy engine and, but for Ampere, one decoder and one JPEG engine if
// that is unknown too. An unknown id is that of the profile on GPUs of as many
// memory slices. Where nobody lists the compute instances of a GPU instance, it
// offers those of 1, 2, 3, 4, 6, 7 and 8 slices that are its whole, and those of
// up to half of its slices, rounded up.
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
	known := func(c mig.ComputeProfile) bool { return c.Name == profile && c.SMs > 0 }
	there := func(c mig.ComputeProfile) bool { return c.Name == profile }
	if len(spec.Profiles) == 0 || slices.ContainsFunc(spec.ComputeProfiles, known) ||
		!slices.ContainsFunc(complete(spec).ComputeProfiles, there) {
		return nil
	}
	return []string{processors}
}

func unknown(p mig.Profile) []string {
	var fields []string
	for _, f := range []struct {
		name    string
		unknown bool
	}{
		{profileID, p.ID == mig.NotKnown},
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
	if spec.SMs == 0 {
		spec.SMs = processorsOfSlice(spec) * spec.ComputeSlices
	}
	one := enginesOfSlice(spec)
	for i := range spec.Profiles {
		p := &spec.Profiles[i]
		if p.ID == mig.NotKnown {
			p.ID = familyID(spec, p.Index)
		}
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
				*f.count = f.one * p.ComputeSlices
			}
		}
	}
	completeCompute(&spec)
	return spec
}

func processorsOfSlice(spec mig.Spec) int {
	for _, p := range spec.Profiles { // the smallest stands first
		if p.SMs > 0 && p.ComputeSlices > 0 {
			return p.SMs / p.ComputeSlices
		}
	}
	switch spec.Architecture {
	case "Ampere":
		return 14
	case "Hopper":
		return 16
	default:
		return 18
	}
}

func enginesOfSlice(spec mig.Spec) mig.Engines {
	one := spec.Profiles[0].Engines // the smallest plain profile stands first
	media := 1
	if spec.Architecture == "Ampere" {
		media = 0
	}
	for _, f := range []struct {
		count *int
		guess int
	}{{&one.Copy, 1}, {&one.Decoders, media}, {&one.Encoders, 0}, {&one.JPEG, media}, {&one.OFA, 0}} {
		if *f.count == mig.NotKnown {
			*f.count = f.guess
		}
	}
	return one
}

// familyID returns the id that a profile has on the known GPUs of as many memory
// slices, or one that no GPU has.
func familyID(spec mig.Spec, index int) int {
	ids := map[int]map[int]int{
		8:  {0: 19, 7: 20, 9: 15, 1: 14, 2: 9, 3: 5, 4: 0},
		4:  {0: 14, 7: 21, 1: 5, 8: 6, 3: 0},
		12: {0: 14, 7: 21, 10: 47, 15: 65, 13: 67, 1: 5, 11: 35, 16: 64, 14: 66, 3: 0, 12: 32},
	}
	taken := func(id int) bool {
		return slices.ContainsFunc(spec.Profiles, func(p mig.Profile) bool { return p.ID == id })
	}
	id, found := ids[spec.MemorySlices][index]
	if !found || taken(id) {
		for id = 200 + index; taken(id); {
			id++
		}
	}
	return id
}

// completeCompute fills in what is missing of the compute profiles.
func completeCompute(spec *mig.Spec) {
	for _, p := range spec.Profiles {
		listed := slices.ContainsFunc(spec.ComputeProfiles, func(c mig.ComputeProfile) bool { return c.GPUInstance == p.Name })
		if !listed {
			spec.ComputeProfiles = append(spec.ComputeProfiles, computeProfiles(p)...)
		}
	}
	for i := range spec.ComputeProfiles {
		c := &spec.ComputeProfiles[i]
		if c.SMs > 0 {
			continue
		}
		for _, p := range spec.Profiles {
			if p.Name == c.GPUInstance {
				c.SMs = share(p.SMs, c.Slices, p.ComputeSlices)
			}
		}
	}
}

// computeProfiles returns what a GPU instance offers by the rule that matches
// every listing read. A part of three slices begins at 0 or 4, as it does where
// it is listed.
func computeProfiles(p mig.Profile) []mig.ComputeProfile {
	var offers []mig.ComputeProfile
	for index, n := range []int{1, 2, 3, 4, 7, 8, 6} { // by NVML's index
		if n != p.ComputeSlices && (n > 4 || 2*n > p.ComputeSlices+1) {
			continue
		}
		c := mig.ComputeProfile{
			GPUInstance: p.Name, Name: fmt.Sprintf("%dc.%s", n, p.Name), Index: index,
			Slices: n, Size: n, MaxInstances: p.ComputeSlices / n, Confidence: mig.Derived,
		}
		if n == p.ComputeSlices {
			c.Name, c.Default = p.Name, true
		}
		step := n
		if n == 3 {
			step = 4
		}
		for start := 0; start+n <= p.ComputeSlices; start += step {
			c.Starts |= mig.MaskOf(start)
		}
		offers = append(offers, c)
	}
	return offers
}

// share returns the part of multiprocessors that falls to some of all slices,
// in whole pairs unless it is everything.
func share(sms, slices, all int) int {
	if slices == all {
		return sms
	}
	return sms * slices / all / 2 * 2
}
