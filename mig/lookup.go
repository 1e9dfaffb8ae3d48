package mig

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// models is the list of known models, oldest first.
var models = [...]*Model{&a30, &a100x40, &a100x80, &h100sxm, &h100pcie, &h200, &b200, &rtxPro6000}

// Models iterates over the known models, oldest architecture first.
func Models() iter.Seq[*Model] { return slices.Values(models[:]) }

// Lookup returns the model with that key ("a100-40gb") or NVML product name
// ("NVIDIA A100-SXM4-40GB"), case aside. The error wraps ErrUnknownModel and
// names the keys that exist.
func Lookup(name string) (*Model, error) {
	for _, m := range models {
		if strings.EqualFold(name, m.spec.Key) {
			return m, nil
		}
		for _, product := range m.spec.ProductNames {
			if strings.EqualFold(name, product) {
				return m, nil
			}
		}
	}
	var keys []string
	for _, m := range models {
		keys = append(keys, m.spec.Key)
	}
	return nil, fmt.Errorf("mig: %q: %w (known: %s)", name, ErrUnknownModel, strings.Join(keys, ", "))
}

// LookupPCI returns the model of a live device: by its PCI id as NVML packs it
// (device id in the high 16 bits, vendor in the low) and by its total memory in
// MiB, rounded up to GiB, since boards with one PCI id can have different
// profile names. The error wraps ErrUnknownModel.
func LookupPCI(id uint32, totalMiB int) (*Model, error) {
	gib := (totalMiB + 1023) / 1024
	for _, m := range models {
		if slices.Contains(m.spec.PCIDeviceIDs, id) && m.spec.NameMemoryGB == gib {
			return m, nil
		}
	}
	return nil, fmt.Errorf("mig: PCI id %#08x with %d MiB: %w", id, totalMiB, ErrUnknownModel)
}
