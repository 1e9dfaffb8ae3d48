package pluginconfig

import (
	"errors"
	"fmt"
	"strings"
)

// Conditions that callers branch on. The errors of this package wrap them.
var (
	ErrFormat    = errors.New("not a usable device plugin configuration")
	ErrInventory = errors.New("malformed inventory")
	ErrRefused   = errors.New("the device plugin would not start")
	ErrSelection = errors.New("devices cannot be selected as written")
	ErrRequest   = errors.New("the node cannot serve the request")
)

// findingError is a finding as an error.
type findingError struct {
	file    string
	finding Finding
}

func (e *findingError) Error() string {
	var b strings.Builder
	b.WriteString("pluginconfig: ")
	if e.file != "" {
		b.WriteString(e.file + ":")
	}
	if e.file != "" && e.finding.Line == 0 {
		b.WriteString(" ")
	}
	return b.String() + e.finding.String()
}

func (e *findingError) Unwrap() error { return ErrFormat }

// asError joins findings of the given severities, or is nil.
func asError(file string, findings []Finding, severities ...Severity) error {
	var all []error
	for _, f := range findings {
		for _, s := range severities {
			if f.Severity == s {
				all = append(all, &findingError{file, f})
			}
		}
	}
	return errors.Join(all...)
}

// plural returns "1 GPU", "2 GPUs".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
