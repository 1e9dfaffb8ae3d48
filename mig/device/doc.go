// Package device reads and changes the MIG instances of a live GPU through
// NVML, in the terms of package mig.
//
// Use it where a program holds an NVML device handle and wants to know how the
// GPU is cut, to carry out a plan of package plan as one transaction, or to create
// and destroy a single instance. What should be cut, and where, is decided
// without a GPU: see packages mig and plan.
//
//	nvml.Device ──Open──► GPU ──State────────────────► Mode, Instances, mig.Layout
//	                       ├──PlanState──► plan.State ──► plan.Repartition ─┐
//	                       ├──Apply(plan.Plan) ◄────────────────────────────┘
//	                       │    └─► Report: done, or rolled back, or what is left
//	                       ├──Resume(Journal), Undo(Journal)
//	                       ├──Create(mig.Instance)────► Instance with its MIG UUID
//	                       └──Destroy(Instance)
//
// A transaction:
//
//	read ─► same state, MIG on, no victim in use? ─no─► refused, nothing has changed
//	 │yes
//	 ▼
//	each step: journal, change, read back, journal ─────► the goal stands: Done
//	 │ a step fails, the context ends
//	 ▼
//	back to the former layout, read back ──────────────► Unchanged, RolledBack
//	 │ not to be had: in use by now, another's, the GPU gone
//	 ▼
//	report of what stands: Left ──────► Resume or Undo, with the journal, later
//
// Destroy takes an Instance as it was read, not a start, and destroys that one or
// none. Create makes one compute instance of full size, since nothing can run on a
// GPU instance without one; which profile that is, the GPU instance says: the one
// with the most multiprocessors, never the one with the right name.
//
// The rules people get wrong:
//   - A call that returned is not a change that happened, and one that failed may
//     have happened all the same. Everything here reads the GPU again and goes by
//     what it shows.
//   - A destruction cannot be undone. The same instance created again has another
//     UUID, and whoever was given the old one has to be told: a report lists both
//     (Renewed).
//   - A start and an id are not an identity. Between a decision and its
//     execution another process can put another instance there, under the same
//     number; only the UUIDs of the compute instances differ. Destroy compares
//     them and refuses what is not the instance that was read (ErrChanged). Until
//     a new compute instance's UUID has been read, the next call but one after its
//     creation, it has no name: what another process puts in its place just then,
//     alike, is taken for it. A lock file (Lock) keeps those out who share it.
//   - The number that selects a profile is not the number that the driver
//     prints, and the printed number of one name differs between boards. Both
//     are read from the very GPU that is about to be changed.
//   - A figure of the table never overrules the device. Where the two disagree
//     about a profile, using that profile is an error that names both
//     (ErrMismatch); the other profiles stay usable.
//   - Insufficient resources is one code for two things: something stands in
//     the way (the error is then a *mig.ConflictError that names it), or the
//     driver has no room although nothing does (ErrNoRoom).
//
// When a Create or a Destroy returns an error nothing has changed, or the *OpError
// says in its field Left what a half-done step left behind.
//
// A call into the driver cannot be cancelled, and one can take seconds or hang.
// Each operation works in a goroutine of its own; when its context ends, it
// returns within a twentieth of a second all the same, and if a call has not
// returned by then the error is ErrIndeterminate besides and names the call. The
// goroutine puts things in order once the call returns (Create takes back what it
// made, Destroy stops, Apply rolls back), and until then the next operation on the
// GPU waits. A call that never returns keeps that goroutine, and the GPU's turn,
// for ever.
//
// A GPU is safe for concurrent use and does one thing at a time. Other
// processes can change the same GPU at any moment, also between two calls of
// this package; nothing is cached and no NVML handle is kept across a change,
// so the next State tells the truth. Lock keeps the processes that agree on a
// file out of each other's way.
//
// A State costs some 35 calls into the driver and 15 to 20 more per instance, a
// Create two of them, a Destroy one and some ten calls, an Apply what its steps
// cost and two States besides, with Blockers; on hardware a destruction takes
// about a second.
//
// The package needs cgo, as go-nvml does. Only plain structs of go-nvml are
// used, so that a fake can stand in for the driver.
package device
