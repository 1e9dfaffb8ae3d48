// Package trial is a GPU in a few hundred lines, to try launch governors on: clients
// with arrivals and kernels, an engine that is first come first served or
// time-sliced, exact nanoseconds, and nothing random but what a seed decides.
//
//	requests -> Governor.Ask -> queue of the client -> engine -> Governor.Done
//	(Poisson      (held until     (Depth launches)      (FIFO or
//	 or endless)   granted)                              slices)
//	every Sample:   Observe(Used) to each client, Observe(Loss) to the unprotected
//	at each change: Observe(Pressure) to the unprotected
//
// A launch costs the host nothing and arrives at once; signals are not delayed;
// kernels of different clients never overlap. What comes out is a comparison of
// rules under the same arrivals, not a forecast for a machine: the arrivals and
// the kernels of a client depend on the seed and on its place in the list alone,
// so two trials with one seed see the same requests.
//
// Run is a pure function but for the governors, which it drives. It takes some
// hundred nanoseconds an event.
package trial
