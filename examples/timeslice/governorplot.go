package main

import (
	"fmt"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/gpushare/gpushare/examples/internal/picture"
)

// drawGovernors draws, for each engine, what the batch job gets over what that costs
// the other, and returns the files.
func drawGovernors(prefix string, a *governorAnswer) ([]string, error) {
	var panels []picture.Panel
	for i := range a.Engines {
		p, err := governorPanel(a, &a.Engines[i])
		if err != nil {
			return nil, err
		}
		if i < len(a.Engines)-1 {
			p.X.Label.Text = ""
		}
		panels = append(panels, picture.Panel{Plot: p, Height: 3.4 * vg.Inch})
	}
	return picture.Save(prefix, plotWidth, panels...)
}

func governorPanel(a *governorAnswer, e *engineAnswer) (*plot.Plot, error) {
	title := fmt.Sprintf("Requests of %s at %s load beside a batch job: %s", a.Workload.Request, percent(int64(a.Workload.LoadMilli)), engineTitles[e.Engine])
	p := picture.New(title, "p99 of the protected tenant's requests, ms (left is better)", "batch job, % of alone")
	p.Add(picture.Grid())
	p.Legend.Top, p.Legend.Left = false, false
	p.Legend.Padding = 2
	noneP99 := 0.0
	low, high := float64(e.AloneP99Ns)/1e6, float64(e.AloneP99Ns)/1e6
	for _, law := range laws {
		var points plotter.XYs
		var names []string
		for _, r := range e.Rules {
			if r.rule.law != law {
				continue
			}
			x := float64(r.P99Ns) / 1e6
			low, high = min(low, x), max(high, x)
			points = append(points, plotter.XY{X: x, Y: float64(r.BatchMilli) / 10})
			names = append(names, strconv.Itoa(r.rule.figure))
		}
		if len(points) == 0 {
			continue
		}
		if law == lawNone {
			noneP99, names[0] = points[0].X, ""
		}
		if err := addPoints(p, points, names, law); err != nil {
			return nil, fmt.Errorf("%s: %w", law, err)
		}
	}
	if noneP99 > 0 {
		p.Add(goal{noneP99 / 2, 50})
	}
	p.Add(alone{float64(e.AloneP99Ns) / 1e6})
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, oneTwoFive{}
	p.X.Min, p.X.Max = low/1.15, high*1.15
	p.Y.Min, p.Y.Max = 0, 100
	return p, nil
}

var engineTitles = map[string]string{"sliced": "time slices", "fifo": "first come, first served"}

// markOf says how a law looks, without colour too, and where its figures stand: to
// the right and above, in parts of the room that a figure needs.
func markOf(law string) (c color.Color, glyph draw.GlyphDrawer, right, above float64) {
	switch law {
	case lawFeedback:
		return colourOf(0), draw.BoxGlyph{}, -0.5, 1
	case lawQuota:
		return colourOf(1), draw.TriangleGlyph{}, 0.5, -1
	case lawAIMD:
		return colourOf(2), draw.CircleGlyph{}, 1, -0.3
	case lawCoRun:
		return colourOf(3), draw.PyramidGlyph{}, 0, 1
	default:
		return color.Black, draw.RingGlyph{}, 0, 0
	}
}

// addPoints draws the rules of one law, joined in the order in which they stand.
func addPoints(p *plot.Plot, points plotter.XYs, names []string, law string) error {
	line, marks, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	c, glyph, right, above := markOf(law)
	line.Color, line.Width = c, 1.2
	marks.Color, marks.Radius, marks.Shape = c, 3, glyph
	labels, err := plotter.NewLabels(plotter.XYLabels{XYs: points, Labels: names})
	if err != nil {
		return err
	}
	for i := range labels.TextStyle {
		labels.TextStyle[i].Font, labels.TextStyle[i].Color = picture.Sans(8.5), c
		labels.TextStyle[i].XAlign, labels.TextStyle[i].YAlign = draw.XCenter, draw.YCenter
	}
	labels.Offset = vg.Point{X: vg.Length(14 * right), Y: vg.Length(9 * above)}
	p.Add(line, marks, labels)
	p.Legend.Add(law, line, marks)
	return nil
}

// goal is where a rule protects: at most so many ms, and so many % at least.
type goal struct{ ms, percent float64 }

// Plot tints it.
func (g goal) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	left, right := c.Min.X, min(max(toX(g.ms), c.Min.X), c.Max.X)
	low, top := toY(g.percent), c.Max.Y
	c.FillPolygon(color.NRGBA{0x00, 0x9e, 0x73, 0x1c}, []vg.Point{{X: left, Y: low}, {X: right, Y: low}, {X: right, Y: top}, {X: left, Y: top}})
	style := p.X.Tick.Label
	style.Font, style.Color = picture.Sans(8.5), color.Gray{0x66}
	style.XAlign, style.YAlign = draw.XRight, draw.YTop
	c.FillText(style, vg.Point{X: right - 4, Y: top - 3}, "p99 halved, half of the work left")
}

// alone is the p99 in ms with nobody beside.
type alone struct{ ms float64 }

// Plot draws a line there.
func (a alone) Plot(c draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&c)
	x := toX(a.ms)
	c.StrokeLines(draw.LineStyle{Color: color.Gray{0x88}, Width: 0.8, Dashes: []vg.Length{4, 3}}, []vg.Point{{X: x, Y: c.Min.Y}, {X: x, Y: c.Max.Y}})
	style := p.X.Tick.Label
	style.Font, style.Color = picture.Sans(8.5), color.Gray{0x66}
	style.XAlign, style.YAlign = draw.XRight, draw.YBottom
	c.FillText(style, vg.Point{X: x - 3, Y: c.Min.Y + 3}, "alone")
}

// oneTwoFive puts marks at 1, 2 and 5 times powers of ten.
type oneTwoFive struct{}

// Ticks returns them.
func (oneTwoFive) Ticks(low, high float64) []plot.Tick {
	var all []plot.Tick
	for power := math.Pow(10, math.Floor(math.Log10(low))); power <= high; power *= 10 {
		for _, f := range []float64{1, 2, 3, 5, 7} {
			if v := f * power; v >= low && v <= high {
				all = append(all, plot.Tick{Value: v, Label: fmt.Sprintf("%g", math.Round(v*1000)/1000)})
			}
		}
	}
	return all
}
