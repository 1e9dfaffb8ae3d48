// Package names knows what a GPU or a MIG device is called elsewhere: by the
// driver, by CUDA and by Kubernetes.
//
// Use it where such a text comes in from a user, a label, a log or another
// program, or goes out to one. It reads strictly what the other side writes, and
// says what the other side makes of a text that is not so tidy.
//
//	UUID of a GPU          GPU-5a88edbe-06c0-...             ParseUUID
//	UUID of a MIG device   MIG-3eb87630-93d5-...             ParseUUID
//	  before driver R470   MIG-GPU-662077db-fa3f-.../10/0    ParseUUID
//	shortened UUID         GPU-5a88                          FindDevice
//	index                  0, and 0:1 for a MIG device       ParseIndex
//	list of devices        1,0 or GPU-5a88,GPU-17            VisibleDevices
//	resource of a profile  nvidia.com/mig-1g.10gb.me         Resource, ParseResource
//	resources of a node    nvidia.com/gpu: 2, ...            Resources
//	DRA device             gpu-0-mig-1g24gb-me-20-5          FormatDRA, ParseDRA
//	pattern                1g.*                              Match
//
// Names of profiles and of instances, such as 1g.5gb, 1c.3g.20gb and 3g.20gb@4,
// and what the driver prints with them, are package mig's own: see [mig.ParseName],
// [mig.ParseInstance] and [mig.ParseDeviceName].
//
// The rule people get wrong: the identity is never in the text between.
//
//   - gpu-0-mig-1g24gb-me-21-3 and gpu-0-mig-1g24gb-me-67-3 are a 1g.24gb+me and a
//     1g.24gb-me. What counts is the GPU, the profile id and the start: [DRA].
//   - The UUID of a MIG device tells neither its GPU nor its profile or place, and
//     cutting the same layout again gives another. The old form tells the GPU; the
//     numbers in it are ids of instances, neither starts nor indices, and are used
//     again.
//   - One resource can be different things on two nodes: a 1g.10gb is one of seven
//     on an A100 80GB and one of four on an A100 40GB. Ask the [mig.Model].
//
// And CUDA refuses no list of devices: it shows what stands before the first item
// that it cannot read, so [VisibleDevices] returns both that and an error.
//
// Everything is pure, deterministic and safe for concurrent use: no environment is
// read and no device asked. A call takes about a microsecond; FindDevice and
// VisibleDevices look at every device for every item of the list.
package names
