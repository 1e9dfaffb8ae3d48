package yaml11

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Fault is why a text is not one document, and where.
type Fault struct {
	Line, Column int
	Message      string
}

// Document returns the root of the only document, or nil for a text without any.
// user is who reads the first one alone.
func Document(data []byte, user string) (*yaml.Node, *Fault) {
	for offset := 0; offset < len(data); {
		c, size := utf8.DecodeRune(data[offset:])
		if c == utf8.RuneError && size == 1 {
			// The library also takes UTF-16 with a byte order mark, but then columns
			// would be wrong.
			return nil, fault(data, offset, "not UTF-8")
		}
		offset += size
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var root *yaml.Node
	for {
		var doc yaml.Node
		err := dec.Decode(&doc)
		switch {
		case errors.Is(err, io.EOF):
			return root, nil
		case err != nil:
			message := libraryPrefix.ReplaceAllString(err.Error(), "")
			offset := stopped(data)
			if offset < len(data) && data[offset] == '\t' && strings.HasSuffix(message, "cannot start any token") {
				message += ": a tab, where YAML wants blanks"
			}
			return nil, fault(data, offset, message)
		}
		if len(doc.Content) == 0 || IsNull(doc.Content[0]) {
			continue
		}
		if root != nil {
			second := doc.Content[0]
			return nil, &Fault{second.Line, second.Column, "a second document, which " + user + " does not read"}
		}
		root = doc.Content[0]
	}
}

// libraryPrefix is what stands before the message in an error of the library. Its
// line is that of the collection around the fault, or one before it, or missing.
var libraryPrefix = regexp.MustCompile(`^yaml: (line \d+: )?`)

// stopped returns where the line begins, blanks aside, in which the reading of a
// text that is not YAML ends.
func stopped(data []byte) (offset int) {
	r := &slowReader{data: data}
	dec := yaml.NewDecoder(r)
	for {
		var doc yaml.Node
		if dec.Decode(&doc) != nil {
			break
		}
	}
	read := bytes.TrimRight(data[:r.read], " \r\n")
	begin := bytes.LastIndexByte(read, '\n') + 1
	blanks := len(read[begin:]) - len(bytes.TrimLeft(read[begin:], " "))
	return begin + blanks
}

// fault returns a fault at a byte.
func fault(data []byte, offset int, message string) *Fault {
	begin := bytes.LastIndexByte(data[:offset], '\n') + 1
	return &Fault{
		Line: 1 + bytes.Count(data[:begin], []byte("\n")), Column: 1 + utf8.RuneCount(data[begin:offset]),
		Message: message,
	}
}

// slowReader returns one byte at a time, so that it knows how far its user got.
type slowReader struct {
	data []byte
	read int
}

func (r *slowReader) Read(p []byte) (int, error) {
	if r.read == len(r.data) {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	p[0] = r.data[r.read]
	r.read++
	return 1, nil
}
