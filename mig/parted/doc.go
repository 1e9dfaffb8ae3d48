// Package parted reads, writes, selects, asserts, exports and lints the files of
// mig-parted, which say how the GPUs of a node are to be cut.
//
// Use it to check such a file in a review, long before a node sees it, and to
// tell what a label of it means for the GPUs of a node and how they differ from
// it. It neither needs a GPU nor changes one: the states that it compares come
// from the caller.
//
//	version: v1
//	mig-configs:
//	  all-balanced:                    # a Label; a node selects one
//	    - device-filter: "0x20B010DE"  # an Entry; for these models only
//	      devices: all                 # or indices: [0, 1]
//	      mig-enabled: true
//	      mig-devices:                 # how many of each on every GPU
//	        "1g.5gb": 2
//	        "3g.20gb": 1
//
//	text ──Parse──► Config ──Lint────► []Finding     no hardware
//	                  │  ▲
//	                  │  └─Export───── []State        what stands on a node
//	                  ├────Select────► Selection      which entry for which GPU
//	                  ├────Assert────► Report         what is missing, what is too much
//	                  └────Write─────► text
//
// The rules people get wrong:
//   - "devices: all" is not all GPUs: a filter narrows it, and it passes over
//     GPUs that cannot do MIG. A GPU that no entry matches keeps its state.
//   - Entries are carried out in the order of the file, every one on every GPU
//     that it matches. mig-parted builds a GPU twice that two entries match, and
//     says nothing; Select refuses it, unless SelectOptions.LastWins says
//     otherwise.
//   - One name is different things on different models. 1g.10gb is a seventh of
//     an A100 80GB and a quarter of an A100 40GB, so one label needs two entries,
//     with filters and other counts.
//   - That a name is well formed says nothing: "9g.999gb" passes the parser.
//     Whether a model has it is found by Lint, or by mig-parted after the GPU has
//     been cleared.
//   - A filter is text in quotes: the device's id first, then the vendor's. A text
//     that is no id matches nothing, in silence.
//   - mig-parted compares names and counts as they are written. A count of zero
//     or the spelling "1c.1g.5gb" never equals the state, so the GPU is rebuilt on
//     every apply. Assert compares what is meant; Lint warns.
//   - mig-parted asserts all GPUs of a node, also those that no entry matches. That
//     is Report.Strict here; Report.Satisfied is about the matched ones.
//   - Nothing says where an instance begins. Two layouts of the same instances are
//     the same to this format; see package mig for why they are not.
//
// A configuration is plain data and the functions are pure: same input, same
// output, safe for concurrent use as long as nobody writes to the configuration.
// Parse bounds what aliases can expand to. Parsing and linting a file of 200
// labels, each with three entries, takes some tens of milliseconds.
package parted
