package main

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/gpushare/gpushare/examples/internal/picture"
)

// curve is what a policy had allocated as tasks arrived, in % of the fleet.
type curve struct {
	name   string
	points plotter.XYs // X: arrived, ascending; Y: allocated
}

// last returns the final share allocated.
func (c curve) last() float64 { return c.points[len(c.points)-1].Y }

// writePlot writes the picture to prefix.png and prefix.svg and returns the
// names of the files.
func writePlot(prefix, title string, curves []curve) ([]string, error) {
	p, err := newPlot(title, curves)
	if err != nil {
		return nil, err
	}
	return save(prefix, p)
}

// save writes a picture to name.png and name.svg.
func save(name string, p *plot.Plot) ([]string, error) {
	return picture.Save(name, 8*vg.Inch, picture.Panel{Plot: p, Height: 4.5 * vg.Inch})
}

// newPlot draws the part of the plane where the policies part.
func newPlot(title string, curves []curve) (*plot.Plot, error) {
	p := picture.New(title, "GPU asked for so far, % of the fleet", "GPU allocated, % of the fleet")
	least, most, end := math.Inf(1), 0.0, 0.0
	for _, c := range curves {
		least, most = min(least, c.last()), max(most, c.last())
		end = max(end, c.points[len(c.points)-1].X)
	}
	if up := math.Ceil(end); up-end < 0.1 { // a task less than round
		end = up
	}
	// Before that, next to everything that arrives is placed under any policy.
	from := max(0, 5*math.Floor((least-11)/5))
	top := min(100, max(most+1, 5*math.Ceil(most/5)))
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks(end), ticks(top)

	p.Add(picture.Grid())
	all, err := plotter.NewLine(plotter.XYs{{X: from, Y: from}, {X: top, Y: top}})
	if err != nil {
		return nil, err
	}
	all.Color, all.Width = color.Gray{0xbb}, 0.8
	p.Add(all)
	note, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: from + 0.6*(top-from), Y: from + 0.6*(top-from)}}, Labels: []string{"all placed"}})
	if err != nil {
		return nil, err
	}
	note.TextStyle[0].Font = picture.Sans(9)
	note.TextStyle[0].Color = color.Gray{0x88}
	note.TextStyle[0].XAlign, note.TextStyle[0].YAlign = draw.XRight, draw.YCenter
	note.Offset = vg.Point{X: -8}
	p.Add(note)
	// Where the two best lines run together, dashes over the wide one show both.
	order := slices.Clone(curves)
	slices.SortStableFunc(order, func(a, b curve) int { return cmp.Compare(styleOf(a.name).layer, styleOf(b.name).layer) })
	for _, c := range order {
		first := slices.IndexFunc(c.points, func(q plotter.XY) bool { return q.X >= from })
		line, err := plotter.NewLine(c.points[max(first, 0):])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		s := styleOf(c.name)
		line.Color, line.Width, line.Dashes = s.color, s.width, s.dashes
		p.Add(line)
	}
	p.Add(endLabels(curves))
	// Adding the lines has widened the axes to all of their points.
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = from, end, from, top
	return p, nil
}

// ticks puts marks at round numbers up to end.
func ticks(end float64) plot.Ticker {
	return plot.TickerFunc(func(lo, hi float64) []plot.Tick {
		step := 10.0
		for (hi-lo)/step > 10 {
			step *= 2
		}
		for (hi-lo)/step < 4 && step > 0.01 {
			step /= 2
		}
		var all []plot.Tick
		for i := math.Ceil(lo / step); i*step <= min(hi, end)+1e-9; i++ {
			all = append(all, plot.Tick{Value: i * step, Label: fmt.Sprintf("%g", i*step)})
		}
		return all
	})
}
