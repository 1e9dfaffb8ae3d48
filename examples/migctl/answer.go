package main

import (
	"errors"
	"fmt"
)

// noError is why a command as a whole was not carried out, though nothing is
// wrong with what was asked.
type noError struct {
	kind string // "locked", "unfinished", "changed"
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
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

// explain prints why a command as a whole was not carried out, where that is no
// error of the user's.
func (inv *invocation) explain(name string, err error) error {
	var no *noError
	if !errors.As(err, &no) {
		return err
	}
	return inv.Answer(false, noAnswer{Schema: schema, Reason: reason{no.kind, no.Error()}}, func() string {
		return fmt.Sprintf("%s: no\nreason: %s: %s\n", name, no.kind, no.Error())
	})
}
