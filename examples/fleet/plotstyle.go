package main

import (
	"image/color"

	"gonum.org/v1/plot/vg"

	"github.com/gpushare/gpushare/examples/internal/picture"
)

// style says how a policy's line looks. Hues are told apart with any colour
// vision, and dashes without colour.
type style struct {
	color  color.RGBA
	width  vg.Length
	dashes []vg.Length
	layer  int // the higher ones are drawn over the others
}

var (
	solid  []vg.Length
	dashed = []vg.Length{7, 3}
	dotted = []vg.Length{1.5, 2.5}
	mixed  = []vg.Length{8, 3, 1.5, 3}
)

func styleOf(policy string) style {
	switch policy {
	case "fgd":
		return style{picture.RGB(0xd5, 0x5e, 0x00), 2.8, solid, 1}
	case "fgd-published":
		return style{picture.RGB(0x00, 0x00, 0x00), 1.6, dashed, 2}
	case "bestfit":
		return style{picture.RGB(0x00, 0x72, 0xb2), 1.4, solid, 0}
	case "packing":
		return style{picture.RGB(0x00, 0x9e, 0x73), 1.4, mixed, 0}
	case "clustering":
		return style{picture.RGB(0xcc, 0x79, 0xa7), 1.4, solid, 0}
	case "dotproduct":
		return style{picture.RGB(0xb8, 0x86, 0x00), 1.4, dashed, 0}
	case "firstfit":
		return style{picture.RGB(0x56, 0xb4, 0xe9), 1.4, mixed, 0}
	case "worstfit":
		return style{picture.RGB(0x55, 0x55, 0x55), 1.4, dotted, 0}
	default:
		return style{picture.RGB(0x99, 0x99, 0x99), 1.4, solid, 0}
	}
}
