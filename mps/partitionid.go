package mps

import (
	"fmt"
	"strings"
)

// PartitionID names a static SM partition. The part after the device is opaque; it may
// contain slashes, and is spelled differently in protocol 2 and 3.
type PartitionID struct {
	Device string // UUID, or a start of it that no other device has
	ID     string
}

// String is the form of CUDA_MPS_SM_PARTITION.
func (p PartitionID) String() string { return p.Device + "/" + p.ID }

// ParsePartitionID reads a device and an ID with a slash between: the first one, as
// further ones belong to the ID.
func ParsePartitionID(s string) (PartitionID, error) {
	device, id, _ := strings.Cut(s, "/")
	p := PartitionID{Device: device, ID: id}
	if err := p.check(); err != nil {
		return PartitionID{}, err
	}
	return p, nil
}

func (p PartitionID) check() error {
	if err := checkUUID(p.Device); err != nil {
		return err
	}
	if !isPartitionPart(p.ID) {
		return fmt.Errorf("%w: partition ID %.80q", ErrInput, p.ID)
	}
	return nil
}

// checkUUID refuses what is not a UUID, or the start of one, of a device that can be
// partitioned.
func checkUUID(device string) error {
	if !isDeviceUUID(device) || strings.Contains(device, "/") {
		return fmt.Errorf("%w: device %.80q is no UUID", ErrInput, device)
	}
	return nil
}

// isPartitionPart tells whether s can be the second part of an ID. It is base64 in all
// that were seen; more is let through, but nothing that ends a command line or word.
func isPartitionPart(s string) bool {
	if s == "" || s == "-" || len(s) > 256 {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
