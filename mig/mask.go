package mig

import (
	"iter"
	"math/bits"
)

// MaxUnits is the largest number of memory slices that a model may have.
const MaxUnits = 16

// Mask is a set of slice numbers, 0 to MaxUnits-1, one bit each: bit i is
// slice i.
type Mask uint16

// MaskOf returns the mask of the given slice numbers; numbers outside
// 0..MaxUnits-1 are ignored.
func MaskOf(numbers ...int) Mask {
	var m Mask
	for _, n := range numbers {
		if n >= 0 && n < MaxUnits {
			m |= 1 << n
		}
	}
	return m
}

// span returns the mask of size slices from start on.
func span(start, size int) Mask { return Mask((uint32(1)<<size - 1) << start) }

// Has reports whether slice n is in the set.
func (m Mask) Has(n int) bool { return n >= 0 && n < MaxUnits && m&(1<<n) != 0 }

// Len returns how many slices are in the set.
func (m Mask) Len() int { return bits.OnesCount16(uint16(m)) }

// Lowest returns the smallest slice number in the set, or -1 if it is empty.
func (m Mask) Lowest() int {
	if m == 0 {
		return -1
	}
	return bits.TrailingZeros16(uint16(m))
}

// All iterates over the slice numbers in ascending order.
func (m Mask) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; m != 0; m &= m - 1 {
			if !yield(m.Lowest()) {
				return
			}
		}
	}
}

// windows returns the starts from which size free slices follow one another
// when the slices of used are taken; size is at least 1. The length of the runs
// doubles until the last step, which may overlap.
func windows(used Mask, size int) Mask {
	run, length := ^used, 1
	for 2*length <= size {
		run &= run >> length
		length *= 2
	}
	return run & (run >> (size - length))
}
