package fragmentation

import (
	"math/bits"
	"slices"
)

// scarce reports whether device memory may run out before milli-GPU on a GPU of
// the node. Where a GPU has as much for its milli-GPU as the neediest shape
// asks for its own, no task takes more than its part, so it has as much ever
// after.
func (f *Fill) scarce(s *State) bool {
	n := &f.neediest
	if n.memory == 0 {
		return false
	}
	for i := range s.GPUs {
		g := &s.GPUs[i]
		if g.Milli > 0 && !g.Cut() && less(g.Memory, int64(n.milli), n.memory, g.Milli) {
			return true
		}
	}
	return false
}

// less reports whether a*b is less than c*d. No factor is negative.
func less(a, b, c, d int64) bool {
	high, low := bits.Mul64(uint64(a), uint64(b))
	than, thanLow := bits.Mul64(uint64(c), uint64(d))
	return high < than || high == than && low < thanLow
}

// fillGPU is what is left of a GPU.
type fillGPU struct{ milli, memory int64 }

func (g fillGPU) after(o fillGPU) bool {
	return g.milli > o.milli || g.milli == o.milli && g.memory > o.memory
}

// withMemory is Of where device memory may run out. Of the GPUs in
// ascending order, idle ones last, the first that fits is the one to take. The
// tables know nothing of memory: what they let through is looked at again.
func (f *Fill) withMemory(s *State) int64 {
	t := &f.tables
	var room [2][MostGPUs]fillGPU // on the stack
	start, gpus := room[0][:0], room[1][:]
	for i := range s.GPUs {
		if g := &s.GPUs[i]; g.Milli >= t.least && !g.Cut() {
			start = append(start, fillGPU{})
			insertGPU(start, len(start)-1, fillGPU{min(g.Milli, Whole), g.Memory})
		}
	}
	if len(start) > len(gpus) {
		gpus = make([]fillGPU, len(start))
	}
	cpuLevel, gpuLevel := t.cpuLevel(s.CPU), t.levelOf(start)
	if cpuLevel == 0 || gpuLevel == 0 {
		return 0
	}
	byCPU, byGPU := t.row(t.byCPU, cpuLevel), t.row(t.byGPU, gpuLevel)
	byModel := t.accepted(s.Model)
	filled := int64(0)
	for k, places := range byCPU {
		places &= byGPU[k]
		if byModel != nil {
			places &= byModel[k]
		}
		if places == 0 {
			continue
		}
		drawn := f.drawn[k*f.length:][:f.length]
		left, cpu := gpus[:copy(gpus, start)], s.CPU
		own := int64(0)
		for places != 0 {
			shape := &f.shapes[drawn[bits.TrailingZeros64(places)]]
			places &= places - 1
			var taken bool
			if left, taken = shape.take(left, t.least); !taken {
				continue
			}
			cpu -= shape.cpu
			own += shape.total
			places &= t.byCPU[t.cpuLevel(cpu)*t.sequences+k] & t.byGPU[t.levelOf(left)*t.sequences+k]
		}
		filled += own * f.weights[k]
	}
	return filled
}

// take puts the shape on GPUs of a list, in place, and returns what is left of
// it: GPUs on which nothing more fits are dropped. Without room nothing changes.
func (s *fillShape) take(gpus []fillGPU, least int64) ([]fillGPU, bool) {
	milli, most := int64(s.milli), max(1, s.gpus)
	i := 0
	for ; i+most <= len(gpus); i++ {
		if gpus[i].milli >= milli && gpus[i].memory >= s.memory {
			break
		}
	}
	if i+most > len(gpus) {
		return gpus, false
	}
	left := fillGPU{gpus[i].milli - milli, gpus[i].memory - s.memory}
	if s.gpus > 0 || left.milli < least {
		return slices.Delete(gpus, i, i+most), true
	}
	insertGPU(gpus, i, left)
	return gpus, true
}

// insertGPU is insert for a list of GPUs.
func insertGPU(list []fillGPU, i int, x fillGPU) {
	for ; i > 0 && list[i-1].after(x); i-- {
		list[i] = list[i-1]
	}
	list[i] = x
}

// levelOf is gpuLevel for GPUs in ascending order, idle ones among them.
func (t *fillTables) levelOf(gpus []fillGPU) int {
	idle := 0
	for idle < len(gpus) && gpus[len(gpus)-1-idle].milli == Whole {
		idle++
	}
	switch {
	case idle > 0:
		return int(t.idleLevel[min(idle, MostGPUs)])
	case len(gpus) > 0:
		return int(t.milliLevel[gpus[len(gpus)-1].milli])
	default:
		return 0
	}
}
