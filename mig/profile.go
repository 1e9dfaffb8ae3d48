package mig

// Confidence says how well a figure of a table is known. A figure nobody has
// published is absent from the table instead of guessed.
type Confidence uint8

// The levels of confidence.
const (
	Unknown Confidence = iota // no public source
	Derived                   // follows from a stated rule, not read from a device
	Exact                     // read from tool output or a vendor table
)

// String returns "unknown", "derived" or "exact".
func (c Confidence) String() string {
	switch c {
	case Derived:
		return "derived"
	case Exact:
		return "exact"
	default:
		return "unknown"
	}
}

// NotKnown marks an engine count or a profile's ID that no public source gives:
// zero is one.
const NotKnown = -1

// Engines counts the engines of a GPU instance; NotKnown where no source gives
// the figure.
type Engines struct {
	Copy, Decoders, Encoders, JPEG, OFA int
}

// Profile is one row of a model's table: a kind of GPU instance that the model
// offers. It is a plain value; two profiles of one model are equal when their
// names are.
type Profile struct {
	Name string // canonical, for example "1g.10gb+me"

	// Index is the argument of NVML's GetGpuInstanceProfileInfo; ID is the
	// number that nvidia-smi prints and that NVML returns as the profile's id.
	// They are different numbers, and both are read per device: the same name
	// can have another ID on another model. ID is NotKnown where no source gives it.
	Index, ID int

	ComputeSlices int  // GPU slices ("g")
	Size          int  // memory slices that a placement covers; 0: unknown
	Starts        Mask // legal first memory slices, free or not; empty: unknown
	MaxInstances  int  // of this profile on one GPU

	MemoryMiB int // device memory; a default that a live device overrides; 0: unknown
	SMs       int // multiprocessors; 0: unknown
	Engines   Engines
	Attrs     Attrs

	Confidence Confidence // of the row
	Geometry   Confidence // of Size and Starts
}

// ComputeProfile is a kind of compute instance that a GPU instance offers.
type ComputeProfile struct {
	GPUInstance string // name of the GPU instance's profile
	Name        string // for example "1c.3g.20gb", or "3g.20gb" for the full size

	// Index is the argument of NVML's GetComputeInstanceProfileInfo and, in
	// every listing read, also the printed id. Two rows of one GPU instance
	// may carry the same name with other SM counts: choose by what the GPU
	// instance offers, never by name alone.
	Index int

	Slices       int  // compute slices
	Size         int  // compute slices that a placement covers
	Starts       Mask // legal first compute slices inside the GPU instance
	MaxInstances int
	SMs          int  // 0: unknown
	Default      bool // the one that takes the whole GPU instance

	Confidence Confidence
}

// HasGeometry reports whether the legal placements of the profile are known.
func (p Profile) HasGeometry() bool { return p.Size > 0 && p.Starts != 0 }
