package mps

import (
	"cmp"
	"fmt"
	"slices"
)

// SplitMemory divides memory among n clients as the device plugin does: total/n each,
// in whole MiB, rounded down. What remains is less than n MiB.
func SplitMemory(totalMiB int64, n int) (eachMiB int64, err error) {
	switch {
	case n < 1 || n > maxShares:
		return 0, fmt.Errorf("%w: %d clients: want 1 to %d", ErrInput, n, maxShares)
	case totalMiB < 1 || totalMiB > maxMemoryMiB:
		return 0, fmt.Errorf("%w: %d MiB of memory", ErrInput, totalMiB)
	}
	each := totalMiB / int64(n)
	if each == 0 {
		return 0, fmt.Errorf("%w: %d MiB among %d clients is less than 1 MiB each", ErrInput, totalMiB, n)
	}
	return each, nil
}

// ReachableMiB is what the processes of one share can hold together: the limit is one
// of each client process, not of the container or user that was granted the share. A
// ledger that counts the share once under-estimates by the number of processes.
func ReachableMiB(limitMiB int64, processes int) (int64, error) {
	switch {
	case limitMiB < 1 || limitMiB > maxMemoryMiB:
		return 0, fmt.Errorf("%w: a limit of %d MiB", ErrInput, limitMiB)
	case processes < 0 || processes > 1<<20:
		return 0, fmt.Errorf("%w: %d processes", ErrInput, processes)
	}
	return limitMiB * int64(processes), nil
}

// splitByWeight divides the total in proportion to the weights, each part rounded down
// or up so that nothing is left: the units that rounding down leaves go to the largest
// remainders, the earlier client first among equals. Weights are positive and small
// enough that total times weight does not overflow.
func splitByWeight(total int64, weights []int) []int64 {
	var sum int64
	for _, w := range weights {
		sum += int64(w)
	}
	parts := make([]int64, len(weights))
	order := make([]int, len(weights))
	left := total
	for i, w := range weights {
		parts[i] = total * int64(w) / sum
		left -= parts[i]
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(total*int64(weights[b])%sum, total*int64(weights[a])%sum)
	})
	for _, i := range order[:left] {
		parts[i]++
	}
	return parts
}
