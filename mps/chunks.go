package mps

import "fmt"

// Chunks are what static SM partitions are made of on one device. Size and count are
// to be asked of the daemon (`lspart` with protocol 2, `device list` with 3).
type Chunks struct {
	SMs   int // of the device
	Size  int // SMs of a chunk; said to be 8 on discrete GPUs from Hopper on, 2 or 4 elsewhere
	Count int // chunks of the device

	// Bound: the count is the most that arithmetic allows. A chunk does not reach
	// over the border of a GPC, so the device may have fewer: 15 where 132 SMs of 8
	// would make 16.
	Bound bool
}

// PartitionShare is one static SM partition of a split.
type PartitionShare struct {
	Chunks int `json:"chunks"`
	SMs    int `json:"sms"`
}

// PartitionSplit is a device divided into static partitions.
type PartitionSplit struct {
	Partitions  []PartitionShare `json:"partitions"`  // in the order asked
	FreeChunks  int              `json:"freeChunks"`  // in no partition
	UsableSMs   int              `json:"usableSMs"`   // in chunks, taken or free
	StrandedSMs int              `json:"strandedSMs"` // in no chunk; a partition created with the remainder may get some

	// Bound: chunks were counted by arithmetic. The device may refuse these
	// partitions; UsableSMs and FreeChunks are at most, StrandedSMs at least.
	Bound bool `json:"bound"`
}

// BoundChunks is the most chunks of a size that a device can have, marked as bound. It
// is for when no daemon can be asked: it proves that a demand does not fit, never that
// it does.
func BoundChunks(sms, size int) (Chunks, error) {
	if size < 1 || sms < size {
		return Chunks{}, fmt.Errorf("%w: chunks of %d SMs on a device of %d", ErrInput, size, sms)
	}
	c := Chunks{SMs: sms, Size: size, Count: sms / size, Bound: true}
	return c, c.check()
}

func (c Chunks) check() error {
	if c.SMs < 1 || c.SMs > maxSMs || c.Size < 1 || c.Count < 1 || c.Count > c.SMs/c.Size {
		return fmt.Errorf("%w: %d chunks of %d SMs on a device of %d", ErrInput, c.Count, c.Size, c.SMs)
	}
	return nil
}

// Holding is the number of chunks that hold so many SMs, which may be more than the
// device has.
func (c Chunks) Holding(sms int) (int, error) {
	if err := c.check(); err != nil {
		return 0, err
	}
	if sms < 1 || sms > maxSMs {
		return 0, fmt.Errorf("%w: a partition of %d SMs", ErrInput, sms)
	}
	return (sms + c.Size - 1) / c.Size, nil
}

// Divide makes partitions of so many chunks each. The error wraps ErrInput if the
// device cannot have them.
func (c Chunks) Divide(chunks ...int) (PartitionSplit, error) {
	if err := c.check(); err != nil {
		return PartitionSplit{}, err
	}
	s := PartitionSplit{
		Partitions:  make([]PartitionShare, len(chunks)),
		FreeChunks:  c.Count,
		UsableSMs:   c.Count * c.Size,
		StrandedSMs: c.SMs - c.Count*c.Size,
		Bound:       c.Bound,
	}
	for i, n := range chunks {
		switch {
		case n < 1:
			return PartitionSplit{}, fmt.Errorf("%w: partition %d: %d chunks", ErrInput, i, n)
		case n > s.FreeChunks:
			return PartitionSplit{}, fmt.Errorf("%w: partition %d: %d chunks, but %d of %d are left",
				ErrInput, i, n, s.FreeChunks, c.Count)
		}
		s.FreeChunks -= n
		s.Partitions[i] = PartitionShare{Chunks: n, SMs: n * c.Size}
	}
	return s, nil
}

// DivideByWeight gives all chunks away in proportion to the weights, each part rounded
// down or up, the largest remainders first. A part of no chunk is refused, with
// ErrNoSMs.
func (c Chunks) DivideByWeight(weights []int) (PartitionSplit, error) {
	if err := c.check(); err != nil {
		return PartitionSplit{}, err
	}
	weights, err := reduceWeights(weights)
	if err != nil {
		return PartitionSplit{}, err
	}
	chunks := make([]int, len(weights))
	for i, n := range splitByWeight(int64(c.Count), weights) {
		if n == 0 {
			return PartitionSplit{}, fmt.Errorf("%w: partition %d of %d: its part of %d chunks is none",
				ErrNoSMs, i, len(weights), c.Count)
		}
		chunks[i] = int(n)
	}
	return c.Divide(chunks...)
}
