package mps

import (
	"fmt"
	"math"
)

// What a split may be asked for: far above any daemon, so that no sum overflows.
const (
	maxShares = 128
	maxWeight = 10000
	maxBudget = 100 * maxShares
)

// Share is what one client may use: a ceiling, not a reservation. Two clients may run
// on the same SMs.
type Share struct {
	Percent   int   `json:"percent"`   // active thread percentage
	SMs       int   `json:"sms"`       // what that comes to in whole TPCs; never 0
	MemoryMiB int64 `json:"memoryMiB"` // pinned device memory limit; 0 if the memory is not known
}

// Split is a device divided among clients.
type Split struct {
	Device    string  `json:"device"`
	SMs       int     `json:"sms"`       // of the device
	MemoryMiB int64   `json:"memoryMiB"` // of the device; 0: not known
	Clients   []Share `json:"clients"`   // in the order asked

	StrandedSMs int   `json:"strandedSMs"` // in no client's share; 0 if the shares overlap
	StrandedMiB int64 `json:"-"`           // in no client's limit
}

// SplitOptions are the choices of SplitWeighted. The zero value is the usual split.
type SplitOptions struct {
	// Budget is the most that the percentages may sum to; 0 means 100. Less keeps
	// some back. More makes shares overlap: 200 gives two clients of equal weight the
	// whole device each. Memory is never given out twice.
	Budget int

	// BySMs counts the SMs of the shares against the budget in place of their
	// percentages. Whole percentages waste up to a TPC for each client; the daemon
	// does not add them up, so 34 % three times on 132 SMs is 44 SMs three times,
	// nothing stranded and nothing shared, though the sum is 102.
	BySMs bool
}

// SplitEven divides the device among n clients as NVIDIA's device plugin does: 100/n
// percent each and total/n MiB each, both rounded down.
//
// The error wraps ErrInput, and ErrNoSMs if the percentage comes to no SM: that is a
// device of few SMs and many clients, which the device plugin lets through.
func SplitEven(c Capacity, n int) (Split, error) {
	if n < 1 || n > maxShares {
		return Split{}, fmt.Errorf("%w: %d clients: want 1 to %d", ErrInput, n, maxShares)
	}
	if _, err := c.valid(); err != nil {
		return Split{}, err
	}
	percent := 100 / n
	if percent == 0 {
		return Split{}, fmt.Errorf("%w: 100 %% among %d clients is less than 1 %% each", ErrNoSMs, n)
	}
	sms, err := c.EffectiveSMs(float64(percent))
	if err != nil {
		return Split{}, fmt.Errorf("%w: %d clients", err, n)
	}
	share := Share{Percent: percent, SMs: sms}
	if c.MemoryMiB > 0 {
		if share.MemoryMiB, err = SplitMemory(c.MemoryMiB, n); err != nil {
			return Split{}, err
		}
	}
	clients := make([]Share, n)
	for i := range clients {
		clients[i] = share
	}
	return newSplit(c, clients), nil
}

// SplitWeighted divides the device among clients of these relative weights, and of all
// fair ways takes one that strands the fewest SMs.
//
// Fair means: a client gets its proportional part of the TPCs rounded down or up, and
// at least one. Where the budget does not pay for that (whole percentages cost more
// than the TPCs they give), clients may get up to d TPCs fewer, with the smallest d
// that the budget pays for. Among ways that strand equally few, the one nearest to
// proportional wins (least sum of squared differences in TPCs); then a heavier client
// goes short before a lighter one, and a later one before an earlier.
// Percentages are the smallest that give the SMs. Memory is divided in whole MiB with
// nothing left. On a device of more than 100 TPCs, rounding is to the next number that
// a whole percentage gives.
//
// Weights are 1 to 10000 each (after division by what they have in common), at most
// 128 of them. The error wraps ErrInput, and ErrNoSMs if there is not one TPC for
// each. The search is exact; it takes microseconds for the
// clients of one GPU, and grows with their number times the budget.
func SplitWeighted(c Capacity, weights []int, o SplitOptions) (Split, error) {
	perTPC, err := c.valid()
	if err != nil {
		return Split{}, err
	}
	weights, err = reduceWeights(weights)
	if err != nil {
		return Split{}, err
	}
	budget := o.Budget
	if budget == 0 {
		budget = 100
	}
	if budget < 1 || budget > maxBudget {
		return Split{}, fmt.Errorf("%w: a budget of %d %%: want 1 to %d", ErrInput, budget, maxBudget)
	}
	s := search{sms: c.SMs, perTPC: perTPC, weights: weights, percent: budget, bySMs: o.BySMs}
	for _, w := range weights {
		s.sum += w
	}
	tpcs, ok := s.best()
	if !ok {
		each := smallestPercent(c.SMs, perTPC, 1)
		return Split{}, fmt.Errorf("%w: %d clients of one TPC each take %d %% each, and the budget is %d %%",
			ErrNoSMs, len(weights), each, budget)
	}
	clients := make([]Share, len(weights))
	for i, n := range tpcs {
		clients[i] = Share{Percent: smallestPercent(c.SMs, perTPC, n), SMs: n * perTPC}
	}
	if c.MemoryMiB > 0 {
		for i, mib := range splitByWeight(c.MemoryMiB, weights) {
			if mib == 0 {
				return Split{}, fmt.Errorf("%w: client %d: its part of %d MiB is less than 1 MiB", ErrInput, i, c.MemoryMiB)
			}
			clients[i].MemoryMiB = mib
		}
	}
	return newSplit(c, clients), nil
}

// newSplit adds up what is stranded.
func newSplit(c Capacity, clients []Share) Split {
	s := Split{Device: c.Device, SMs: c.SMs, MemoryMiB: c.MemoryMiB, Clients: clients}
	sms, mib := c.SMs, c.MemoryMiB
	for _, share := range clients {
		sms -= share.SMs
		mib -= share.MemoryMiB
	}
	s.StrandedSMs, s.StrandedMiB = max(sms, 0), mib
	return s
}

// reduceWeights checks the weights and divides them by what they have in common.
func reduceWeights(weights []int) ([]int, error) {
	if len(weights) < 1 || len(weights) > maxShares {
		return nil, fmt.Errorf("%w: %d clients: want 1 to %d", ErrInput, len(weights), maxShares)
	}
	common := 0
	for i, w := range weights {
		if w < 1 || w > math.MaxInt32 {
			return nil, fmt.Errorf("%w: client %d: weight %d: want a positive number", ErrInput, i, w)
		}
		for a, b := w, common; ; a, b = b, a%b {
			if b == 0 {
				common = a
				break
			}
		}
	}
	reduced := make([]int, len(weights))
	for i, w := range weights {
		reduced[i] = w / common
		if reduced[i] > maxWeight {
			return nil, fmt.Errorf("%w: client %d: weight %d, %d after division by what the weights have in common: want at most %d",
				ErrInput, i, w, reduced[i], maxWeight)
		}
	}
	return reduced, nil
}
