package mig

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// models is the list of known models, oldest first.
var models = [...]*Model{
	&a30, &a100x40, &a100x80, &a800x40, &a800x80, &pg506,
	&h100sxm, &h100pcie, &h800, &h100x94, &h800nvl, &h200, &h20x96, &h20x141, &gh200x96, &gh200x144,
	&b200, &gb200x186, &gb200x189, &b300, &gb300, &rtxPro6000, &rtxPro5000, &rtxPro4500, &thor,
}

// Models iterates over the known models, oldest architecture first.
func Models() iter.Seq[*Model] { return slices.Values(models[:]) }

// Lookup returns the model with that key ("a100-40gb") or NVML product name
// ("NVIDIA A100-SXM4-40GB"), case aside. The error wraps ErrUnknownModel and
// names the keys that exist, or wraps ErrAmbiguousModel and names those that the
// product may be: boards sold under one name can have different profile names. A
// placeholder that drivers report for a board they do not know, such as "NVIDIA
// Graphics Device", is the name of no model.
func Lookup(name string) (*Model, error) {
	var found []*Model
	for _, m := range models {
		if strings.EqualFold(name, m.spec.Key) {
			return m, nil
		}
		for _, product := range m.spec.ProductNames {
			if strings.EqualFold(name, product) {
				found = append(found, m)
				break
			}
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("mig: %q: %w (known: %s)", name, ErrUnknownModel, keys(models[:]))
	case 1:
		return found[0], nil
	default:
		return nil, fmt.Errorf("mig: %q: %w (the total memory tells: %s)", name, ErrAmbiguousModel, keys(found))
	}
}

func keys(list []*Model) string {
	var keys []string
	for _, m := range list {
		keys = append(keys, m.spec.Key)
	}
	return strings.Join(keys, ", ")
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
