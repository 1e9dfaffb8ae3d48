// Package fragmentation says what the state of a node is worth to the tasks
// that are expected, and so what a choice strands.
//
// A [State] is what is left on a node: CPU, memory, and on each GPU the
// milli-GPU and device memory left or, where the GPU is cut by MIG, the layout
// of its instances. A [Shape] is what a task takes, a [Mix] the shapes that are
// expected with their counts, given or learned online ([Learner]). A [Value]
// turns a state into the milli-GPU of it that the mix is expected to use:
//
//	                 left on the node
//	|<------------------------------------------------->|
//	|  GPU 0: 190  |  GPU 1: 1000  |  GPU 2: 530 milli  |
//	|  no task of  |  of use to    |  of use to some    |
//	|  the mix     |  all of them  |                    |
//	|<- fragment ->|<------- value (expected use) ----->|
//
// One rule decides with any of them: a choice strands
//
//	V(before) - V(after) - what the task takes
//
// and the choice that strands least wins ([Strands]). What a state is worth
// does not depend on how it came about, so values can be cached by state and
// summed over nodes ([Sum]).
//
// # How far a value looks
//
// Values differ in the future that they count. What the next task could use is not
// what tasks will use up: [FGD] counts the first, [Capped] no more of it than the
// CPU lasts for, [Fill] what a run of tasks would fill. To tasks of 300 milli-GPU
// and 10 CPUs a node is worth
//
//	left on the node             FGD  Capped  Fill
//	4 GPUs and 20 CPUs          4000     600   600   CPU for two tasks
//	1 GPU and 64 CPUs           1000    1000   900   three tasks, and 100 left over
//	380 milli-GPU and 64 CPUs    380     380   300
//
// And what fits now is not what fits after the neighbours have left: [MIGFGD] counts
// the places that are free now, [Index] also those that come free. Where does a 2g
// go, if 3g, 2g and 1g are asked for alike?
//
//	memory slice 0   1   2   3   4   5   6   7     strands by    loses by
//	           ┌───┬───┬───────┬───┬───┬───┬───┐    MIGFGD        Index
//	           │1g │1g │=== 2g │1g │1g │1g │   │      -83           9.8
//	           │1g │1g │=== 2g │3g             │      -83          10.8
//	           │2g     │=== 2g │               │      -83          20.0
//	           │=== 2g │       │               │      +83          35.9
//	           │       │       │=== 2g │       │      +83          39.8
//	           └───┴───┴───────┴───────┴───┴───┘
//
// To MIGFGD a 2g breaks a place for a 3g or it does not: there are two scores, and
// the first three rows tie (ExampleIndex has more of them). But a half takes a 3g
// again when the neighbours have left: in the third row one of them, in the first two
// rows both, with no 1g put there in between, so little is spoiled. The last two
// rows tie too, but the half at 0 takes two 2g and the one at 4 a 2g and a 1g, so
// a 2g is better off at 0. What an Index says is relative and no milli-GPU: it is no
// Value and decides by [Index.Loss].
//
// # Which one to take
//
// For fractions and whole GPUs, on the public openb trace by the published protocol,
// ten seeds: GPU left when tasks for 130 % of it have come, mean of the 17 variants
// and on the default one; there, how many of the tasks of several GPUs were placed;
// a decision of a placement.Engine, and one that asks about all 1,213 nodes:
//
//	        17 variants   default   several GPUs   decision   all nodes
//	FGD        5.79 %      4.61 %       74 %          3 µs      0.1 ms
//	Capped     5.46 %      4.40 %       67 %         10 µs      0.6 ms
//	Fill       4.89 %      3.98 %       75 %         12 µs      3.7 ms
//
// When to take them, and when not:
//
//   - Fill is the default, better than FGD on every variant; with a mix learned as
//     tasks come it leaves 3.99 % on the default one. Tasks without a GPU pay in part:
//     on variant gpushare100 a tenth of the CPU they ask for is refused, and none by
//     FGD. Not without an engine where decisions must be fast.
//   - Capped: a cheap step from FGD where CPU runs short (on cpu250 it leaves 5.35 %,
//     Fill 5.75, FGD 6.59). Not where tasks of several GPUs matter: it spends whole
//     nodes.
//   - FGD is the measure of "Beware of Fragmentation" (USENIX ATC 2023), exact in
//     integers, and says why what is left is a fragment ([FGD.Amounts]). For reports,
//     for figures that are compared with published ones, and for least cost.
//
// For MIG instances that come and go: rejected requests and rejected compute slices
// against first fit, at load 1, mean of seven mixes, ten seeds (package
// placement/churn); a decision of an Engine about 512 GPUs, and one that asks about
// all:
//
//	                               64 GPUs       512 GPUs     decision   all GPUs
//	MIGFGD                       -18, -17 %     -32, -31 %     0.4 µs     160 µs
//	MIGFGD, used GPUs first      -17, -18 %     -37, -37 %     0.4 µs     160 µs
//	Index, learned: the default  -16, -18 %     -35, -36 %     0.4 µs      25 µs
//	Index, selected for the mix  -22, -23 %     -45, -45 %     0.4 µs      25 µs
//
// When to take them, and when not:
//
//   - Index with [DefaultIndex], by placement.IndexLearner: where the mix is not known,
//     or changes. Of 21 pairs of mixes that alternate it was worse than first fit
//     in none.
//   - Index selected by churn.Select: where the mix is known and stays. Not where it
//     may change: what a table does not expect, it spoils.
//   - MIGFGD with placement.UsedFirst: the simple rule without a table. Not MIGFGD
//     alone: where few requests for whole GPUs meet many small ones it opens empty
//     GPUs, and rejected 13 % more slices than first fit on 512 GPUs.
//   - On an A30 or RTX PRO 6000, whose profiles are halves and quarters, best fit does.
//
// The rule people get wrong: the smallest exact difference is not the best
// decision. On the public trace the strict steepest descent by FGD loses a point
// of allocation against a score cut into steps with ties filled in a fixed order;
// steps and order belong to the policy (package placement), not to the value.
//
// All amounts are integers: milli-GPU (1000 is one GPU), milli-vCPU, MiB. Values
// are fixed point: Of returns units of 1/Scale milli-GPU, where Scale comes from
// the counts of the mix, so that nothing is rounded. Everything is pure and safe
// for concurrent use, but for a Learner, and Of does not allocate.
package fragmentation
