// Package timeslice is about GPUs whose clients take turns: what each gets, how
// long it waits, and what was promised to whom.
//
// Without MIG or MPS the processes on a GPU never run at the same instant. The
// driver gives the GPU to one for a slice, then to the next; a vGPU host does the
// same with virtual machines. Use this package to find out before a deployment
// what that means for a workload, to count and give out replicas as a Kubernetes
// node does, and to set the few knobs that there are. It needs no GPU.
//
// # Turns
//
// Clients a, with work without end, and b, with half a slice of it. | is a switch:
//
//	round robin         aaaa|bb|aaaaaaaaaaaaaaaaaaaaa    nobody waits for who is idle
//	equal share         |aaaa|bb--|aaaa|----|aaaa|---    b keeps its window
//	fixed share of 3    |aaaa|bb--.....|aaaa|----....    and so does a place nobody has
//
// With n clients, a slice S and a switch C: S / (S + C) of the time is work, endless
// work takes n (S + C) / S times as long as alone, and nobody waits longer than
// (n - 1)(S + C) + C for a turn. [Turns] has such forms, [Shares] divides a
// GPU by demand, and [Simulate] runs clients with arrivals of any pattern turn by
// turn and reports shares, waits and turnarounds. They agree, which is tested.
//
//	RoundRobin      processes under the plain driver  idle time goes to the others
//	BestEffort      vGPUs by default                  the same
//	EqualShare      vGPUs, 1 / those that run         idle time is lost
//	FixedShare      vGPUs, 1 / those that could       idle time is lost, neighbours do not matter
//	StrictFraction  a fraction for each client        the same
//	FairFraction    a fraction at least               idle time goes to the others
//	ExclusiveTurn   turns of seconds, memory paged    given back early, first come first served
//
// # What is where
//
//   - [Device], [Expand] and [Allocate]: replicas, with the ids of the device plugin,
//     given out by its policies or on distinct GPUs; [Affected]: what fails together.
//   - [Ledger]: whose memory peaks were admitted to which device, since nothing else
//     keeps them apart.
//   - [Level] and [SMI]: the driver's slice, through nvidia-smi.
//   - [VGPUScheduler] and [PVMRL]: parameters of a vGPU host, checked and decoded.
//   - [Sim], [Turns], [Shares], [SwitchPart], [Paging]: the model.
//
// Packages below this one: timeslice/pluginconfig (the sharing section of the
// device plugin's configuration), timeslice/governor (when a shim lets a launch go)
// and, with cgo, timeslice/device (vGPU schedulers of a live GPU).
//
// # The rules people get wrong
//
// A replica is no share. Of a GPU with ten replicas a client alone has all the
// time, beside nine others a tenth, and with two replicas of one GPU no more than
// with one. No replica has memory of its own either: who allocates last gets the
// error. And an error of one may end them all.
//
// A share is no latency. A client with a tenth of the GPU that wants 1 ms may wait
// for nine slices first; a shorter slice shortens the wait, and costs more switches.
//
// How long the levels short, medium and long last is not published, nor is the cost
// of a switch. Both are inputs here ([Lengths], Sim.Switch), best measured:
// five tasks that took 6.05 to 6.15 times as long together as one alone, not 5
// times, lost a fifth to a quarter of a slice at each switch. That is derived
// ([SwitchPart]), not read from a driver.
//
// # Concurrency and cost
//
// All times are int64 nanoseconds, shares are thousandths or a [Ratio], memory is
// MiB. Arithmetic is exact, nothing reads a clock, and what is random comes from
// Sim.Seed: same input, same output. Everything is safe for concurrent use but a
// [Ledger]; [SMI] starts processes, the rest is pure. A simulated turn takes tens of
// nanoseconds with 64 clients; the memory does not grow with the horizon.
package timeslice
