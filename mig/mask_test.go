package mig_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
)

// TestMask compares a mask with the sorted list of its numbers.
func TestMask(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOf(rapid.IntRange(-3, mig.MaxUnits+3)).Draw(t, "numbers")
		m := mig.MaskOf(numbers...)
		list := slices.DeleteFunc(slices.Clone(numbers), func(n int) bool { return n < 0 || n >= mig.MaxUnits })
		slices.Sort(list)
		list = slices.Compact(list)

		assert.Equal(t, len(list), m.Len())
		assert.ElementsMatch(t, list, slices.Collect(m.All()))
		assert.True(t, slices.IsSorted(slices.Collect(m.All())))
		for n := -3; n < mig.MaxUnits+3; n++ {
			assert.Equal(t, slices.Contains(list, n), m.Has(n), "%d", n)
		}
		if len(list) == 0 {
			assert.Equal(t, -1, m.Lowest())
		} else {
			assert.Equal(t, list[0], m.Lowest())
		}
	})
}

func TestMaskStopsEarly(t *testing.T) {
	t.Parallel()
	var got []int
	for n := range mig.MaskOf(3, 5, 9).All() {
		if got = append(got, n); n == 5 {
			break
		}
	}
	assert.Equal(t, []int{3, 5}, got)
}
