package parted

import (
	"fmt"
	"strconv"
	"strings"
)

// Filter selects GPUs by what stands in their PCI configuration space.
type Filter struct {
	Text string // "0x20B010DE" or "0x20B010DE:0x144E10DE"
	Pos  Pos
}

// Matches reports whether the filter lets a GPU through. A text that is no id
// matches nothing: mig-parted reads it as the id 0 and says nothing.
func (f Filter) Matches(g GPU) bool {
	id, err := ParseID(f.Text)
	return err == nil && id.matches(g)
}

// ID is a PCI id with the device in the high 16 bits and the vendor in the low,
// as NVML packs it, and that of the subsystem, packed in the same way.
type ID struct {
	PCI          uint32
	Subsystem    uint32
	HasSubsystem bool // false: any subsystem
}

// ParseID reads an id as mig-parted does: one number, or two with a colon
// between them, in hexadecimal with 0x, in decimal without. The error wraps
// ErrFormat.
func ParseID(s string) (ID, error) {
	primary, subsystem, found := strings.Cut(s, ":")
	id := ID{HasSubsystem: found}
	var err error
	if id.PCI, err = parseNumber(primary); err == nil && found {
		id.Subsystem, err = parseNumber(subsystem)
	}
	if err != nil {
		return ID{}, fmt.Errorf("parted: id %q: %w: %w", s, err, ErrFormat)
	}
	return id, nil
}

// parseNumber reads a number of 32 bits in Go's notation, as mig-parted does.
func parseNumber(s string) (uint32, error) {
	v, err := strconv.ParseUint(s, 0, 32)
	if err != nil {
		return 0, fmt.Errorf(`%q is not of the form "0x20B010DE"`, s)
	}
	return uint32(v), nil
}

// String returns the form that ParseID reads and mig-parted prints.
func (id ID) String() string {
	if id.HasSubsystem {
		return fmt.Sprintf("0x%08X:0x%08X", id.PCI, id.Subsystem)
	}
	return fmt.Sprintf("0x%08X", id.PCI)
}

func (id ID) matches(g GPU) bool {
	return id.PCI == g.PCI && (!id.HasSubsystem || id.Subsystem == g.Subsystem)
}

// overlaps reports whether a GPU can match both.
func (id ID) overlaps(other ID) bool {
	return id.PCI == other.PCI && (!id.HasSubsystem || !other.HasSubsystem || id.Subsystem == other.Subsystem)
}
