package timeslice

import (
	"fmt"
	"math"
	"math/bits"
)

// Ratio is an exact quotient of two amounts, neither negative. It is not reduced.
// A Den of 0 stands for "without bound", or for "not known" where Num is 0 too.
type Ratio struct {
	Num, Den int64
}

// Float64 is the quotient; infinite or NaN where Den is 0.
func (r Ratio) Float64() float64 { return float64(r.Num) / float64(r.Den) }

// Milli is the quotient in thousandths, rounded down and saturating; 0 where Den is 0.
func (r Ratio) Milli() int64 {
	if r.Den <= 0 || r.Num <= 0 {
		return 0
	}
	return mulDiv(r.Num, 1000, r.Den)
}

// Compare is negative, 0 or positive as r is less than, equal to or greater than
// other. Both have a Den above 0.
func (r Ratio) Compare(other Ratio) int {
	leftHi, leftLo := bits.Mul64(uint64(r.Num), uint64(other.Den))
	rightHi, rightLo := bits.Mul64(uint64(other.Num), uint64(r.Den))
	switch {
	case leftHi != rightHi && leftHi < rightHi, leftHi == rightHi && leftLo < rightLo:
		return -1
	case leftHi == rightHi && leftLo == rightLo:
		return 0
	default:
		return 1
	}
}

// String has three digits behind the point, rounded down, such as "6.100".
func (r Ratio) String() string {
	if r.Den <= 0 {
		return fmt.Sprintf("%d/%d", r.Num, r.Den)
	}
	milli := r.Milli()
	return fmt.Sprintf("%d.%03d", milli/1000, milli%1000)
}

// mulDiv is a*b/c, rounded down, exact in between and saturating. a and b are not
// negative, c is above 0.
func mulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(q, math.MaxInt64))
}

// mulDivUp is a*b/c, rounded up.
func mulDivUp(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, rest := bits.Div64(hi, lo, uint64(c))
	if rest != 0 {
		q++
	}
	return int64(min(q, math.MaxInt64))
}

// satMul is a*b, neither negative, at most the largest int64.
func satMul(a, b int64) int64 { return mulDiv(a, b, 1) }

// satAdd is a+b, neither negative, at most the largest int64.
func satAdd(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
