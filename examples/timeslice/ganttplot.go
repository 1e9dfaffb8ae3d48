package main

import (
	"fmt"
	"image/color"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/gpushare/gpushare/examples/internal/picture"
	"github.com/gpushare/gpushare/timeslice"
)

// drawGantt draws a panel for each policy and returns the files.
func drawGantt(prefix string, drawn []ganttPanel) ([]string, error) {
	var panels []picture.Panel
	for i := range drawn {
		g := &drawn[i]
		x := ""
		if i == len(drawn)-1 {
			x = "time   (colour: runs,  black: switches,  thin line: has work and waits)"
		}
		title := fmt.Sprintf("%s, slices of %s, switches of %s", g.policy, span(g.sim.Slice), span(g.sim.Switch))
		p := picture.New(title, x, "")
		rows := len(g.waits)
		p.X.Min, p.X.Max = float64(g.from), float64(g.to)
		p.Y.Min, p.Y.Max = -0.5, float64(rows)-0.5
		p.X.Tick.Marker = timeTicks{}
		var names []plot.Tick
		for r := range rows {
			names = append(names, plot.Tick{Value: float64(rows - 1 - r), Label: g.sim.Clients[r].Name})
		}
		p.Y.Tick.Marker = plot.ConstantTicks(names)
		p.Y.Tick.Width, p.Y.Width = 0, 0
		grid := picture.Grid()
		grid.Horizontal.Width = 0
		p.Add(grid, g)
		height := 58 + 19*vg.Length(rows)
		if x != "" {
			height += 18
		}
		panels = append(panels, picture.Panel{Plot: p, Height: height})
	}
	return picture.Save(prefix, plotWidth, panels...)
}

// Plot draws the rows.
func (g *ganttPanel) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	height := toY(1) - toY(0)
	block := func(fill color.Color, from, to int64, row int, part vg.Length) {
		y := toY(float64(len(g.waits) - 1 - row))
		half := height * part / 2
		left, right := toX(float64(from)), toX(float64(to))
		c.FillPolygon(fill, []vg.Point{{X: left, Y: y - half}, {X: right, Y: y - half}, {X: right, Y: y + half}, {X: left, Y: y + half}})
	}
	for row, list := range g.waits {
		for _, w := range list {
			block(colourOf(row), w.from, w.to, row, 0.1)
		}
	}
	for _, r := range g.runs {
		if r.Client < 0 || r.Client >= len(g.waits) {
			continue
		}
		switch r.Kind {
		case timeslice.Working:
			block(colourOf(r.Client), r.Start, r.End, r.Client, 0.72)
		case timeslice.Switching:
			block(color.Gray{0x10}, r.Start, r.End, r.Client, 0.72)
		case timeslice.Idle:
		}
	}
}

// timeTicks puts marks at round times.
type timeTicks struct{}

// Ticks returns them in ns.
func (timeTicks) Ticks(low, high float64) []plot.Tick {
	step := int64(1)
	for n := 0; (high-low)/float64(step) > 10; n++ {
		step = step * [...]int64{2, 5, 2}[n%3] / [...]int64{1, 2, 1}[n%3]
	}
	var all []plot.Tick
	for at := (int64(low) + step - 1) / step * step; float64(at) <= high; at += step {
		all = append(all, plot.Tick{Value: float64(at), Label: time.Duration(at).String()})
	}
	return all
}

const plotWidth = 9 * vg.Inch

// colourOf tells rows and lines apart with any colour vision.
func colourOf(i int) color.RGBA {
	all := [...]color.RGBA{
		picture.RGB(0x00, 0x72, 0xb2), picture.RGB(0xd5, 0x5e, 0x00), picture.RGB(0x00, 0x9e, 0x73), picture.RGB(0xcc, 0x79, 0xa7),
		picture.RGB(0x56, 0xb4, 0xe9), picture.RGB(0xb8, 0x86, 0x00), picture.RGB(0x77, 0x77, 0x77),
	}
	return all[i%len(all)]
}
