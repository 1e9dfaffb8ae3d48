package main

import (
	"fmt"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// policyNames are the policies in the order of the table.
var policyNames = [...]string{
	"random", "firstfit", "bestfit", "worstfit", "dotproduct", "packing", "clustering", "fgd-published", "fgd",
}

// The names that are looked at.
const (
	fgdName       = "fgd"
	publishedName = "fgd-published"
)

// policyFunc returns a policy for an empty cluster.
type policyFunc func(*placement.Cluster) placement.Policy

// How coarse fgd looks, in milli-GPU: a few hundredths of a GPU more or less
// stranded are not worth leaving the order in which GPUs are filled. On uncut
// GPUs steps from 40 to 100 differ by a third of a percent at most; on cut ones
// 40 places as much as 80 or, with many small requests, some percent more.
const (
	shareStep    = 80
	instanceStep = 40
)

// fgdPolicy returns this library's rule for tasks that share GPUs or take whole
// ones. With a value for cut GPUs it also places MIG instances.
func fgdPolicy(shares, instances fragmentation.Value) (placement.Policy, error) {
	p, err := placement.ByValue(shares, shareStep, placement.SmallestFirst)
	if err != nil || instances == nil {
		return p, err
	}
	q, err := placement.ByValue(instances, instanceStep, placement.SmallestFirst)
	if err != nil {
		return nil, err
	}
	return placement.SplitMIG(q, p), nil
}

// plainPolicy returns a policy of the library that needs no value.
func plainPolicy(name string, seed int64) (policyFunc, error) {
	switch name {
	case "random":
		return fixed(placement.Random(uint64(seed))), nil
	case "firstfit":
		return fixed(placement.FirstFit()), nil
	case "bestfit":
		return scaled(placement.BestFit), nil
	case "worstfit":
		return scaled(placement.WorstFit), nil
	case "dotproduct":
		return scaled(placement.DotProduct), nil
	case "packing":
		return fixed(placement.Packing()), nil
	case "clustering":
		return scaled(placement.Clustering), nil
	default:
		return nil, fmt.Errorf("no policy %q in the library", name)
	}
}

func fixed(p placement.Policy) policyFunc {
	return func(*placement.Cluster) placement.Policy { return p }
}

func scaled(p func(placement.Largest) placement.Policy) policyFunc {
	return func(c *placement.Cluster) placement.Policy { return p(c.Largest()) }
}
