package main

import (
	"cmp"
	"fmt"
	"slices"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/gpushare/gpushare/examples/internal/picture"
)

// endLabels names each line at its end, right of the plane, in place of a
// legend: the names stand in the order of the lines, moved apart where they
// would overlap and tied to their line.
type endLabels []curve

const (
	labelHeight = 14 * vg.Length(1)
	labelLead   = 34 * vg.Length(1) // from the end of a line to its label
	labelWidth  = 152 * vg.Length(1)
)

// Plot draws the labels.
func (e endLabels) Plot(c draw.Canvas, p *plot.Plot) {
	if len(e) == 0 {
		return
	}
	_, toY := p.Transforms(&c)
	all := slices.Clone(e)
	slices.SortStableFunc(all, func(a, b curve) int { return cmp.Compare(b.last(), a.last()) })
	ends := make([]vg.Length, len(all))
	for i, l := range all {
		ends[i] = toY(l.last())
	}
	at := spread(ends, c.Min.Y, c.Max.Y)
	for i, l := range all {
		s := styleOf(l.name)
		text := p.X.Tick.Label
		text.Font = picture.Sans(10.5)
		text.XAlign, text.YAlign = draw.XLeft, draw.YCenter
		if s.width > 2 {
			text.Font.Weight = xfont.WeightBold
		}
		c.StrokeLines(
			draw.LineStyle{Color: s.color, Width: 0.6},
			[]vg.Point{{X: c.Max.X + 2, Y: ends[i]}, {X: c.Max.X + 12, Y: at[i]}},
		)
		c.StrokeLines(
			draw.LineStyle{Color: s.color, Width: s.width, Dashes: s.dashes},
			[]vg.Point{{X: c.Max.X + 12, Y: at[i]}, {X: c.Max.X + labelLead, Y: at[i]}},
		)
		c.FillText(text, vg.Point{X: c.Max.X + labelLead + 4, Y: at[i]}, fmt.Sprintf("%s  %.1f %%", l.name, l.last()))
	}
}

// GlyphBoxes reserves the room right of the plane.
func (e endLabels) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Max: vg.Point{X: labelWidth}}}}
}

// spread moves heights, largest first, apart so that they are labelHeight
// apart or more and between low and high, if there is room.
func spread(heights []vg.Length, low, high vg.Length) []vg.Length {
	at := slices.Clone(heights)
	for range 200 {
		for i := 1; i < len(at); i++ {
			if overlap := labelHeight - (at[i-1] - at[i]); overlap > 0 {
				at[i-1] += overlap / 2
				at[i] -= overlap / 2
			}
		}
		at[0] = min(at[0], high)
		at[len(at)-1] = max(at[len(at)-1], low)
	}
	return at
}

var (
	_ plot.Plotter    = endLabels(nil)
	_ plot.GlyphBoxer = endLabels(nil)
)
