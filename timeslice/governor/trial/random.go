package trial

import (
	"math/bits"
	"math/rand/v2"
	"time"
)

// exponential draws a gap with the given mean from whole numbers only, so that a
// seed gives the same trial on every machine. It is von Neumann's comparison
// method: draw until the first draw of a run is no longer followed by smaller
// ones; a run of odd length yields its first draw, an even one adds one and
// starts over.
func exponential(rng *rand.Rand, mean time.Duration) time.Duration {
	for whole := uint64(0); ; whole++ {
		first := rng.Uint64()
		last, odd := first, true
		for {
			next := rng.Uint64()
			if next >= last {
				break
			}
			last, odd = next, !odd
		}
		if odd {
			part, _ := bits.Mul64(first, uint64(mean)) // first / 2^64 of the mean
			return max(time.Duration(whole*uint64(mean)+part), 1)
		}
	}
}

// jittered spreads d evenly by so many thousandths up and down.
func jittered(rng *rand.Rand, d time.Duration, thousandths int) time.Duration {
	span := int64(d) / 1000 * int64(thousandths)
	if span == 0 {
		return d
	}
	return d - time.Duration(span) + time.Duration(rng.Int64N(2*span+1))
}
