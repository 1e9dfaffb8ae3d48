package replay

import (
	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
)

// add counts an arrival.
func (t *Tally) add(shape fragmentation.Shape, asked int64, placed bool) {
	group, slices := GroupOf(shape), computeSlices(shape.Profile)
	t.Offered[group]++
	t.OfferedSlices += slices
	cpu := int64(0)
	if group == CPUOnly {
		cpu = shape.CPU
	}
	t.OfferedCPU += cpu
	t.OfferedMilli += asked
	if placed {
		return
	}
	t.Rejected[group]++
	t.RejectedSlices += slices
	t.RejectedCPU += cpu
	t.RejectedMilli += asked
}

// computeSlices returns the compute slices of an instance, as its name has them;
// 0 without a profile.
func computeSlices(profile string) int {
	if profile == "" {
		return 0
	}
	name, err := mig.ParseName(profile)
	if err != nil {
		return 0 // not reached: the shape is valid
	}
	return name.GPUSlices
}
