package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/mps"
)

// noError is why a command as a whole was not carried out, though nothing is wrong
// with what was asked.
type noError struct {
	kind string
	err  error
}

func (e *noError) Error() string { return e.err.Error() }
func (e *noError) Unwrap() error { return e.err }

type noAnswer struct {
	Schema int    `json:"schema"`
	Done   bool   `json:"done"`
	Reason reason `json:"reason"`
}

type reason struct {
	Kind   string `json:"kind"` // "no daemon", "refused", "in use", "timed out", …
	Detail string `json:"detail"`
}

// reasonOf is why the daemon did not do it.
func reasonOf(err error) *reason {
	var no *noError
	var op *mps.OpError
	detail := command.OneLine(err.Error())
	switch {
	case errors.As(err, &no):
		return &reason{no.kind, detail}
	case errors.As(err, &op):
		return &reason{op.Kind.String(), strings.TrimPrefix(detail, "mps: ")}
	}
	return &reason{"failed", detail}
}

// explain prints why a command as a whole was not carried out, where that is neither
// an error of the user's nor of this machine.
func (inv *invocation) explain(ctx context.Context, name string, err error) error {
	var no *noError
	var op *mps.OpError
	switch {
	case err == nil, errors.Is(err, command.ErrNo), ctx.Err() != nil, errors.Is(err, mps.ErrInput):
		return err
	case errors.Is(err, mps.ErrNoProgram):
		return fmt.Errorf("%w (-program names it, -fake does without)", err)
	case !errors.As(err, &no) && !errors.As(err, &op):
		return err
	}
	why := reasonOf(err)
	return inv.Answer(false, noAnswer{Schema: schema, Reason: *why}, func() string {
		return fmt.Sprintf("%s: no\nreason: %s: %s\n", name, why.Kind, why.Detail)
	})
}

// notes collects what a daemon did not tell in a form that can be read.
type notes []string

// told is the value, or nil if the daemon does not know the question or its answer
// cannot be read; that is noted. Another error is returned.
func told[T any](n *notes, v T, err error) (*T, error) {
	switch {
	case err == nil:
		return &v, nil
	case errors.Is(err, mps.ErrUnparsed), errors.Is(err, mps.ErrUnsupported):
		*n = append(*n, strings.TrimPrefix(command.OneLine(err.Error()), "mps: "))
		return nil, nil
	default:
		return nil, err
	}
}

// list is what JSON shows of them: never null.
func (n notes) list() []string { return append([]string{}, n...) }

func (n notes) text() string {
	var b strings.Builder
	for _, note := range n {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	return b.String()
}

// table lays rows out in columns; the first row is the header.
func table(rows ...[]string) string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	t.Flush()
	return b.String()
}

// shown is a value that may not be known.
func shown[T any](v *T) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprint(*v)
}

// percent is an active thread percentage for people.
func percent(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return strconv.FormatFloat(*v, 'f', 1, 64) + " %"
}

// mib is an amount of memory for people.
func mib(v *int64) string {
	if v == nil {
		return "none told"
	}
	return fmt.Sprintf("%d MiB", *v)
}

// above is nil unless the number says something.
func above[T int | int64 | float64](n, least T) *T {
	if n < least {
		return nil
	}
	return &n
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
