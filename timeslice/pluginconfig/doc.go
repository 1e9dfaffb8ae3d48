// Package pluginconfig reads the configuration of NVIDIA's Kubernetes device
// plugin, as far as it has to do with sharing, and says what a node would make of
// it.
//
// Use it in a review, or before a file goes out to nodes: the plugin accepts much
// of what it then drops, and says so in a log that nobody reads. It needs neither a
// cluster nor a GPU.
//
//	version: v1
//	flags:
//	  migStrategy: none             # or single, mixed
//	sharing:
//	  timeSlicing:                  # a Section; or mps
//	    renameByDefault: true
//	    failRequestsGreaterThanOne: true
//	    resources:
//	      - name: nvidia.com/gpu    # a Resource
//	        replicas: 4
//
//	text ──Lint──► Config, []Finding        file:line:column of each
//	     ──Parse─► Config or error          nothing that surprises passes
//	               Config ──Check─────► []Finding
//	               Config ──Effective─► Config     after the plugin's start
//	               Config, Inventory ──Advertise──► Node     resources, counts, labels
//
// The rules people get wrong:
//   - A key in the wrong place, or misspelt, is ignored: renameByDefault under
//     flags does nothing.
//   - "rename" and "devices" pass the parser and are dropped when the plugin
//     starts: all devices are shared, under the name that renameByDefault gives.
//     The section "resources" at the top is dropped too.
//   - Where sharing.mps is there, sharing.timeSlicing is not looked at, not even
//     for the resources that mps does not name.
//   - A resource that no device of the node has is passed over: nvidia.com/mig-1g.5gb
//     needs migStrategy mixed, and with single it is nvidia.com/gpu.
//   - Replicas are not GPUs. A container that asks for two may get one GPU and has
//     no larger part of it. failRequestsGreaterThanOne refuses that; time-slicing
//     does not do so by itself, MPS does.
//   - With a new name, a container that asks for nvidia.com/gpu waits for ever.
//   - replicas: 1 is refused, for MPS too.
//
// What is said of the plugin was read from its source, at version 0.20.0. The
// functions are pure and deterministic. What aliases can expand to is bounded; a
// file of usual size takes well below a millisecond.
package pluginconfig
