package mig

import (
	"errors"
	"fmt"
	"strings"
)

// Conditions that callers branch on. The errors of this package wrap them.
var (
	ErrUnknownModel    = errors.New("unknown GPU model")
	ErrAmbiguousModel  = errors.New("more than one GPU model")
	ErrUnknownProfile  = errors.New("unknown profile")
	ErrUnknownGeometry = errors.New("placements of the model are unknown")
	ErrBadName         = errors.New("malformed profile name")
	ErrBadDemand       = errors.New("malformed demand")
	ErrBadInstance     = errors.New("malformed instance")
	ErrBadSpec         = errors.New("malformed table")
	ErrIllegalStart    = errors.New("illegal start")
	ErrConflict        = errors.New("instances conflict")
	ErrNoInstance      = errors.New("no instance at this start")
	ErrNoFit           = errors.New("demand does not fit")
)

// ProfileError says that a model does not offer a profile; it wraps
// ErrUnknownProfile.
type ProfileError struct {
	Model   *Model
	Profile string // as asked for
}

// Error names the profile, the model and the profiles that exist.
func (e *ProfileError) Error() string {
	if e.Model == nil {
		return fmt.Sprintf("mig: no profile %q without a model", e.Profile)
	}
	var names []string
	for p := range e.Model.Profiles() {
		names = append(names, p.Name)
	}
	return fmt.Sprintf("mig: model %s has no profile %q (it has %s)", e.Model, e.Profile, strings.Join(names, ", "))
}

// Unwrap returns ErrUnknownProfile.
func (e *ProfileError) Unwrap() error { return ErrUnknownProfile }

// ConflictError names the first pair of instances that cannot stand together,
// in the order in which they were given; it wraps ErrConflict.
type ConflictError struct {
	Model *Model
	A, B  Instance
	Limit Limit // LimitPosition: they overlap; LimitCount or LimitMedia: too many of a kind
}

// Error names both instances and what they compete for.
func (e *ConflictError) Error() string {
	what := "overlap"
	switch e.Limit {
	case LimitCount:
		what = "exceed the instances allowed of that profile"
	case LimitMedia:
		what = "compete for media engines"
	default:
	}
	return fmt.Sprintf("mig: model %s: %s and %s %s", e.Model, e.A, e.B, what)
}

// Unwrap returns ErrConflict.
func (e *ConflictError) Unwrap() error { return ErrConflict }
