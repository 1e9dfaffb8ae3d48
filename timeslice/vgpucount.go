package timeslice

import "fmt"

// Limits of the driver on vGPUs that share a GPU in time.
const (
	MaxVGPUsPerInstance = 12 // in one GPU instance of a GPU with MIG
	MaxVGPUsWithoutMIG  = 32 // on a GPU without MIG
	MaxVGPUsPerGPU      = 48 // on a GPU with MIG, in all its instances
)

// VGPUsOfType is how many vGPUs of one type fit on a GPU without MIG: the frame
// buffer by the type's share of it (both in GB as they are named, such as 80 and
// 16), rounded down, and no more than [MaxVGPUsWithoutMIG]. It is the number of
// places under [FixedShare]. The rule is derived: it gives the vendor's numbers for
// A100 80 GB, A30 and H100 94 GB. [ErrInput] for sizes below 1.
func VGPUsOfType(frameBuffer, size int) (int, error) {
	if frameBuffer < 1 || size < 1 {
		return 0, fmt.Errorf("%w: frame buffer %d GB, vGPU size %d GB", ErrInput, frameBuffer, size)
	}
	return min(frameBuffer/size, MaxVGPUsWithoutMIG), nil
}

// VGPUsOnMIG is how many vGPUs of one type fit on a card that is cut into equal
// GPU instances of which each takes perInstance of them: perInstance * instances,
// never the number of instances. [ErrInput] for numbers below 1, for more than
// [MaxVGPUsPerInstance] in one or more than [MaxVGPUsPerGPU] in all.
func VGPUsOnMIG(perInstance, instances int) (int, error) {
	if perInstance < 1 || perInstance > MaxVGPUsPerInstance {
		return 0, fmt.Errorf("%w: %d vGPUs per GPU instance, not in 1..%d", ErrInput, perInstance, MaxVGPUsPerInstance)
	}
	if instances < 1 || instances > MaxVGPUsPerGPU/perInstance {
		return 0, fmt.Errorf("%w: %d GPU instances of %d vGPUs each, more than %d or none", ErrInput, instances, perInstance, MaxVGPUsPerGPU)
	}
	return perInstance * instances, nil
}

// InstancesForVGPUs is how many GPU instances a request for so many vGPUs of one
// type takes: requested / perInstance, rounded up. [ErrInput] for a negative
// request, or a perInstance outside 1..[MaxVGPUsPerInstance].
func InstancesForVGPUs(requested, perInstance int) (int, error) {
	if perInstance < 1 || perInstance > MaxVGPUsPerInstance {
		return 0, fmt.Errorf("%w: %d vGPUs per GPU instance, not in 1..%d", ErrInput, perInstance, MaxVGPUsPerInstance)
	}
	if requested < 0 {
		return 0, fmt.Errorf("%w: %d vGPUs requested", ErrInput, requested)
	}
	return requested/perInstance + min(requested%perInstance, 1), nil
}
