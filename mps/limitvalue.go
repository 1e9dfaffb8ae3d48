package mps

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// DeviceLimit is the pinned device memory limit on one device.
type DeviceLimit struct {
	Device string `json:"device"` // ordinal as the process sees it, a UUID, or the beginning of one
	MiB    int64  `json:"memoryMiB"`
}

// ParseLimit reads a limit as the daemon and CUDA_MPS_PINNED_DEVICE_MEM_LIMIT take it:
// digits and then G or M, which are 1024 and 1 MiB. The error wraps ErrInput.
//
// Nothing else is accepted, since a limit that is not understood limits nothing and no
// one says so. NVIDIA's example writes 512MB, but the forms that programs found to work
// are the one-letter ones; bytes without a unit appear in no documentation; K belongs
// to protocol 3.
func ParseLimit(text string) (mib int64, err error) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	unit := text[len(digits):]
	bad := func(format string, args ...any) (int64, error) {
		return 0, fmt.Errorf("%w: limit %.80q: %s", ErrInput, text, fmt.Sprintf(format, args...))
	}
	if why := foreignRune(text); why != "" {
		return bad("%s", why)
	}
	if text == "" {
		return bad("empty")
	}
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return bad("want a whole number and G or M")
	}
	if len(digits) > 1 && digits[0] == '0' {
		return bad("leading zero")
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return bad("too large")
	}
	factor := int64(1)
	switch unit {
	case "M":
	case "G":
		factor = 1024
	case "":
		return bad("no unit: want G or M, of 1024 MiB and of 1 MiB")
	case "MB", "GB", "MiB", "GiB", "m", "g":
		return bad("unit %s: write %s%c", unit, digits, unicode.ToUpper(rune(unit[0])))
	default:
		return bad("unit %s: want G or M", unit)
	}
	switch {
	case n == 0:
		return bad("zero")
	case n > math.MaxInt64>>20/factor:
		return bad("too large")
	}
	return n * factor, nil
}

// ParseDeviceLimits reads a value of CUDA_MPS_PINNED_DEVICE_MEM_LIMIT:
// <device>=<limit>, more of them after commas, where the device is an ordinal or a UUID
// or the beginning of one. The order is kept. A device named twice, or by two
// beginnings of one UUID, is refused, as is everything that ParseLimit refuses. The
// error wraps ErrInput and names the entry, counted from 1.
func ParseDeviceLimits(text string) ([]DeviceLimit, error) {
	if why := foreignRune(text); why != "" {
		return nil, fmt.Errorf("%w: limits %.80q: %s", ErrInput, text, why)
	}
	var limits []DeviceLimit
	for i, entry := range strings.Split(text, ",") {
		device, value, found := strings.Cut(entry, "=")
		if !found {
			return nil, fmt.Errorf("%w: entry %d %.80q: want <device>=<limit>, as in 0=4G", ErrInput, i+1, entry)
		}
		mib, err := ParseLimit(value)
		if err != nil {
			return nil, fmt.Errorf("entry %d %.80q: %w", i+1, entry, err)
		}
		limits = append(limits, DeviceLimit{device, mib})
	}
	if err := checkDeviceLimits(limits); err != nil {
		return nil, err
	}
	return limits, nil
}

// FormatDeviceLimits writes the limits as CUDA_MPS_PINNED_DEVICE_MEM_LIMIT takes them,
// in MiB. What ParseDeviceLimits would refuse is refused.
func FormatDeviceLimits(limits []DeviceLimit) (string, error) {
	if len(limits) == 0 {
		return "", fmt.Errorf("%w: no limits", ErrInput)
	}
	if err := checkDeviceLimits(limits); err != nil {
		return "", err
	}
	entries := make([]string, len(limits))
	for i, l := range limits {
		entries[i] = l.Device + "=" + formatMemory(l.MiB)
	}
	return strings.Join(entries, ","), nil
}

// checkDeviceLimits refuses what names no device, limits nothing, or names a device twice.
func checkDeviceLimits(limits []DeviceLimit) error {
	for i, l := range limits {
		if _, err := checkDevice(l.Device); err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
		if l.MiB < 1 || l.MiB > math.MaxInt64>>20 {
			return fmt.Errorf("%w: entry %d: device %s: a limit of %d MiB", ErrInput, i+1, l.Device, l.MiB)
		}
		for j, other := range limits[:i] {
			if sameKey(l.Device, other.Device) {
				return fmt.Errorf("%w: entry %d: device %s is that of entry %d, or may be: %s",
					ErrInput, i+1, l.Device, j+1, other.Device)
			}
		}
	}
	return nil
}

// sameKey tells whether two keys name one device, or may: an ordinal and a UUID are
// taken to be different.
func sameKey(a, b string) bool {
	if isOrdinal(a) || isOrdinal(b) {
		return a == b
	}
	return hasPrefixFold(a, b) || hasPrefixFold(b, a)
}

// hasPrefixFold is strings.HasPrefix for UUIDs, whose digits have no case.
func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// foreignRune names what text pasted from a document brings along.
func foreignRune(text string) string {
	for _, r := range text {
		switch {
		case r == '"' || r == '\'' || unicode.In(r, unicode.Pi, unicode.Pf, unicode.Ps, unicode.Pe) || r == '`':
			return fmt.Sprintf("quotation mark or bracket %q", r)
		case unicode.IsSpace(r):
			return fmt.Sprintf("blank %q", r)
		case r > unicode.MaxASCII || !unicode.IsPrint(r):
			return fmt.Sprintf("character %q", r)
		}
	}
	return ""
}
