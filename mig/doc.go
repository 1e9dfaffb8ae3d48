// Package mig knows what NVIDIA's Multi-Instance GPU can cut, and where.
//
// A GPU in MIG mode is cut into GPU instances. Each is of a profile, such as
// 3g.20gb, and covers a run of memory slices that may begin only at certain
// starts. On an A100 the table reads:
//
//	memory slice   0   1   2   3   4   5   6   7
//	1g.5gb         x   x   x   x   x   x   x          1 slice each
//	1g.10gb        x-------x-------x-------x------    2 slices
//	2g.10gb        x-------x-------x------            2 slices
//	3g.20gb        x---------------x--------------    4 slices
//	4g.20gb        x--------------                    4 slices
//	7g.40gb        x------------------------------    8 slices
//
// So a 3g.20gb at 4 leaves room for four 1g.5gb beside it, and one at 0 for
// three, with a compute slice that nothing can use: where an instance goes
// decides what fits later.
//
// The nouns: a [Model] is the table of one GPU model, a [Profile] one row of
// it, an [Instance] a profile at a start, a [Layout] the instances on one GPU
// (a small comparable value, valid by construction), a [Demand] how many of
// each profile are wanted.
//
// The questions: which starts are free ([Layout.FreeStarts]), what still fits
// ([Layout.Remaining]), what is lost ([Layout.Stranded]), which layouts exist
// ([Model.Layouts]), does a demand fit beside what is there ([Layout.Fit]),
// and where would the driver put an instance if nobody says
// ([Layout.DefaultStart]). Which profile covers a need ([Model.Smallest]), which
// of many GPUs takes a demand best ([Best]), what stands inside a GPU instance
// ([Model.Furnish], [Model.ComputeLayout]), and what a device says otherwise than
// its table ([Compare]).
//
// Packages beside this one: mig/names (UUIDs, Kubernetes resources and the like),
// mig/fleet (a demand over many GPUs, the best cut of a fleet), mig/plan (how to
// get from one layout to another), mig/parted (mig-parted's files) and, with cgo,
// mig/device (the same on a live GPU).
//
// The rule people get wrong: compute slices, or the numbers in profile names, do
// not tell whether a set fits. 4 x 1g.10gb + 3 x 1g.5gb is seven compute slices
// of seven, but eleven memory slices of eight. And once something stands there no
// sum tells: one 1g.5gb at 0 makes 4g.20gb impossible, though seven memory slices
// and six compute slices are free.
//
// Whether a plain 1g may stand beside a 1g+me is disputed: the vendor's guide
// allows one media instance and forbids nothing else, mig-parted's built-in model
// forbids any other 1g. The tables allow it; a table made from a device that says
// otherwise has Spec.MediaAlone set.
//
// Everything here is pure, deterministic and safe for concurrent use: no
// device, no cgo, no file. Tables are Go literals with source and confidence;
// what nobody has published is absent. The placements of RTX PRO 5000 and 4500
// and of Thor are: [Model.HasGeometry] is false there, and questions answer
// ErrUnknownGeometry. Memory figures are defaults: the same profile differs by
// driver, so prefer what a live device reports, as a model of its own
// ([NewModel]).
package mig
