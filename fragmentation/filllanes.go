package fragmentation

import (
	"math"
	"math/bits"
	"slices"
)

// fillLanes is what a walk needs where what is left of the GPUs of a node fits
// into one word: eight lanes of a byte each, ascending, the first one lowest. A
// lane counts in the largest unit of which all shapes ask a multiple: what is
// left beyond such a multiple is of no use to any of them, now or later.
//
// All sequences then take a step each, one after the other, and then the next
// one. No step waits for another sequence and none has a branch that depends on
// what is there, so the processor works on several at once.
type fillLanes struct {
	unit   int64 // milli-GPU of a lane's unit; 0: shapes ask for too fine parts
	idle   uint64
	levels [1 << laneBits]uint16 // by the highest lane and how many are idle, added: the level served
	asked  []laneShape
	rough  []uint16 // by CPU left, in steps: how many requests perhaps fit
	beyond []int64  // by how many perhaps fit: what the next one asks for
	shift  uint
	words  []uint64 // by sequence: the places by level of CPU, then those by level of GPUs
	stride int      // words of a sequence
	cpus   int      // of them by level of CPU
	drawn  []uint16 // by sequence, mostLength each
}

// laneShape is what a step needs of a shape.
type laneShape struct {
	cpu   int64
	total int64
	milli uint64 // in units, in every lane
	more  uint64 // bits of the lanes of further GPUs
}

const (
	lanes    = 8
	laneBits = 8
	ones     = 0x0101010101010101
	highs    = ones << (laneBits - 1) // free in every lane: a unit is chosen so

	mostLaneShapes = 1 << 15 // so that levels of CPU and of GPUs together take 16 bits
)

func (t *fillTables) tableLanes(f *Fill) {
	unit := int64(Whole)
	for _, s := range f.shapes {
		unit = gcd(unit, int64(s.milli))
	}
	if Whole/unit >= 1<<(laneBits-1) || len(f.shapes) > mostLaneShapes {
		return
	}
	l := &t.lanes
	whole := int(Whole / unit)
	l.unit, l.idle = unit, uint64(whole)*ones
	for _, s := range f.shapes {
		l.asked = append(l.asked, laneShape{
			cpu: s.cpu, total: s.total,
			milli: uint64(int64(s.milli)/unit) * ones,
			more:  uint64(laneBits * (max(1, s.gpus) - 1)),
		})
	}
	l.cpus = len(t.byCPU) / f.sequences
	for part := range whole {
		l.levels[part] = uint16(l.cpus) + t.milliLevel[part*int(unit)]
	}
	for idle := 1; idle <= lanes; idle++ {
		l.levels[whole+idle] = uint16(l.cpus) + t.idleLevel[idle]
	}
	// Where only some of a step's requests fit, they count as if all did: a
	// task is looked at once more when its turn comes.
	l.shift = t.shift
	for step := range t.rough {
		fit := int(t.rough[step])
		for fit < len(t.cpus) && t.cpus[fit] < int64(step+1)<<l.shift {
			fit++
		}
		l.rough = append(l.rough, uint16(fit))
	}
	l.stride = l.cpus + len(t.byGPU)/f.sequences
	l.beyond = append(slices.Clone(t.cpus), math.MaxInt64)
	for i := range f.sequences {
		for level := range l.cpus {
			l.words = append(l.words, t.byCPU[level*f.sequences+i])
		}
		for level := range l.stride - l.cpus {
			l.words = append(l.words, t.byGPU[level*f.sequences+i])
		}
		var drawn [mostLength]uint16
		for j, shape := range f.drawn[i*f.length:][:f.length] {
			drawn[j] = uint16(shape)
		}
		l.drawn = append(l.drawn, drawn[:]...)
	}
}

// pack returns what is left of the GPUs in lanes; false where there are too
// many GPUs of use, and without a unit.
func (l *fillLanes) pack(s *State, least int64) (uint64, bool) {
	if l.unit == 0 {
		return 0, false
	}
	x, n := uint64(0), 0
	for i := range s.GPUs {
		g := &s.GPUs[i]
		if g.Milli < least || g.Cut() {
			continue
		}
		if n++; n > lanes {
			return 0, false
		}
		// The lowest lane is free.
		x = putLane(x>>laneBits, uint64(min(g.Milli, Whole)/l.unit))
	}
	return x, true
}

// putLane puts a part where it belongs among the lanes but the highest, which is
// free.
func putLane(x, part uint64) uint64 {
	at := firstLane(x|0xff<<(64-laneBits)|highs, part*ones)
	low := uint64(1)<<at - 1
	return x&low | part<<at | x&^low<<laneBits
}

// firstLane returns the first bit of the lowest lane that is not less than its
// like in least. There must be one. The highest bit of each lane of x is set.
func firstLane(x, least uint64) uint {
	return uint(bits.TrailingZeros64((x-least)&highs)) & (64 - laneBits)
}

// level returns where levels holds how many levels lanes serve.
func (l *fillLanes) level(x uint64) uint8 {
	idle := ((x | highs) - l.idle) & highs >> (laneBits - 1) * ones >> (64 - laneBits)
	return uint8(x>>(64-laneBits) + idle)
}

// of is Of for GPUs in lanes, with the CPU for which it is the same: from low up
// to, not including, high.
func (l *fillLanes) of(f *Fill, x uint64, cpu int64, model string) (filled, low, high int64) {
	t := &f.tables
	cpuLevel, gpuLevel := t.cpuLevel(cpu), int(l.levels[l.level(x)])-l.cpus
	switch {
	case gpuLevel == 0:
		return 0, min(cpu, 0), math.MaxInt64
	case cpuLevel == 0:
		return 0, min(cpu, 0), t.cpus[0]
	}
	byCPU, byGPU, byModel := t.row(t.byCPU, cpuLevel), t.row(t.byGPU, gpuLevel), t.accepted(model)
	w := laneSpan{left: cpu, lacks: math.MaxInt64}
	for first := 0; first < f.sequences; first += laneWalk {
		end := min(first+laneWalk, f.sequences)
		var accepted []uint64
		if byModel != nil {
			accepted = byModel[first:end]
		}
		l.fill(&w, first, x, cpu, l.beyond[cpuLevel]-cpu, byCPU[first:end], byGPU[first:end], accepted, f.weights[first:end])
	}
	high = math.MaxInt64
	if w.lacks < high-cpu {
		high = cpu + w.lacks
	}
	return w.filled, cpu - w.left, high
}

// laneSpan is the result of walks.
type laneSpan struct {
	filled int64
	left   int64 // the least CPU left after a task: so much less, and all are the same
	lacks  int64 // the least CPU that a task lacked: so much more, and one is not
}

// laneWalk is how many sequences take their steps together.
const laneWalk = 64

// laneState is what is left of a node in a sequence.
type laneState struct {
	lanes  uint64
	cpu    int64
	places uint64 // to be looked at
	words  int32  // of the sequence, in fillLanes
	drawn  int32
	weight int64
}

// fill adds the walks of the sequences from first on, laneWalk of them at most.
func (l *fillLanes) fill(w *laneSpan, first int, x uint64, cpu, beyond int64, byCPU, byGPU, byModel []uint64, weights []int64) {
	var states [laneWalk]laneState // on the stack
	n := 0
	byGPU, weights = byGPU[:len(byCPU)], weights[:len(byCPU)]
	out := uint64(0)
	for i, p := range byCPU {
		all := byGPU[i]
		if byModel != nil {
			all &= byModel[i]
		}
		out |= all &^ p
		p &= all
		next := &states[n%laneWalk] // written field by field, as it is read
		next.lanes, next.cpu, next.places = x, cpu, p
		next.words, next.drawn, next.weight = int32((first+i)*l.stride), int32((first+i)*mostLength), weights[i]
		n += int((p | -p) >> 63)
	}
	filled, left, lacks, last := int64(0), w.left, w.lacks, int64(len(l.rough)-1)
	if out != 0 {
		lacks = min(lacks, beyond)
	}
	for n > 0 {
		still := 0
		for j := range states[:n] {
			now := &states[j]
			x, cpu, p := now.lanes, now.cpu, now.places
			s := &l.asked[l.drawn[int(now.drawn)+bits.TrailingZeros64(p)]]
			p &= p - 1
			cpu -= s.cpu
			if cpu < 0 { // hardly ever: it only seemed to fit
				lacks = min(lacks, -cpu)
				states[still%laneWalk] = *now
				states[still%laneWalk].places = p
				still += int((p | -p) >> 63)
				continue
			}
			left = min(left, cpu)
			filled += s.total * now.weight
			free := x | highs
			from := firstLane(free, s.milli)
			part := (free - s.milli) >> from & (1<<(laneBits-1) - 1)
			// Lanes between the place of what is left and the one it came from
			// move up.
			to := firstLane(free, part*ones)
			first, end := uint64(1)<<to, uint64(1)<<from
			x = x&^(end<<laneBits-first) | x&(end-first)<<laneBits | part<<to
			x <<= s.more & 63

			roughly := cpu>>(l.shift&63) - last
			level := int(l.rough[last+roughly&(roughly>>63)])
			words := int(now.words)
			p &= l.words[words+int(l.levels[l.level(x)])]
			served := p & l.words[words+level]
			out := int64((p^served)|-(p^served)) >> 63
			lacks = min(lacks, (l.beyond[level]-cpu)&out|math.MaxInt64&^out)
			next := &states[still%laneWalk]
			next.lanes, next.cpu, next.places = x, cpu, served
			next.words, next.drawn, next.weight = now.words, now.drawn, now.weight
			still += int((served | -served) >> 63)
		}
		n = still
	}
	w.filled, w.left, w.lacks = w.filled+filled, left, lacks
}
