package mps

import (
	"fmt"
	"strings"
)

// v3List is what is documented of a list: its columns, in order, and which of them may
// hold the separator. Names are compared without case, and with blank, - and _ alike.
type v3List struct {
	columns []string
	free    int  // the column that takes what a row has too many of
	inOrder bool // only the order is documented, and the name of the first column
}

// rows reads a list with its header, in csv or as a table. Cells come in the order of
// the columns; a cell of "-" is empty. Columns that are not documented are left out
// in csv; in a table they are an error, since the rows cannot be told apart then.
func (l v3List) rows(text string) ([][]string, error) {
	var header string
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		switch {
		case line == "":
		case header == "":
			header = line
		default:
			lines = append(lines, line)
		}
	}
	if header == "" {
		return nil, fmt.Errorf("no header, want %s", strings.Join(l.columns, ","))
	}
	read := l.table
	if strings.Contains(header, ",") {
		read = l.csv
	}
	rows, err := read(header, lines)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		for i, cell := range row {
			if row[i] = strings.TrimSpace(cell); row[i] == "-" {
				row[i] = ""
			}
		}
	}
	return rows, nil
}

// csv reads comma-separated lines. Whether cells are ever quoted is not documented:
// both forms are read, and commas too many go to the free column.
func (l v3List) csv(header string, lines []string) ([][]string, error) {
	names := splitCells(header)
	at := make([]int, len(l.columns))
	for i, column := range l.columns {
		at[i] = -1
		for j, name := range names {
			if sameColumn(strings.TrimSpace(name), column) {
				at[i] = j
				break
			}
		}
		if l.inOrder && len(names) == len(l.columns) && at[0] == 0 {
			at[i] = i
		}
		if at[i] < 0 {
			return nil, fmt.Errorf("header %.200q has no column %s", header, column)
		}
	}
	var rows [][]string
	for _, line := range lines {
		cells := splitCells(line)
		extra := len(cells) - len(names)
		if extra < 0 {
			return nil, fmt.Errorf("row %.200q has %d cells, want %d", line, len(cells), len(names))
		}
		if extra > 0 {
			from := at[l.free]
			if from < len(names)-1 && !onlyUUIDs(cells[from:from+extra+1], cells[from+extra+1]) {
				return nil, fmt.Errorf("row %.200q has %d cells too many", line, extra)
			}
			joined := strings.Join(cells[from:from+extra+1], ",")
			cells = append(append(append([]string(nil), cells[:from]...), joined), cells[from+extra+1:]...)
		}
		row := make([]string, len(at))
		for i, j := range at {
			row[i] = cells[j]
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// onlyUUIDs tells whether cells hold the UUIDs of devices, and the one after them does
// not: then it is sure where their list ends.
func onlyUUIDs(cells []string, next string) bool {
	for _, cell := range cells {
		if !isDeviceUUID(cell) {
			return false
		}
	}
	return !isDeviceUUID(next)
}

// splitCells cuts a line at commas outside of quoted cells.
func splitCells(line string) []string {
	var cells []string
	for {
		cell, rest, more := cutCell(line)
		cells = append(cells, cell)
		if !more {
			return cells
		}
		line = rest
	}
}

func cutCell(line string) (cell, rest string, more bool) {
	if strings.HasPrefix(line, `"`) {
		inner := strings.ReplaceAll(line[1:], `""`, "\x00\x00")
		if end := strings.IndexByte(inner, '"'); end >= 0 {
			after := line[1+end+1:]
			if after == "" || after[0] == ',' {
				return strings.ReplaceAll(line[1:1+end], `""`, `"`), strings.TrimPrefix(after, ","), after != ""
			}
		}
	}
	return strings.Cut(line, ",")
}

// table reads aligned columns. Widths and alignment are not documented: if every row
// has a gap where the header's columns begin, these cut the rows; else blanks do,
// provided that they give as many cells as there are columns.
func (l v3List) table(header string, lines []string) ([][]string, error) {
	starts, err := l.starts(header)
	if err != nil {
		return nil, err
	}
	if rows := cutAt(starts, lines); rows != nil || len(lines) == 0 {
		return rows, nil
	}
	var rows [][]string
	for _, line := range lines {
		cells := l.words(line)
		if len(cells) != len(l.columns) {
			return nil, fmt.Errorf("row %.200q cannot be cut into %d cells", line, len(l.columns))
		}
		rows = append(rows, cells)
	}
	return rows, nil
}

// starts finds where the columns begin in the header.
func (l v3List) starts(header string) ([]int, error) {
	var starts []int
	at := 0
	for i, column := range l.columns {
		for at < len(header) && header[at] == ' ' {
			at++
		}
		width := len(column)
		if l.inOrder && i > 0 {
			if width = strings.IndexByte(header[at:]+" ", ' '); width == 0 {
				width = 1
			}
		}
		end := at + width
		known := end <= len(header) && (l.inOrder && i > 0 || sameColumn(header[at:end], column))
		if !known || end < len(header) && header[end] != ' ' {
			return nil, fmt.Errorf("header %.200q: want column %s at byte %d", header, column, at)
		}
		starts = append(starts, at)
		at = end
	}
	if strings.TrimSpace(header[at:]) != "" {
		return nil, fmt.Errorf("header %.200q has a column after %s", header, l.columns[len(l.columns)-1])
	}
	return starts, nil
}

// cutAt cuts lines where the columns begin, or gives nil if one of them has no gap
// there.
func cutAt(starts []int, lines []string) [][]string {
	var rows [][]string
	for _, line := range lines {
		var row []string
		for i, from := range starts {
			if from >= len(line) {
				row = append(row, "")
				continue
			}
			if from > 0 && line[from-1] != ' ' {
				return nil
			}
			to := len(line)
			if i+1 < len(starts) {
				to = min(to, starts[i+1])
			}
			cell := strings.TrimSpace(line[from:to])
			if cell != "" && line[from] == ' ' {
				return nil // not aligned to the left
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return rows
}

// words cuts at blanks. A word in parentheses belongs to the one before; words too
// many belong to the free column if that is the last.
func (l v3List) words(line string) []string {
	var cells []string
	for word := range strings.FieldsSeq(line) {
		last := len(cells) - 1
		if last >= 0 && strings.HasPrefix(word, "(") || len(cells) == len(l.columns) && l.free == last {
			cells[last] += " " + word
			continue
		}
		cells = append(cells, word)
	}
	return cells
}

// sameColumn compares names of columns.
func sameColumn(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	plain := func(c byte) byte {
		switch {
		case c == '-' || c == '_':
			return ' '
		case c >= 'A' && c <= 'Z':
			return c + 'a' - 'A'
		}
		return c
	}
	for i := range len(a) {
		if plain(a[i]) != plain(b[i]) {
			return false
		}
	}
	return true
}
