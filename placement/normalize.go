package placement

import (
	"fmt"
	"math/bits"
	"slices"
)

// Normalize maps scores to the range from low to high, in place, as schedulers
// want them: equal scores stay equal, a larger score never becomes smaller, the
// largest becomes high and the smallest low. Distinct scores are spread evenly
// by rank, whatever their distances, so they stay distinct as long as the range
// has room; merged reports that it had not. A single distinct score becomes
// high. The error wraps ErrBadRange, and the scores are then unchanged.
func Normalize(scores []int64, low, high int64) (merged bool, err error) {
	if low > high {
		return false, fmt.Errorf("placement: range %d to %d: %w", low, high, ErrBadRange)
	}
	distinct := slices.Clone(scores)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	last := int64(len(distinct) - 1)
	width := uint64(high - low)
	for i, s := range scores {
		rank, _ := slices.BinarySearch(distinct, s)
		if last <= 0 {
			scores[i] = high
			continue
		}
		hi, lo := bits.Mul64(uint64(rank), width)
		scaled, _ := bits.Div64(hi, lo, uint64(last))
		scores[i] = low + int64(scaled)
	}
	return last > 0 && uint64(last) > width, nil
}
