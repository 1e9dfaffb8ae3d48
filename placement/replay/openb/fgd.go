package openb

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// PublishedFGD returns fragmentation gradient descent with the published score:
// 100 times the sigmoid of the gain in GPUs, cut to an integer. Sums are taken
// in floating point in the published order, so the integers are the published
// ones bit for bit. traceTasks is the number of tasks of the trace, of which the
// mix covers the most frequent: it takes part in the rounding. The error is that
// of fragmentation.Mix.Validate; a mix with a MIG request, or one of more tasks
// than the trace has, wraps fragmentation.ErrBadMix.
func PublishedFGD(mix fragmentation.Mix, traceTasks int) (placement.Policy, error) {
	f, err := newFloatFGD(mix, traceTasks)
	if err != nil {
		return nil, err
	}
	return newPublished(f), nil
}

// floatFGD is the published arithmetic, sped up only where no rounding changes.
type floatFGD struct {
	entries []floatEntry
	// levels are the different milli-GPU that entries ask for, each of which is
	// looked for on a node's GPUs once.
	levels []int64
	// accepts says for each entry whether it takes nodes of a model; nodes of
	// models that no entry names are those of anyModel.
	accepts  map[string][]bool
	anyModel []bool
}

type floatEntry struct {
	share float64 // p of the published formula
	cpu   int64
	gpus  int
	level int
}

// onLevel is what a node offers at one level.
type onLevel struct {
	fitting int
	small   int64 // milli-GPU left on the GPUs that do not fit
}

func newFloatFGD(mix fragmentation.Mix, traceTasks int) (*floatFGD, error) {
	if err := mix.Validate(); err != nil {
		return nil, fmt.Errorf("openb: %w", err)
	}
	if int64(traceTasks) < mix.Total() {
		return nil, fmt.Errorf("openb: the mix counts %d tasks, the trace %d: %w", mix.Total(), traceTasks, fragmentation.ErrBadMix)
	}
	f := &floatFGD{accepts: map[string][]bool{}}
	for i, e := range mix {
		if e.Shape.Profile != "" {
			return nil, fmt.Errorf("openb: mix entry %d: profile %s is not known to the published rule: %w", i, e.Shape.Profile, fragmentation.ErrBadMix)
		}
		level := slices.Index(f.levels, e.Shape.Milli)
		if level < 0 {
			level = len(f.levels)
			f.levels = append(f.levels, e.Shape.Milli)
		}
		f.entries = append(f.entries, floatEntry{publishedShare(e.Count, mix.Total(), traceTasks), e.Shape.CPU, e.Shape.GPUs, level})
		for model := range strings.SplitSeq(string(e.Shape.Models), "|") {
			f.accepts[model] = nil
		}
	}
	delete(f.accepts, "")
	for model := range f.accepts {
		f.accepts[model] = acceptedBy(mix, model)
	}
	f.anyModel = acceptedBy(mix, "")
	return f, nil
}

// publishedShare returns count over covered, by way of both over the number of
// tasks of the trace: rounding twice more than needed tips a few decisions.
func publishedShare(count, covered int64, traceTasks int) float64 {
	all := float64(traceTasks)
	return float64(float64(count)/all) / float64(float64(covered)/all)
}

func acceptedBy(mix fragmentation.Mix, model string) []bool {
	accepted := make([]bool, len(mix))
	for i, e := range mix {
		accepted[i] = e.Shape.Models.Accept(model)
	}
	return accepted
}

// amounts returns the milli-GPU left by class, expected over the mix: for each
// entry in order, share times amount is added to its class. The conversions keep
// the compiler from fusing the product into the sum, which would round once
// instead of twice.
func (f *floatFGD) amounts(s *fragmentation.State) [7]float64 {
	var fixed [32]onLevel
	levels := fixed[:]
	if len(f.levels) > len(fixed) {
		levels = make([]onLevel, len(f.levels))
	}
	all := left(s)
	for i, milli := range f.levels {
		l := onLevel{small: all}
		for j := range s.GPUs {
			if have := s.GPUs[j].Milli; have >= milli {
				l.fitting++
				l.small -= have
			}
		}
		levels[i] = l
	}
	accepted, named := f.accepts[s.Model]
	if !named {
		accepted = f.anyModel
	}
	var sum [7]float64
	for i := range f.entries {
		e := &f.entries[i]
		l := &levels[e.level]
		enoughCPU, enoughGPU := s.CPU >= e.cpu, l.fitting >= e.gpus
		class := fragmentation.LackBoth
		switch {
		case e.gpus == 0 && enoughCPU:
			class = fragmentation.NoUse
		case e.gpus == 0:
			class = fragmentation.NoUseLackCPU
		case !accepted[i]:
			class = fragmentation.NoAccess
		case enoughGPU && enoughCPU:
			sum[fragmentation.LackGPU] += float64(e.share * float64(l.small))
			sum[fragmentation.Satisfied] += float64(e.share * float64(all-l.small))
			continue
		case enoughGPU:
			class = fragmentation.LackCPU
		case enoughCPU:
			class = fragmentation.LackGPU
		}
		sum[class] += float64(e.share * float64(all))
	}
	return sum
}

// fragment adds the classes but Satisfied, in the published order.
func (f *floatFGD) fragment(s *fragmentation.State) float64 {
	sum := f.amounts(s)
	return sum[fragmentation.LackBoth] + sum[fragmentation.LackGPU] + sum[fragmentation.LackCPU] +
		sum[fragmentation.NoUse] + sum[fragmentation.NoUseLackCPU] + sum[fragmentation.NoAccess]
}

// score cuts a gain in milli-GPU to the published integer, 0 to 100. A gain of
// zero whose floating sums differ by a hair below gives 49 instead of 50; that
// is part of the published behaviour.
func score(gain float64) int64 { return int64(sigmoid100(gain)) }

func sigmoid100(gain float64) float64 { return 100 * (1 / (1 + math.Exp(-gain/1000))) }

func (f *floatFGD) decide(_ *placement.Node, s *fragmentation.State, shape *fragmentation.Shape) (placement.GPUSet, int64) {
	before := f.fragment(s)
	if shape.GPUs != 1 || shape.Milli == fragmentation.Whole {
		gpus := firstFitting(s, shape)
		book(s, shape, gpus)
		return gpus, score(before - f.fragment(s))
	}
	best, at := int64(-1), 0
	s.CPU -= shape.CPU
	for i := range s.GPUs {
		g := &s.GPUs[i]
		if !g.Takes(shape) || repeated(s.GPUs, i) {
			continue
		}
		g.Milli -= shape.Milli
		if x := score(before - f.fragment(s)); x > best {
			best, at = x, i
		}
		g.Milli += shape.Milli
	}
	return placement.GPUs(at), best
}

// repeated reports whether an earlier GPU equals GPU i: it scores the same, and
// the lower index wins.
func repeated(gpus []fragmentation.GPU, i int) bool {
	for j := range i {
		if gpus[j] == gpus[i] {
			return true
		}
	}
	return false
}
