package mps

import (
	"errors"
	"fmt"
	"strings"
)

// Kind is why an operation failed.
type Kind uint8

// The kinds. Unparsed is the kind of a reply that is neither the answer expected nor
// a failure that is known: its text is kept in the error.
const (
	Unparsed    Kind = iota
	NoDaemon         // no control daemon answers in the pipe directory
	NotReady         // the server or the daemon is still starting
	Fault            // the server handles a fatal fault, or the driver reported an error
	Refused          // the daemon understood and said no: a value out of range, nothing under that name
	InUse            // clients are attached
	Unsupported      // this daemon does not know the command, or was started without what it needs
	TimedOut         // no answer before the deadline; whether the daemon carried it out is unknown
	Replaced         // another daemon answers than the one before, or than the one that the pid file named
	Unverified       // the daemon took the value and then reported another one
	NoProgram        // nvidia-cuda-mps-control could not be started
)

var kindNames = [...]string{
	"reply not understood", "no daemon", "not ready", "fault", "refused", "in use", "unsupported",
	"timed out", "daemon replaced", "not as set", "no program",
}

// String is the kind in words.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// Errors to compare with errors.Is: an OpError is the one of its kind.
var (
	ErrUnparsed    = errors.New("mps: reply not understood")
	ErrNoDaemon    = errors.New("mps: no control daemon")
	ErrNotReady    = errors.New("mps: not ready")
	ErrFault       = errors.New("mps: fault")
	ErrRefused     = errors.New("mps: refused")
	ErrInUse       = errors.New("mps: in use")
	ErrUnsupported = errors.New("mps: unsupported")
	ErrTimedOut    = errors.New("mps: timed out")
	ErrReplaced    = errors.New("mps: daemon replaced")
	ErrUnverified  = errors.New("mps: not as set")
	ErrNoProgram   = errors.New("mps: program cannot be run")

	// ErrStale is wrapped by an IdentityFunc if the pid file names a process that is gone.
	ErrStale = errors.New("mps: no such process")

	// ErrInput is wrapped by every error about a value of the caller: nothing was run.
	ErrInput = errors.New("mps: bad input")
	// ErrNoSMs is wrapped, beside ErrInput, by every error about a share that rounds to
	// no SM at all. A client with such a share cannot create a context.
	ErrNoSMs = fmt.Errorf("%w: a share of no SMs", ErrInput)
	// ErrRunning is wrapped by Daemon.Start if a daemon answers in the pipe directory
	// already.
	ErrRunning = errors.New("mps: a daemon runs in this pipe directory")
	// ErrTooMuchOutput is wrapped by the error of an Exec if the program said more than
	// is read.
	ErrTooMuchOutput = errors.New("mps: too much output")
)

var kindErrors = [...]error{
	ErrUnparsed, ErrNoDaemon, ErrNotReady, ErrFault, ErrRefused, ErrInUse, ErrUnsupported,
	ErrTimedOut, ErrReplaced, ErrUnverified, ErrNoProgram,
}

// OpError is an operation that failed.
type OpError struct {
	Kind    Kind
	Command string // as it was sent
	Reply   string // what came back, standard output before standard error
	Exit    int    // exit status; -1 if there is none
	Err     error  // what the run or a parser said, or nil
}

// Error names the command, the kind and the first line of the reply.
func (e *OpError) Error() string {
	text := fmt.Sprintf("mps: %s: %s", e.Command, e.Kind)
	if line, _, _ := strings.Cut(strings.TrimSpace(e.Reply), "\n"); line != "" {
		text += fmt.Sprintf(": %.200q", line)
	}
	if e.Exit > 0 {
		text += fmt.Sprintf(" (exit status %d)", e.Exit)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the cause.
func (e *OpError) Unwrap() error { return e.Err }

// Is tells whether target is the error of the kind.
func (e *OpError) Is(target error) bool {
	return int(e.Kind) < len(kindErrors) && target == kindErrors[e.Kind]
}
