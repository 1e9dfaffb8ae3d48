package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/timeslice"
)

// mostRows is how many clients a chart shows.
const mostRows = 40

const ganttLegend = "█ ▓ ▒ ░ runs: nearly all of the column, most, some, little   / switches   · has work and waits   ! idles meanwhile\n"

// ganttPanel is who runs when under one policy.
type ganttPanel struct {
	window
	policy string
	sim    timeslice.Sim
}

// cell is what happens in one column of one row, in ns.
type cell struct{ works, switches, waits, wastes int64 }

// text draws a row for each client and one for the GPU.
func (g *ganttPanel) text(width int) string {
	rows, gpu := g.cells(width)
	label := len("GPU")
	for i := range rows {
		label = max(label, len([]rune(g.sim.Clients[i].Name)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%*s  %s\n", label, "", g.axis(width))
	for i, row := range rows {
		fmt.Fprintf(&b, "%-*s |%s|\n", label, g.sim.Clients[i].Name, g.line(row))
	}
	fmt.Fprintf(&b, "%-*s |%s|\n", label, "GPU", g.line(gpu))
	if n := len(g.sim.Clients) - len(rows); n > 0 {
		fmt.Fprintf(&b, "and %s\n", count(n, "more client"))
	}
	return b.String()
}

// cells divides the window into columns.
func (g *ganttPanel) cells(width int) (rows [][]cell, gpu []cell) {
	rows, gpu = make([][]cell, len(g.waits)), make([]cell, width)
	for i := range rows {
		rows[i] = make([]cell, width)
	}
	for _, r := range g.runs {
		g.spread(r.Start, r.End, width, func(k int, ns int64) {
			switch r.Kind {
			case timeslice.Working:
				gpu[k].works += ns
			case timeslice.Switching:
				gpu[k].switches += ns
			case timeslice.Idle:
				return
			}
			if r.Client >= len(rows) {
				return
			}
			if c := &rows[r.Client][k]; r.Kind == timeslice.Working {
				c.works += ns
			} else {
				c.switches += ns
			}
		})
	}
	for i, list := range g.waits {
		for _, w := range list {
			g.spread(w.from, w.to, width, func(k int, ns int64) { rows[i][k].waits += ns })
		}
	}
	for _, w := range g.wasted() {
		g.spread(w.from, w.to, width, func(k int, ns int64) { gpu[k].wastes += ns })
	}
	return rows, gpu
}

// wasted returns when the GPU idled while a client that is drawn had work.
func (g *ganttPanel) wasted() []between {
	all := slices.Concat(g.waits...)
	slices.SortFunc(all, func(a, b between) int { return cmp.Compare(a.from, b.from) })
	var out []between
	for _, r := range g.runs {
		if r.Kind != timeslice.Idle {
			continue
		}
		for now := r.Start; now < r.End && len(all) > 0; {
			if all[0].to <= now {
				all = all[1:]
				continue
			}
			from, to := max(now, all[0].from), min(r.End, all[0].to)
			if from >= to {
				break
			}
			out = append(out, between{from, to})
			now = to
		}
	}
	return out
}

// spread gives each column its part of a stretch of time.
func (g *ganttPanel) spread(from, to int64, width int, add func(k int, ns int64)) {
	for k := g.column(from, width); k < width && g.edge(k, width) < to; k++ {
		if ns := min(to, g.edge(k+1, width)) - max(from, g.edge(k, width)); ns > 0 {
			add(k, ns)
		}
	}
}

// edge is where column k begins.
func (g *ganttPanel) edge(k, width int) int64 {
	length := g.to - g.from
	return g.from + length/int64(width)*int64(k) + length%int64(width)*int64(k)/int64(width)
}

// column is the last one that begins at a time or before.
func (g *ganttPanel) column(at int64, width int) int {
	k := int(min((at-g.from)/max((g.to-g.from)/int64(width), 1), int64(width-1)))
	for k > 0 && g.edge(k, width) > at {
		k--
	}
	return k
}

// line draws the columns of a row.
func (g *ganttPanel) line(cells []cell) string {
	var b strings.Builder
	for k, c := range cells {
		b.WriteRune(c.symbol(g.edge(k+1, len(cells)) - g.edge(k, len(cells))))
	}
	return b.String()
}

// symbol is what a column of so many ns shows.
func (c cell) symbol(ns int64) rune {
	switch {
	case ns == 0:
		return ' '
	case 2*c.wastes >= ns:
		return '!'
	case 2*c.switches >= ns:
		return '/'
	case 8*c.works >= 7*ns:
		return '█'
	case 2*c.works >= ns:
		return '▓'
	case 4*c.works >= ns:
		return '▒'
	case c.works > 0:
		return '░'
	case c.switches > 0:
		return '/'
	case c.waits > 0:
		return '·'
	default:
		return ' '
	}
}

// axis writes times above the columns where they begin.
func (g *ganttPanel) axis(width int) string {
	var b strings.Builder
	for k := 0; k < width; {
		text := span(g.edge(k, width)).String()
		if k > 0 {
			text = short(g.edge(k, width))
		}
		if k > 0 && k+len([]rune(text)) > width {
			break
		}
		n := max(len([]rune(text))+2, (width+5)/6)
		fmt.Fprintf(&b, "%-*s", n, text)
		k += n
	}
	return strings.TrimRight(b.String(), " ")
}
