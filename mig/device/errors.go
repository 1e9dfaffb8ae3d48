package device

import (
	"errors"
	"fmt"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/mig"
)

// Conditions that callers branch on. Every error of a GPU is an *OpError
// that matches those that apply; conditions of package mig (ErrUnknownModel,
// ErrUnknownProfile, ErrIllegalStart, ErrConflict, ErrNoInstance) and the codes
// of NVML match as well.
var (
	ErrChanged       = errors.New("another instance stands there than the one that was read")
	ErrDisabled      = errors.New("MIG mode is off")
	ErrIndeterminate = errors.New("what becomes of it is not known yet")
	ErrInUse         = errors.New("in use by a client") // a process, or a monitor that holds a handle
	ErrJournal       = errors.New("not a journal that can be used here")
	ErrLost          = errors.New("the GPU is lost")
	ErrMismatch      = errors.New("the device disagrees with the table")
	ErrNoPermission  = errors.New("no permission")
	ErrNoRoom        = errors.New("no room, though no instance stands in the way")
	ErrNotSupported  = errors.New("not supported by the device")
	ErrUnverified    = errors.New("the driver reported success, but a second reading does not show it")
)

// None stands in an OpError for an id or a start that does not apply.
const None = -1

// OpError says which step failed, on which GPU and instance.
type OpError struct {
	Op      string // the step, for people: "create GPU instance"
	GPU     string // UUID; empty if it could not be read
	Profile string // of the GPU instance; empty if none is concerned
	Start   int    // of the GPU instance, or None

	GPUInstance     int // id, or None
	ComputeInstance int // id, or None

	// Err is the cause: an nvml.Return other than SUCCESS, an error of package
	// mig, the context's error, or several of these.
	Err error

	// Left is what the failed operation left behind of the instance, as far as
	// it could be read; nil when the operation has changed nothing, or when what
	// it made is no longer there.
	Left *Instance
}

// Error names the GPU, the step, the instance, the cause and what is left.
func (e *OpError) Error() string {
	var b strings.Builder
	where := "mig/device: "
	if e.GPU != "" {
		where += e.GPU + ": "
	}
	b.WriteString(where + e.Op)
	if e.Profile != "" {
		b.WriteString(" " + e.Profile)
		if e.Start != None {
			fmt.Fprintf(&b, "@%d", e.Start)
		}
	}
	if e.GPUInstance != None {
		fmt.Fprintf(&b, " (GI %d", e.GPUInstance)
		if e.ComputeInstance != None {
			fmt.Fprintf(&b, ", CI %d", e.ComputeInstance)
		}
		b.WriteByte(')')
	}
	// The steps inside a step are on the same GPU: it is named once.
	b.WriteString(": " + strings.ReplaceAll(e.Err.Error(), where, ""))
	if e.Left != nil {
		fmt.Fprintf(&b, "; left behind: %v", *e.Left)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// Is maps the codes of NVML to the conditions of this package.
func (e *OpError) Is(target error) bool {
	switch target {
	case ErrInUse:
		return errors.Is(e.Err, nvml.ERROR_IN_USE)
	case ErrLost:
		return errors.Is(e.Err, nvml.ERROR_GPU_IS_LOST)
	case ErrNoPermission:
		return errors.Is(e.Err, nvml.ERROR_NO_PERMISSION)
	case ErrNotSupported:
		return errors.Is(e.Err, nvml.ERROR_NOT_SUPPORTED)
	default:
		return false
	}
}

// step is an OpError in the making: the builder methods work on copies.
type step OpError

func (g *GPU) step(op string) step {
	return step{Op: op, GPU: g.uuid, Start: None, GPUInstance: None, ComputeInstance: None}
}

func (s step) on(in mig.Instance) step {
	s.Profile, s.Start = in.Profile, in.Start
	return s
}

func (s step) gi(id int) step {
	s.GPUInstance = id
	return s
}

func (s step) ci(id int) step {
	s.ComputeInstance = id
	return s
}

func (s step) left(in *Instance) step {
	s.Left = in
	return s
}

// check turns a code of NVML into an *OpError, SUCCESS into nil.
func (s step) check(ret nvml.Return) error { return s.fail(code(ret)) }

// fail turns a cause into an *OpError, nil into nil. A cause that is one
// already says more about the step and stays as it is.
func (s step) fail(err error) error {
	if err == nil {
		return nil
	}
	if inner, ok := err.(*OpError); ok { //nolint:errorlint // only the outermost error counts here
		return inner
	}
	e := OpError(s)
	e.Err = err
	return &e
}

// code turns a code of NVML into an error, SUCCESS into nil. It is the only
// place where a Return becomes an error: as one, SUCCESS would not be nil.
func code(ret nvml.Return) error {
	if ret == nvml.SUCCESS {
		return nil
	}
	return ret
}

// unlessGone is code where an instance that is not found is no error.
func unlessGone(ret nvml.Return) error {
	if ret == nvml.ERROR_NOT_FOUND {
		return nil
	}
	return code(ret)
}

// mismatch is a disagreement between the device and the table.
func mismatch(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMismatch, fmt.Sprintf(format, args...))
}
