package mps

import (
	"cmp"
	"fmt"
	"slices"
)

// MemoryPartition is a client of protocol 3 with a memory partition of its own: a
// control group with limits on one device. Pinned memory limits are another thing; they
// have no zones.
type MemoryPartition struct {
	Name    string
	UsedMiB int64

	// SoftMiB is what the client may use without becoming a candidate for eviction;
	// 0 protects nothing.
	SoftMiB int64

	// HardMiB is what it can use at all; 0 means no limit.
	HardMiB int64
}

// MemoryZone is where a client's use stands between its limits.
type MemoryZone uint8

// The zones.
const (
	WithinSoft MemoryZone = iota // protected
	OverSoft                     // a candidate for eviction while others need memory
	OverHard                     // not possible: the allocation that leads here fails
)

// String is the zone in words.
func (z MemoryZone) String() string {
	if names := [...]string{"within soft limit", "over soft limit", "over hard limit"}; int(z) < len(names) {
		return names[z]
	}
	return fmt.Sprintf("MemoryZone(%d)", uint8(z))
}

// Zone is that of the partition if it used so many MiB.
func (p MemoryPartition) Zone(usedMiB int64) MemoryZone {
	switch {
	case p.HardMiB > 0 && usedMiB > p.HardMiB:
		return OverHard
	case usedMiB > p.SoftMiB:
		return OverSoft
	}
	return WithinSoft
}

// AllocationOutcome is what becomes of an allocation.
type AllocationOutcome uint8

// The outcomes.
const (
	AllocationGranted   AllocationOutcome = iota // there is memory for it
	AllocationEvicts                             // after other clients have been terminated
	AllocationOverHard                           // fails: out of memory, by the client's own hard limit
	AllocationExhausted                          // fails: out of memory, and no eviction helps or none is due
)

// String is the outcome in words.
func (o AllocationOutcome) String() string {
	if names := [...]string{"granted", "evicts", "over hard limit", "exhausted"}; int(o) < len(names) {
		return names[o]
	}
	return fmt.Sprintf("AllocationOutcome(%d)", uint8(o))
}

// Allocation is the answer of Allocate.
type Allocation struct {
	Outcome AllocationOutcome

	// Candidates are the indices of the clients that may be terminated for it, most
	// over their soft limit first, then in the order given. The order is ours: which
	// one the server takes is not published, so any of them may be hit. Set only if
	// the outcome is AllocationEvicts.
	Candidates []int

	// Enough is how many candidates, taken in this order, free what is missing.
	Enough int
}

// Allocate tells what happens when client number who asks for so many MiB more on a
// device of total MiB.
//
// If the memory is not there and the client would stay within its soft limit, the
// server terminates clients that are over theirs, and the client tries again; a
// terminated client finds out at its next call and has to be started anew. A client
// that is, or with this allocation would be, over its own soft limit has no such claim
// (that the allocation itself counts is our reading). The answer assumes that a
// terminated client frees all it holds. The error wraps ErrInput.
func Allocate(totalMiB int64, partitions []MemoryPartition, who int, mib int64) (Allocation, error) {
	free, err := freeMiB(totalMiB, partitions)
	if err != nil {
		return Allocation{}, err
	}
	if who < 0 || who >= len(partitions) {
		return Allocation{}, fmt.Errorf("%w: partition %d of %d", ErrInput, who, len(partitions))
	}
	if mib < 1 || mib > maxMemoryMiB {
		return Allocation{}, fmt.Errorf("%w: an allocation of %d MiB", ErrInput, mib)
	}
	asker := partitions[who]
	zone := asker.Zone(asker.UsedMiB + mib)
	switch {
	case zone == OverHard:
		return Allocation{Outcome: AllocationOverHard}, nil
	case mib <= free:
		return Allocation{Outcome: AllocationGranted}, nil
	case zone == OverSoft:
		return Allocation{Outcome: AllocationExhausted}, nil
	}
	candidates := EvictionOrder(partitions)
	for i, c := range candidates { // never the asker: it is within its soft limit
		if free += partitions[c].UsedMiB; mib <= free {
			return Allocation{AllocationEvicts, candidates, i + 1}, nil
		}
	}
	return Allocation{Outcome: AllocationExhausted}, nil
}

// EvictionOrder are the indices of the clients over their soft limit: who may be
// terminated when one within its limit needs memory. Most over comes first, then the
// order given; the server's own choice among them is not published.
func EvictionOrder(partitions []MemoryPartition) []int {
	var order []int
	for i, p := range partitions {
		if p.Zone(p.UsedMiB) != WithinSoft {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(partitions[b].UsedMiB-partitions[b].SoftMiB, partitions[a].UsedMiB-partitions[a].SoftMiB)
	})
	return order
}

// freeMiB is what is left, or what is wrong with the partitions.
func freeMiB(totalMiB int64, partitions []MemoryPartition) (int64, error) {
	if totalMiB < 1 || totalMiB > maxMemoryMiB {
		return 0, fmt.Errorf("%w: %d MiB of memory", ErrInput, totalMiB)
	}
	free := totalMiB
	for i, p := range partitions {
		switch {
		case p.UsedMiB < 0 || p.SoftMiB < 0 || p.HardMiB < 0 || max(p.SoftMiB, p.HardMiB) > maxMemoryMiB:
			return 0, fmt.Errorf("%w: partition %d %q: used %d, soft %d, hard %d MiB",
				ErrInput, i, p.Name, p.UsedMiB, p.SoftMiB, p.HardMiB)
		case p.UsedMiB > free:
			return 0, fmt.Errorf("%w: partition %d %q: uses %d MiB where %d are left", ErrInput, i, p.Name, p.UsedMiB, free)
		}
		free -= p.UsedMiB
	}
	return free, nil
}
