// Package gpushare is the front door of a library for sharing GPUs: what a GPU
// can be cut into, where a task goes, what that choice strands, and how the
// decision reaches a device. This package holds no code; it is the map.
//
// The unit that a scheduler counts should be the unit that the hardware cuts. A
// scheduler sees integers, the hardware cuts MIG slices at fixed positions, and
// what falls between the two is capacity that a fleet pays for and cannot use.
// Here the hardware's cuts are plain Go values, so that a choice can be judged
// by what it makes impossible.
//
//	programs     examples/fleet, examples/migplan, examples/migctl, examples/openb,
//	                │        examples/mpsctl, examples/timeslice
//	                │
//	                ▼
//	experiments  placement/replay/openb ─► placement/replay    placement/churn
//	                                             │                  │
//	                                             └────────┬─────────┘
//	                                                      ▼
//	decisions                       mig/plan ◄─ placement ─► fragmentation ─► mig
//	                                                                           ▲
//	cuts               mig/names, mig/fleet, mig/plan, mig/parted ─────────────┤
//	                                            ▲                              │
//	devices                  go-nvml ◄─ mig/device, nvmlfake ──────────────────┘
//
//	other ways   mps ◄─ mps/mpsfake      timeslice ◄─ timeslice/pluginconfig
//	to share                             timeslice ◄─ timeslice/device ─► go-nvml
//	                                     timeslice/governor
//
// An arrow reads "may import", along with all that lies further on; programs
// import what they need. Nothing knows what stands on it, so each package can be
// taken with only those it points to:
//
//   - [github.com/gpushare/gpushare/mig]: what can be cut, and where. Tables of
//     the MIG-capable GPUs, profile names, layouts, what still fits.
//   - [github.com/gpushare/gpushare/fragmentation]: what the state of a node is
//     worth to the tasks expected, and so what a choice strands.
//   - [github.com/gpushare/gpushare/placement]: where a task goes. Nodes as
//     immutable values, a policy that answers with spot, score and refusal, an engine
//     that decides at fleet speed, and repair by moves within a budget.
//   - [github.com/gpushare/gpushare/placement/replay]: a task list replayed over
//     a cluster, with the figures by which policies are compared;
//     [github.com/gpushare/gpushare/placement/replay/openb] reads the openb
//     trace and follows the protocol of the experiment published with it.
//     [github.com/gpushare/gpushare/placement/churn] plays MIG instances that come and
//     go, and selects the rule for a mix.
//   - [github.com/gpushare/gpushare/mig/names]: what a MIG device is called
//     elsewhere; [github.com/gpushare/gpushare/mig/fleet]: questions over many
//     GPUs; [github.com/gpushare/gpushare/mig/parted]: mig-parted's files, linted
//     without hardware.
//   - [github.com/gpushare/gpushare/mig/plan]: from a layout to a demand or to
//     another layout, with the fewest victims, and what that costs.
//   - [github.com/gpushare/gpushare/mig/device]: the MIG instances of a live GPU
//     read through NVML, and plans carried out on it as transactions.
//   - [github.com/gpushare/gpushare/mps]: the control daemon of MPS commanded, and the
//     arithmetic of its shares; [github.com/gpushare/gpushare/mps/mpsfake] is a daemon
//     to test against.
//   - [github.com/gpushare/gpushare/timeslice]: sharing in time. Replicas, slice
//     levels, vGPU schedulers, who runs when;
//     [github.com/gpushare/gpushare/timeslice/pluginconfig] says what a sharing config
//     of the device plugin really does,
//     [github.com/gpushare/gpushare/timeslice/device] sets vGPU schedulers, and
//     [github.com/gpushare/gpushare/timeslice/governor] says when a launch may go.
//   - [github.com/gpushare/gpushare/nvmlfake]: GPUs in memory behind go-nvml's
//     interfaces, which refuse what hardware refuses;
//     [github.com/gpushare/gpushare/nvmlfake/fault] makes any of them fail.
//
// What a package promises holds for all of them. Data flows one way: tables and
// live state become plain values, values become a decision, a decision becomes
// an effect. Decisions are pure: the same input gives the same output in the
// same order, randomness comes from the caller's seed, and time is passed in.
// Effects take a context and are checked by reading back. Amounts are integers:
// milli-GPU (1000 is one GPU), milli-vCPU, MiB. No value makes a package panic (a
// nil pointer or interface may, where nothing else is said). An error names the
// offending value and where it stands, and nothing has changed when one is
// returned, unless it says what is left.
//
// The rule people get wrong: free capacity in sum says nothing about what fits.
// Two halves of two GPUs are not a GPU, and seven free memory slices of eight
// take no 4g.20gb if the first is the one that is taken.
//
// Only mig/device, timeslice/device and nvmlfake need cgo, since go-nvml does; none
// needs a GPU or a driver to be built or tested. All else is pure Go for any system.
package gpushare
