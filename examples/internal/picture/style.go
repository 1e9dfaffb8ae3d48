package picture

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

const family = "Liberation Sans"

// New returns a plot with nothing in it.
func New(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.TextStyle.Font = Sans(13)
	p.Title.Padding = 8
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font = Sans(11)
		a.Tick.Label.Font = Sans(10)
		a.Label.Padding = 4
	}
	p.Legend.TextStyle.Font = Sans(9)
	return p
}

// Grid returns thin lines at the marks of the axes.
func Grid() *plotter.Grid {
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = color.Gray{0xe6}, color.Gray{0xe6}
	return g
}

// Sans returns the font of all text.
func Sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// RGB returns an opaque colour.
func RGB(r, g, b uint8) color.RGBA { return color.RGBA{r, g, b, 0xff} }
