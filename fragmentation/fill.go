package fragmentation

import (
	"errors"
	"fmt"
)

// ErrBadFill is wrapped by the error of NewFill for options out of range.
var ErrBadFill = errors.New("bad options of an expected fill")

// What FillOptions stands for where it says nothing, and its bounds.
const (
	defaultSequences = 64
	defaultLength    = 40
	mostSequences    = 1 << 12
	mostLength       = 64 // the places of a sequence are the bits of a word
	defaultKeep      = 80
	smallNode        = 2 // GPUs of the largest node that is not kept idle
)

// FillOptions says which futures an expected fill looks at. The zero value is
// the default.
type FillOptions struct {
	// Sequences is the number of sequences of tasks, at most 4096; 0: 64. With
	// fewer, it decides too much which ones are drawn.
	Sequences int
	// Length is the number of tasks in a sequence, at most 64; 0: 40.
	Length int
	// Seed picks the sequences. The same mix, options and seed give the same
	// sequences everywhere and always.
	Seed uint64
	// Keep is what an idle node of three GPUs or more is worth besides what would
	// fill it, in milli-GPU, at most 1000; 0: 80, half of the step that goes well
	// with this value; -1: nothing. See Fill.
	Keep int64
}

// Fill is the expected fill: the milli-GPU that a short run of future tasks
// would still fill on a node, as the mean over fixed sequences of tasks drawn
// from the mix. FGD looks at what the next task could use. Fill looks at what is
// of use once the next tasks have taken theirs: that a remainder goes well with
// another shape of the mix, that CPU which they take together runs out.
//
// In each sequence the tasks come in order, and each one that finds its CPU, its
// GPUs and the model that it accepts is put on the node: a fraction on the GPU
// with the least milli-GPU left that fits (of these, with the least device memory
// left), k whole GPUs on k idle ones (those with the least device memory). The
// others are passed over. Device memory counts for shapes that state a need for
// it. Every node and every state meets the same sequences, so that the
// difference of two states is not noise. Sequences in which a task of several
// GPUs comes early are drawn more often than they are likely and weigh less: they
// are rare, and each decides over a whole node.
//
// To break up an idle node costs it little by this measure, as small tasks fill it
// as well as large ones do; which of two near-ties is taken then decides whether
// idle nodes are left for tasks of several GPUs. Therefore an idle node is worth
// some more, up to what is left on it, if the mix has such tasks. Where tasks
// accept some models only, this drives those that would go anywhere onto the
// models that others need: it falls with their share of the mix, to nothing at a
// third.
//
// Shapes without a GPU and requests for a MIG instance take no part, nor does
// main memory: shapes that differ in it alone are one. It is immutable. Obtain
// one from NewFill: the zero Fill has no scale, and no rule takes it.
type Fill struct {
	shapes    []fillShape
	sequences int
	length    int
	drawn     []uint32  // index of a shape, by sequence and then by place
	weights   []int64   // of the sequences
	scale     int64     // their sum
	neediest  fillShape // that needs most device memory for its milli-GPU
	keep      int64     // what an idle node is worth besides, in units of the value
	tables    fillTables
}

// fillShape is what a sequence needs of a shape.
type fillShape struct {
	cpu    int64
	total  int64  // milli-GPU, on all GPUs
	memory int64  // MiB of each GPU
	gpus   int    // idle ones, of a shape that takes whole GPUs; else 0
	milli  uint16 // of each GPU
}

// NewFill returns the value for a mix. The order of its entries does not matter.
// The error is that of Mix.Validate; a mix in which no shape asks for a share
// of a GPU, or for whole ones, wraps ErrEmptyMix; options out of range wrap
// ErrBadFill.
func NewFill(mix Mix, options FillOptions) (*Fill, error) {
	f := &Fill{sequences: options.Sequences, length: options.Length}
	if f.sequences == 0 {
		f.sequences = defaultSequences
	}
	if f.length == 0 {
		f.length = defaultLength
	}
	if f.sequences < 1 || f.sequences > mostSequences {
		return nil, fmt.Errorf("fragmentation: %d sequences: not from 1 to %d: %w", f.sequences, mostSequences, ErrBadFill)
	}
	if f.length < 1 || f.length > mostLength {
		return nil, fmt.Errorf("fragmentation: sequences of %d tasks: not from 1 to %d: %w", f.length, mostLength, ErrBadFill)
	}
	if options.Keep < -1 || options.Keep > Whole {
		return nil, fmt.Errorf("fragmentation: %d milli-GPU to keep a node idle: not from -1 to %d: %w", options.Keep, int64(Whole), ErrBadFill)
	}
	plain, err := mix.part(func(s *Shape) bool { return s.GPUs > 0 && s.Profile == "" })
	if err != nil {
		return nil, err
	}
	plain = plain.withoutMemory()
	f.draw(plain, options.Seed)
	f.keep = keepOf(plain, options.Keep, f.scale)
	return f, nil
}

// keepOf returns what an idle node is worth in units of the value.
func keepOf(mix Mix, milli, scale int64) int64 {
	gangs, choosy, total := int64(0), int64(0), mix.Total()
	for i := range mix {
		if mix[i].Shape.GPUs > 1 {
			gangs += mix[i].Count
		}
		if !mix[i].Shape.Models.Accept("") {
			choosy += mix[i].Count
		}
	}
	if milli < 0 || gangs == 0 {
		return 0
	}
	if milli == 0 {
		milli = defaultKeep
	}
	return milli * scale * max(0, total-3*choosy) / total
}

func (f *Fill) draw(mix Mix, seed uint64) {
	index := map[Shape]uint32{}
	for i := range mix {
		s := &mix[i].Shape
		shape := fillShape{cpu: s.CPU, total: s.TotalMilli(), memory: s.DeviceMemory, milli: uint16(s.Milli)}
		if s.Milli == Whole {
			shape.gpus = s.GPUs
		}
		index[*s] = uint32(i)
		f.shapes = append(f.shapes, shape)
		if n := &f.neediest; i == 0 || less(n.memory, int64(shape.milli), shape.memory, int64(n.milli)) {
			*n = shape
		}
	}
	d := newFillDraw(mix, f.sequences, f.length, seed)
	for _, s := range d.sequences(f.length) {
		f.drawn = append(f.drawn, index[s])
	}
	f.weights = d.weight
	for _, w := range f.weights {
		f.scale += w
	}
	f.tables = newFillTables(f, mix)
}

// Scale returns the sum of the sequences' weights: their number, if the mix has
// no shape of several GPUs.
func (f *Fill) Scale() int64 { return f.scale }

// Of returns the weighted sum over the sequences of the milli-GPU put on the node:
// its mean in units of 1/Scale milli-GPU. It costs a few nanoseconds for each task
// put there and does not allocate: a nearly full node is cheap, an idle one of
// eight GPUs costs some microseconds.
func (f *Fill) Of(s *State) int64 {
	filled := int64(0)
	switch x, packed := f.tables.lanes.pack(s, f.tables.least); {
	case f.scarce(s):
		filled = f.withMemory(s)
	case packed:
		filled, _, _ = f.tables.lanes.of(f, x, s.CPU, s.Model)
	default:
		filled = f.withoutMemory(s)
	}
	return f.kept(s, filled)
}

// kept adds what keeps an idle node.
func (f *Fill) kept(s *State, filled int64) int64 {
	if !f.keeps(s) {
		return filled
	}
	return min(filled+f.keep, Whole*int64(len(s.GPUs))*f.scale)
}

func (f *Fill) keeps(s *State) bool {
	return f.keep > 0 && len(s.GPUs) > smallNode && allIdle(s)
}

// Key returns a number for what is left of the GPUs, for a memory of values:
// states of one key, model and CPU are worth the same. It is false where the GPUs
// have no such number: more than eight of use, shares that are no multiples of a
// common unit of at least a 127th of a GPU, or device memory that may run out.
func (f *Fill) Key(s *State) (key uint64, ok bool) {
	x, packed := f.tables.lanes.pack(s, f.tables.least)
	if !packed || f.scarce(s) {
		return 0, false
	}
	if f.keeps(s) {
		x |= 1 << (laneBits - 1) // free in every lane
	}
	return x, true
}

// Plateau is Of for a state that has a key, with the CPU for which states of this
// key and model are worth the same: from low up to, not including, high.
func (f *Fill) Plateau(s *State) (worth, low, high int64) {
	x, packed := f.tables.lanes.pack(s, f.tables.least)
	if !packed || f.scarce(s) {
		return f.Of(s), s.CPU, s.CPU + 1
	}
	worth, low, high = f.tables.lanes.of(f, x, s.CPU, s.Model)
	return f.kept(s, worth), low, high
}

func allIdle(s *State) bool {
	for i := range s.GPUs {
		if s.GPUs[i].Milli < Whole || s.GPUs[i].Cut() {
			return false
		}
	}
	return true
}

var _ Value = (*Fill)(nil)
