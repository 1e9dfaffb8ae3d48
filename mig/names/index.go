package names

import (
	"errors"
	"fmt"
	"strings"
)

// Index is a GPU, or a MIG device of it, by number.
type Index struct {
	GPU int
	MIG int // -1: the GPU itself
}

// String returns the form "0", or "0:1" for a MIG device.
func (i Index) String() string {
	if i.MIG < 0 {
		return fmt.Sprint(i.GPU)
	}
	return fmt.Sprintf("%d:%d", i.GPU, i.MIG)
}

// ParseIndex reads the forms "0" and "0:1": numbers from 0 to 999 without
// sign, blanks or leading zeros. The error wraps ErrBadDevice.
func ParseIndex(s string) (Index, error) {
	gpu, device, both := strings.Cut(s, ":")
	i := Index{MIG: -1}
	var err error
	if i.GPU, err = parseCount(gpu); err != nil {
		return Index{}, fmt.Errorf("mig/names: index %q: GPU %q %w: %w", s, gpu, err, ErrBadDevice)
	}
	if both {
		if i.MIG, err = parseCount(device); err != nil {
			return Index{}, fmt.Errorf("mig/names: index %q: MIG device %q %w: %w", s, device, err, ErrBadDevice)
		}
	}
	return i, nil
}

// parseCount reads a number without sign or leading zeros, up to 999.
func parseCount(s string) (int, error) {
	if s == "" {
		return 0, errors.New("is missing")
	}
	if len(s) > 1 && s[0] == '0' {
		return 0, errors.New("has a leading zero")
	}
	if len(s) > 3 || strings.Trim(s, "0123456789") != "" {
		return 0, errors.New("is not a number from 0 to 999")
	}
	v := 0
	for _, c := range []byte(s) {
		v = 10*v + int(c-'0')
	}
	return v, nil
}
