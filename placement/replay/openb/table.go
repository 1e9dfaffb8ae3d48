package openb

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// table reads a file of comma-separated values with a header, plain or gzip.
type table struct {
	file   string // for errors
	csv    *csv.Reader
	end    *tail          // of what csv reads
	column map[string]int // by name
	row    []string
	first  map[string]int // line by name of a row
}

// open reads the header: every required column once, no unknown ones, in any
// order.
func open(r io.Reader, file string, required, optional []string) (*table, error) {
	t := &table{file: file, column: map[string]int{}, first: map[string]int{}}
	buffered := bufio.NewReader(r)
	var content io.Reader = buffered
	if magic, _ := buffered.Peek(2); string(magic) == "\x1f\x8b" {
		unzipped, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, t.broken(err)
		}
		content = unzipped
	}
	t.end = &tail{Reader: content}
	t.csv = csv.NewReader(t.end)
	t.csv.ReuseRecord = true
	header, err := t.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("openb: %s: is empty: %w", file, ErrBadFile)
	}
	if err != nil {
		return nil, t.broken(err)
	}
	for i, name := range header {
		_, twice := t.column[name]
		if twice {
			return nil, t.bad(i, name, "stands there twice")
		}
		if !slices.Contains(required, name) && !slices.Contains(optional, name) {
			return nil, t.bad(i, name, "is not a column of this file")
		}
		t.column[strings.Clone(name)] = i
	}
	for _, name := range required {
		if _, found := t.column[name]; !found {
			return nil, fmt.Errorf("openb: %s: line 1: column %s is missing: %w", file, name, ErrBadFile)
		}
	}
	return t, nil
}

// next reads a row; false at the end, which must not come before the first.
func (t *table) next() (bool, error) {
	row, err := t.csv.Read()
	switch {
	case errors.Is(err, io.EOF) && len(t.first) == 0:
		return false, fmt.Errorf("openb: %s: has a header and no rows: %w", t.file, ErrBadFile)
	case errors.Is(err, io.EOF) && t.end.last != '\n':
		line, _ := t.csv.FieldPos(0)
		return false, fmt.Errorf("openb: %s: line %d: is cut off: it has no end of line: %w", t.file, line, ErrBadFile)
	case errors.Is(err, io.EOF):
		return false, nil
	case err != nil:
		return false, t.broken(err)
	}
	t.row = row
	return true, nil
}

// name returns the row's name, which must be there and new.
func (t *table) name(column string) (string, error) {
	name := strings.Clone(t.text(column))
	line, _ := t.csv.FieldPos(0)
	if before, found := t.first[name]; found {
		return "", t.bad(t.column[column], name, fmt.Sprintf("is the name in line %d too", before))
	}
	if name == "" {
		return "", t.bad(t.column[column], name, "is missing")
	}
	t.first[name] = line
	return name, nil
}

// text returns a field; empty if the file has no such column.
func (t *table) text(column string) string {
	i, found := t.column[column]
	if !found {
		return ""
	}
	return t.row[i]
}

// most is the largest amount: the sum of a million of them fits into 64 bits.
const most = 1_000_000_000_000

// amount returns a whole number from 0 to limit.
func (t *table) amount(column string, limit int64) (int64, error) {
	text := t.text(column)
	x, err := strconv.ParseInt(text, 10, 64)
	switch {
	case text == "":
		return 0, t.bad(t.column[column], text, "is missing")
	case errors.Is(err, strconv.ErrRange), err == nil && x > limit:
		return 0, t.bad(t.column[column], text, fmt.Sprintf("is more than %d or out of range", limit))
	case err != nil:
		return 0, t.bad(t.column[column], text, "is not a whole number")
	case x < 0:
		return 0, t.bad(t.column[column], text, "is negative")
	}
	return x, nil
}

// bad is an error about a field of the last row read.
func (t *table) bad(column int, value, what string) error {
	line, _ := t.csv.FieldPos(column)
	name := strconv.Itoa(column + 1)
	for n, i := range t.column {
		if i == column {
			name = n
		}
	}
	return fmt.Errorf("openb: %s: line %d: column %s: %q %s: %w", t.file, line, name, value, what, ErrBadFile)
}

// broken is an error of the layers below: what is no CSV, or no whole gzip.
func (t *table) broken(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("openb: %s: is cut off: %w: %w", t.file, err, ErrBadFile)
	}
	return fmt.Errorf("openb: %s: %w: %w", t.file, err, ErrBadFile)
}
