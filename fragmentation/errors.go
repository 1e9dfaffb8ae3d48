package fragmentation

import "errors"

// Conditions that callers branch on. The errors of this package wrap them.
var (
	ErrBadShape = errors.New("bad shape")
	ErrEmptyMix = errors.New("empty mix")
	ErrBadMix   = errors.New("bad mix")
	ErrBadSum   = errors.New("bad sum") // values that Sum cannot add
)
