package nvmlfake

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// GetMigMode returns the current mode and the one that the next activation
// brings.
func (d deviceHandle) GetMigMode() (current, pending int, ret nvml.Return) {
	modes, ret := call(d, func() ([2]int, nvml.Return) {
		return [2]int{mode(d.gpu.current), mode(d.gpu.pending)}, nvml.SUCCESS
	})
	return modes[0], modes[1], ret
}

// SetMigMode asks for a mode. It returns two codes: what became of the
// activation, first, and the call's own. The first means nothing unless the
// second is SUCCESS.
//
// On Ampere the mode is pending until Server.Reset: the activation status is
// ERROR_RESET_REQUIRED, as in a virtual machine that cannot reset its GPU. A
// driver on bare metal tries the reset itself and then reports SUCCESS. On
// Hopper and later, and on a GPU of which no source says (RTX PRO 6000: one
// public walkthrough shows it), the mode changes at once.
//
// A change while somebody holds the GPU, or to switch MIG off while there are
// instances, gives activation status ERROR_IN_USE and leaves the mode pending,
// on every architecture: nvml.h has that code for a device that is not idle and
// asks the caller to idle the device and retry. That an instance without a
// process counts as use is derived, not confirmed.
func (d deviceHandle) SetMigMode(want int) (activation, ret nvml.Return) {
	return call(d, func() (nvml.Return, nvml.Return) {
		if want != nvml.DEVICE_MIG_DISABLE && want != nvml.DEVICE_MIG_ENABLE {
			return nvml.SUCCESS, nvml.ERROR_INVALID_ARGUMENT
		}
		g := d.gpu
		g.pending = want == nvml.DEVICE_MIG_ENABLE
		switch {
		case g.pending == g.current:
			return nvml.SUCCESS, nvml.SUCCESS
		case len(g.instances) > 0 || len(g.holders) > 0:
			return nvml.ERROR_IN_USE, nvml.SUCCESS
		case g.spec.ModeNeedsReset:
			return nvml.ERROR_RESET_REQUIRED, nvml.SUCCESS
		default:
			g.current = g.pending
			return nvml.SUCCESS, nvml.SUCCESS
		}
	})
}

func mode(on bool) int {
	if on {
		return nvml.DEVICE_MIG_ENABLE
	}
	return nvml.DEVICE_MIG_DISABLE
}
