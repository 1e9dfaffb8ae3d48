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
// ([Layout.DefaultStart]).
//
// The rule people get wrong: compute slices, or the numbers in profile names, do
// not tell whether a set fits. 4 x 1g.10gb + 3 x 1g.5gb is seven compute slices
// of seven, but eleven memory slices of eight. And once something stands there no
// sum tells: one 1g.5gb at 0 makes 4g.20gb impossible, though seven memory slices
// and six compute slices are free.
//
// Everything here is pure, deterministic and safe for concurrent use: no
// device, no cgo, no file. Tables are Go literals with source and confidence;
// what nobody has published is absent. Memory figures are defaults: the same
// profile differs by driver, so prefer what a live device reports.
package mig
