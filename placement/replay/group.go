package replay

import "github.com/gpushare/gpushare/fragmentation"

// Group is a kind of task, by what it asks of GPUs.
type Group uint8

// The groups.
const (
	CPUOnly     Group = iota // no GPU
	Fraction                 // a part of one GPU
	WholeGPU                 // one whole GPU
	SeveralGPUs              // two or more whole GPUs
	Instance                 // a MIG instance
	groups
)

// String names the group.
func (g Group) String() string {
	return [...]string{"CPU only", "fraction", "whole GPU", "several GPUs", "MIG instance", "unknown"}[min(g, groups)]
}

// GroupOf returns the group of a valid shape.
func GroupOf(s fragmentation.Shape) Group {
	switch {
	case s.GPUs == 0:
		return CPUOnly
	case s.Profile != "":
		return Instance
	case s.GPUs > 1:
		return SeveralGPUs
	case s.Milli == fragmentation.Whole:
		return WholeGPU
	default:
		return Fraction
	}
}

// Counts is a number of tasks for each group.
type Counts [groups]int

// Total returns the sum over the groups.
func (c Counts) Total() int {
	total := 0
	for _, n := range c {
		total += n
	}
	return total
}
