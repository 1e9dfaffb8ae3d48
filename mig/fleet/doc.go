// Package fleet answers questions of package mig over many GPUs of any models:
// where a demand goes at the least weight, and how GPUs should be cut for what is
// waiting.
//
//	Fit      GPUs with what stands on them, a demand
//	         ─► the layout of each afterwards, the GPUs used, their weight
//	BestMix  GPUs with what stands on them, a histogram of requests
//	         ─► layouts and how many GPUs get each, what is served and what not
//
// Use Fit for a node pool that must take a set of instances on as few GPUs as
// possible, and as the exact answer beside which a scheduler's choices are judged.
// Use BestMix to plan a fleet. For one instance at a time mig.Best is enough, and
// faster.
//
// What stands on a GPU does not move. The answer is its own certificate: the
// layouts hold what stood there, and the demand besides.
//
// The rule people get wrong: placing instances one by one, largest first, each on
// the first GPU that takes it, uses a fifth more GPUs than needed on 8 differing
// ones, and half as many again on hundreds. What counts is which instances share
// a GPU, and that is decided for all of them together.
//
// Both questions are hard in general. The searches are exact and bounded by a
// budget of steps. Where it ends first, the error wraps ErrGaveUp and comes with
// the best answer found and a proven bound; it never means no. A no is a *FitError
// that says which limit binds.
//
// Everything is pure, deterministic and safe for concurrent use. Milliseconds for
// dozens of different GPUs, and for thousands of few kinds.
package fleet
