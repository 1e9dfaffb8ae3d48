// Package picture writes the plots of programs that take a flag -plot: each to
// PREFIX.png and PREFIX.svg, in one style.
package picture

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// DPI is how many pixels of a PNG make an inch.
const DPI = 144

// Ready returns an error if the directory of a picture is not there, so that
// nobody waits for one that cannot be written. An empty prefix is no picture.
func Ready(prefix string) error {
	if prefix == "" {
		return nil
	}
	dir, name := filepath.Split(prefix)
	if name == "" || name == "." || name == ".." {
		return fmt.Errorf("-plot %q: names a directory, not the beginning of a file's name", prefix)
	}
	dir = filepath.Clean(dir)
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("-plot %q: %w", prefix, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("-plot %q: %s is not a directory", prefix, dir)
	}
	return nil
}

// Panel is a plot of its own height.
type Panel struct {
	*plot.Plot
	Height vg.Length // with its margins
}

// Save draws panels one below the other, with their axes in line, and returns the
// names of the files.
func Save(prefix string, width vg.Length, panels ...Panel) ([]string, error) {
	height := vg.Length(0)
	for _, p := range panels {
		height += p.Height
	}
	img := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(DPI))
	svg := vgsvg.New(width, height)
	for _, c := range []draw.Canvas{draw.New(img), draw.New(svg)} {
		paint(c, panels)
	}
	var files []string
	for _, f := range []struct {
		name    string
		picture io.WriterTo
	}{{prefix + ".png", vgimg.PngCanvas{Canvas: img}}, {prefix + ".svg", svg}} {
		var b bytes.Buffer
		if _, err := f.picture.WriteTo(&b); err != nil {
			return nil, fmt.Errorf("-plot %s: %w", f.name, err)
		}
		data := b.Bytes()
		if f.picture == svg { // where the font is missing, its likes will do
			data = bytes.ReplaceAll(data, []byte("font-family:"+family), []byte("font-family:"+family+",Arial,sans-serif"))
		}
		if err := os.WriteFile(f.name, data, 0o644); err != nil {
			return nil, fmt.Errorf("-plot: %w", err)
		}
		files = append(files, f.name)
	}
	return files, nil
}

func paint(c draw.Canvas, panels []Panel) {
	const margin = 8
	c.FillPolygon(color.White, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
	column := make([][]*plot.Plot, len(panels))
	for i, p := range panels {
		column[i] = []*plot.Plot{p.Plot}
	}
	// Align makes the panels equally high; what lines them up are the sides.
	aligned := plot.Align(column, draw.Tiles{Rows: len(panels), Cols: 1, PadLeft: margin, PadRight: margin}, c)
	top := c.Max.Y
	for i, p := range panels {
		part := aligned[i][0]
		part.Max.Y, part.Min.Y = top-margin, top-p.Height+margin
		top -= p.Height
		p.Draw(part)
	}
}
