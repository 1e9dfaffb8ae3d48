package placement

import (
	"sync/atomic"

	"github.com/gpushare/gpushare/fragmentation"
)

// plateaus remembers what an expected fill said, which is the same for many states:
// those of a number for the GPUs and of a range of CPU. It has a fixed size, and is
// safe for concurrent use without a lock.
type plateaus struct {
	value *fragmentation.Fill
	shift int
	table []shelf
}

// shelf holds the plateaus of one hash that were seen last. The sequence is odd
// while one writes, and what was read counts only if it was the same and even
// before and after.
type shelf struct {
	sequence atomic.Uint64
	seen     [3]plateau
	_        [24]byte // a shelf takes two lines of the cache
}

// plateau is a range of states and their value.
type plateau struct {
	key   atomic.Uint64
	low   atomic.Uint64 // with the number of the model in the upper bits; 0: none
	high  atomic.Int64
	worth atomic.Int64
}

const (
	lowBits  = 48 // amounts of a node take 40
	coarsely = 12 // bits of CPU that the hash leaves out: most plateaus are narrower
)

// of returns the value of a state; false if it has no key.
func (p *plateaus) of(s *fragmentation.State, model uint64) (int64, bool) {
	key, ok := p.value.Key(s)
	if !ok {
		return 0, false
	}
	at := &p.table[mixBits(mixBits(key+model)+uint64(s.CPU)>>coarsely)>>p.shift]
	before := at.sequence.Load()
	if before&1 == 0 {
		for i := range at.seen {
			x := &at.seen[i]
			low := x.low.Load()
			if x.key.Load() != key || low>>lowBits != model || s.CPU < int64(low&(1<<lowBits-1)) || s.CPU >= x.high.Load() {
				continue
			}
			if worth := x.worth.Load(); at.sequence.Load() == before {
				return worth, true
			}
			break
		}
	}
	worth, low, high := p.value.Plateau(s)
	if before&1 == 0 && at.sequence.CompareAndSwap(before, before+1) {
		x := &at.seen[before/2%uint64(len(at.seen))]
		x.key.Store(key)
		x.low.Store(uint64(low) | model<<lowBits)
		x.high.Store(high)
		x.worth.Store(worth)
		at.sequence.Store(before + 2)
	}
	return worth, true
}
