// Package plan says how to cut a GPU anew: from what stands there to what is
// wanted, with as few victims as possible and none that is in use.
//
// Use it before you touch a device, to see what a change destroys, and to have the
// steps as data; package mig/device carries them out. An A100 on which a job runs
// at 0, and 3g.20gb and 1g.5gb are wanted besides:
//
//	memory slice   0   1   2   3   4   5   6   7
//	before         1g! 1g  .   .   1g  .   .   .
//	                               ^ the victim: in the way of the 3g
//	after          1g! 1g  .   .   3g----------->
//
//	destroy 1g.5gb@4, create 3g.20gb@4
//
// The 1g at 1 is idle and becomes the one that is wanted; a tool that clears the
// GPU first would have destroyed three instances, one of them in use.
//
// The nouns: a [State] is what stands on one GPU, an [Instance] a GPU instance
// with its compute instances, a [Plan] a list of [Step] with what is kept and what
// stands at the end.
//
// The questions:
//
//   - [Repartition]: exactly what a demand asks shall stand there.
//   - [Admit]: a demand shall find its instances, busy ones stay.
//   - [Restore]: exactly these instances shall stand there, as before a reboot.
//   - [Plan.Check]: may this plan be carried out on what stands there now?
//   - [Costs.Of] and [Cost.BreakEven]: what does it cost, and when has it paid?
//   - [Gate.Next]: is it time, or would the layout flap?
//   - [Mode]: what must be done to turn MIG on or off?
//
// The answers are exact: no plan destroys fewer instances, or as many and loses
// less work. A refusal is a [*Refusal] with the limit that binds and the busy
// instances in the way; it never means that the search gave up. Over the 20244 pairs
// of a state of an A100 and a demand that no larger one contains, this is what is
// destroyed:
//
//	                  instances   per pair   cleared   more than   busy one
//	                  destroyed                        the plan      spared
//	plan                  47051       2.32      6602           0    28995
//	greedy diff           57163       2.82     12387        5785    15217
//	clear and rebuild     72136       3.56     20161       13559      244
//
// Greedy diff keeps what matches by profile, lowest starts first, creates the rest
// where the driver puts it, and clears the GPU if that fails; clear and rebuild
// destroys everything unless the counts are right already. The last column: if
// one of the instances is busy, in how many cases of 72380 it survives and the
// demand is met. BenchmarkPlan shows what trying permutations costs a device.
//
// The rules people get wrong: an order matters even where the end is legal, since
// a slice must be free before it is taken; so carry out the steps as they are, at
// the starts they name, and trust no default placement. And a plan is for the
// state it was made from: ids and starts are used again, so [Plan.Check] against
// what was read just now before the first step.
//
// A plan never changes the inside of a GPU instance that it keeps: other compute
// instances mean that it is destroyed and created again.
//
// Everything is pure, deterministic and safe for concurrent use; no clock is read.
// A plan costs some 5 to 30 microseconds, a refusal with several busy instances up
// to a millisecond.
package plan
