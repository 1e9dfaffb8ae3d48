package nvmlfake_test

import (
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/mig"
)

// The naive side of the state machine: what is free, unit by unit, with nothing
// of the algebra of package mig.

// overlaps compares two spans unit by unit.
func overlaps(start, size, otherStart, otherSize int) bool {
	for u := start; u < start+size; u++ {
		if u >= otherStart && u < otherStart+otherSize {
			return true
		}
	}
	return false
}

// free lists the starts where one more instance of p can stand beside gis.
func free(p mig.Profile, gis []*modelGI) []int {
	same, blocked := 0, false
	for _, g := range gis {
		if g.profile.Name == p.Name {
			same++
		}
		blocked = blocked || mediaConflict(p, g.profile) || mediaConflict(g.profile, p)
	}
	var starts []int
	for s := range mig.MaxUnits {
		taken := slices.ContainsFunc(gis, func(g *modelGI) bool { return overlaps(s, p.Size, g.start, g.profile.Size) })
		if p.Starts.Has(s) && !taken && !blocked && same < p.MaxInstances {
			starts = append(starts, s)
		}
	}
	return starts
}

// mediaConflict: one instance has the engines that there is one of; with
// +me.all nothing but -me stands.
func mediaConflict(p, q mig.Profile) bool {
	one := p.Attrs == mig.MediaExtensions || p.Attrs == mig.AllMedia
	other := q.Attrs == mig.MediaExtensions || q.Attrs == mig.AllMedia
	return one && other || p.Attrs == mig.AllMedia && q.Attrs != mig.NoMedia
}

// fits returns the most instances of p that stand beside gis, by trying.
func fits(p mig.Profile, gis []*modelGI) int {
	most := 0
	for _, s := range free(p, gis) {
		most = max(most, 1+fits(p, append(slices.Clone(gis), &modelGI{profile: p, start: s})))
	}
	return most
}

// chosen returns the start that leaves the most (plain profile, start) pairs,
// as far as memory slices go.
func (x *machine) chosen(p mig.Profile) int {
	best, at := -1, -1
	for _, s := range free(p, x.gis) {
		after := append(slices.Clone(x.gis), &modelGI{profile: p, start: s})
		pairs := 0
		for q := range x.m.PlainProfiles() {
			for u := range q.Starts.All() {
				if !slices.ContainsFunc(after, func(g *modelGI) bool { return overlaps(u, q.Size, g.start, g.profile.Size) }) {
					pairs++
				}
			}
		}
		if pairs > best {
			best, at = pairs, s
		}
	}
	return at
}

// freeCompute lists the starts where one more compute instance can stand.
func freeCompute(p mig.ComputeProfile, g *modelGI) []int {
	const rev1 = nvml.COMPUTE_INSTANCE_PROFILE_1_SLICE_REV1
	same := 0
	for _, c := range g.cis {
		if c.profile.Index == p.Index {
			same++
		}
		if c.profile.Index == rev1 || p.Index == rev1 {
			return nil
		}
	}
	var starts []int
	for s := range mig.MaxUnits {
		taken := slices.ContainsFunc(g.cis, func(c *modelCI) bool { return overlaps(s, p.Size, c.start, c.profile.Size) })
		if p.Starts.Has(s) && !taken && same < p.MaxInstances {
			starts = append(starts, s)
		}
	}
	return starts
}

// computeOffers are the compute profiles of a GPU instance. Where the table has
// none, those of the family that has one slice less of compute than of memory.
func computeOffers(m *mig.Model, p mig.Profile) []mig.ComputeProfile {
	if offers := slices.Collect(m.ComputeProfiles(p.Name)); len(offers) > 0 {
		return offers
	}
	return map[int][]mig.ComputeProfile{
		1: {{Index: 0, Size: 1, Starts: 0b1, MaxInstances: 1}},
		2: {{Index: 0, Size: 1, Starts: 0b11, MaxInstances: 2}, {Index: 1, Size: 2, Starts: 0b1, MaxInstances: 1}},
		3: {{Index: 0, Size: 1, Starts: 0b111, MaxInstances: 3}, {Index: 1, Size: 2, Starts: 0b1, MaxInstances: 1}, {Index: 2, Size: 3, Starts: 0b1, MaxInstances: 1}},
		4: {{Index: 0, Size: 1, Starts: 0b1111, MaxInstances: 4}, {Index: 1, Size: 2, Starts: 0b101, MaxInstances: 2}, {Index: 3, Size: 4, Starts: 0b1, MaxInstances: 1}},
		7: {
			{Index: 0, Size: 1, Starts: 0b1111111, MaxInstances: 7},
			{Index: 1, Size: 2, Starts: 0b10101, MaxInstances: 3},
			{Index: 2, Size: 3, Starts: 0b10001, MaxInstances: 2},
			{Index: 3, Size: 4, Starts: 0b1, MaxInstances: 1},
			{Index: 4, Size: 7, Starts: 0b1, MaxInstances: 1},
		},
	}[p.ComputeSlices]
}
