package names

import "errors"

// Conditions that callers branch on. The errors of this package wrap them, or
// those of package mig where a profile, a model or an instance is at fault.
var (
	ErrBadDevice       = errors.New("malformed device identifier")
	ErrNoDevice        = errors.New("no such device")
	ErrAmbiguousDevice = errors.New("ambiguous device identifier")
	ErrRepeatedDevice  = errors.New("device named twice")
	ErrBadResource     = errors.New("malformed resource name")
	ErrStrategy        = errors.New("not possible with this MIG strategy")
)
