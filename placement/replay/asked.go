package replay

import (
	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
)

// Asked returns the milli-GPU that a task of the shape asks of a cluster,
// which is what counts as arrived. A MIG instance asks for its share of memory
// slices; where models of the cluster that the shape accepts differ in it, the
// largest counts, and where none offers the profile it is 0.
func Asked(c *placement.Cluster, shape fragmentation.Shape) int64 {
	if shape.Profile == "" {
		return shape.TotalMilli()
	}
	most := int64(0)
	for n := range c.Nodes() {
		spec := n.Spec()
		if !shape.Models.Accept(spec.Model) {
			continue
		}
		var last *mig.Model
		for _, g := range spec.GPUs {
			if g.MIG == nil || g.MIG == last {
				continue
			}
			last = g.MIG
			if p, ok := last.Offers(shape.Profile); ok {
				most = max(most, fragmentation.SliceMilli(p.Size, last.MemorySlices()))
			}
		}
	}
	return most
}
