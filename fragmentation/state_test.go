package fragmentation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
)

func TestLeft(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := genState(t)
		left := 0.0
		for _, g := range s.GPUs {
			if m := g.Layout.Model(); m != nil {
				left += 1000 * float64(g.Layout.Unused().Memory) / float64(m.MemorySlices())
			} else {
				left += float64(g.Milli)
			}
		}
		assert.InDelta(t, left, float64(s.Left()), 1e-9)
	})
}

// A memory slice is a whole number of milli-GPU wherever a profile begins or
// ends, so shares of profiles add up without rounding.
func TestSliceMilliIsExact(t *testing.T) {
	t.Parallel()
	for m := range mig.Models() {
		for p := range m.Profiles() {
			assert.Equal(t, int64(1000*p.Size), fragmentation.SliceMilli(p.Size, m.MemorySlices())*int64(m.MemorySlices()), "%s on %s", p.Name, m)
		}
	}
	assert.Zero(t, fragmentation.SliceMilli(1, 0), "a model without known slices")
}

func TestCopyToAndEqual(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, used := genState(t), genState(t)
		s.CopyTo(used)
		assert.True(t, s.Equal(used), "%s is %s", s, used)
		assert.Equal(t, s.String(), used.String())
		if len(s.GPUs) > 0 {
			used.GPUs[0].Milli += 7
			assert.False(t, s.Equal(used), "copies share no memory")
		}
		s.CopyTo(used)
		used.CPU++
		assert.False(t, s.Equal(used))
		s.CopyTo(used)
		used.Memory++
		assert.False(t, s.Equal(used))
		s.CopyTo(used)
		used.Model += "x"
		assert.False(t, s.Equal(used))
	})
}

func TestStateString(t *testing.T) {
	t.Parallel()
	s := &fragmentation.State{CPU: 500, Memory: 64, Model: "A100", GPUs: []fragmentation.GPU{
		{Milli: 300, Memory: 8},
		{Layout: layout(t, lookup(t, "a100-40gb"), "3g.20gb@4")},
	}}
	assert.Equal(t, "cpu 500m, memory 64 MiB, A100 [300m 8 MiB; a100-40gb: 3g.20gb@4]", s.String())
}
