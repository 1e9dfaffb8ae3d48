package draw

import (
	"strings"
	"unicode/utf8"

	"github.com/gpushare/gpushare/mig"
)

// The marks that Rows is used with, for a change of what stands on a GPU.
const (
	Destroyed = '✗' // it goes
	Created   = '+' // it comes
	Busy      = '!' // somebody uses it
)

// Row is a layout under others: with a name before it, and with marks in it.
type Row struct {
	Name   string // may be empty
	Layout mig.Layout
	// Marks are by the start of an instance; a mark takes the place of the blank
	// before the instance's name.
	Marks map[int]rune
}

// Rows draws like Layouts, with the names of the rows before them:
//
//	        0       1       2       3
//	       ┌───────┬───────┬───────────────┐
//	before │✗1g.6gb│·······│ 2g.12gb       │
//	after  │+2g.12gb       │ 2g.12gb       │
//	       └───────────────┴───────────────┘
func Rows(rows ...Row) string {
	indent := 0
	for _, r := range rows {
		if r.Name != "" {
			indent = max(indent, utf8.RuneCountInString(r.Name)+1)
		}
	}
	var b strings.Builder
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Layout.Model() == rows[0].Layout.Model() {
			n++
		}
		named(&b, rows[:n], indent)
		rows = rows[n:]
	}
	return b.String()
}

// named draws rows of one model.
func named(b *strings.Builder, rows []Row, indent int) {
	layouts := make([]mig.Layout, len(rows))
	for i, r := range rows {
		layouts[i] = r.Layout
	}
	names := map[int]string{}
	lines := strings.SplitAfter(strings.TrimSuffix(Layouts(layouts...), "\n"), "\n")
	head := 2 // the scale and the upper border
	if rows[0].Layout.Model() == nil {
		head = 0
	} else {
		width := cellWidth(rows[0].Layout.Model(), layouts)
		for i, r := range rows {
			lines[head+i] = marked(r, width)
		}
	}
	for i, r := range rows {
		names[head+i] = r.Name
	}
	for i, line := range lines {
		b.WriteString(pad(names[i], indent, ' '))
		b.WriteString(line)
	}
	b.WriteByte('\n')
}

// marked returns the line of a row.
func marked(r Row, width int) string {
	var b strings.Builder
	start := 0
	for _, c := range cells(r.Layout) {
		text := c.text
		if mark, found := r.Marks[start]; found && text != "" {
			text = string(mark) + strings.TrimPrefix(text, " ")
		}
		b.WriteString("│")
		b.WriteString(pad(text, columns(c.size, width), c.fill))
		start += c.size
	}
	b.WriteString("│\n")
	return b.String()
}
