package mig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Verdict says what a difference between a table and a device means.
type Verdict string

// The verdicts. A figure that only one side knows contradicts nothing.
const (
	Contradiction Verdict = "contradiction"  // both know, and disagree
	TableUnknown  Verdict = "table unknown"  // only the device knows
	DeviceUnknown Verdict = "device unknown" // only the table knows
)

// Difference is one figure on which a table and a device do not agree. Of a
// profile that only one side has there is one Difference, with the Field
// "profile" or "compute profile", where the other side says "absent".
type Difference struct {
	Profile string `json:"profile"`           // of a GPU instance; empty: of the GPU
	Compute string `json:"compute,omitempty"` // of a compute instance in it; empty: of the GPU instance
	Index   int    `json:"index"`             // of the profile, or of the compute profile: two may share a name
	Field   string `json:"field"`             // "memory", "SMs", "starts", ...
	Table   string `json:"table"`             // with its unit: "19968 MiB"; empty: unknown
	Device  string `json:"device"`            // the same

	Verdict Verdict `json:"verdict"`
}

// String returns "3g.20gb: memory: table 19968 MiB, device 20096 MiB". A
// difference of the GPU as a whole begins with the field.
func (d Difference) String() string {
	var b strings.Builder
	if d.Profile != "" {
		b.WriteString(d.Profile + ": ")
	}
	if d.Compute != "" {
		fmt.Fprintf(&b, "%s (index %d): ", d.Compute, d.Index)
	}
	fmt.Fprintf(&b, "%s: table %s, device %s", d.Field, said(d.Table), said(d.Device))
	return b.String()
}

func said(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// absent stands for a profile that one side does not have.
const absent = "absent"

// Compare returns every difference between a table and what a device said, both
// as plain tables: first of the GPU as a whole, then profile by profile in the
// order of the table, each with its compute profiles, last those that only the
// device has. It is empty when the two agree on all that both know and know the
// same.
//
// Memory differs by driver: a table's figure is a default, and a contradiction in
// "memory" alone is no fault. A profile is matched by name, or else by index,
// since names follow from the total memory; a compute profile by index.
//
// Not compared are what a device cannot say (the key, the description, the
// minimum driver, sources, confidence) and how many figures a list of product
// names or PCI ids has: the device's must be among the table's.
func Compare(table, device Spec) []Difference {
	c := comparison{}
	c.gpu(&table, &device)
	matched := make([]bool, len(device.Profiles))
	find := func(is func(Profile) bool) int {
		for j := range device.Profiles {
			if !matched[j] && is(device.Profiles[j]) {
				matched[j] = true
				return j
			}
		}
		return -1
	}
	partner := make([]int, len(table.Profiles))
	for i := range table.Profiles {
		partner[i] = find(func(q Profile) bool { return q.Name == table.Profiles[i].Name })
	}
	for i, p := range table.Profiles {
		if partner[i] < 0 {
			partner[i] = find(func(q Profile) bool { return q.Index == p.Index })
		}
		c.at = Difference{Profile: p.Name, Index: p.Index}
		if partner[i] < 0 {
			c.text("profile", p.Name, absent)
			continue
		}
		q := device.Profiles[partner[i]]
		c.profile(&p, &q)
		c.computes(rowsOf(&table, p.Name), rowsOf(&device, q.Name))
	}
	for j, q := range device.Profiles {
		if !matched[j] {
			c.at = Difference{Profile: q.Name, Index: q.Index}
			c.text("profile", absent, q.Name)
		}
	}
	return c.list
}

// comparison collects differences.
type comparison struct {
	at   Difference // what is compared at the moment
	list []Difference
}

// text compares two figures in print; empty is unknown.
func (c *comparison) text(field, table, device string) {
	if table == device {
		return
	}
	d := c.at
	d.Field, d.Table, d.Device, d.Verdict = field, table, device, Contradiction
	switch {
	case table == "":
		d.Verdict = TableUnknown
	case device == "":
		d.Verdict = DeviceUnknown
	}
	c.list = append(c.list, d)
}

// number compares two figures of which one value means unknown.
func (c *comparison) number(field string, table, device, unknown int, unit string) {
	write := func(n int) string {
		if n == unknown {
			return ""
		}
		return strconv.Itoa(n) + unit
	}
	c.text(field, write(table), write(device))
}

// member compares a list of the table with what the device says of itself.
func (c *comparison) member(field string, table, device []string) {
	if len(table) == 0 || len(device) == 0 {
		c.text(field, strings.Join(table, ", "), strings.Join(device, ", "))
		return
	}
	for _, word := range device {
		if !slices.ContainsFunc(table, func(w string) bool { return strings.EqualFold(w, word) }) {
			c.text(field, strings.Join(table, ", "), word)
		}
	}
}

func (c *comparison) gpu(table, device *Spec) {
	ids := func(s *Spec) []string {
		var list []string
		for _, id := range s.PCIDeviceIDs {
			list = append(list, fmt.Sprintf("0x%08X", id))
		}
		return list
	}
	reset := func(s *Spec) string {
		if !s.ModeNeedsResetKnown {
			return ""
		}
		return strconv.FormatBool(s.ModeNeedsReset)
	}
	c.member("product name", table.ProductNames, device.ProductNames)
	c.text("architecture", table.Architecture, device.Architecture)
	c.member("PCI id", ids(table), ids(device))
	c.number("memory", table.MemoryMiB, device.MemoryMiB, 0, " MiB")
	c.number("memory in names", table.NameMemoryGB, device.NameMemoryGB, 0, " GiB")
	c.number("memory slices", table.MemorySlices, device.MemorySlices, 0, "")
	c.number("compute slices", table.ComputeSlices, device.ComputeSlices, 0, "")
	c.number("SMs", table.SMs, device.SMs, 0, "")
	c.text("mode change needs reset", reset(table), reset(device))
	c.text("media alone", strconv.FormatBool(table.MediaAlone), strconv.FormatBool(device.MediaAlone))
}

func (c *comparison) profile(table, device *Profile) {
	c.text("name", table.Name, device.Name)
	c.number("index", table.Index, device.Index, NotKnown, "")
	c.number("id", table.ID, device.ID, NotKnown, "")
	c.number("compute slices", table.ComputeSlices, device.ComputeSlices, 0, "")
	c.number("size", table.Size, device.Size, 0, "")
	c.text("starts", starts(table.Starts), starts(device.Starts))
	c.number("most instances", table.MaxInstances, device.MaxInstances, 0, "")
	c.number("memory", table.MemoryMiB, device.MemoryMiB, 0, " MiB")
	c.number("SMs", table.SMs, device.SMs, 0, "")
	t, d := &table.Engines, &device.Engines
	c.number("copy engines", t.Copy, d.Copy, NotKnown, "")
	c.number("decoders", t.Decoders, d.Decoders, NotKnown, "")
	c.number("encoders", t.Encoders, d.Encoders, NotKnown, "")
	c.number("JPEG engines", t.JPEG, d.JPEG, NotKnown, "")
	c.number("OFA engines", t.OFA, d.OFA, NotKnown, "")
}

// starts writes a set of slice numbers: "0, 2, 4".
func starts(m Mask) string {
	var list []string
	for n := range m.All() {
		list = append(list, strconv.Itoa(n))
	}
	return strings.Join(list, ", ")
}

func rowsOf(s *Spec, gpuInstance string) []ComputeProfile {
	var rows []ComputeProfile
	for _, c := range s.ComputeProfiles {
		if c.GPUInstance == gpuInstance {
			rows = append(rows, c)
		}
	}
	return rows
}

// computes compares the compute profiles of one GPU instance. A side without any
// does not know them: NVML lists those of a GPU instance that exists.
func (c *comparison) computes(table, device []ComputeProfile) {
	if len(table) == 0 || len(device) == 0 {
		names := func(rows []ComputeProfile) string {
			var list []string
			for _, r := range rows {
				list = append(list, r.Name)
			}
			return strings.Join(list, ", ")
		}
		c.text("compute profiles", names(table), names(device))
		return
	}
	profile := c.at.Profile
	for _, t := range table {
		c.at = Difference{Profile: profile, Compute: t.Name, Index: t.Index}
		k := slices.IndexFunc(device, func(d ComputeProfile) bool { return d.Index == t.Index })
		if k < 0 {
			c.text("compute profile", t.Name, absent)
			continue
		}
		d := device[k]
		c.text("name", t.Name, d.Name)
		c.number("slices", t.Slices, d.Slices, 0, "")
		c.number("size", t.Size, d.Size, 0, "")
		c.text("starts", starts(t.Starts), starts(d.Starts))
		c.number("most instances", t.MaxInstances, d.MaxInstances, 0, "")
		c.number("SMs", t.SMs, d.SMs, 0, "")
		c.text("takes the whole", strconv.FormatBool(t.Default), strconv.FormatBool(d.Default))
	}
	for _, d := range device {
		if !slices.ContainsFunc(table, func(t ComputeProfile) bool { return t.Index == d.Index }) {
			c.at = Difference{Profile: profile, Compute: d.Name, Index: d.Index}
			c.text("compute profile", absent, d.Name)
		}
	}
}
