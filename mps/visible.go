package mps

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// VisibleDevices is what a process sees that has this CUDA_VISIBLE_DEVICES, of the
// devices that there are: their UUIDs in the order of its ordinals. The value lists
// ordinals, UUIDs or beginnings of UUIDs; an empty one shows nothing.
//
// Apply it twice for a client of MPS, first with the daemon's value and then with the
// client's: of GPUs 0 to 2, a daemon with 0,2 shows its clients two devices, 0 and 1,
// and a client that says 0,2 as well fails. UUIDs, or no value, are right in both.
//
// CUDA shows only what comes before the first entry that it does not understand. Here
// such a value is an error that wraps ErrInput, as are an ordinal that is not there, a
// beginning of no UUID or of several, and a device named twice.
func VisibleDevices(devices []string, value string) ([]string, error) {
	if d, twice := repeated(devices); twice {
		return nil, fmt.Errorf("%w: device %q is there twice", ErrInput, d)
	}
	seen := []string{}
	if value == "" {
		return seen, nil
	}
	for i, entry := range strings.Split(value, ",") {
		at, err := DeviceOrdinal(devices, entry)
		if err != nil {
			return nil, fmt.Errorf("visible devices %.80q: entry %d: %w", value, i+1, err)
		}
		if slices.Contains(seen, devices[at]) {
			return nil, fmt.Errorf("%w: visible devices %.80q: entry %d names %s again", ErrInput, value, i+1, devices[at])
		}
		seen = append(seen, devices[at])
	}
	return seen, nil
}

// DeviceOrdinal is the ordinal of a device among those that a process sees, by ordinal,
// UUID or beginning of a UUID. The error wraps ErrInput.
func DeviceOrdinal(seen []string, device string) (int, error) {
	byUUID, err := checkDevice(device)
	if err != nil {
		return 0, err
	}
	if !byUUID {
		n, err := strconv.Atoi(device)
		if err != nil || n >= len(seen) {
			return 0, fmt.Errorf("%w: ordinal %s of %d devices", ErrInput, device, len(seen))
		}
		return n, nil
	}
	found := -1
	for i, uuid := range seen {
		switch {
		case strings.EqualFold(uuid, device):
			return i, nil
		case !hasPrefixFold(uuid, device):
		case found >= 0:
			return 0, fmt.Errorf("%w: %q is the beginning of %s and of %s", ErrInput, device, seen[found], uuid)
		default:
			found = i
		}
	}
	if found < 0 {
		return 0, fmt.Errorf("%w: %q is none of the %d devices", ErrInput, device, len(seen))
	}
	return found, nil
}
