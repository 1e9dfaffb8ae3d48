package mps

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// uuidWarning is the Warning of a limit that was set by UUID.
const uuidWarning = "servers of some drivers ignore a limit set by UUID: use the ordinal that the daemon sees"

// DefaultPinnedLimit is the pinned memory limit per client that servers start with on a
// device, in MiB; 0 if the daemon tells none. device must be the text that was set: an
// ordinal is not found under its UUID.
func (c *Client) DefaultPinnedLimit(ctx context.Context, device string) (mib int64, err error) {
	if _, err := checkDevice(device); err != nil {
		return 0, err
	}
	return ask(ctx, c, "get_default_device_pinned_mem_limit "+device, parseMemory)
}

// SetDefaultPinnedLimit sets the limit, in MiB and at least 1, of servers that start
// from now on. device is an ordinal as the daemon sees it, after its own
// CUDA_VISIBLE_DEVICES, or a UUID, with a Warning: a UUID has been taken by drivers
// that then limited nothing, and reading it back does not show that. The daemon does
// not check that the device exists.
func (c *Client) SetDefaultPinnedLimit(ctx context.Context, device string, mib int64) (Setting, error) {
	byUUID, err := checkPinned(device, mib)
	if err != nil {
		return Setting{}, err
	}
	s, err := c.change(ctx, fmt.Sprintf("set_default_device_pinned_mem_limit %s %s", device, formatMemory(mib)),
		"get_default_device_pinned_mem_limit "+device, memoryIs(mib))
	return s.warned(byUUID), err
}

// PinnedLimit is the pinned memory limit of a server's clients on a device, in MiB; 0
// if the daemon tells none.
func (c *Client) PinnedLimit(ctx context.Context, server int, device string) (mib int64, err error) {
	if err := checkPID("server", server); err != nil {
		return 0, err
	}
	if _, err := checkDevice(device); err != nil {
		return 0, err
	}
	return ask(ctx, c, fmt.Sprintf("get_device_pinned_mem_limit %d %s", server, device), parseMemory)
}

// SetPinnedLimit sets the limit, in MiB and at least 1, of clients that connect to a
// server from now on; it may be above the default. For device see
// SetDefaultPinnedLimit.
func (c *Client) SetPinnedLimit(ctx context.Context, server int, device string, mib int64) (Setting, error) {
	if err := checkPID("server", server); err != nil {
		return Setting{}, err
	}
	byUUID, err := checkPinned(device, mib)
	if err != nil {
		return Setting{}, err
	}
	s, err := c.change(ctx, fmt.Sprintf("set_device_pinned_mem_limit %d %s %s", server, device, formatMemory(mib)),
		fmt.Sprintf("get_device_pinned_mem_limit %d %s", server, device), memoryIs(mib))
	return s.warned(byUUID), err
}

func (s Setting) warned(byUUID bool) Setting {
	if byUUID {
		s.Warning = uuidWarning
	}
	return s
}

func checkPinned(device string, mib int64) (byUUID bool, err error) {
	if mib < 1 || mib > math.MaxInt64>>20 {
		return false, fmt.Errorf("%w: pinned memory limit of %d MiB", ErrInput, mib)
	}
	return checkDevice(device)
}

var errNoLimit = errors.New("no limit in the reply")

func memoryIs(want int64) func(string) (bool, error) {
	return func(reply string) (bool, error) {
		got, err := parseMemory(reply)
		if err == nil && got == 0 {
			err = errNoLimit // a driver that prints nothing has not said that it is another
		}
		return got == want, err
	}
}
