package mig

// rtxPro6000: RTX PRO 6000 Blackwell 96GB (Server, Workstation, Max-Q Workstation).
var rtxPro6000 = Model{spec: Spec{
	Key:            "rtx-pro-6000-96gb",
	Description:    "RTX PRO 6000 Blackwell 96GB (Server, Workstation, Max-Q Workstation)",
	ProductNames:   []string{"NVIDIA RTX PRO 6000 Blackwell Server Edition", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"},
	Architecture:   "Blackwell",
	PCIDeviceIDs:   []uint32{0x2BB510DE, 0x2BB110DE, 0x2BB410DE},
	MemoryMiB:      97887,
	NameMemoryGB:   96,
	MemorySlices:   12,
	ComputeSlices:  4,
	SMs:            188,
	ModeNeedsReset: false, ModeNeedsResetKnown: false,
	MinDriver:  "575.51.03",
	Confidence: Exact,
	Sources: []string{
		"-lgip, -lgipp, -lgi, -lci of an RTX PRO 6000 Blackwell Server Edition in a public walkthrough",
		"GoogleCloudPlatform/container-engine-accelerators#564 (same ids and 23.62 GiB)",
		"bigstack-oss/cubecos#312 (older driver)",
		"NVIDIA MIG User Guide, \"Supported MIG Profiles\"",
		"NVIDIA/mig-parted deployments/systemd/config-default.yaml",
		"NVIDIA/open-gpu-kernel-modules 595.45.04 README.md (compatible GPU table)",
		"nvml.h 13.4.92 as shipped in NVIDIA/go-nvml v0.13.4-1",
	},
	Profiles: []Profile{
		{Name: "1g.24gb", Index: 0, ID: 14, ComputeSlices: 1, Size: 3, Starts: 0b1001001001, MaxInstances: 4, MemoryMiB: 24192, SMs: 46, Engines: Engines{1, 1, 1, 1, 0}, Confidence: Exact, Geometry: Exact},
		{Name: "1g.24gb+me", Index: 7, ID: 21, ComputeSlices: 1, Size: 3, Starts: 0b1001001001, MaxInstances: 1, MemoryMiB: 24192, SMs: 46, Engines: Engines{1, 1, 1, 1, 1}, Attrs: MediaExtensions, Confidence: Exact, Geometry: Exact},
		{Name: "1g.24gb+me.all", Index: 15, ID: 65, ComputeSlices: 1, Size: 3, Starts: 0b1001001001, MaxInstances: 1, MemoryMiB: 24192, SMs: 46, Engines: Engines{1, 4, 4, 4, 1}, Attrs: AllMedia, Confidence: Exact, Geometry: Exact},
		{Name: "1g.24gb-me", Index: 13, ID: 67, ComputeSlices: 1, Size: 3, Starts: 0b1001001001, MaxInstances: 4, MemoryMiB: 24192, SMs: 46, Engines: Engines{1, 0, 0, 0, 0}, Attrs: NoMedia, Confidence: Exact, Geometry: Exact},
		{Name: "1g.24gb+gfx", Index: 10, ID: 47, ComputeSlices: 1, Size: 3, Starts: 0b1001001001, MaxInstances: 4, MemoryMiB: 24192, SMs: 46, Engines: Engines{1, 1, 1, 1, 0}, Attrs: Graphics, Confidence: Exact, Geometry: Exact},
		{Name: "2g.48gb", Index: 1, ID: 5, ComputeSlices: 2, Size: 6, Starts: 0b1000001, MaxInstances: 2, MemoryMiB: 48512, SMs: 94, Engines: Engines{2, 2, 2, 2, 0}, Confidence: Exact, Geometry: Exact},
		{Name: "2g.48gb+me.all", Index: 16, ID: 64, ComputeSlices: 2, Size: 6, Starts: 0b1000001, MaxInstances: 1, MemoryMiB: 48512, SMs: 94, Engines: Engines{2, 4, 4, 4, 1}, Attrs: AllMedia, Confidence: Exact, Geometry: Exact},
		{Name: "2g.48gb-me", Index: 14, ID: 66, ComputeSlices: 2, Size: 6, Starts: 0b1000001, MaxInstances: 2, MemoryMiB: 48512, SMs: 94, Engines: Engines{2, 0, 0, 0, 0}, Attrs: NoMedia, Confidence: Exact, Geometry: Exact},
		{Name: "2g.48gb+gfx", Index: 11, ID: 35, ComputeSlices: 2, Size: 6, Starts: 0b1000001, MaxInstances: 2, MemoryMiB: 48512, SMs: 94, Engines: Engines{2, 2, 2, 2, 0}, Attrs: Graphics, Confidence: Exact, Geometry: Exact},
		{Name: "4g.96gb", Index: 3, ID: 0, ComputeSlices: 4, Size: 12, Starts: 0b1, MaxInstances: 1, MemoryMiB: 97408, SMs: 188, Engines: Engines{4, 4, 4, 4, 1}, Confidence: Exact, Geometry: Exact},
		{Name: "4g.96gb+gfx", Index: 12, ID: 32, ComputeSlices: 4, Size: 12, Starts: 0b1, MaxInstances: 1, MemoryMiB: 97408, SMs: 188, Engines: Engines{4, 4, 4, 4, 1}, Attrs: Graphics, Confidence: Exact, Geometry: Exact},
	},
	ComputeProfiles: []ComputeProfile{
		{GPUInstance: "1g.24gb", Name: "1g.24gb", Index: 0, Slices: 1, Size: 1, Starts: 0b1, MaxInstances: 1, SMs: 46, Default: true, Confidence: Derived},
		{GPUInstance: "1g.24gb+me", Name: "1g.24gb+me", Index: 0, Slices: 1, Size: 1, Starts: 0b1, MaxInstances: 1, SMs: 46, Default: true, Confidence: Derived},
		{GPUInstance: "1g.24gb+me.all", Name: "1g.24gb+me.all", Index: 0, Slices: 1, Size: 1, Starts: 0b1, MaxInstances: 1, SMs: 46, Default: true, Confidence: Derived},
		{GPUInstance: "1g.24gb-me", Name: "1g.24gb-me", Index: 0, Slices: 1, Size: 1, Starts: 0b1, MaxInstances: 1, SMs: 46, Default: true, Confidence: Derived},
		{GPUInstance: "1g.24gb+gfx", Name: "1g.24gb+gfx", Index: 0, Slices: 1, Size: 1, Starts: 0b1, MaxInstances: 1, SMs: 46, Default: true, Confidence: Derived},
		{GPUInstance: "2g.48gb", Name: "1c.2g.48gb", Index: 0, Slices: 1, Size: 1, Starts: 0b11, MaxInstances: 2, SMs: 46, Confidence: Derived},
		{GPUInstance: "2g.48gb", Name: "2g.48gb", Index: 1, Slices: 2, Size: 2, Starts: 0b1, MaxInstances: 1, SMs: 94, Default: true, Confidence: Derived},
		{GPUInstance: "2g.48gb+me.all", Name: "1c.2g.48gb+me.all", Index: 0, Slices: 1, Size: 1, Starts: 0b11, MaxInstances: 2, SMs: 46, Confidence: Derived},
		{GPUInstance: "2g.48gb+me.all", Name: "2g.48gb+me.all", Index: 1, Slices: 2, Size: 2, Starts: 0b1, MaxInstances: 1, SMs: 94, Default: true, Confidence: Derived},
		{GPUInstance: "2g.48gb-me", Name: "1c.2g.48gb-me", Index: 0, Slices: 1, Size: 1, Starts: 0b11, MaxInstances: 2, SMs: 46, Confidence: Derived},
		{GPUInstance: "2g.48gb-me", Name: "2g.48gb-me", Index: 1, Slices: 2, Size: 2, Starts: 0b1, MaxInstances: 1, SMs: 94, Default: true, Confidence: Derived},
		{GPUInstance: "2g.48gb+gfx", Name: "1c.2g.48gb+gfx", Index: 0, Slices: 1, Size: 1, Starts: 0b11, MaxInstances: 2, SMs: 46, Confidence: Derived},
		{GPUInstance: "2g.48gb+gfx", Name: "2g.48gb+gfx", Index: 1, Slices: 2, Size: 2, Starts: 0b1, MaxInstances: 1, SMs: 94, Default: true, Confidence: Derived},
		{GPUInstance: "4g.96gb", Name: "1c.4g.96gb", Index: 0, Slices: 1, Size: 1, Starts: 0b1111, MaxInstances: 4, Confidence: Derived},
		{GPUInstance: "4g.96gb", Name: "2c.4g.96gb", Index: 1, Slices: 2, Size: 2, Starts: 0b101, MaxInstances: 2, Confidence: Derived},
		{GPUInstance: "4g.96gb", Name: "4g.96gb", Index: 3, Slices: 4, Size: 4, Starts: 0b1, MaxInstances: 1, SMs: 188, Default: true, Confidence: Derived},
		{GPUInstance: "4g.96gb+gfx", Name: "1c.4g.96gb+gfx", Index: 0, Slices: 1, Size: 1, Starts: 0b1111, MaxInstances: 4, Confidence: Derived},
		{GPUInstance: "4g.96gb+gfx", Name: "2c.4g.96gb+gfx", Index: 1, Slices: 2, Size: 2, Starts: 0b101, MaxInstances: 2, Confidence: Derived},
		{GPUInstance: "4g.96gb+gfx", Name: "4g.96gb+gfx", Index: 3, Slices: 4, Size: 4, Starts: 0b1, MaxInstances: 1, SMs: 188, Default: true, Confidence: Derived},
	},
}}

// rtxPro5000: RTX PRO 5000 Blackwell 48GB. Names, counts and engines are
// published, placements are not. An older edition of the vendor's guide has
// other rows; a 72GB board has the same PCI id.
var rtxPro5000 = Model{spec: Spec{
	Key:           "rtx-pro-5000-48gb",
	Description:   "RTX PRO 5000 Blackwell 48GB",
	ProductNames:  []string{"NVIDIA RTX PRO 5000 Blackwell"},
	Architecture:  "Blackwell",
	PCIDeviceIDs:  []uint32{0x2BB310DE},
	NameMemoryGB:  48,
	ComputeSlices: 2,
	MinDriver:     "575.57.08",
	Confidence:    Exact,
	Sources: []string{
		"NVIDIA MIG User Guide, \"Supported MIG Profiles\"",
		"NVIDIA/open-gpu-kernel-modules 595.45.04 README.md (compatible GPU table)",
		"NVIDIA MIG User Guide, \"Supported GPUs\"",
	},
	Profiles: []Profile{
		{Name: "1g.24gb", Index: 0, ID: NotKnown, ComputeSlices: 1, MaxInstances: 2, Engines: Engines{1, 1, 1, 0, 0}, Confidence: Exact},
		{Name: "1g.24gb+me", Index: 7, ID: NotKnown, ComputeSlices: 1, MaxInstances: 1, Engines: Engines{1, 1, 1, 1, 1}, Attrs: MediaExtensions, Confidence: Exact},
		{Name: "1g.24gb+gfx", Index: 10, ID: NotKnown, ComputeSlices: 1, MaxInstances: 2, Engines: Engines{1, 1, 1, 0, 0}, Attrs: Graphics, Confidence: Exact},
		{Name: "1g.24gb+me.all", Index: 15, ID: NotKnown, ComputeSlices: 1, MaxInstances: 1, Engines: Engines{1, 3, 3, 1, 1}, Attrs: AllMedia, Confidence: Exact},
		{Name: "1g.24gb-me", Index: 13, ID: NotKnown, ComputeSlices: 1, MaxInstances: 2, Engines: Engines{1, 0, 0, 0, 0}, Attrs: NoMedia, Confidence: Exact},
		{Name: "2g.48gb", Index: 1, ID: NotKnown, ComputeSlices: 2, MaxInstances: 1, Engines: Engines{4, 3, 3, 1, 1}, Confidence: Exact},
		{Name: "2g.48gb+gfx", Index: 11, ID: NotKnown, ComputeSlices: 2, MaxInstances: 1, Engines: Engines{4, 3, 3, 1, 1}, Attrs: Graphics, Confidence: Exact},
	},
}}

// rtxPro4500: RTX PRO 4500 Blackwell 32GB. Names, counts and engines are
// published, placements are not.
var rtxPro4500 = Model{spec: Spec{
	Key:           "rtx-pro-4500-32gb",
	Description:   "RTX PRO 4500 Blackwell 32GB",
	ProductNames:  []string{"NVIDIA RTX PRO 4500 Blackwell"},
	Architecture:  "Blackwell",
	PCIDeviceIDs:  []uint32{0x2C3110DE},
	NameMemoryGB:  32,
	ComputeSlices: 2,
	MinDriver:     "575.64",
	Confidence:    Exact,
	Sources: []string{
		"NVIDIA MIG User Guide, \"Supported MIG Profiles\"",
		"NVIDIA/open-gpu-kernel-modules 595.45.04 README.md (compatible GPU table)",
		"NVIDIA MIG User Guide, \"Supported GPUs\"",
	},
	Profiles: []Profile{
		{Name: "1g.16gb", Index: 0, ID: NotKnown, ComputeSlices: 1, MaxInstances: 2, Engines: Engines{1, 1, 1, 1, 0}, Confidence: Exact},
		{Name: "1g.16gb+gfx", Index: 10, ID: NotKnown, ComputeSlices: 1, MaxInstances: 2, Engines: Engines{1, 1, 1, 1, 0}, Attrs: Graphics, Confidence: Exact},
		{Name: "1g.16gb+me.all", Index: 15, ID: NotKnown, ComputeSlices: 1, MaxInstances: 1, Engines: Engines{1, 3, 3, 2, 1}, Attrs: AllMedia, Confidence: Exact},
		{Name: "1g.16gb-me", Index: 13, ID: NotKnown, ComputeSlices: 1, MaxInstances: 2, Engines: Engines{1, 0, 0, 0, 0}, Attrs: NoMedia, Confidence: Exact},
		{Name: "2g.32gb", Index: 1, ID: NotKnown, ComputeSlices: 2, MaxInstances: 1, Engines: Engines{2, 3, 3, 2, 1}, Confidence: Exact},
		{Name: "2g.32gb+gfx", Index: 11, ID: NotKnown, ComputeSlices: 2, MaxInstances: 1, Engines: Engines{2, 3, 3, 2, 1}, Attrs: Graphics, Confidence: Exact},
	},
}}

// thor: Thor iGPU (Jetson). The memory is the CPU's, so names have 0 GB.
// Placements are not published: at most one compute and one graphics instance,
// or a 3g alone.
var thor = Model{spec: Spec{
	Key:           "thor-igpu",
	Description:   "Thor iGPU (Jetson)",
	Architecture:  "Blackwell",
	ComputeSlices: 3,
	MinDriver:     "R595 as in JetPack 7.2",
	Confidence:    Exact,
	Sources: []string{
		"NVIDIA MIG User Guide, \"Supported MIG Profiles\"",
		"nvml.h 13.4.92 as shipped in NVIDIA/go-nvml v0.13.4-1",
	},
	Profiles: []Profile{
		{Name: "1g.0gb", Index: 0, ID: NotKnown, ComputeSlices: 1, MaxInstances: 1, Engines: Engines{1, 1, 1, 1, 0}, Confidence: Exact},
		{Name: "1g.0gb+me", Index: 7, ID: NotKnown, ComputeSlices: 1, MaxInstances: 1, Engines: Engines{1, 1, 1, 1, 1}, Attrs: MediaExtensions, Confidence: Exact},
		{Name: "1g.0gb+gfx", Index: 10, ID: NotKnown, ComputeSlices: 1, MaxInstances: 1, Engines: Engines{1, 1, 1, 1, 0}, Attrs: Graphics, Confidence: Exact},
		{Name: "2g.0gb", Index: 1, ID: NotKnown, ComputeSlices: 2, MaxInstances: 1, Engines: Engines{1, 1, 1, 1, 0}, Confidence: Exact},
		{Name: "2g.0gb+gfx", Index: 11, ID: NotKnown, ComputeSlices: 2, MaxInstances: 1, Engines: Engines{1, 1, 1, 1, 0}, Attrs: Graphics, Confidence: Exact},
		{Name: "3g.0gb", Index: 2, ID: NotKnown, ComputeSlices: 3, MaxInstances: 1, Engines: Engines{1, 2, 2, 2, 1}, Confidence: Exact},
		{Name: "3g.0gb+gfx", Index: 17, ID: NotKnown, ComputeSlices: 3, MaxInstances: 1, Engines: Engines{1, 2, 2, 2, 1}, Attrs: Graphics, Confidence: Exact},
	},
}}
