package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// resultsSchema is the version of a line of the results file.
const resultsSchema = 1

// results is the file in which a sweep keeps its figures, one line of JSON for
// each finished cell, so that a second run goes on where the first ended. It is
// safe for concurrent use.
type results struct {
	mu   sync.Mutex
	file *os.File
	done map[cell]finished
}

// openResults opens or begins a file. A last line that is cut off, as a crash
// leaves it, is taken away; any other line that is none is an error.
func openResults(name string) (*results, error) {
	data, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("-out: %w", err)
	}
	r := &results{done: map[cell]finished{}}
	good := 0 // bytes
	for line := 1; good < len(data); line++ {
		end := bytes.IndexByte(data[good:], '\n')
		if end < 0 {
			break // cut off: the line of a finished cell is written with its end
		}
		var f finished
		dec := json.NewDecoder(bytes.NewReader(data[good : good+end]))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&f); err != nil {
			return nil, fmt.Errorf("-out %s: line %d: %w", name, line, err)
		}
		if f.Schema != resultsSchema {
			return nil, fmt.Errorf("-out %s: line %d: schema %d: this program writes %d", name, line, f.Schema, resultsSchema)
		}
		r.done[f.Cell] = f
		good += end + 1
	}
	if r.file, err = os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err != nil {
		return nil, fmt.Errorf("-out: %w", err)
	}
	if good < len(data) {
		if err := r.file.Truncate(int64(good)); err != nil {
			return nil, errors.Join(fmt.Errorf("-out: %w", err), r.file.Close())
		}
	}
	return r, nil
}

// has reports whether a cell is finished.
func (r *results) has(c cell) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, found := r.done[c]
	return found
}

// add writes a finished cell, in one piece.
func (r *results) add(c cell, figures map[string]float64) error {
	f := finished{resultsSchema, c, figures}
	line, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	r.done[c] = f
	return nil
}

// of returns what is finished of a list of cells, in its order.
func (r *results) of(cells []cell) []finished {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []finished
	for _, c := range cells {
		if f, found := r.done[c]; found {
			all = append(all, f)
		}
	}
	return all
}

func (r *results) close() error { return r.file.Close() }
