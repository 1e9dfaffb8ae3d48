package names

import (
	"fmt"
	"strings"
)

// UUIDKind says what a UUID identifies, and in which form.
type UUIDKind uint8

// The forms of a UUID.
const (
	UUIDOfGPU    UUIDKind = iota + 1 // "GPU-<id>"
	UUIDOfMIG                        // "MIG-<id>", an id of its own: since driver R470
	UUIDOfMIGOld                     // "MIG-GPU-<id of the GPU>/<gi>/<ci>": before R470
)

// String returns "GPU", "MIG" or "MIG, old form".
func (k UUIDKind) String() string {
	switch k {
	case UUIDOfGPU:
		return "GPU"
	case UUIDOfMIG:
		return "MIG"
	case UUIDOfMIGOld:
		return "MIG, old form"
	default:
		return "unknown"
	}
}

// UUID is the identifier of a GPU or of a MIG device (a compute instance), in
// parts. It is comparable. Lookups of current drivers take both MIG forms and
// answer with the new one, so two different values can mean one device.
//
// The UUID of a MIG device does not outlive it: cutting the same layout again
// gives another. In the old form a later device can have the same one, since ids
// of instances are used again.
type UUID struct {
	Kind UUIDKind
	ID   string // 36 lower-case characters: 8-4-4-4-12 hexadecimal digits
	// The ids of the GPU instance and of the compute instance in it; only in the
	// old form.
	GPUInstance, ComputeInstance int
}

// GPU returns the UUID of the GPU, "GPU-<id>", and false where it does not follow
// from this one: the new form of a MIG UUID does not tell its GPU.
func (u UUID) GPU() (string, bool) {
	if u.Kind == UUIDOfGPU || u.Kind == UUIDOfMIGOld {
		return "GPU-" + u.ID, true
	}
	return "", false
}

// String returns the form that ParseUUID reads; nothing for the zero UUID.
func (u UUID) String() string {
	switch u.Kind {
	case UUIDOfGPU:
		return "GPU-" + u.ID
	case UUIDOfMIG:
		return "MIG-" + u.ID
	case UUIDOfMIGOld:
		return fmt.Sprintf("MIG-GPU-%s/%d/%d", u.ID, u.GPUInstance, u.ComputeInstance)
	default:
		return ""
	}
}

// ParseUUID reads a complete UUID in one of the three forms; for shortened ones
// see FindDevice. The id may be in upper case. Ids of instances are numbers from 0
// to 999 without sign or leading zeros. The error wraps ErrBadDevice.
func ParseUUID(s string) (UUID, error) {
	bad := func(format string, args ...any) (UUID, error) {
		return UUID{}, fmt.Errorf("mig/names: UUID %q: %s: %w", s, fmt.Sprintf(format, args...), ErrBadDevice)
	}
	u := UUID{Kind: UUIDOfGPU}
	rest, gpu := strings.CutPrefix(s, "GPU-")
	if !gpu {
		var isMIG bool
		if rest, isMIG = strings.CutPrefix(s, "MIG-"); !isMIG {
			return bad("begins neither with GPU- nor with MIG-")
		}
		u.Kind = UUIDOfMIG
		if rest, gpu = strings.CutPrefix(rest, "GPU-"); gpu {
			u.Kind = UUIDOfMIGOld
			parts := strings.Split(rest, "/")
			if len(parts) != 3 {
				return bad("not of the form MIG-GPU-<id>/<GPU instance>/<compute instance>")
			}
			var err error
			if u.GPUInstance, err = parseCount(parts[1]); err != nil {
				return bad("GPU instance %q %v", parts[1], err)
			}
			if u.ComputeInstance, err = parseCount(parts[2]); err != nil {
				return bad("compute instance %q %v", parts[2], err)
			}
			rest = parts[0]
		}
	}
	if !isUUID(rest) {
		return bad("%q is not 8-4-4-4-12 hexadecimal digits", rest)
	}
	u.ID = strings.ToLower(rest)
	return u, nil
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range []byte(s) {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !strings.ContainsRune("0123456789abcdefABCDEF", rune(c)) {
				return false
			}
		}
	}
	return true
}
