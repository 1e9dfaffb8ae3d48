package fragmentation

import (
	"cmp"
	"fmt"
	"slices"
)

// Mix says which shapes are expected, and how often: an entry's share is its
// count over the sum of the counts.
type Mix []Entry

// Entry is a shape with its count.
type Entry struct {
	Shape Shape
	Count int64
}

// MixOf counts equal shapes. The most frequent comes first; equal counts are
// ordered by larger CPU, milli-GPU, GPU count, models, then by the other
// fields, so the order does not depend on that of the tasks.
func MixOf(shapes []Shape) Mix {
	counts := map[Shape]int64{}
	for _, s := range shapes {
		counts[s]++
	}
	mix := make(Mix, 0, len(counts))
	for s, n := range counts {
		mix = append(mix, Entry{s, n})
	}
	mix.sort()
	return mix
}

// sort brings the entries into the order of MixOf.
func (m Mix) sort() {
	slices.SortFunc(m, func(a, b Entry) int {
		x, y := b.Shape, a.Shape
		return cmp.Or(
			cmp.Compare(b.Count, a.Count),
			cmp.Compare(x.CPU, y.CPU),
			cmp.Compare(x.Milli, y.Milli),
			cmp.Compare(x.GPUs, y.GPUs),
			cmp.Compare(x.Models, y.Models),
			cmp.Compare(x.Profile, y.Profile),
			cmp.Compare(x.DeviceMemory, y.DeviceMemory),
			cmp.Compare(x.Memory, y.Memory),
		)
	})
}

// Cover returns the leading entries that together make up at least percent of
// the tasks: rare shapes at the end of the list cost time and say little. The
// percentage is above 0 and at most 100; the error wraps ErrBadMix.
func (m Mix) Cover(percent float64) (Mix, error) {
	if !(percent > 0 && percent <= 100) { // NaN too
		return nil, fmt.Errorf("fragmentation: cover %v %%: not above 0 and at most 100: %w", percent, ErrBadMix)
	}
	if err := m.Validate(); err != nil {
		return nil, err
	}
	need := percent / 100 * float64(m.Total())
	covered := int64(0)
	for i, e := range m {
		covered += e.Count
		if float64(covered) >= need {
			return slices.Clone(m[:i+1]), nil
		}
	}
	return slices.Clone(m), nil
}

// Total returns the sum of the counts.
func (m Mix) Total() int64 {
	total := int64(0)
	for _, e := range m {
		total += e.Count
	}
	return total
}

// mostTasks bounds the sum of counts, so that the value of the largest node
// stays within 64 bits even as the sum of two values of different scale.
const mostTasks = 10_000_000

// Validate checks every entry; the error names it by its place and wraps
// ErrEmptyMix, ErrBadMix or ErrBadShape.
func (m Mix) Validate() error {
	if len(m) == 0 {
		return fmt.Errorf("fragmentation: %w", ErrEmptyMix)
	}
	total := int64(0)
	for i, e := range m {
		if e.Count <= 0 {
			return fmt.Errorf("fragmentation: mix entry %d: count %d is not positive: %w", i, e.Count, ErrBadMix)
		}
		if err := e.Shape.Validate(); err != nil {
			return fmt.Errorf("fragmentation: mix entry %d: %w", i, err)
		}
		if e.Count > mostTasks-total {
			return fmt.Errorf("fragmentation: mix entry %d: count %d: the sum of counts is more than %d: %w", i, e.Count, int64(mostTasks), ErrBadMix)
		}
		total += e.Count
	}
	return nil
}
