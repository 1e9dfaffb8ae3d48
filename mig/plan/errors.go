package plan

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gpushare/gpushare/mig"
)

// Conditions that callers branch on. Bad input is answered with the errors of
// package mig; that there is no way is a *Refusal.
var (
	ErrBusy    = errors.New("instance is in use")
	ErrStale   = errors.New("plan is for another state")
	ErrBadPlan = errors.New("malformed plan")
)

// Refusal says why there is no plan. It wraps mig.ErrNoFit and, where it would be
// possible without the busy instances, ErrBusy.
//
//nolint:errname // it is an answer, and named as one
type Refusal struct {
	Want string // what was asked for
	Have mig.Layout

	// Limit is what keeps the demand from fitting beside the instances that may not
	// go; zero where the slices would do, but a busy instance is not wanted.
	Limit  mig.Limit
	Detail string // the figures, for people

	// Busy are the busy instances in the way, lowest start first: of the sets whose
	// end would make it possible, one of the smallest, and of those the one that the
	// best plan takes. Empty where it is impossible on an empty GPU.
	Busy []Instance
}

// Kind returns the name of the limit that binds, as a mig.FitError has it, or
// "busy" where none does: a busy instance is not wanted.
func (r *Refusal) Kind() string {
	if r.Limit == 0 {
		return "busy"
	}
	return r.Limit.String()
}

// Error names what was wanted, what binds and the busy instances in the way.
func (r *Refusal) Error() string {
	why := r.Kind() + ": " + r.Detail
	if len(r.Busy) > 0 && r.Limit != 0 { // else the detail names them
		why += "; in the way and busy: " + list(r.Have.Model(), r.Busy)
	}
	return fmt.Sprintf("plan: no way from %q to %q on %s: %s", r.Have, r.Want, r.Have.Model(), why)
}

// Unwrap returns mig.ErrNoFit and, where busy instances are in the way, ErrBusy.
func (r *Refusal) Unwrap() []error {
	if len(r.Busy) > 0 {
		return []error{mig.ErrNoFit, ErrBusy}
	}
	return []error{mig.ErrNoFit}
}

// list writes instances as "2g.10gb@0 3g.20gb@4[1c.3g.20gb@0]", so that two that
// differ look different.
func list(m *mig.Model, instances []Instance) string {
	var parts []string
	for _, in := range instances {
		parts = append(parts, in.describe(m))
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, " ")
}
