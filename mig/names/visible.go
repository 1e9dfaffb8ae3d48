package names

import (
	"fmt"
	"slices"
	"strings"
)

// FindDevice returns the position of the one device whose UUID is id or begins
// with it; id begins with "GPU-" or "MIG-", in the case in which the driver prints
// it. A complete UUID always finds its own device. The error wraps ErrNoDevice, or
// ErrAmbiguousDevice and then names the first two that fit.
func FindDevice(id string, uuids []string) (int, error) {
	if !strings.HasPrefix(id, "GPU-") && !strings.HasPrefix(id, "MIG-") {
		return -1, fmt.Errorf("mig/names: device %q begins neither with GPU- nor with MIG-: %w", id, ErrNoDevice)
	}
	fits := func(u string) bool { return strings.HasPrefix(u, id) }
	if slices.Contains(uuids, id) {
		fits = func(u string) bool { return u == id }
	}
	found := -1
	for i, u := range uuids {
		if !fits(u) {
			continue
		}
		if found >= 0 {
			return -1, fmt.Errorf("mig/names: device %q can be %s (position %d) or %s (position %d): %w", id, uuids[found], found, u, i, ErrAmbiguousDevice)
		}
		found = i
	}
	if found < 0 {
		return -1, fmt.Errorf("mig/names: device %q is not among the %d: %w", id, len(uuids), ErrNoDevice)
	}
	return found, nil
}

// VisibleDevices returns what CUDA makes of a list such as the value of
// CUDA_VISIBLE_DEVICES: the positions, in the order of the list, of the devices
// that a program sees. The environment is not read. The list is one of
//
//	0,2,1              numbers: the GPUs among uuids, counted from 0
//	GPU-5a88,GPU-17    UUIDs of GPUs, shortened as far as they stay unique
//	MIG-3eb87630-...   the same of MIG devices
//
// and the kind of its first item holds for all. uuids are those of the GPUs in
// CUDA's order; MIG devices may stand among them and are found only by UUID.
//
// CUDA never refuses a list. It stops at the first item that names no device, and
// a device named twice, before such an item, leaves none at all; numbers are read
// as C does, so that "1gpu" is 1, "+3" is 3 and "-0" is 0, blanks before them
// skipped. An empty list makes none visible (no list at all makes all visible).
//
// So the result counts even if there is an error: it is what CUDA shows, and the
// error says why the list ended early. It wraps ErrNoDevice (for "-1" too),
// ErrAmbiguousDevice or ErrRepeatedDevice. Whether CUDA counts repetitions behind
// an item that names no device is not published; here they are not read.
func VisibleDevices(list string, uuids []string) ([]int, error) {
	if list == "" {
		return nil, nil
	}
	find := func(item string) (int, error) { return ordinal(item, uuids) }
	for _, prefix := range []string{"GPU-", "MIG-"} {
		if strings.HasPrefix(list, prefix) {
			find = func(item string) (int, error) {
				if !strings.HasPrefix(item, prefix) {
					return -1, fmt.Errorf("%q in a list of %s UUIDs: %w", item, strings.TrimSuffix(prefix, "-"), ErrNoDevice)
				}
				return FindDevice(item, uuids)
			}
		}
	}
	var visible []int
	place := 0
	for item := range strings.SplitSeq(list, ",") {
		place++
		i, err := find(item)
		if err != nil {
			return visible, fmt.Errorf("mig/names: device list %q ends before item %d: %w", list, place, err)
		}
		if slices.Contains(visible, i) {
			return nil, fmt.Errorf("mig/names: device list %q: item %d, %q, is also item %d, so nothing is visible: %w",
				list, place, item, slices.Index(visible, i)+1, ErrRepeatedDevice)
		}
		visible = append(visible, i)
	}
	return visible, nil
}

// ordinal reads a number as C's strtoul does and returns the position of that GPU.
func ordinal(item string, uuids []string) (int, error) {
	s := strings.TrimLeft(item, " \t\n\v\f\r")
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	digits, n := 0, 0
	for digits < len(s) && '0' <= s[digits] && s[digits] <= '9' {
		// More than there are GPUs is too much, however much more.
		n = min(10*n+int(s[digits]-'0'), len(uuids))
		digits++
	}
	if digits == 0 {
		return -1, fmt.Errorf("%q is not a number: %w", item, ErrNoDevice)
	}
	if n == 0 || !negative {
		for i, u := range uuids {
			if strings.HasPrefix(u, "MIG-") {
				continue
			}
			if n == 0 {
				return i, nil
			}
			n--
		}
	}
	return -1, fmt.Errorf("%q is not a number of a GPU: %w", item, ErrNoDevice)
}
