package device

import (
	"errors"
	"fmt"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/timeslice"
)

// Conditions that callers branch on. Every error of a Scheduler is an *OpError
// that matches those that apply; timeslice.ErrInput, timeslice.ErrVGPUScheduler
// and the codes of NVML match as well.
var (
	ErrIndeterminate  = errors.New("what becomes of it is not known yet")
	ErrLost           = errors.New("the GPU is lost")
	ErrMIG            = errors.New("MIG mode is on: each GPU instance has a scheduler of its own")
	ErrMIGDevice      = errors.New("a MIG device has no scheduler: its GPU instance may have one")
	ErrNoPermission   = errors.New("no permission")
	ErrNotSettable    = errors.New("it can be read but not set, as while a vGPU runs")
	ErrNotSupported   = errors.New("not supported by the driver or the device") // no vGPU host, for one
	ErrRebootRequired = errors.New("setting failed fatally: the host has to be restarted")
	ErrUnverified     = errors.New("the driver reported success, but reading back shows something else")
)

// None stands in an OpError where no GPU instance is concerned.
const None = -1

// OpError says which operation failed, and where.
type OpError struct {
	Op          string               // for people: "set the scheduler"
	GPU         string               // UUID; empty if it could not be read
	GPUInstance int                  // id, or None
	Engine      timeslice.VGPUEngine // 0 if none is concerned

	// Err is the cause: an nvml.Return other than SUCCESS, an error of package
	// timeslice, the context's error, or several of these.
	Err error

	// Now is what the scheduler is like after a Set that may have changed it; nil
	// if nothing was changed or it could not be read.
	Now *State
}

// Error names all of that.
func (e *OpError) Error() string {
	var b strings.Builder
	b.WriteString("timeslice/device: ")
	if e.GPU != "" {
		b.WriteString(e.GPU + ": ")
	}
	if e.GPUInstance != None {
		fmt.Fprintf(&b, "GI %d: ", e.GPUInstance)
	}
	b.WriteString(e.Op)
	if e.Engine != 0 {
		fmt.Fprintf(&b, " of engine %s", e.Engine)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Now != nil {
		fmt.Fprintf(&b, "; now: %v", *e.Now)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// Is maps the codes of NVML to the conditions of this package.
func (e *OpError) Is(target error) bool {
	switch target {
	case ErrLost:
		return errors.Is(e.Err, nvml.ERROR_GPU_IS_LOST)
	case ErrNoPermission:
		return errors.Is(e.Err, nvml.ERROR_NO_PERMISSION)
	case ErrNotSupported:
		return errors.Is(e.Err, nvml.ERROR_NOT_SUPPORTED) || errors.Is(e.Err, nvml.ERROR_FUNCTION_NOT_FOUND)
	case ErrRebootRequired:
		return errors.Is(e.Err, nvml.ERROR_RESET_REQUIRED)
	default:
		return false
	}
}

// code turns a code of NVML into an error, SUCCESS into nil. It is the only
// place where a Return becomes an error: as one, SUCCESS would not be nil.
func code(ret nvml.Return) error {
	if ret == nvml.SUCCESS {
		return nil
	}
	return ret
}
