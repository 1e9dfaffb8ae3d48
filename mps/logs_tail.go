package mps

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"time"
)

// TailOptions says how a log is followed. The zero value is fit for use.
type TailOptions struct {
	Every     time.Duration // between two looks at the file; 0 means 250 ms
	FromStart bool          // also what the file holds already; else only what is added
}

// maxLogLine is what is kept of one line.
const maxLogLine = 64 << 10

// Tail gives the lines of a log as they are written, until ctx ends or the caller
// stops. It waits for a file that is not there yet, and
// goes on with the new file when the old one is renamed, replaced or cut off. A line
// counts once its newline is written; of a line over 64 KiB the start is given.
//
// The error is about a file that cannot be read, and is the last thing given. The end
// of ctx is none. A file that is cut off and grows beyond where it was within one
// look cannot be told from one that grew: what was before that point is missed.
func Tail(ctx context.Context, path string, o TailOptions) iter.Seq2[LogEvent, error] {
	if o.Every <= 0 {
		o.Every = 250 * time.Millisecond
	}
	return func(yield func(LogEvent, error) bool) {
		t := tail{path: path, yield: func(line []byte) bool { return yield(ParseLogLine(string(line)), nil) }}
		defer t.close()
		if err := t.open(!o.FromStart); err != nil {
			yield(LogEvent{}, err)
			return
		}
		ticker := time.NewTicker(o.Every)
		defer ticker.Stop()
		for ctx.Err() == nil {
			more, err := t.look(ctx)
			if err != nil {
				yield(LogEvent{}, err)
				return
			}
			if !more {
				return
			}
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
	}
}

// tail is one file being followed.
type tail struct {
	path  string
	file  *os.File // nil while there is none
	at    int64
	line  []byte
	yield func([]byte) bool
}

func (t *tail) close() {
	if t.file != nil {
		_ = t.file.Close() // it was only read
		t.file = nil
	}
	t.at, t.line = 0, t.line[:0]
}

// open opens the file if it is there.
func (t *tail) open(atEnd bool) error {
	t.close()
	file, err := os.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	t.file = file
	if atEnd {
		t.at, err = file.Seek(0, io.SeekEnd)
	}
	return err
}

// look reads what is new. It is false when the caller wants no more.
func (t *tail) look(ctx context.Context) (bool, error) {
	for {
		if t.file == nil {
			if err := t.open(false); err != nil || t.file == nil {
				return true, err
			}
		}
		// Ask before reading: what is written to the old file until it is replaced is
		// then read first. While there is no new one, the old one may still grow.
		current, err := os.Stat(t.path)
		gone := errors.Is(err, fs.ErrNotExist)
		if err != nil && !gone {
			return false, err
		}
		mine, err := t.file.Stat()
		if err != nil {
			return false, err
		}
		if mine.Size() < t.at {
			t.at, t.line = 0, t.line[:0]
		}
		if more, err := t.read(ctx); err != nil || !more {
			return more, err
		}
		if gone || os.SameFile(current, mine) {
			return true, nil
		}
		t.close()
	}
}

// read gives the lines up to the end of the file.
func (t *tail) read(ctx context.Context) (bool, error) {
	buffer := make([]byte, 32<<10)
	for ctx.Err() == nil {
		n, err := t.file.ReadAt(buffer, t.at)
		t.at += int64(n)
		for part := range bytes.Lines(buffer[:n]) {
			if !t.add(part) {
				return false, nil
			}
		}
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// add takes a piece that ends with a newline or with what was read.
func (t *tail) add(part []byte) bool {
	whole := part[len(part)-1] == '\n'
	if whole {
		part = part[:len(part)-1]
	}
	if room := maxLogLine - len(t.line); len(part) > room {
		part = part[:room]
	}
	t.line = append(t.line, part...)
	if !whole {
		return true
	}
	line := t.line
	t.line = t.line[:0]
	return t.yield(line)
}
