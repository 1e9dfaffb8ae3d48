package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"
)

// TestStyles makes sure that no two policies look alike, with or without
// colour.
func TestStyles(t *testing.T) {
	t.Parallel()
	for i, a := range policyNames {
		for _, b := range policyNames[:i] {
			assert.NotEqual(t, styleOf(a).color, styleOf(b).color, "%s and %s", a, b)
		}
	}
	assert.Greater(t, styleOf(fgdName).width, styleOf("bestfit").width)
}

// TestSpread checks that names never overlap, keep their order and stay in the
// plane.
func TestSpread(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const high = 240
		heights := rapid.SliceOfN(rapid.Float64Range(0, high), 1, len(policyNames)).Draw(t, "heights")
		slices.Sort(heights)
		slices.Reverse(heights)
		ends := make([]vg.Length, len(heights))
		for i, h := range heights {
			ends[i] = vg.Length(h)
		}
		at := spread(ends, 0, high)
		require.Len(t, at, len(ends))
		for i := range at {
			assert.GreaterOrEqual(t, float64(at[i]), -0.5)
			assert.LessOrEqual(t, float64(at[i]), high+0.5)
			if i > 0 {
				assert.GreaterOrEqual(t, float64(at[i-1]-at[i]), float64(labelHeight)-0.5)
			}
		}
	})
}

func TestPlotRanges(t *testing.T) {
	t.Parallel()
	line := func(name string, flat, end float64) curve {
		c := curve{name: name}
		for x := 0.0; x <= end; x++ {
			c.points = append(c.points, plotter.XY{X: x, Y: min(x, flat)})
		}
		return c
	}
	for _, c := range []struct {
		name         string
		curves       []curve
		from, to     float64
		low, highest float64
	}{
		{"two policies", []curve{line("random", 87, 130), line("fgd", 95.4, 130)}, 75, 130, 75, 100},
		{"nothing refused", []curve{line("fgd", 100, 50)}, 35, 50, 35, 51},
		{"next to nothing arrives", []curve{line("fgd", 100, 1)}, 0, 1, 0, 5},
		{"all full", []curve{line("fgd", 100, 400)}, 85, 400, 85, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, err := newPlot(c.name, c.curves)
			require.NoError(t, err)
			assert.Equal(t, []float64{c.from, c.to, c.low, c.highest}, []float64{p.X.Min, p.X.Max, p.Y.Min, p.Y.Max})
			for _, a := range []struct{ lo, hi float64 }{{c.from, c.to}, {c.low, c.highest}} {
				marks := ticks(a.hi).Ticks(a.lo, a.hi)
				assert.GreaterOrEqual(t, len(marks), 3)
				assert.LessOrEqual(t, len(marks), 12)
			}
		})
	}
}
