package timeslice

import "errors"

// Conditions that callers branch on. The errors of this package wrap them.
var (
	// ErrInput: what the caller gave is malformed or contradicts itself.
	ErrInput = errors.New("timeslice: malformed input")

	ErrNotEnough    = errors.New("timeslice: not enough replicas available")
	ErrSameGPU      = errors.New("timeslice: replicas of one GPU")
	ErrOnlyOne      = errors.New("timeslice: more than one replica asked for")
	ErrMemory       = errors.New("timeslice: memory does not suffice")
	ErrNotSupported = errors.New("not supported by the GPU or its driver")
	ErrNoPermission = errors.New("no permission")
	ErrNoDevice     = errors.New("no such GPU")
	ErrUnknownLevel = errors.New("time-slice level not known")
)
