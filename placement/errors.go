package placement

import (
	"errors"
	"fmt"
)

// Conditions that callers branch on. The errors of this package wrap them.
var (
	ErrBadNode     = errors.New("bad node")
	ErrBadTask     = errors.New("bad task")
	ErrBadSpot     = errors.New("bad spot")
	ErrRefused     = errors.New("refused") // there is no room
	ErrGaveUp      = errors.New("search gave up")
	ErrDuplicate   = errors.New("already there")
	ErrUnknownNode = errors.New("unknown node")
	ErrBadRule     = errors.New("bad rule")  // ByValue cannot make a policy of its arguments
	ErrBadRange    = errors.New("bad range") // it is empty or upside down
)

// RefusedError says why a task cannot be taken at a spot; it wraps ErrRefused.
type RefusedError struct {
	Kind Kind
	GPU  int // the GPU that refuses; -1: the node
}

// Error names the kind and the GPU.
func (e *RefusedError) Error() string {
	if e.GPU < 0 {
		return e.Kind.String()
	}
	return fmt.Sprintf("GPU %d: %s", e.GPU, e.Kind)
}

// Unwrap returns ErrRefused.
func (e *RefusedError) Unwrap() error { return ErrRefused }
