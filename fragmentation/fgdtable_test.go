package fragmentation_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
)

// TestFGDTables compares the value, which comes from tables, with the amounts,
// which come shape by shape.
func TestFGDTables(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v, err := fragmentation.NewFGD(genMix(genPlainShape).Draw(t, "mix"))
		require.NoError(t, err)
		s := genState(t)
		// Amounts around those that shapes ask for, and some that no node has.
		s.CPU += rapid.Int64Range(-1, 1).Draw(t, "more CPU")
		for i := range s.GPUs {
			if g := &s.GPUs[i]; !g.Cut() {
				g.Milli += rapid.SampledFrom([]int64{-1, 0, 0, 1, 999}).Draw(t, "more milli")
				g.Memory += rapid.SampledFrom([]int64{-1, 0, 0, 1}).Draw(t, "more device memory")
			}
		}
		assert.Equal(t, v.Amounts(s)[fragmentation.Satisfied], v.Of(s))
	})
}

// A mix of too many different amounts has no tables.
func TestFGDWithoutTables(t *testing.T) {
	t.Parallel()
	var mix fragmentation.Mix
	for i := range int64(900) {
		s := fragmentation.Shape{CPU: 100 * i, GPUs: 1, Milli: 1 + i, Models: fragmentation.Models(fmt.Sprintf("M%d", i%3))}
		mix = append(mix, fragmentation.Entry{Shape: s, Count: 1 + i%7})
	}
	v := fgdOf(t, mix)
	for i := range int64(50) {
		s := &fragmentation.State{CPU: 2_000 * i, Model: fmt.Sprintf("M%d", i%4), GPUs: uncut(20*i, 1000-i, 500)}
		assert.Equal(t, v.Amounts(s)[fragmentation.Satisfied], v.Of(s))
	}
}
