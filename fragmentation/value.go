package fragmentation

// Value says what states are worth. Implementations are pure and safe for
// concurrent use, and their results do not depend on the order of a node's
// GPUs.
type Value interface {
	// Of returns the milli-GPU of the state that the mix is expected to use,
	// in units of 1/Scale milli-GPU. It is never negative and never more than
	// what is left on the node.
	Of(s *State) int64
	// Scale returns how many units one milli-GPU has; it is positive and
	// constant.
	Scale() int64
}

// Strands returns what a choice loses of the node besides what the task takes,
// in units of 1/Scale milli-GPU: V(before) - V(after) - taken. Less is better;
// it is negative where the task uses what the mix would have left over.
func Strands(v Value, before, after *State) int64 {
	return v.Of(before) - v.Of(after) - (before.Left()-after.Left())*v.Scale()
}

// Fragment returns what is left on the node and of no use to the mix, in units
// of 1/Scale milli-GPU.
func Fragment(v Value, s *State) int64 { return s.Left()*v.Scale() - v.Of(s) }

// Sum returns the value that is the sum of two, each of which must count other
// GPUs of a node: FGD counts the uncut ones, MIGFGD the cut ones. Its scale is
// the least common multiple of theirs.
func Sum(a, b Value) Value {
	scale := a.Scale() / gcd(a.Scale(), b.Scale()) * b.Scale()
	return &sum{a, b, scale / a.Scale(), scale / b.Scale(), scale}
}

type sum struct {
	a, b         Value
	timesA, more int64
	scale        int64
}

func (v *sum) Of(s *State) int64 { return v.a.Of(s)*v.timesA + v.b.Of(s)*v.more }
func (v *sum) Scale() int64      { return v.scale }

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
