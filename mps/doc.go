// Package mps speaks to the control daemon of NVIDIA MPS, and does the arithmetic of
// sharing a GPU by it.
//
// MPS lets processes of one user run on a GPU at the same time: a control daemon
// starts a server for each user, and the server's clients share its context. The only
// documented way to command the daemon is to run nvidia-cuda-mps-control, once for each
// command. That is the seam here:
//
//	        Client (protocol 2)   V3 (protocol 3)   Daemon (start, ready, quit)
//	               \                   |                  /
//	Runner:      Run(ctx, Call{Args, Input}) -> Output{Stdout, Stderr, Exit}
//	               /                                      \
//	Exec: the program, under a deadline         mpsfake: the same, in memory or as a
//	                                            program with a pipe directory
//
// # Commanding
//
// [Client] has a method for each command of protocol 2, [V3] for those of protocol 3 but
// the configuration file; [Client.Detect] says which one a daemon speaks. Every call has
// a deadline, after which the program is killed and reaped. What is set is read back
// where a command for that exists ([Setting] says so), and with an [Identity] two runs
// of one method never straddle a restart of the daemon unnoticed ([ErrReplaced]).
// [Daemon] starts one, waits until it answers and its limits are set and read back, and
// quits it; [Client.Watch] follows its servers, [Tail] and [LogMonitor] its logs.
//
// The rule people get wrong: exit status 0 is no success. Many commands that fail end
// with 0 and say so in the text, which ordinary clients never read. Here the text
// decides, the exit status is a hint, and an [OpError] keeps both, with a [Kind] to
// compare by errors.Is. The reply to a question that is not understood is an error, never
// an answer. What the daemon says to most orders is not published: they succeed unless
// the text looks like a failure or the value reads back as another, their text is kept,
// and Verified tells whether it was read back.
//
// The second: a default is for servers that start later, a server's value for clients
// that connect later, and either for each client process, not for a container
// ([ReachableMiB]). Changing a default does nothing to a server that runs.
//
// # Arithmetic
//
// A percentage is rounded down to whole TPCs of two SMs, so 33 % of 132 SMs is 42 and
// three such clients leave six SMs to nobody; 1 % is none at all, and refused:
//
//	132 SMs  |<-- 42 -->|<-- 42 -->|<-- 42 -->| 6 |     SplitEven: 33, 33, 33 %
//	         |<--- 44 --->|<--- 44 --->|<- 42 ->|2|     SplitWeighted: 34, 34, 32 %
//
// [SplitEven] does as the Kubernetes device plugin does, [SplitWeighted] strands least,
// also for unequal weights. [Chunks] is about static partitions, [MaxClients] about how
// many clients a server takes, [EvictionOrder] and [Allocate] about soft and hard memory
// limits, [FaultDomain] about whom a fault reaches. [NewPlan] puts it together for one
// GPU or MIG instance: limits, environment and mounts as data for a container runtime.
// [ClientEnv] builds and checks what a client is started with, and names what makes the
// driver drop its limits.
//
// Memory is in MiB, percentages are of the SMs of one device. How sure a fact is stands
// beside it, and is part of the answer where it matters ([Certainty], the Bound of
// [Chunks]).
//
// # Concurrency and cost
//
// A Client, a V3, a Daemon and a Runner are safe for concurrent use; methods that change
// something take turns. A command costs a process of the driver's program, some
// milliseconds; of ours it is about a microsecond, some tens with the check of the pid
// file. The arithmetic is pure; SplitWeighted takes about 10 µs for three clients and 100
// for 48. Standard library only, no cgo, any system; a daemon runs on Linux.
package mps
