// Package fragmentation says what the state of a node is worth to the tasks
// that are expected, and so what a choice strands.
//
// A [State] is what is left on a node: CPU, memory, and on each GPU the
// milli-GPU and device memory left or, where the GPU is cut by MIG, the layout
// of its instances. A [Shape] is what a task takes, a [Mix] the shapes that are
// expected with their counts. A [Value] turns a state into the milli-GPU of it
// that the mix is expected to use:
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
// summed over nodes.
//
// Two values are here. [FGD] looks one task ahead: for every shape of the mix,
// what is left counts where the task fits and is a fragment where it does not,
// with the cause (too little GPU, too little CPU, wrong model, no use for a GPU
// at all). It is the measure of "Beware of Fragmentation" (USENIX ATC 2023),
// exact in integers. [MIGFGD] looks one request ahead over the positions of
// cut GPUs. [Sum] adds values: a node is worth its uncut GPUs plus its cut ones.
//
// The rule people get wrong: the smallest exact difference is not the best
// decision. On the public trace the strict steepest descent loses a point of
// allocation against a score cut into steps of 40 to 160 milli-GPU with ties
// filled in a fixed order; steps and order belong to the policy (package
// placement), not to the value.
//
// All amounts are integers: milli-GPU (1000 is one GPU), milli-vCPU, MiB. Values
// are fixed point: Of returns units of 1/Scale milli-GPU, where Scale comes from
// the counts of the mix, so that nothing is rounded. Everything is pure and safe
// for concurrent use; a value costs shapes x GPUs steps and no allocation.
package fragmentation
