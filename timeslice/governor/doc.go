// Package governor decides when a kernel launch may go, for shims that intercept
// CUDA launches to share a GPU.
//
// It is policy only: no CUDA, no clock, no thread, no sleep. Times are passed in,
// since a start of the caller's choosing; the same calls give the same answers.
//
//	process              shim                              Governor
//	launch ────────────► Ask(now, cost) ─────────────────► 0: go    > 0: ask again then
//	                       │ go                            Forever: ... after an event
//	                     event record, launch, event record
//	                       │ ended
//	                     Done(now, cost, used) ──────────► the charge is put right
//	utilisation sample,
//	loss or queue of the
//	protected tenant ──► Observe(now, signal, value) ────► credit, rate or gate
//
// # Which one
//
//	Feedback  hold a client to a share, even where the shim sees only part of its use
//	Quota     the same, strict in every window, by what the shim sees
//	AIMD      find the share that a protected job does not miss, from its progress
//	CoRun     fill the gaps of a latency-critical tenant, told when it has work
//
// A share is not a latency. On a time-sliced GPU a batch job held to a half still
// takes every other slice while a request runs: the request's p99 hardly moves.
// What protects it is not to start while it has work ([CoRun]), and few launches
// in flight. Example_compare shows all of them on the same requests.
//
// [Vcuda], [TGS] and [Gemini] are published laws, step by step as published, to
// compare with. They charge blocks or launches instead of time, save up while
// idle, or let a window fill from the front. [Open] grants all.
//
// # What holds
//
// Whatever the calls, from the start on, with granted the declared cost of what
// runs and, of what is done, the smaller of cost and use:
//
//	granted ≤ Share × time + Burst
//
// and over any stretch the same with the longest launch for Burst, if it is longer.
// Only a Feedback with a Refund lets the device's figure make use smaller.
//
// With the default Burst and Window a client that always has something to launch
// gets its Share within 2 % over any 10 s under Feedback, Quota and CoRun (its gate
// open), as far as the GPU has it to give and what is in flight stays under a
// quarter of Share × 200 ms. A launch longer than declared is a debt that the
// client pays off by waiting, up to Limit.Debt. All of it is computed in whole
// nanoseconds times millionths.
//
// # The rule people get wrong
//
// The time between a launch and its end is not what it used: on a shared GPU it
// holds the slices of others. Charge it as it is and a client gets the less the
// more neighbours it has. Give Done GPU time where there is a way to; else let
// the device's own figure put it right ([FeedbackConfig].Refund).
//
// # Concurrency and cost
//
// A governor belongs to one goroutine, or goes behind the lock of [Locked]. There
// is one for each client; it ends with the client, so that launches that never
// end hold nothing. Ask and Done take some tens of nanoseconds and allocate
// nothing.
//
// Package trial, below this one, is a simulated GPU to try rules on.
package governor
