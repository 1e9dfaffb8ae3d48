package mig

import "fmt"

// ComputeInstance is a compute instance inside a GPU instance: a compute profile
// that begins at a compute slice.
type ComputeInstance struct {
	Profile string `json:"profile"` // "1c.3g.20gb", or "3g.20gb" for the full size
	Start   int    `json:"start"`   // first compute slice of the GPU instance
	Size    int    `json:"size"`    // compute slices covered; 0 on input: as the table says

	// Index is that of the compute profile, as GetComputeInstanceProfileInfo takes
	// it: two profiles of one GPU instance can share a name. On input, 0 beside a
	// name that no profile of index 0 has counts as not given.
	Index int `json:"index"`
}

// String returns the form "1c.3g.20gb@2".
func (c ComputeInstance) String() string { return fmt.Sprintf("%s@%d", c.Profile, c.Start) }
