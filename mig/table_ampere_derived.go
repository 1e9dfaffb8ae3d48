package mig

import "slices"

// a800x40: A800 40GB. The rows are those of the A100 40GB: only their names and
// counts are confirmed.
var a800x40 = Model{spec: Spec{
	Key:            "a800-40gb",
	Description:    "A800 40GB",
	ProductNames:   []string{"NVIDIA A800-SXM4-40GB", "NVIDIA A800 40GB Active"},
	Architecture:   "Ampere",
	PCIDeviceIDs:   []uint32{0x20BD10DE, 0x20F610DE},
	MemoryMiB:      40960,
	NameMemoryGB:   40,
	MemorySlices:   8,
	ComputeSlices:  7,
	SMs:            108,
	ModeNeedsReset: true, ModeNeedsResetKnown: true,
	MinDriver:  "450.80.02",
	Confidence: Derived,
	Sources: []string{
		"NVIDIA/mig-parted deployments/systemd/config-default.yaml",
		"NVIDIA/open-gpu-kernel-modules 595.45.04 README.md (compatible GPU table)",
	},
	Profiles:        derivedFrom(a100x40.spec.Profiles),
	ComputeProfiles: computeDerivedFrom(a100x40.spec.ComputeProfiles),
}}

// a800x80: A800 80GB (SXM4, PCIe). The rows are those of the A100 80GB: only
// their names and counts are confirmed.
var a800x80 = Model{spec: Spec{
	Key:            "a800-80gb",
	Description:    "A800 80GB (SXM4, PCIe)",
	ProductNames:   []string{"NVIDIA A800-SXM4-80GB", "NVIDIA A800 80GB PCIe", "NVIDIA A800 80GB PCIe LC"},
	Architecture:   "Ampere",
	PCIDeviceIDs:   []uint32{0x20F310DE, 0x20F510DE},
	MemoryMiB:      81920,
	NameMemoryGB:   80,
	MemorySlices:   8,
	ComputeSlices:  7,
	SMs:            108,
	ModeNeedsReset: true, ModeNeedsResetKnown: true,
	MinDriver:  "450.80.02",
	Confidence: Derived,
	Sources: []string{
		"NVIDIA/mig-parted deployments/systemd/config-default.yaml",
		"NVIDIA/open-gpu-kernel-modules 595.45.04 README.md (compatible GPU table)",
		"Project-HAMi/HAMi#1903",
	},
	Profiles:        derivedFrom(a100x80.spec.Profiles),
	ComputeProfiles: computeDerivedFrom(a100x80.spec.ComputeProfiles),
}}

// pg506: PG506-232 96GB (GA100). Only names and counts are published.
var pg506 = Model{spec: Spec{
	Key:            "pg506-96gb",
	Description:    "PG506-232 96GB (GA100)",
	ProductNames:   []string{"NVIDIA PG506-232"},
	Architecture:   "Ampere",
	PCIDeviceIDs:   []uint32{0x20B610DE},
	NameMemoryGB:   96,
	MemorySlices:   8,
	ComputeSlices:  7,
	ModeNeedsReset: true, ModeNeedsResetKnown: true,
	Confidence: Derived,
	Sources: []string{
		"NVIDIA/mig-parted deployments/systemd/config-default.yaml",
		"NVIDIA/open-gpu-kernel-modules 595.45.04 README.md (compatible GPU table)",
	},
	Profiles: []Profile{
		{Name: "1g.12gb", Index: 0, ID: NotKnown, ComputeSlices: 1, Size: 1, Starts: 0b1111111, MaxInstances: 7, Engines: unknownEngines, Confidence: Derived, Geometry: Derived},
		{Name: "2g.24gb", Index: 1, ID: NotKnown, ComputeSlices: 2, Size: 2, Starts: 0b10101, MaxInstances: 3, Engines: unknownEngines, Confidence: Derived, Geometry: Derived},
		{Name: "3g.48gb", Index: 2, ID: NotKnown, ComputeSlices: 3, Size: 4, Starts: 0b10001, MaxInstances: 2, Engines: unknownEngines, Confidence: Derived, Geometry: Derived},
		{Name: "4g.48gb", Index: 3, ID: NotKnown, ComputeSlices: 4, Size: 4, Starts: 0b1, MaxInstances: 1, Engines: unknownEngines, Confidence: Derived, Geometry: Derived},
		{Name: "7g.96gb", Index: 4, ID: NotKnown, ComputeSlices: 7, Size: 8, Starts: 0b1, MaxInstances: 1, Engines: unknownEngines, Confidence: Derived, Geometry: Derived},
	},
}}

// unknownEngines is for rows of which no source counts the engines.
var unknownEngines = Engines{NotKnown, NotKnown, NotKnown, NotKnown, NotKnown}

// derivedFrom returns the rows of another model as those of one that is known to
// offer the same names.
func derivedFrom(rows []Profile) []Profile {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Confidence, rows[i].Geometry = Derived, Derived
	}
	return rows
}

// computeDerivedFrom is derivedFrom for compute profiles.
func computeDerivedFrom(rows []ComputeProfile) []ComputeProfile {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Confidence = Derived
	}
	return rows
}
