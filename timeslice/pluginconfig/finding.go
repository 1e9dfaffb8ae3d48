package pluginconfig

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
	Error   Severity = "error"   // the plugin refuses it, or nobody can tell what is meant
	Warning Severity = "warning" // the plugin takes it and does something else than it says
	Note    Severity = "note"    // it does what it says, which is not what many expect
)

// Code names the kind of a finding, for programs.
type Code string

// The kinds of findings. What is behind them is in the message of each.
const (
	Syntax            Code = "syntax"             // not YAML, or a value of the wrong kind
	Missing           Code = "missing"            // something required is not there
	BadValue          Code = "bad-value"          // a value that the plugin refuses
	BadName           Code = "bad-name"           // no resource name
	DuplicateKey      Code = "duplicate-key"      // the last one counts
	DuplicateDevice   Code = "duplicate-device"   // one device twice in a list
	DuplicateResource Code = "duplicate-resource" // two entries that the plugin makes one of
	UnknownKey        Code = "unknown-key"        // not read
	WrongParent       Code = "wrong-parent"       // not read here, but elsewhere
	WrongCase         Code = "wrong-case"         // a warning where it is not read for it, a note where it is
	CustomResources   Code = "custom-resources"   // dropped at start-up
	RenameReset       Code = "rename-reset"       // dropped at start-up
	DevicesReset      Code = "devices-reset"      // dropped at start-up: all devices
	MPSWins           Code = "mps-wins"           // time-slicing is not looked at
	FailForced        Code = "fail-forced"        // failRequestsGreaterThanOne is true unless set
	MPSRequires       Code = "mps-requires"       // what MPS does not go with, or needs
	MPSLimit          Code = "mps-limit"          // more replicas than MPS has clients
	Unserved          Code = "unserved"           // a resource that no device is advertised as
	NotProportional   Code = "not-proportional"   // more replicas are not more GPU
	PrefixAdded       Code = "prefix-added"       // "nvidia.com/" is put before a name
)

// Finding is something that is wrong with a configuration, or surprising.
type Finding struct {
	Severity Severity `json:"severity"`
	Code     Code     `json:"code"`
	Field    string   `json:"field"`  // "sharing.timeSlicing.resources[0].rename"; empty for the whole
	Line     int      `json:"line"`   // from 1; 0 where no file holds it
	Column   int      `json:"column"` // from 1, in characters; 0 where no file holds it
	Message  string   `json:"message"`
}

// String returns the form `12:5: warning: sharing.mps: message [code]`.
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
	if f.Field != "" {
		b.WriteString(f.Field + ": ")
	}
	return b.String() + f.Message + " [" + string(f.Code) + "]"
}

// sorted orders findings by position, those of one place as they were found, and
// drops repetitions. It never returns nil, so that the JSON form is a list.
func sorted(findings []Finding) []Finding {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return append([]Finding{}, slices.Compact(findings)...)
}

// has reports whether a finding of the severity is among them.
func has(findings []Finding, s Severity) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity == s })
}
