package main

import (
	"cmp"
	"slices"
	"strings"
)

// cell is one run of a sweep: everything that its figures depend on. It is
// comparable.
type cell struct {
	Kind   string `json:"kind"` // shares or instances
	Policy string `json:"policy"`
	Seed   int64  `json:"seed"`

	Trace string `json:"trace,omitempty"` // of shares

	Model     string  `json:"model,omitempty"` // the rest is of instances
	Mix       string  `json:"mix,omitempty"`
	GPUs      int     `json:"gpus,omitempty"`
	Load      float64 `json:"load,omitempty"`
	Lifetimes string  `json:"lifetimes,omitempty"` // exponential or heavy
	WarmUp    float64 `json:"warmUp,omitempty"`    // mean lifetimes
	Arrivals  int     `json:"arrivals,omitempty"`  // measured
}

// The kinds of cell.
const (
	shareCells    = "shares"    // fractions and whole GPUs: the published protocol on the traces
	instanceCells = "instances" // MIG instances that come and go
)

// The names of figures.
const (
	at100     = "unallocated100" // % of the GPU when 100 % of it has been asked for
	at130     = "unallocated130"
	several   = "severalAccepted" // % of the tasks of several GPUs
	cpuOnly   = "cpuAccepted"     // % of the CPU of the tasks without GPU
	lost      = "lost"            // % of the fleet: GPU left, and CPU of refused tasks without GPU
	rejected  = "rejected"        // % of the requests
	rejSlices = "rejectedSlices"  // % of the compute slices
	movedTask = "moved"           // % of the admissions that repair moved
)

// finished is a cell with its figures.
type finished struct {
	Schema  int                `json:"schema"`
	Cell    cell               `json:"cell"`
	Figures map[string]float64 `json:"figures"`
}

// cells lists what a sweep is made of: policies innermost, so that those of one
// trace and seed are run side by side, then seeds.
func (o *sweepOptions) cells() []cell {
	var all []cell
	for _, trace := range o.traces {
		for _, seed := range o.seeds {
			for _, policy := range o.policies {
				all = append(all, cell{Kind: shareCells, Policy: policy, Trace: trace, Seed: seed})
			}
		}
	}
	for _, model := range o.models {
		for _, mix := range o.mixes {
			if !mixOn(model, mix) {
				continue
			}
			for _, gpus := range o.sizes {
				for _, load := range o.loads {
					for _, life := range o.lifetimes {
						for _, seed := range o.seeds {
							for _, rule := range o.rules {
								if strings.Contains(model, joined) && ofOneModel(rule) {
									continue
								}
								all = append(all, cell{
									Kind: instanceCells, Policy: rule, Seed: seed,
									Model: model, Mix: mix, GPUs: gpus, Load: load, Lifetimes: life,
									WarmUp: o.warmUp(gpus, life), Arrivals: o.measured(gpus),
								})
							}
						}
					}
				}
			}
		}
	}
	return all
}

// largeFleet is how many GPUs settle slowly, and reject little.
const largeFleet = 256

// measured is how many arrivals count.
func (o *sweepOptions) measured(gpus int) int {
	switch {
	case o.arrivals > 0:
		return o.arrivals
	case gpus >= largeFleet:
		return 40_000
	default:
		return 20_000
	}
}

// warmUp is how long a fleet takes to become as fragmented as it stays.
func (o *sweepOptions) warmUp(gpus int, life string) float64 {
	switch {
	case o.warm > 0:
		return o.warm
	case life == heavyLife:
		return 15
	case gpus >= largeFleet:
		return 25
	default:
		return 6
	}
}

// group is the cells that differ in their seeds alone.
type cellGroup struct {
	cell    // with seed 0
	figures map[string][]float64
	seeds   []int64
}

// grouped collects finished cells by all but the seed, in the order of the first
// of each; seeds ascend.
func grouped(all []finished) []*cellGroup {
	byCell := map[cell]*cellGroup{}
	var groups []*cellGroup
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b finished) int { return cmp.Compare(a.Cell.Seed, b.Cell.Seed) })
	for _, f := range sorted {
		key := f.Cell
		key.Seed = 0
		if byCell[key] == nil {
			byCell[key] = &cellGroup{cell: key, figures: map[string][]float64{}}
			groups = append(groups, byCell[key])
		}
		g := byCell[key]
		g.seeds = append(g.seeds, f.Cell.Seed)
		for name, x := range f.Figures {
			g.figures[name] = append(g.figures[name], x)
		}
	}
	return groups
}
