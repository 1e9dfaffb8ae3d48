package main

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/gpushare/gpushare/examples/internal/picture"
)

// draw writes the pictures and returns their files: one of the shares, and one of
// the instances for each number of GPUs.
func (s *sweepSummary) draw(prefix string) ([]string, error) {
	var files []string
	add := func(name string, p *plot.Plot) error {
		written, err := save(prefix+name, p)
		files = append(files, written...)
		return err
	}
	if rows := s.kind(shareCells); len(rows) > 0 {
		p, err := sharesPlot(rows)
		if err != nil {
			return nil, err
		}
		if err := add("-shares", p); err != nil {
			return nil, err
		}
	}
	rows := s.kind(instanceCells)
	for _, gpus := range distinct(rows, func(r sweepRow) int { return r.GPUs }) {
		p, err := instancesPlot(rows, gpus)
		if err != nil {
			return nil, err
		}
		if err := add(fmt.Sprintf("-instances-%d", gpus), p); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// sharesPlot draws what is left at the end by trace, one line for each policy.
func sharesPlot(rows []sweepRow) (*plot.Plot, error) {
	p := newSweepPlot("GPU left when 130 % has been asked for", "", "% of the fleet, with 95 % intervals")
	traces := distinct(rows, func(r sweepRow) string { return r.Trace })
	for i, policy := range distinct(rows, func(r sweepRow) string { return r.Policy }) {
		var points marks
		for x, trace := range traces {
			for _, r := range rows {
				if r.Policy == policy && r.Trace == trace {
					points.add(float64(x), r.Figures[at130])
				}
			}
		}
		if err := points.addTo(p, policy, i); err != nil {
			return nil, err
		}
	}
	p.NominalX(traces...)
	p.X.Tick.Label.Rotation = math.Pi / 5
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	p.Y.Min = 0
	return p, nil
}

// instancesPlot draws how much less is rejected than by first fit, mean over the
// mixes, by load.
func instancesPlot(rows []sweepRow, gpus int) (*plot.Plot, error) {
	p := newSweepPlot(fmt.Sprintf("MIG instances on %d GPUs: rejected compute slices against first fit", gpus), "load", "change in %, mean of the mixes")
	for i, rule := range distinct(rows, func(r sweepRow) string { return r.Policy }) {
		var points marks
		for _, load := range distinct(rows, func(r sweepRow) float64 { return r.Load }) {
			sum, variance, count := 0.0, 0.0, 0
			for _, r := range rows {
				c, found := r.Changes[rejSlices]
				if r.Policy != rule || r.GPUs != gpus || r.Load != load || !found || !c.finite() {
					continue
				}
				sum += 100 * c.Mean
				if c.Half != nil {
					variance += 1e4 * *c.Half * *c.Half
				}
				count++
			}
			if count > 0 {
				half := math.Sqrt(variance) / float64(count)
				points.add(load, interval{sum / float64(count), &half})
			}
		}
		if err := points.addTo(p, rule, i); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func newSweepPlot(title, x, y string) *plot.Plot {
	p := picture.New(title, x, y)
	p.Add(picture.Grid())
	p.Legend.Top, p.Legend.Left = true, true
	return p
}

// marks are the points of a line with their intervals.
type marks struct {
	plotter.XYs
	plotter.YErrors
}

func (m *marks) add(x float64, i interval) {
	half := 0.0
	if i.Half != nil {
		half = *i.Half
	}
	m.XYs = append(m.XYs, plotter.XY{X: x, Y: i.Mean})
	m.YErrors = append(m.YErrors, struct{ Low, High float64 }{half, half})
}

// sweepStyles tell lines apart; after the last the first comes again, dashed.
var sweepStyles = [...]color.RGBA{
	picture.RGB(0x00, 0x00, 0x00), picture.RGB(0x00, 0x72, 0xb2), picture.RGB(0x00, 0x9e, 0x73), picture.RGB(0xd5, 0x5e, 0x00),
	picture.RGB(0xcc, 0x79, 0xa7), picture.RGB(0x56, 0xb4, 0xe9), picture.RGB(0xb8, 0x86, 0x00), picture.RGB(0x77, 0x77, 0x77),
}

// addTo adds the line of a policy, by its number in the picture.
func (m *marks) addTo(p *plot.Plot, name string, number int) error {
	if len(m.XYs) == 0 {
		return nil
	}
	line, points, err := plotter.NewLinePoints(m.XYs)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	bars, err := plotter.NewYErrorBars(m)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	c := sweepStyles[number%len(sweepStyles)]
	line.Color, line.Width, points.Color, bars.Color = c, 1.4, c, c
	if number >= len(sweepStyles) {
		line.Dashes = dashed
	}
	points.Radius, points.Shape = vg.Length(1.6), draw.CircleGlyph{}
	p.Add(line, points, bars)
	p.Legend.Add(name, line)
	return nil
}
