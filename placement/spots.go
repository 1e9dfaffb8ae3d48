package placement

import (
	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
)

// cursor walks the spots that a task of a shape can take, in order: by GPU
// index, then by start. Tasks without GPU have one spot; so have tasks of
// several GPUs, see wholeGPUs. A GPU that equals an earlier one is passed over,
// as what it offers is the same.
//
// The state must not refuse the shape. It is not an iterator function so that
// walking it does not allocate.
type cursor struct {
	state  *fragmentation.State
	shape  *fragmentation.Shape
	gpu    int      // the next GPU to look at
	starts mig.Mask // what is left of the starts of GPU gpu-1
	done   bool
}

func (c *cursor) next() (Spot, bool) {
	switch {
	case c.shape.GPUs != 1:
		if c.done {
			return Spot{}, false
		}
		c.done = true
		return Spot{GPUs: wholeGPUs(c.state, c.shape)}, true
	case c.shape.Profile != "":
		for c.starts == 0 {
			if c.gpu == len(c.state.GPUs) {
				return Spot{}, false
			}
			if !c.repeated(c.gpu) {
				c.starts = starts(&c.state.GPUs[c.gpu], c.shape)
			}
			c.gpu++
		}
		start := c.starts.Lowest()
		c.starts &^= mig.MaskOf(start)
		return Spot{GPUs: 1 << (c.gpu - 1), Start: start}, true
	default:
		for ; c.gpu < len(c.state.GPUs); c.gpu++ {
			if c.state.GPUs[c.gpu].Takes(c.shape) && !c.repeated(c.gpu) {
				c.gpu++
				return Spot{GPUs: 1 << (c.gpu - 1)}, true
			}
		}
		return Spot{}, false
	}
}

func (c *cursor) repeated(i int) bool {
	g := &c.state.GPUs[i]
	for j := range i {
		// The first comparison is there for speed.
		if h := &c.state.GPUs[j]; h.Milli == g.Milli && *h == *g {
			return true
		}
	}
	return false
}

// starts returns the free starts of a GPU for a MIG instance.
func starts(g *fragmentation.GPU, shape *fragmentation.Shape) mig.Mask {
	if p, ok := offer(g, shape); ok {
		return g.Layout.FreeStarts(p)
	}
	return 0
}

// offer returns the profile of a GPU's model that serves the shape.
func offer(g *fragmentation.GPU, shape *fragmentation.Shape) (mig.Profile, bool) {
	if !g.Cut() {
		return mig.Profile{}, false
	}
	p, ok := g.Layout.Model().Offers(shape.Profile)
	// A need for memory is not served where the figure is unknown.
	return p, ok && int64(p.MemoryMiB) >= shape.DeviceMemory
}

// wholeGPUs returns the wanted number of GPUs with the whole share left: those of
// least device memory, so that the others serve as many tasks as can be, and of
// lowest index on ties; no GPUs for a shape without.
func wholeGPUs(s *fragmentation.State, shape *fragmentation.Shape) GPUSet {
	var set GPUSet
	for set.Len() < shape.GPUs {
		best := -1
		for i := range s.GPUs {
			if g := &s.GPUs[i]; !set.Has(i) && g.Takes(shape) && (best < 0 || g.Memory < s.GPUs[best].Memory) {
				best = i
			}
		}
		if best < 0 {
			return set // the state refuses the shape
		}
		set |= 1 << best
	}
	return set
}

// preference says which GPU of a node a plain policy takes.
type preference bool

const (
	tightest preference = false // least left that still fits; lowest index on ties
	loosest  preference = true  // most left; lowest index on ties
)

// plainSpot returns the spot that a policy without a view of positions takes on
// a node that does not refuse the shape: the preferred GPU, and on a cut GPU
// the start that the driver would choose.
func plainSpot(s *fragmentation.State, shape *fragmentation.Shape, want preference) Spot {
	if shape.GPUs == 0 || shape.Milli == fragmentation.Whole {
		return Spot{GPUs: wholeGPUs(s, shape)}
	}
	best := -1
	for i := range s.GPUs {
		if !takes(&s.GPUs[i], shape) {
			continue
		}
		if best < 0 || want == tightest && s.GPUs[i].Left() < s.GPUs[best].Left() ||
			want == loosest && s.GPUs[i].Left() > s.GPUs[best].Left() {
			best = i
		}
	}
	return driverSpot(s, shape, best)
}

// takes reports whether a GPU takes a fraction or a MIG instance.
func takes(g *fragmentation.GPU, shape *fragmentation.Shape) bool {
	if shape.Profile != "" {
		return starts(g, shape) != 0
	}
	return g.Takes(shape)
}

// driverSpot returns the spot on GPU i, which takes the shape.
func driverSpot(s *fragmentation.State, shape *fragmentation.Shape, i int) Spot {
	spot := Spot{GPUs: 1 << i}
	if p, ok := offer(&s.GPUs[i], shape); ok && shape.Profile != "" {
		spot.Start, _ = s.GPUs[i].Layout.DefaultStart(p)
	}
	return spot
}

// pairsAfter returns how many (profile, start) pairs are free on a cut GPU with
// the shape at a free start; 0 for other shapes and GPUs.
func pairsAfter(g *fragmentation.GPU, shape *fragmentation.Shape, start int) int64 {
	p, ok := offer(g, shape)
	if !ok {
		return 0
	}
	after, _ := g.Layout.With(p, start) // the start is free
	return int64(after.FreePairs())
}

// demand returns the milli-GPU that the shape takes at a spot; a MIG instance
// counts by its memory slices.
func demand(s *fragmentation.State, shape *fragmentation.Shape, spot Spot) int64 {
	if shape.Profile == "" {
		return shape.TotalMilli()
	}
	g := &s.GPUs[spot.GPUs.First()]
	p, _ := offer(g, shape)
	return fragmentation.SliceMilli(p.Size, g.Layout.Model().MemorySlices())
}
