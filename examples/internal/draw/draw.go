// Package draw draws MIG layouts for a terminal: boxes over memory slices.
//
//	 0       1       2       3       4       5       6       7
//	┌───────────────┬───────┬───────┬───────────────────────────────┐
//	│ 2g.10gb       │ 1g.5gb│·······│ 3g.20gb                       │
//	└───────────────┴───────┴───────┴───────────────────────────────┘
//
// A slice in no instance is dotted; it is hatched if no instance that can still
// be created covers it. All layouts of one model without media variants are
// drawn to one width. Every function is pure and safe for concurrent use.
package draw

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gpushare/gpushare/mig"
)

// The marks of slices that are in no instance.
const (
	Unused   = '·' // an instance can still take it
	Stranded = '░' // no instance can take it beside what is there
)

// Layout draws one layout: a scale of memory slices, a box, a newline at the
// end. A GPU that is not cut is drawn as the text "not cut".
func Layout(l mig.Layout) string { return Layouts(l) }

// Layouts draws layouts of one model as rows under one scale. It returns ""
// without layouts; a layout of another model than the first gets a scale and a
// box of its own.
func Layouts(layouts ...mig.Layout) string {
	var b strings.Builder
	for len(layouts) > 0 {
		model := layouts[0].Model()
		n := 1
		for n < len(layouts) && layouts[n].Model() == model {
			n++
		}
		if model == nil {
			b.WriteString(strings.Repeat("not cut\n", n))
		} else {
			box(&b, model, layouts[:n])
		}
		layouts = layouts[n:]
	}
	return b.String()
}

// box draws the layouts of one model.
func box(b *strings.Builder, m *mig.Model, layouts []mig.Layout) {
	width := cellWidth(m, layouts)
	var scale strings.Builder
	for slice := range m.MemorySlices() {
		scale.WriteString(pad(" "+strconv.Itoa(slice), width+1, ' '))
	}
	b.WriteString(strings.TrimRight(scale.String(), " ") + "\n")
	first, last := cells(layouts[0]), cells(layouts[len(layouts)-1])
	border(b, first, width, "┌", "┬", "┐")
	for _, l := range layouts {
		for _, c := range cells(l) {
			b.WriteString("│")
			b.WriteString(pad(c.text, columns(c.size, width), c.fill))
		}
		b.WriteString("│\n")
	}
	border(b, last, width, "└", "┴", "┘")
}

// cell is an instance, or one slice that is in none.
type cell struct {
	size int
	text string
	fill rune // what stands behind the text
}

// cells returns what stands on the memory slices, from left to right.
func cells(l mig.Layout) []cell {
	reachable := reach(l)
	var row []cell
	for slice := 0; slice < l.Model().MemorySlices(); {
		if in, found := l.At(slice); found {
			row = append(row, cell{size: in.Size, text: " " + in.Profile, fill: ' '})
			slice += in.Size
			continue
		}
		c := cell{size: 1, fill: Stranded}
		if reachable.Has(slice) {
			c.fill = Unused
		}
		row = append(row, c)
		slice++
	}
	return row
}

// reach returns the slices that one more instance could cover.
func reach(l mig.Layout) mig.Mask {
	var m mig.Mask
	for p := range l.Model().Profiles() {
		for start := range l.FreeStarts(p).All() {
			for k := range p.Size {
				m |= mig.MaskOf(start + k)
			}
		}
	}
	return m
}

// cellWidth returns the columns of a slice such that every name fits, with a
// blank before it.
func cellWidth(m *mig.Model, layouts []mig.Layout) int {
	width := 3
	need := func(name string, size int) {
		for columns(size, width) < len(name)+1 {
			width++
		}
	}
	for p := range m.PlainProfiles() {
		if p.HasGeometry() {
			need(p.Name, p.Size)
		}
	}
	for _, l := range layouts {
		for in := range l.Instances() {
			need(in.Profile, in.Size)
		}
	}
	return width
}

// columns returns the columns inside the frame of an instance of size slices.
func columns(size, width int) int { return size*(width+1) - 1 }

func border(b *strings.Builder, row []cell, width int, left, joint, right string) {
	for i, c := range row {
		if i == 0 {
			b.WriteString(left)
		} else {
			b.WriteString(joint)
		}
		b.WriteString(strings.Repeat("─", columns(c.size, width)))
	}
	b.WriteString(right)
	b.WriteByte('\n')
}

// pad fills text up to width columns.
func pad(text string, width int, fill rune) string {
	missing := width - utf8.RuneCountInString(text)
	if missing <= 0 {
		return text
	}
	return text + strings.Repeat(string(fill), missing)
}
