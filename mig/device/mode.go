package device

import (
	"context"
	"errors"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Conditions of SetMode.
var (
	ErrOccupied = errors.New("GPU instances stand on the GPU")
	ErrPending  = errors.New("the mode is pending until the GPU is reset or the machine rebooted")
)

// ModeReport says what a SetMode did. It is plain data.
type ModeReport struct {
	Before Mode `json:"before"`
	After  Mode `json:"after"` // as read back; Before where that failed
	Reset  bool `json:"reset"` // the GPU was reset on the way
}

// SetMode switches MIG mode on or off, and reports success only if the GPU shows
// the mode as current when it is read again. A GPU that has the mode already is
// left alone. On Hopper and later the change takes effect at once; on Ampere
// the GPU must be reset, which the driver tries itself when it can. Where it
// has not, SetMode calls reset and reads once more; without a reset (nil) the
// mode stays pending, and the caller resets or reboots.
//
// Nothing is destroyed silently and nobody is cut off: before the mode is set,
// and again before a reset, the GPU must hold no GPU instance if MIG is to go
// off, and no process may be listed on it.
//
// The error is an *OpError that matches:
//   - ErrOccupied: instances stand there, and are named. Nothing has changed;
//   - ErrInUse: somebody holds the GPU; the *InUseError in the chain names the
//     processes, as far as NVML lists them, or a *ResetError the GPUs. Nothing
//     has changed unless ErrPending matches too;
//   - ErrPending: the mode was accepted and is not in force. It stays pending: a
//     later reset or reboot brings it, whoever asks for that. No further step
//     was taken. To withdraw it, set the other mode, which is the current one;
//   - ErrNotSupported, ErrNoPermission, ErrLost: what the driver said;
//   - ErrUnverified: the driver or the reset said yes, and the GPU does not show
//     it;
//   - the context's error. Once the mode has been set, only the reset can be cut
//     short by it, and the mode is then pending.
//
// The report tells what was read; it is empty beside ErrIndeterminate, after which
// no reset is begun any more. A change of mode may change the numbers that the
// system gives the GPU; its UUID stays.
func (g *GPU) SetMode(ctx context.Context, on bool, reset ResetFunc) (ModeReport, error) {
	m := modeChange{g: g, on: on, s: g.step("switch MIG mode " + onOff(on))}
	return do(ctx, g, m.s, func(ctx context.Context) (ModeReport, error) { return m.run(ctx, reset) }, nil)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// modeChange is a SetMode under way.
type modeChange struct {
	g      *GPU
	on     bool
	s      step
	report ModeReport
}

// run is SetMode for who has the turn.
func (m *modeChange) run(ctx context.Context, reset ResetFunc) (ModeReport, error) {
	before, err := m.g.mode()
	if err != nil {
		return m.report, err
	}
	m.report.Before, m.report.After = before, before
	if before.Current == m.on && before.Pending == m.on {
		return m.report, nil
	}
	if before.Current != m.on { // else a pending change is withdrawn, which disturbs nobody
		if err := m.free(ctx); err != nil {
			return m.report, m.s.fail(err)
		}
	}
	if err := ended(ctx); err != nil {
		return m.report, m.s.fail(err)
	}
	activation, ret := m.g.handle.SetMigMode(modeNumber(m.on))
	if err := m.readBack(); err != nil {
		return m.report, m.s.fail(errors.Join(code(ret), err))
	}
	if ret != nvml.SUCCESS {
		return m.report, m.s.check(ret)
	}
	return m.report, m.s.fail(m.activate(ctx, activation, reset))
}

// activate does what is left to do after the driver has accepted a mode, by what
// the GPU shows and by what became of the driver's own activation.
func (m *modeChange) activate(ctx context.Context, activation nvml.Return, reset ResetFunc) error {
	spec := m.g.model.Spec()
	switch {
	case m.report.After.Pending != m.on:
		return fmt.Errorf("%w: MIG mode is %s, and %s is pending", ErrUnverified, onOff(m.report.After.Current), onOff(m.report.After.Pending))
	case m.report.After.Current == m.on:
		return nil // whatever became of the activation
	}
	switch activation {
	case nvml.ERROR_IN_USE:
		return fmt.Errorf("%w: %w", ErrPending, m.g.inUse(ctx, activation))
	case nvml.SUCCESS:
		if spec.ModeNeedsResetKnown && !spec.ModeNeedsReset {
			return fmt.Errorf("%w: %w, and a %s needs no reset for it", ErrPending, ErrUnverified, m.g.model)
		}
	case nvml.ERROR_RESET_REQUIRED, nvml.ERROR_NOT_SUPPORTED: // the driver cannot reset the GPU itself
	default:
		return fmt.Errorf("%w: activation: %w", ErrPending, code(activation))
	}
	return m.reset(ctx, reset)
}

// reset resets a GPU with a pending mode that nobody holds, and reads it again.
func (m *modeChange) reset(ctx context.Context, reset ResetFunc) error {
	if reset == nil {
		return ErrPending
	}
	if err := m.free(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrPending, err)
	}
	if err := ended(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrPending, err)
	}
	var err error
	m.g.watch.while("the reset", func() { err = reset(ctx, m.g.uuid) })
	m.report.Reset = err == nil
	if unread := m.readBack(); unread != nil {
		return errors.Join(err, fmt.Errorf("after the reset: %w", unread))
	}
	after := m.report.After
	switch {
	case after.Current == m.on && after.Pending == m.on:
		return nil // the device has the last word
	case err != nil && after.Pending == m.on:
		return fmt.Errorf("%w: %w", ErrPending, err)
	case err != nil:
		return err
	default:
		return fmt.Errorf("%w: after the reset MIG mode is %s, and %s is pending", ErrUnverified, onOff(after.Current), onOff(after.Pending))
	}
}

// free makes sure that a change of mode destroys nothing and cuts off nobody.
func (m *modeChange) free(ctx context.Context) error {
	if !m.on {
		st, _, err := m.g.read(ctx)
		if err != nil {
			return err
		}
		if len(st.Instances) > 0 {
			return fmt.Errorf("%w: %s", ErrOccupied, st.Layout)
		}
	}
	return m.g.idle(ctx)
}

func (m *modeChange) readBack() error {
	after, err := m.g.mode()
	if err == nil {
		m.report.After = after
	}
	return err
}

// mode reads the MIG mode.
func (g *GPU) mode() (Mode, error) {
	current, pending, ret := g.handle.GetMigMode()
	return Mode{Current: current == nvml.DEVICE_MIG_ENABLE, Pending: pending == nvml.DEVICE_MIG_ENABLE}, g.step("read the MIG mode").check(ret)
}

func modeNumber(on bool) int {
	if on {
		return nvml.DEVICE_MIG_ENABLE
	}
	return nvml.DEVICE_MIG_DISABLE
}
