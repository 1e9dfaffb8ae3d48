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

func TestTakes(t *testing.T) {
	t.Parallel()
	memory := plain(0, 400)
	memory.DeviceMemory = 8
	small := fragmentation.Shape{GPUs: 1, Profile: "1g.5gb"}
	idle, full := fragmentation.GPU{Milli: 1000}, fragmentation.GPU{}
	cut := fragmentation.GPU{Layout: lookup(t, "a100-40gb").Empty()}
	odd := fragmentation.GPU{Milli: 1000, Layout: cut.Layout} // no node has one
	for _, tt := range []struct {
		name  string
		gpu   fragmentation.GPU
		shape fragmentation.Shape
		want  bool
	}{
		{"all that is left", fragmentation.GPU{Milli: 400, Memory: 8}, memory, true},
		{"one milli short", fragmentation.GPU{Milli: 399, Memory: 8}, memory, false},
		{"one MiB short", fragmentation.GPU{Milli: 400, Memory: 7}, memory, false},
		{"whole GPUs of an idle one", idle, whole(0, 2, 1000), true},
		{"whole GPUs of one in use", fragmentation.GPU{Milli: 999}, whole(0, 2, 1000), false},
		{"fraction of a full GPU", full, plain(0, 1), false},
		{"fraction of a cut GPU", odd, plain(0, 1), false},
		{"instance of a cut GPU", cut, small, false},
		{"instance of an uncut GPU", idle, small, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, tt.gpu.Takes(&tt.shape))
		})
	}
}

// A memory slice is a whole number of milli-GPU wherever a profile begins or
// ends, so shares of profiles add up without rounding.
func TestSliceMilliIsExact(t *testing.T) {
	t.Parallel()
	for m := range mig.Models() {
		for p := range m.Profiles() {
			if !p.HasGeometry() {
				continue
			}
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
