package timeslice

import "fmt"

// Turns is the plain case that has closed forms: so many clients take turns of
// Slice ns, and each turn begins with a switch of Switch ns if there is more than
// one client. For [EqualShare] Clients is the number of vGPUs that run, for
// [FixedShare] the number of places.
//
//	| C |    S    | C |    S    | C |    S    | C |    S    |
//	    client 0      client 1      client 2      client 0
//	              |<- (n-1)(S+C) + C: waits  ->|
type Turns struct {
	Clients int
	Slice   int64 // ns, S below
	Switch  int64 // ns, C below
}

// Validate refuses numbers of clients outside 1..[MaxClients] and times outside
// 1..[MaxTime] (a switch may be 0). The other methods answer the zero value then.
func (t Turns) Validate() error {
	if t.Clients < 1 || t.Clients > MaxClients {
		return fmt.Errorf("%w: %d clients, not in 1..%d", ErrInput, t.Clients, MaxClients)
	}
	if t.Slice < 1 || t.Slice > MaxTime {
		return fmt.Errorf("%w: slice %d ns, not in 1..%d", ErrInput, t.Slice, MaxTime)
	}
	if t.Switch < 0 || t.Switch > MaxTime {
		return fmt.Errorf("%w: switch %d ns, not in 0..%d", ErrInput, t.Switch, MaxTime)
	}
	return nil
}

// switchCost is C: nothing is switched for a client that is alone.
func (t Turns) switchCost() int64 {
	if t.Clients == 1 {
		return 0
	}
	return t.Switch
}

// Efficiency is the part of the time in which work is done: of each S + C the
// slice, so S / (S + C); 1 for a client alone.
func (t Turns) Efficiency() Ratio {
	if t.Validate() != nil {
		return Ratio{}
	}
	return Ratio{Num: t.Slice, Den: t.Slice + t.switchCost()}
}

// Slowdown is how many times longer endless work takes than alone, all clients
// busy: a round of n (S + C) brings one slice of S, so n (S + C) / S.
func (t Turns) Slowdown() Ratio {
	if t.Validate() != nil {
		return Ratio{}
	}
	return Ratio{Num: int64(t.Clients) * (t.Slice + t.switchCost()), Den: t.Slice}
}

// WorstWait bounds the time (ns) in which a client with work does not run: it
// became ready, or its slice ended, just as the others begin their turns, and then
// its own switch comes: (n-1)(S + C) + C. All busy, it is reached.
func (t Turns) WorstWait() int64 {
	if t.Validate() != nil {
		return 0
	}
	c := t.switchCost()
	return int64(t.Clients-1)*(t.Slice+c) + c
}

// Latest bounds the time (ns) from the arrival of work that takes so long alone
// (ns, at least 1) until it is done. It takes r = ceil(work/S) turns, each after
// a worst wait: r ((n-1)(S + C) + C) + work. Saturates.
func (t Turns) Latest(work int64) int64 {
	if t.Validate() != nil || work < 1 {
		return 0
	}
	return satAdd(satMul(t.rounds(work), t.WorstWait()), work)
}

// Earliest is the time (ns) that work takes if its client has the GPU when it
// arrives, at the beginning of a slice, and all others are busy: one turn needs no
// wait, so (r-1) ((n-1)(S + C) + C) + work. Saturates.
func (t Turns) Earliest(work int64) int64 {
	if t.Validate() != nil || work < 1 {
		return 0
	}
	return satAdd(satMul(t.rounds(work)-1, t.WorstWait()), work)
}

func (t Turns) rounds(work int64) int64 { return (work-1)/t.Slice + 1 }

// SmallestSlice is the least slice (ns) that loses at most the given part of the
// time to switches of so many ns. From C / (S + C) <= e follows S >= C (1 - e) / e.
// At least 1. [ErrInput] unless the switch is in 0..[MaxTime] and 0 < loss <= 1.
func SmallestSlice(switchCost int64, loss Ratio) (int64, error) {
	if switchCost < 0 || switchCost > MaxTime {
		return 0, fmt.Errorf("%w: switch %d ns, not in 0..%d", ErrInput, switchCost, MaxTime)
	}
	if loss.Num < 1 || loss.Den < loss.Num {
		return 0, fmt.Errorf("%w: loss %d/%d is not above 0 and at most 1", ErrInput, loss.Num, loss.Den)
	}
	return max(1, mulDivUp(switchCost, loss.Den-loss.Num, loss.Num)), nil
}

// SwitchPart derives what a switch costs, as a part of a slice, from a
// measurement: work that takes alone ns took together ns when so many clients did
// the same at once. The slowdown together/alone is n (S + C) / S, so
//
//	C / S = together / (n * alone) - 1
//
// It is an effective cost: refilled caches and gaps between launches are in it.
// Five clients of 1.427 s that took 8.62 to 8.78 s give 0.208 to 0.230, which
// would be 213 to 236 us if the slice was 1.024 ms. [ErrInput] for fewer than 2
// clients, times outside 1..[MaxTime], or a measurement faster than no cost at all.
func SwitchPart(clients int, alone, together int64) (Ratio, error) {
	if clients < 2 || clients > MaxClients {
		return Ratio{}, fmt.Errorf("%w: %d clients, not in 2..%d", ErrInput, clients, MaxClients)
	}
	if alone < 1 || alone > MaxTime || together < 1 || together > MaxTime {
		return Ratio{}, fmt.Errorf("%w: %d ns alone and %d ns together, not in 1..%d", ErrInput, alone, together, MaxTime)
	}
	ideal := int64(clients) * alone
	if together < ideal {
		return Ratio{}, fmt.Errorf("%w: %d clients of %d ns took %d ns together, less than one after the other", ErrInput, clients, alone, together)
	}
	return Ratio{Num: together - ideal, Den: ideal}, nil
}

// SwitchFromSlowdown is [SwitchPart] of a slice of so many ns, in ns, rounded down.
func SwitchFromSlowdown(clients int, slice, alone, together int64) (int64, error) {
	part, err := SwitchPart(clients, alone, together)
	if err != nil {
		return 0, err
	}
	if slice < 1 || slice > MaxTime {
		return 0, fmt.Errorf("%w: slice %d ns, not in 1..%d", ErrInput, slice, MaxTime)
	}
	return mulDiv(slice, part.Num, part.Den), nil
}

// ARR is the account of adaptive round robin for one client: what it ran beyond
// its slices is written down and paid back in parts. The zero Accrued is a client
// that owes nothing.
type ARR struct {
	Slice   int64 // ns, wanted
	Factor  int64 // averaging factor, at least 1; less pays nothing back
	Accrued int64 // ns, owed
}

// Target is the length (ns) of the next slice: S - a/F, not below 0.
func (a ARR) Target() int64 { return max(0, a.Slice-a.repay()) }

func (a ARR) repay() int64 {
	if a.Factor < 1 {
		return 0
	}
	return a.Accrued / a.Factor
}

// Next is the account after a slice of Target that was overrun by so many ns:
// a' = a - a/F + o. For a constant overrun the account settles at F*o, where each
// turn pays back what it adds: T = S - o, and the client runs T + o = S. After k
// turns from nothing it is short of that by the part (1 - 1/F)^k. Saturates.
func (a ARR) Next(overrun int64) ARR {
	if a.Factor < 1 {
		return a
	}
	a.Accrued = satAdd(a.Accrued-a.repay(), max(0, overrun))
	return a
}

// Paging is a GPU whose clients have more memory in use than it has, each in an
// exclusive turn: what does not fit is moved out and back at every turn.
type Paging struct {
	WorkingSets []int64 // MiB, of each client; at most 1<<40
	Capacity    int64   // MiB
	LinkRate    int64   // bytes per second and direction
}

// Cost is the time (ns, rounded up) that a turn of client i spends on moving
// memory: x out and x in, where x = min(its working set, sum of all - capacity);
// so 2x / rate, and 0 if all fit. Saturates. [ErrInput] for sizes or rates out of
// bounds or a client that does not exist.
func (p Paging) Cost(i int) (int64, error) {
	if i < 0 || i >= len(p.WorkingSets) {
		return 0, fmt.Errorf("%w: client %d of %d", ErrInput, i, len(p.WorkingSets))
	}
	if p.Capacity < 0 || p.LinkRate < 1 {
		return 0, fmt.Errorf("%w: capacity %d MiB, link %d bytes/s", ErrInput, p.Capacity, p.LinkRate)
	}
	var sum int64
	for j, ws := range p.WorkingSets {
		if ws < 0 || ws > maxMiB {
			return 0, fmt.Errorf("%w: working set of %d MiB of client %d, not in 0..%d", ErrInput, ws, j, int64(maxMiB))
		}
		sum = satAdd(sum, ws)
	}
	moved := min(p.WorkingSets[i], max(0, sum-p.Capacity))
	return mulDivUp(2*moved<<20, 1_000_000_000, p.LinkRate), nil
}

// Efficiency is the part of a turn of quantum ns, and the moves before it, in
// which client i works: Q / (Q + cost). 10 GiB over 25 GB/s cost 0.86 s: 97 % of a
// turn of 30 s, 54 % of one of 1 s. Errors as of Cost, and for a quantum outside
// 1..[MaxTime].
func (p Paging) Efficiency(i int, quantum int64) (Ratio, error) {
	cost, err := p.Cost(i)
	if err != nil {
		return Ratio{}, err
	}
	if quantum < 1 || quantum > MaxTime {
		return Ratio{}, fmt.Errorf("%w: quantum %d ns, not in 1..%d", ErrInput, quantum, MaxTime)
	}
	return Ratio{Num: quantum, Den: satAdd(quantum, cost)}, nil
}
