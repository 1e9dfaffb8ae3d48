package governor

import (
	"fmt"
	"time"
)

// Estimates remembers what kernels take, to have a cost to ask with. It is a table
// of fixed size with one place for each residue of the key; a newcomer takes the
// place of who was there. The zero value has no room and knows no cost. Not safe for
// concurrent use. Calls allocate nothing.
type Estimates struct {
	places []estimate
}

type estimate struct {
	key  uint64
	mean time.Duration
}

// NewEstimates returns a table with room for so many kernels, 1 to 1<<20. The error
// wraps [ErrInput].
func NewEstimates(size int) (*Estimates, error) {
	if size < 1 || size > 1<<20 {
		return nil, fmt.Errorf("governor: estimates of %d kernels: not within 1 to %d: %w", size, 1<<20, ErrInput)
	}
	return &Estimates{places: make([]estimate, size)}, nil
}

// Cost is what a launch of this kernel is likely to take; zero if unknown. The
// key is the caller's: function handle and launch size, hashed.
func (e *Estimates) Cost(key uint64) time.Duration {
	if p := e.place(key); p != nil && p.key == key {
		return p.mean
	}
	return 0
}

// Learn takes note of a launch that took so long. The memory goes back about four
// launches.
func (e *Estimates) Learn(key uint64, used time.Duration) {
	used = min(max(used, 1), MaxCost)
	p := e.place(key)
	if p == nil {
		return
	}
	if p.key != key || p.mean == 0 {
		*p = estimate{key: key, mean: used}
		return
	}
	p.mean = max((3*p.mean+used)/4, 1)
}

// place is nil in a table without room.
func (e *Estimates) place(key uint64) *estimate {
	if len(e.places) == 0 {
		return nil
	}
	return &e.places[key%uint64(len(e.places))]
}
