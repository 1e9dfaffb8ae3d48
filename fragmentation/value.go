package fragmentation

import "fmt"

// Value says what states are worth, in milli-GPU: what a choice takes can be
// taken off it. What a layout is worth beside the other layouts of its model, on
// a scale of its own, is not a Value. Implementations are pure and safe for
// concurrent use, and their results do not depend on the order of a node's
// GPUs.
type Value interface {
	// Of returns the milli-GPU of the state that the mix is expected to use,
	// in units of 1/Scale milli-GPU. It is never negative and never more than
	// what is left on the node.
	Of(s *State) int64
	// Scale returns how many units one milli-GPU has; it is constant, and from
	// 1 to MostScale.
	Scale() int64
}

// MostScale is the largest scale of a value: what is left on a node of MostGPUs
// stays within 64 bits.
const MostScale = 100_000_000_000_000

// Strands returns what a choice loses of the node besides what the task takes,
// in units of 1/Scale milli-GPU: V(before) - V(after) - taken. Less is better;
// it is negative where the task uses what the mix would have left over.
func Strands(v Value, before, after *State) int64 {
	return v.Of(before) - v.Of(after) - (before.Left()-after.Left())*v.Scale()
}

// Fragment returns what is left on the node and of no use to the mix, in units
// of 1/Scale milli-GPU.
func Fragment(v Value, s *State) int64 { return s.Left()*v.Scale() - v.Of(s) }

// Sum returns the value that is the sum of others, each of which must count
// other GPUs of a node: FGD counts the uncut ones, MIGFGD the cut ones. Its scale
// is the least common multiple of theirs.
//
// The error names the value by its place and wraps ErrBadSum: no value at all, a
// nil one, a scale that is not from 1 to MostScale (an FGD or MIGFGD that comes
// from no constructor has 0), or a common scale above MostScale.
func Sum(values ...Value) (Value, error) {
	if len(values) == 0 {
		return nil, fmt.Errorf("fragmentation: sum of no values: %w", ErrBadSum)
	}
	all := &sum{scale: 1}
	for i, v := range values {
		if v == nil {
			return nil, fmt.Errorf("fragmentation: sum: value %d is nil: %w", i, ErrBadSum)
		}
		scale := v.Scale()
		if scale < 1 || scale > MostScale {
			return nil, fmt.Errorf("fragmentation: sum: value %d: scale %d is not from 1 to %d: %w", i, scale, int64(MostScale), ErrBadSum)
		}
		more := scale / gcd(all.scale, scale)
		if more > MostScale/all.scale {
			return nil, fmt.Errorf("fragmentation: sum: value %d: its scale %d and %d, that of those before it, have no common multiple up to %d: %w",
				i, scale, all.scale, int64(MostScale), ErrBadSum)
		}
		all.scale *= more
	}
	for _, v := range values {
		all.parts = append(all.parts, part{v, all.scale / v.Scale()})
	}
	return all, nil
}

type sum struct {
	parts []part
	scale int64
}

type part struct {
	value Value
	times int64 // units of the sum in one of the value
}

func (v *sum) Of(s *State) int64 {
	worth := int64(0)
	for i := range v.parts {
		worth += v.parts[i].value.Of(s) * v.parts[i].times
	}
	return worth
}

func (v *sum) Scale() int64 { return v.scale }

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
