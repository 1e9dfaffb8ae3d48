package parted

import (
	"errors"
	"fmt"
	"strings"
)

// Conditions that callers branch on. The errors of this package wrap them.
var (
	ErrFormat       = errors.New("not a mig-parted configuration")
	ErrUnknownLabel = errors.New("no such label")
	ErrOverlap      = errors.New("GPU matched by two entries")
	ErrNoMatch      = errors.New("no GPU matched")
	ErrNotCapable   = errors.New("GPU cannot do MIG")
	ErrInventory    = errors.New("malformed inventory")
)

var errNothing = fmt.Errorf("parted: no configuration to write: %w", ErrFormat)

// SyntaxError is something that the format does not allow; it wraps ErrFormat.
type SyntaxError struct {
	File    string // as given to Parse; may be empty
	Pos     Pos
	Label   string // empty outside of one
	Field   string // "version", "devices", "mig-devices"; empty outside of one
	Message string
}

// Error names file, line, column, label and field.
func (e *SyntaxError) Error() string {
	var b strings.Builder
	b.WriteString("parted: ")
	if e.File != "" {
		b.WriteString(e.File + ":")
	}
	if e.Pos.Line > 0 {
		fmt.Fprintf(&b, "%d:", e.Pos.Line)
		if e.Pos.Column > 0 {
			fmt.Fprintf(&b, "%d:", e.Pos.Column)
		}
	}
	if e.File != "" || e.Pos.Line > 0 {
		b.WriteString(" ")
	}
	if e.Label != "" {
		fmt.Fprintf(&b, "label %q: ", e.Label)
	}
	b.WriteString(e.detail())
	return b.String()
}

// detail is the message with the field, for those who know the rest.
func (e *SyntaxError) detail() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

// Unwrap returns ErrFormat.
func (e *SyntaxError) Unwrap() error { return ErrFormat }

// list joins names for people, the first ten of them.
func list(names []string) string {
	const most = 10
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// plural returns "1 GPU", "2 GPUs".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
