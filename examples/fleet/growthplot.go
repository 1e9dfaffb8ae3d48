package main

import (
	"fmt"
	"io"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// writeGrowth writes a table of one line for each size.
func writeGrowth(w io.Writer, rows []growthRow) {
	rules := distinct(rows, func(r growthRow) string { return r.Rule })
	fmt.Fprintln(w, "Microseconds for a decision, and in brackets by asking every node:")
	fmt.Fprintf(w, "\n| GPUs | %s |\n|%s\n", strings.Join(rules, " | "), strings.Repeat("---|", len(rules)+1))
	for _, gpus := range distinct(rows, func(r growthRow) int { return r.GPUs }) {
		fmt.Fprintf(w, "| %d |", gpus)
		for _, r := range rows {
			if r.GPUs == gpus {
				fmt.Fprintf(w, " %s (%s) |", micros(r.Engine), micros(r.Plain))
			}
		}
		fmt.Fprintln(w)
	}
}

// micros writes as many digits as mean something.
func micros(x float64) string {
	switch {
	case x < 10:
		return fmt.Sprintf("%.2f", x)
	case x < 100:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.0f", x)
	}
}

// growthPlot draws a solid line for each rule and, in its colour, a dashed one for
// asking every node.
func growthPlot(rows []growthRow) (*plot.Plot, error) {
	p := newSweepPlot("Time of a decision as the fleet grows; dashed: asking every node", "GPUs", "microseconds")
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	for i, rule := range distinct(rows, func(r growthRow) string { return r.Rule }) {
		var engine, plain plotter.XYs
		for _, r := range rows {
			if r.Rule == rule {
				const least = 1e-3 // a logarithm wants more than nothing
				engine = append(engine, plotter.XY{X: float64(r.GPUs), Y: max(r.Engine, least)})
				plain = append(plain, plotter.XY{X: float64(r.GPUs), Y: max(r.Plain, least)})
			}
		}
		for _, points := range []plotter.XYs{engine, plain} {
			line, marks, err := plotter.NewLinePoints(points)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", rule, err)
			}
			c := sweepStyles[(i+1)%len(sweepStyles)]
			line.Color, line.Width, marks.Color = c, 1.8, c
			marks.Radius, marks.Shape = vg.Length(2), draw.CircleGlyph{}
			if &points[0] == &plain[0] {
				line.Width, line.Dashes = 1.2, dashed
			} else {
				p.Legend.Add(rule, line)
			}
			p.Add(line, marks)
		}
	}
	return p, nil
}
