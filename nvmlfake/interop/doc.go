// Package interop holds nothing but tests: NVIDIA's own Go client library,
// go-nvlib, runs unmodified against the fake of package nvmlfake, and what it
// finds there is compared with the tables of package mig.
//
//	mig tables ──► nvmlfake ──NVML──► go-nvlib ──► GPUs, MIG devices, profile names
//	    └───────────────────── equal? ──────────────────────┘
//
// Use it as the proof that a client written for hardware works on the fake, and
// that the names of the tables are those that the vendor's rule gives. The fake
// and the tables have one author; the client does not.
//
// The rule people get wrong: agreement is worth something only where a figure
// was published. What the fake makes up so that a client has a number to work
// with (nvmlfake.Synthetic) is left out of every comparison.
//
// The module is apart from the library so that importers of the library do not
// inherit go-nvlib and the newer Go release that it asks for. Neither a GPU nor
// libnvidia-ml is needed. There is nothing to call here, so nothing to say of
// concurrency and cost.
package interop
