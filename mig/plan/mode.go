package plan

import "github.com/gpushare/gpushare/mig"

// ModeOp is one thing to do to change the MIG mode of a GPU.
type ModeOp string

// The operations.
const (
	SetMode ModeOp = "set-mode" // ask the driver for the mode
	Reset   ModeOp = "reset"    // reset the GPU; in a VM with pass-through, reboot the VM

	// ResetIfPending: no source says whether this model needs a reset. Read the mode
	// after the change, and reset if it is still pending.
	ResetIfPending ModeOp = "reset-if-pending"
)

// ModeStep is what to do and why, for people.
type ModeStep struct {
	Op  ModeOp `json:"op"`
	Why string `json:"why"`
}

// Mode returns what must be done so that MIG mode becomes what is wanted, in
// order; nothing if it is so already. Current and pending are what the driver
// reports: they differ while a change waits for a reset, or for a client that
// holds the GPU.
//
// The driver of an Ampere GPU tries the reset itself when the mode is set and
// leaves the change pending where it cannot; so set, read again, and reset only if
// it is still pending. Either way nothing may use the GPU, and instances neither
// survive the change nor a reset. A nil model counts as one of which nothing is
// known.
func Mode(m *mig.Model, current, pending, want bool) []ModeStep {
	steps := []ModeStep{}
	if pending != want {
		why := "MIG mode is " + onOff(current) + ", wanted " + onOff(want)
		if current == want {
			why = "takes back the pending change to " + onOff(pending) + "; no reset is needed"
		}
		steps = append(steps, ModeStep{SetMode, why})
	}
	if current == want {
		return steps
	}
	var spec mig.Spec
	if m != nil {
		spec = m.Spec()
	}
	waits := pending == want
	switch {
	case spec.ModeNeedsResetKnown && spec.ModeNeedsReset:
		why := "on " + spec.Architecture + " a change of MIG mode waits for a reset"
		return append(steps, ModeStep{Reset, why})
	case spec.ModeNeedsResetKnown && waits:
		return append(steps, ModeStep{SetMode, "the change is pending, though " + spec.Architecture + " needs no reset: a client held the GPU"})
	case spec.ModeNeedsResetKnown:
		return steps
	case waits:
		return append(steps, ModeStep{Reset, "the change is pending"})
	default:
		return append(steps, ModeStep{ResetIfPending, "no source says whether this model needs a reset"})
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
