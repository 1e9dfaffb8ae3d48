package openb

import "io"

// tail remembers the last byte that was read. A list ends with the end of its
// last line; one that does not is cut off, perhaps within a number.
type tail struct {
	io.Reader
	last byte
}

// Read implements io.Reader.
func (t *tail) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	if n > 0 {
		t.last = p[n-1]
	}
	return n, err
}
