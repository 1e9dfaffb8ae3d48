package parted

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity says how bad a finding is.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // it cannot work
	Warning Severity = "warning" // it does something else than it seems to say
)

// Finding is something that is wrong with a configuration.
type Finding struct {
	Severity Severity `json:"severity"`
	Label    string   `json:"label"`  // empty outside of one
	Model    string   `json:"model"`  // key; empty where it holds for all
	Line     int      `json:"line"`   // from 1; 0 where no file holds it
	Column   int      `json:"column"` // from 1, in characters; 0 where no file holds it
	Message  string   `json:"message"`
}

// String returns the form `12:5: error: label "all-1g": model a30-24gb: message`.
func (f Finding) String() string {
	var b strings.Builder
	if f.Line > 0 {
		fmt.Fprintf(&b, "%d:", f.Line)
		if f.Column > 0 {
			fmt.Fprintf(&b, "%d:", f.Column)
		}
		b.WriteByte(' ')
	}
	b.WriteString(string(f.Severity) + ": ")
	if f.Label != "" {
		fmt.Fprintf(&b, "label %q: ", f.Label)
	}
	if f.Model != "" {
		b.WriteString("model " + f.Model + ": ")
	}
	return b.String() + f.Message
}

// sorted orders findings by position and then by model, and drops repetitions. It
// never returns nil, so that the JSON form is a list.
func sorted(findings []Finding) []Finding {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Model, b.Model), cmp.Compare(a.Severity, b.Severity),
		)
	})
	return append([]Finding{}, slices.Compact(findings)...)
}
