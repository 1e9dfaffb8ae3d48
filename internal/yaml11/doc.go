// Package yaml11 reads YAML as mig-parted and NVIDIA's device plugin do: by the rules
// of YAML 1.1 for booleans, and as if it were turned into JSON first. It is what
// mig/parted and timeslice/pluginconfig share below their own walks over a document.
// Lines and columns count from 1, columns in characters. Every function is pure and
// safe for concurrent use.
package yaml11
