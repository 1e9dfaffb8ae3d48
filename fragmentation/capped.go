package fragmentation

import "math/bits"

// Capped is FGD that counts for each shape no more milli-GPU than the CPU left
// could serve with tasks of that shape alone: a node with eight idle GPUs and CPU
// for two tasks of one GPU is worth two GPUs to them, not eight. It costs little
// more than FGD. It is immutable. Obtain one from NewCapped: the zero Capped has
// no scale, and no rule takes it.
type Capped struct{ fgd FGD }

// NewCapped returns the value for a mix. The error is that of NewFGD.
func NewCapped(mix Mix) (*Capped, error) {
	f, err := NewFGD(mix)
	if err != nil {
		return nil, err
	}
	return &Capped{*f}, nil
}

// Scale returns the sum of the counts.
func (v *Capped) Scale() int64 { return v.fgd.total }

// Of returns the value in units of 1/Scale milli-GPU; the share of each shape is
// rounded down to a unit.
func (v *Capped) Of(s *State) int64 {
	worth := int64(0)
	for i := range v.fgd.entries {
		e := &v.fgd.entries[i]
		usable := usable(s, &e.Shape)
		if usable > 0 {
			worth += capByCPU(usable*e.Count, s.CPU, e.Shape.TotalMilli()*e.Count, e.Shape.CPU)
		}
	}
	return worth
}

// usable returns what is left on the uncut GPUs that a task of the shape could
// use as the next one on the node; 0 where it does not fit.
func usable(s *State, shape *Shape) int64 {
	if shape.GPUs == 0 || s.CPU < shape.CPU {
		return 0
	}
	milli, fitting := int64(0), 0
	for i := range s.GPUs {
		if g := &s.GPUs[i]; g.Takes(shape) {
			fitting++
			milli += g.Milli
		}
	}
	if fitting < shape.GPUs || !shape.Models.Accept(s.Model) {
		return 0
	}
	return milli
}

// capByCPU returns the smaller of worth and have/need*each, rounded down. have is
// at least need; the product may take 128 bits.
func capByCPU(worth, have, each, need int64) int64 {
	high, low := bits.Mul64(uint64(have), uint64(each))
	needHigh, needLow := bits.Mul64(uint64(worth), uint64(need))
	if high > needHigh || high == needHigh && low >= needLow {
		return worth
	}
	// The quotient is less than worth, so it fits.
	quotient, _ := bits.Div64(high, low, uint64(need))
	return int64(quotient)
}

var _ Value = (*Capped)(nil)
