package placement

import (
	"maps"
	"math/bits"
	"sync/atomic"

	"github.com/gpushare/gpushare/fragmentation"
)

// remembered is a value with a memory of what it said about uncut GPUs, in any
// order of them. The memory has a fixed size, and what is said later takes the
// place of what was said before. It is safe for concurrent use without a lock.
type remembered struct {
	fragmentation.Value
	direct bool // the value costs less than the memory
	blind  bool // the value does not look at main memory
	shift  int
	table  []said
	models atomic.Pointer[map[string]uint64] // numbers from 1 on
	// Of expected fill; then the table is for the few states without a key.
	plateaus *plateaus
}

// Sizes of the memory: places, of 128 bytes each.
const (
	leastSaid  = 12 // bits
	mostSaid   = 18
	saidGPUs   = 12
	mostModels = 1 << 10 // names of GPU models
)

// said is a state and its value. The sequence is odd while one writes, and what
// was read counts only if it was the same and even before and after.
type said struct {
	sequence atomic.Uint64
	value    atomic.Int64
	state    [2 + saidGPUs]atomic.Uint64
}

func newRemembered(v fragmentation.Value, nodes int) *remembered {
	r := &remembered{Value: v, blind: blindValue(v)}
	switch v.(type) {
	case *fragmentation.FGD, *fragmentation.MIGFGD:
		r.direct = true
		return r
	}
	size := min(max(bits.Len(uint(4*nodes)), leastSaid), mostSaid)
	if f, ok := v.(*fragmentation.Fill); ok {
		r.plateaus = &plateaus{value: f, shift: 64 - size, table: make([]shelf, 1<<size)}
		size = leastSaid
	}
	r.shift = 64 - size
	r.table = make([]said, 1<<size)
	return r
}

// Of returns the value of a state.
func (r *remembered) Of(s *fragmentation.State) int64 {
	if r.direct {
		return r.Value.Of(s)
	}
	model := (*r.models.Load())[s.Model]
	if r.plateaus != nil && model > 0 {
		if worth, ok := r.plateaus.of(s, model); ok {
			return worth
		}
	}
	if model == 0 || len(s.GPUs) > saidGPUs {
		return r.Value.Of(s)
	}
	var key [2 + saidGPUs]uint64
	h, ok := r.key(s, model, &key)
	if !ok {
		return r.Value.Of(s)
	}
	n := 2 + len(s.GPUs)
	place := &r.table[h>>r.shift]
	before := place.sequence.Load()
	if before&1 == 0 {
		same := true
		for i := range n {
			if place.state[i].Load() != key[i] {
				same = false
				break
			}
		}
		value := place.value.Load()
		if same && place.sequence.Load() == before {
			return value
		}
	}
	value := r.Value.Of(s)
	if before&1 == 0 && place.sequence.CompareAndSwap(before, before+1) {
		for i := range n {
			place.state[i].Store(key[i])
		}
		place.value.Store(value)
		place.sequence.Store(before + 2)
	}
	return value
}

// key writes down all that the value looks at, with the GPUs in order, and
// returns its hash; false if there is no room for it.
func (r *remembered) key(s *fragmentation.State, model uint64, key *[2 + saidGPUs]uint64) (uint64, bool) {
	// Amounts of a node are at most mostAmount, 40 bits; none is negative.
	key[0] = uint64(s.CPU)<<8 | uint64(len(s.GPUs)+1)
	key[1] = model << 48
	if !r.blind {
		key[1] |= uint64(s.Memory)
	}
	gpus := key[2:][:len(s.GPUs)]
	for i := range gpus {
		g := &s.GPUs[i]
		if g.Cut() {
			return 0, false
		}
		x := uint64(g.Milli)<<48 | uint64(g.Memory)
		j := i
		for ; j > 0 && gpus[j-1] > x; j-- {
			gpus[j] = gpus[j-1]
		}
		gpus[j] = x
	}
	h := uint64(0)
	for _, x := range key[:2+len(gpus)] {
		h = bits.RotateLeft64((h^x)*0x9e3779b97f4a7c15, 29)
	}
	return h * 0x9e3779b97f4a7c15, true
}

// learn makes states of a GPU model known. It is for one writer.
func (r *remembered) learn(model string) {
	known := r.models.Load()
	if r.direct || known != nil && ((*known)[model] != 0 || len(*known) == mostModels) {
		return
	}
	next := map[string]uint64{}
	if known != nil {
		maps.Copy(next, *known)
	}
	next[model] = uint64(len(next) + 1)
	r.models.Store(&next)
}
