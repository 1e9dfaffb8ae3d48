package openb

import "errors"

// Conditions that callers branch on.
var (
	// ErrBadFile is wrapped by every error about the content of a file.
	ErrBadFile = errors.New("bad file")
	// ErrBadExperiment is wrapped by every error about an experiment.
	ErrBadExperiment = errors.New("bad experiment")
	// ErrUnknownPolicy says that no published policy has that name.
	ErrUnknownPolicy = errors.New("unknown policy")
)
