package fragmentation

import (
	"errors"
	"fmt"
	"math"
)

// ErrBadIndex says that a value index cannot be made of what was given.
var ErrBadIndex = errors.New("bad index")

// IndexParams says by which chain an Index values layouts.
type IndexParams struct {
	// Gamma, 0 to 3, is how much a large request counts beside small ones: one of
	// n sixteenths of a GPU's memory slices is worth n to the power of Gamma. It is
	// taken in steps of 1/256. At 1 a request counts by what it takes, and whole
	// GPUs are given up, since a single GPU is almost never empty; 1.5 to 2 keep
	// them.
	Gamma float64
	// Alpha, above 0 and at most 16, is the load offered to the GPU, where 1 asks
	// for all its slices. It matters little between 0.5 and 1.5.
	Alpha float64
	// Uniform and Whole are shares of what is expected whatever the mix, together
	// at most 1: of requests for all plain profiles alike, and for the largest one.
	// What is never expected is spoiled without regret, which is costly where it
	// comes after all, and most so for whole GPUs.
	Uniform, Whole float64
}

// DefaultIndex returns the parameters for a mix that is learned, or that may
// change: V(2, 1) with 5 % of uniform requests and 12 % for whole GPUs.
func DefaultIndex() IndexParams {
	return IndexParams{Gamma: 2, Alpha: 1, Uniform: 0.05, Whole: 0.12}
}

func (p IndexParams) validate() error {
	bad := func(field string, value float64, rule string) error {
		return fmt.Errorf("fragmentation: index: %s %v: not %s: %w", field, value, rule, ErrBadIndex)
	}
	switch { // written so that NaN is refused
	case !(p.Gamma >= 0 && p.Gamma <= 3):
		return bad("gamma", p.Gamma, "from 0 to 3")
	case !(p.Alpha > 0 && p.Alpha <= 16):
		return bad("alpha", p.Alpha, "above 0 and at most 16")
	case !(p.Uniform >= 0 && p.Uniform <= 1):
		return bad("uniform share", p.Uniform, "from 0 to 1")
	case !(p.Whole >= 0 && p.Whole <= 1-p.Uniform):
		return bad("share of whole GPUs", p.Whole, "from 0 to what the uniform share leaves of 1")
	}
	return nil
}

// IndexScale is how many units of Index.Loss and Index.Value make the worth of a
// request of a sixteenth of a GPU. Finer differences are noise of the iteration,
// and equal losses must stay ties.
const IndexScale = 10_000_000

// Index says what the layouts of one GPU model are worth to a mix of MIG
// requests that come and go without end:
//
//	one GPU alone    request of profile p at rate a(p), worth r(p);
//	                 each instance leaves at rate 1
//	gain = sum over fitting p of a(p) (r(p) + best h(with p) - h)
//	     + sum over instances of (h(without it) - h)       in every state
//
// The solution h is the relative value of a state: how much more is gained from
// here on than from the empty GPU. A choice loses h(before) - h(after), and over
// a fleet of any size the choice that loses least wins. MIGFGD counts what fits
// now, and is flat over most useful choices; h counts too what will fit after the
// neighbours have left, so holes in nearly full GPUs come first, and a start is
// charged for what it keeps apart.
//
// Values are relative: only differences mean anything, and they are no milli-GPU,
// so an Index is not a Value and is never added to one. Losses on GPUs of different
// models compare, if gamma is the same: the currency is that of the rewards, which
// count shares of a GPU, so a whole GPU is worth the same on every model. On mixed
// fleets that rejects far less than counting gigabytes, by which a small GPU is
// filled with what a large one takes at half the share.
//
// It is immutable and safe for concurrent use.
type Index struct {
	states *States
	params IndexParams
	value  []int64
	best   []bestStart // by state and kind
}

type bestStart struct {
	loss  int64
	start int8 // -1: no room
}

// NewIndex solves the equations for a mix. Its MIG requests count whose profile
// the model offers, a variant as its plain profile; the others take no part, nor
// do CPU, memory and the models that a shape accepts. A request for a whole GPU is
// one for the largest profile. Without any that counts the error wraps
// ErrEmptyMix, unless the uniform share is 1; the mix may then be empty. Otherwise
// the error is that of Mix.Validate, or wraps ErrBadIndex for parameters out of
// range.
//
// It takes 3 to 10 ms for 723 states. The iteration uses floating-point
// additions, products and square roots, each rounded as IEEE 754 says, so it
// gives the same integers on every platform.
func NewIndex(states *States, mix Mix, params IndexParams) (*Index, error) {
	if states == nil || states.Len() == 0 {
		return nil, fmt.Errorf("fragmentation: index without states: %w", ErrBadIndex)
	}
	if err := params.validate(); err != nil {
		return nil, err
	}
	weights, err := weights(states, mix, params)
	if err != nil {
		return nil, err
	}
	c := newChain(states, weights, params)
	if !c.solve() {
		return nil, fmt.Errorf("fragmentation: index of %s: the iteration does not settle: %w", states.model, ErrBadIndex)
	}
	x := &Index{states: states, params: params}
	x.fill(c.h)
	return x, nil
}

// weights returns the share of each kind in what is expected.
func weights(s *States, mix Mix, params IndexParams) ([]float64, error) {
	counts := make([]int64, len(s.kinds))
	total := int64(0)
	if params.Uniform < 1 || len(mix) > 0 {
		if err := mix.Validate(); err != nil {
			return nil, err
		}
	}
	for i := range mix {
		if k := s.Kind(mix[i].Shape.Profile); k >= 0 {
			counts[k] += mix[i].Count
			total += mix[i].Count
		}
	}
	if total == 0 && params.Uniform < 1 {
		return nil, fmt.Errorf("fragmentation: index of %s: no request for a profile of it: %w", s.model, ErrEmptyMix)
	}
	w := make([]float64, len(counts))
	known := 1 - params.Uniform - params.Whole
	largest := 0
	for k, n := range counts {
		w[k] = params.Uniform / float64(len(w))
		if total > 0 {
			w[k] += float64(known * (float64(n) / float64(total)))
		}
		if s.kinds[k].Size >= s.kinds[largest].Size {
			largest = k
		}
	}
	w[largest] += params.Whole
	return w, nil
}

// fill turns the solution into integers.
func (x *Index) fill(h []float64) {
	s := x.states
	fixed := func(v float64) int64 { return int64(math.Round(v * IndexScale)) }
	x.value = make([]int64, len(h))
	x.best = make([]bestStart, len(h)*len(s.kinds))
	for c := range h {
		x.value[c] = fixed(h[c])
		for k := range s.kinds {
			best := bestStart{start: -1}
			pairs := uint16(0)
			for start := range s.Starts(c, k).All() {
				to := s.With(c, k, start)
				loss := fixed(h[c] - h[to])
				if best.start < 0 || loss < best.loss || loss == best.loss && s.pairs[to] > pairs {
					best, pairs = bestStart{loss, int8(start)}, s.pairs[to]
				}
			}
			x.best[c*len(s.kinds)+k] = best
		}
	}
}

// States returns the numbering of the layouts.
func (x *Index) States() *States { return x.states }

// Params returns the parameters of the index.
func (x *Index) Params() IndexParams { return x.params }

// Value returns the relative value of a state, in units of 1/IndexScale; 0 for the
// empty GPU and for a number that is no state.
func (x *Index) Value(state int) int64 {
	if !within(state, len(x.value)) {
		return 0
	}
	return x.value[state]
}

// Loss returns what one more instance of a kind loses at its best start, in units
// of 1/IndexScale, and false where it does not fit or there is no such state or
// kind. Of starts that lose the same it is the one that leaves the most free
// pairs, then the lowest.
func (x *Index) Loss(state, kind int) (start int, loss int64, ok bool) {
	if !within(state, len(x.value)) || !within(kind, len(x.states.kinds)) {
		return 0, 0, false
	}
	b := x.best[state*len(x.states.kinds)+kind]
	return int(max(b.start, 0)), b.loss, b.start >= 0
}
