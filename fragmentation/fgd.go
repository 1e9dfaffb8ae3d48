package fragmentation

// Class says how a task stands to a node. The order is that of the seven
// published amounts.
type Class uint8

// The classes. Left over by LackBoth, LackGPU, LackCPU, NoUse, NoUseLackCPU and
// NoAccess is a fragment; left over by Satisfied is of use.
const (
	LackBoth     Class = iota // too little GPU and too little CPU
	LackGPU                   // too little GPU
	Satisfied                 // the task fits
	LackCPU                   // too little CPU
	NoUse                     // the task asks for no GPU and its CPU fits
	NoUseLackCPU              // the task asks for no GPU and its CPU does not fit
	NoAccess                  // the GPU model is not accepted
	classes
)

// String names the class.
func (c Class) String() string {
	return [...]string{
		"lack both", "lack GPU", "satisfied", "lack CPU", "no use", "no use, lack CPU", "no access", "unknown",
	}[min(c, classes)]
}

// Amounts is milli-GPU left by class.
type Amounts [classes]int64

// Fragment returns the sum of all but the satisfied amount.
func (a Amounts) Fragment() int64 { return a.Left() - a[Satisfied] }

// Left returns the sum of all amounts.
func (a Amounts) Left() int64 {
	sum := int64(0)
	for _, x := range a {
		sum += x
	}
	return sum
}

// Add returns the sums by class.
func (a Amounts) Add(b Amounts) Amounts {
	for i, x := range b {
		a[i] += x
	}
	return a
}

// Classify returns how a task of the shape stands to the node, and splits the
// milli-GPU left on the node's uncut GPUs by class: where the task fits, the
// GPUs that it could not use are booked under LackGPU and the others under
// Satisfied; where it does not, everything goes to the one class. GPUs beyond
// the number that the task asks for still count as satisfied. A request for a
// MIG instance finds no uncut GPU that it could use. Main memory takes no part:
// it limits where a task may go, not what a GPU is worth.
func Classify(s *State, shape *Shape) (Class, Amounts) {
	var a Amounts
	left, usable, fitting := int64(0), int64(0), 0
	for i := range s.GPUs {
		g := &s.GPUs[i]
		left += g.Milli
		if g.Takes(shape) {
			fitting++
			usable += g.Milli
		}
	}
	class := Satisfied
	switch enoughCPU := s.CPU >= shape.CPU; {
	case shape.GPUs == 0 && enoughCPU:
		class = NoUse
	case shape.GPUs == 0:
		class = NoUseLackCPU
	case !shape.Models.Accept(s.Model):
		class = NoAccess
	case fitting >= shape.GPUs && !enoughCPU:
		class = LackCPU
	case fitting < shape.GPUs && enoughCPU:
		class = LackGPU
	case fitting < shape.GPUs:
		class = LackBoth
	}
	if class != Satisfied {
		a[class] = left
		return class, a
	}
	a[LackGPU], a[Satisfied] = left-usable, usable
	return class, a
}

// FGD is the value of fragmentation gradient descent: what is left on the
// uncut GPUs of a node, weighted by how much of the mix could use it as the
// next task. Shapes that ask for a MIG instance take no part. It is immutable.
// Obtain one from NewFGD: the zero FGD has no scale, and no rule takes it.
type FGD struct {
	entries []Entry
	total   int64
	steps   *fgdSteps // nil: the tables would be too large
	tables  []fgdTable
}

// NewFGD returns the value for a mix. The error is that of Mix.Validate; a mix
// of MIG requests alone wraps ErrEmptyMix.
func NewFGD(mix Mix) (*FGD, error) {
	entries, err := mix.part(func(s *Shape) bool { return s.Profile == "" })
	if err != nil {
		return nil, err
	}
	f := &FGD{entries: entries, total: entries.Total()}
	f.steps, f.tables = newFGDTables(entries)
	return f, nil
}

// Scale returns the sum of the counts.
func (f *FGD) Scale() int64 { return f.total }

// Of returns the satisfied amount, in units of 1/Scale milli-GPU. It costs some
// nanoseconds for each GPU.
func (f *FGD) Of(s *State) int64 {
	if f.steps == nil {
		return f.plain(s)
	}
	t := &f.tables[0]
	if s.Model != "" {
		for i := 1; i < len(f.tables); i++ {
			if f.tables[i].model == s.Model {
				t = &f.tables[i]
				break
			}
		}
	}
	return f.steps.of(t, s)
}

// plain is Of shape by shape: the same sum as Amounts(s)[Satisfied], without the
// other classes.
func (f *FGD) plain(s *State) int64 {
	worth := int64(0)
	for i := range f.entries {
		shape := &f.entries[i].Shape
		if shape.GPUs == 0 || s.CPU < shape.CPU {
			continue
		}
		usable, fitting := int64(0), 0
		for j := range s.GPUs {
			if g := &s.GPUs[j]; g.Takes(shape) {
				fitting++
				usable += g.Milli
			}
		}
		if fitting >= shape.GPUs && shape.Models.Accept(s.Model) {
			worth += usable * f.entries[i].Count
		}
	}
	return worth
}

// Amounts splits what is left on the uncut GPUs of a node by class, each shape
// weighted by its count: the sum of the amounts is Scale times what is left.
// Amounts of several nodes add up.
func (f *FGD) Amounts(s *State) Amounts {
	var sum Amounts
	for i := range f.entries {
		_, a := Classify(s, &f.entries[i].Shape)
		for c, x := range a {
			sum[c] += x * f.entries[i].Count
		}
	}
	return sum
}

var _ Value = (*FGD)(nil)
