package fragmentation

import (
	"fmt"

	"github.com/gpushare/gpushare/mig"
)

// MostGPUs is the largest number of GPUs that a shape or a node may have.
const MostGPUs = 64

// Shape is what a task takes. It asks for one kind of GPU share, or for none:
//
//	no GPU         GPUs 0
//	a fraction     GPUs 1, Milli 1 to 999
//	whole GPUs     GPUs 1 or more, Milli 1000
//	a MIG instance Profile set, GPUs 1, Milli 0
//
// A whole GPU comes with all its device memory. It is comparable; two tasks of
// equal shape are interchangeable.
type Shape struct {
	CPU          int64  // milli-vCPU
	Memory       int64  // MiB of main memory
	GPUs         int    // number of GPUs
	Milli        int64  // milli-GPU on each GPU
	DeviceMemory int64  // MiB of device memory on each GPU, at least; 0: not stated
	Profile      string // MIG profile by its canonical name, for example "3g.20gb"
	Models       Models // GPU models that will do
}

// Validate names the first field that is out of range; the error wraps
// ErrBadShape.
func (s Shape) Validate() error {
	bad := func(field string, value any, rule string) error {
		return fmt.Errorf("fragmentation: %s %v: %s: %w", field, value, rule, ErrBadShape)
	}
	switch {
	case s.CPU < 0:
		return bad("CPU", s.CPU, "is negative")
	case s.Memory < 0:
		return bad("memory", s.Memory, "is negative")
	case s.GPUs < 0:
		return bad("GPU count", s.GPUs, "is negative")
	case s.GPUs > MostGPUs:
		return bad("GPU count", s.GPUs, fmt.Sprintf("is more than %d", MostGPUs))
	case s.Milli < 0:
		return bad("milli-GPU", s.Milli, "is negative")
	case s.DeviceMemory < 0:
		return bad("device memory", s.DeviceMemory, "is negative")
	case s.Profile != "":
		if s.GPUs != 1 || s.Milli != 0 {
			return bad("profile", s.Profile, "needs GPU count 1 and no milli-GPU: a process can use one MIG device")
		}
		name, err := mig.ParseName(s.Profile)
		if err != nil {
			return fmt.Errorf("fragmentation: profile: %w: %w", err, ErrBadShape)
		}
		if name.ComputeSlices != name.GPUSlices || name.String() != s.Profile {
			return bad("profile", s.Profile, "is not the canonical name of a GPU instance")
		}
	case s.GPUs == 0:
		if s.Milli != 0 {
			return bad("milli-GPU", s.Milli, "is given without a GPU")
		}
		if s.DeviceMemory != 0 {
			return bad("device memory", s.DeviceMemory, "is given without a GPU")
		}
	case s.Milli == 0:
		return bad("milli-GPU", s.Milli, "is missing")
	case s.Milli > Whole:
		return bad("milli-GPU", s.Milli, "is more than one GPU; ask for several whole GPUs")
	case s.Milli < Whole && s.GPUs > 1:
		return bad("milli-GPU", s.Milli, fmt.Sprintf("on each of %d GPUs: a fraction is of one GPU", s.GPUs))
	}
	return nil
}

// TotalMilli returns the milli-GPU taken on all GPUs together; 0 for a MIG
// instance, whose share depends on the model.
func (s Shape) TotalMilli() int64 { return int64(s.GPUs) * s.Milli }
