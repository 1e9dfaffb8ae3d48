// Package replay offers a list of tasks to a cluster, one after the other, and
// measures what a placement policy makes of it.
//
// Use it to compare policies, mixes and fleets on a trace before touching a
// real cluster: the policies are those that a scheduler embeds, so what is
// measured is what would run.
//
//	tasks by arrival      t=0      t=3           t=7
//	                       |        |             |
//	departures due first   -    release a      release b, c
//	then the arrival    place a  place b       d refused: dropped, never retried
//	                       |        |             |
//	arrived milli-GPU   |--1 %--2 %--3 %-- ... --130 %-->   one Sample at each
//
// The horizontal axis of every curve is what has arrived: the milli-GPU of all
// tasks offered so far, placed or not, over the capacity of the cluster. It does
// not depend on the policy, so curves of several policies and seeds line up:
// Samples[c] is the state when c percent had first arrived.
//
// Where tasks leave again, set a warm-up and read Metrics.Steady: a fleet that
// starts empty refuses little at first, and one of 512 GPUs takes some twenty mean
// lifetimes to become as fragmented as it stays. [Churn] draws such tasks, [GapFor]
// how close together they come for a load, [Config].Repair moves tasks within a
// budget, and [Change] says over paired seeds what a rule is worth, with a 95 %
// interval. Compare by count and by slices: refusing large requests alone improves
// one, repacking for them the other.
//
// The rule people get wrong: the fragmentation rate (of what is left, how much
// is of no use) tends to 100 % under every policy once the cluster is full. The
// amount (of no use, over the capacity) tells policies apart.
//
// A replay is a pure function of its Config but for the elapsed time, which is
// kept apart. [Run] uses one goroutine, and [Seeds] runs several replays at a
// time. A decision costs one look at every node and one call of the policy for
// every node that changed since a task of that shape came by; a sample costs
// one look at every node and one valuation of those that changed.
package replay
