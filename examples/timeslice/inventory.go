package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/timeslice/pluginconfig"
)

// inventorySpec is the GPUs of a node as they stand in a file.
type inventorySpec struct {
	Schema int       `json:"schema"`
	GPUs   []gpuSpec `json:"gpus"`
}

type gpuSpec struct {
	UUID       string     `json:"uuid,omitempty"`
	Product    string     `json:"product"`
	MemoryMiB  int64      `json:"memoryMiB,omitzero"`
	Capability string     `json:"capability,omitempty"` // compute capability, "8.0"
	MIGCapable bool       `json:"migCapable,omitzero"`
	MIG        *[]migSpec `json:"mig,omitempty"` // there: MIG is on
}

type migSpec struct {
	UUID      string `json:"uuid,omitempty"`
	Profile   string `json:"profile"`
	MemoryMiB int64  `json:"memoryMiB,omitzero"`
}

// mostGPUs is how many GPUs a node has at most.
const mostGPUs = 1024

// parseInventory reads "4*a100-80gb;2*a100-80gb:3g.40gb=2".
func parseInventory(list string) (inventorySpec, error) {
	inv := inventorySpec{Schema: schema}
	for i, item := range strings.Split(list, ";") {
		g, n, err := parseGPU(item)
		if err == nil && n > mostGPUs-len(inv.GPUs) {
			err = fmt.Errorf("more than %d GPUs", mostGPUs)
		}
		if err != nil {
			return inv, fmt.Errorf("item %d %q: %w", i+1, item, err)
		}
		for range n {
			inv.GPUs = append(inv.GPUs, g)
		}
	}
	return inv, nil
}

func parseGPU(item string) (g gpuSpec, n int, err error) {
	n = 1
	if number, rest, found := strings.Cut(item, "*"); found {
		if n, err = strconv.Atoi(number); err != nil || n < 1 {
			return g, 0, fmt.Errorf("%q is no number of GPUs", number)
		}
		item = rest
	}
	name, list, cut := strings.Cut(item, ":")
	m, err := mig.Lookup(name)
	if err != nil {
		return g, 0, err
	}
	spec := m.Spec()
	g = gpuSpec{Product: spec.Description, MemoryMiB: int64(spec.MemoryMiB), MIGCapable: true}
	if len(spec.ProductNames) > 0 {
		g.Product = spec.ProductNames[0]
	}
	if !cut {
		return g, n, nil
	}
	devices := []migSpec{}
	if list != "" {
		demand, err := mig.ParseDemand(list)
		if err != nil {
			return g, 0, err
		}
		if _, err := m.Empty().Fit(demand); m.HasGeometry() && err != nil {
			return g, 0, err
		}
		for entry := range strings.SplitSeq(list, ",") { // in the order in which they stand
			profile, _, _ := strings.Cut(entry, "=")
			p, err := m.Profile(profile)
			if err != nil {
				return g, 0, err
			}
			for range demand[p.Name] {
				devices = append(devices, migSpec{Profile: p.Name, MemoryMiB: int64(p.MemoryMiB)})
			}
		}
	}
	g.MIG = &devices
	return g, n, nil
}

// readInventory reads a file: an inventory, or an answer that has one.
func readInventory(text []byte) (inventorySpec, error) {
	var outer struct {
		Schema    *int            `json:"schema"`
		Inventory json.RawMessage `json:"inventory"`
	}
	var inv inventorySpec
	if err := json.Unmarshal(text, &outer); err != nil {
		return inv, place(text, err)
	}
	if outer.Schema == nil || *outer.Schema != schema {
		return inv, fmt.Errorf("no \"schema\": %d: not a file of this program", schema)
	}
	if outer.Inventory != nil {
		text = outer.Inventory
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&inv); err != nil {
		return inv, place(text, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return inv, errors.New("more than one JSON value")
	}
	if len(inv.GPUs) > mostGPUs {
		return inv, fmt.Errorf("%d GPUs, more than %d", len(inv.GPUs), mostGPUs)
	}
	return inv, nil
}

// inventory returns it in the terms of the library.
func (inv *inventorySpec) inventory() pluginconfig.Inventory {
	var all pluginconfig.Inventory
	for _, g := range inv.GPUs {
		out := pluginconfig.GPU{
			UUID: g.UUID, Product: g.Product, Memory: g.MemoryMiB, Capability: g.Capability,
			MIGCapable: g.MIGCapable || g.MIG != nil, MIGEnabled: g.MIG != nil,
		}
		if g.MIG != nil {
			for _, m := range *g.MIG {
				out.MIG = append(out.MIG, pluginconfig.MIGDevice{UUID: m.UUID, Profile: m.Profile, Memory: m.MemoryMiB})
			}
		}
		all = append(all, out)
	}
	return all
}
