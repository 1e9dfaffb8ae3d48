package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/examples/internal/draw"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/fleet"
)

type fleetAnswer struct {
	Schema   int        `json:"schema"`
	Feasible bool       `json:"feasible"`
	GPUs     []fleetGPU `json:"gpus"`
	Weight   int        `json:"weight"`
	Bound    int        `json:"bound"`  // no fit weighs less
	Proven   bool       `json:"proven"` // the weight is the least
}

type fleetGPU struct {
	Model  string         `json:"model"`
	Used   bool           `json:"used"` // it gets an instance
	Layout []mig.Instance `json:"layout"`
}

type fleetRefusal struct {
	Schema   int    `json:"schema"`
	Feasible bool   `json:"feasible"`
	Reason   reason `json:"reason"`
}

// The most GPUs that one command takes, and the most that one may weigh.
const (
	maxGPUs   = 100_000
	maxWeight = 1_000_000
)

// fitFleet says whether a demand fits on many GPUs.
func fitFleet(inv *command.Invocation, list, want string) error {
	gpus, err := parseGPUs(list)
	if err != nil {
		return fmt.Errorf("-gpus: %w", err)
	}
	demand, err := mig.ParseDemand(want)
	if err != nil {
		return fmt.Errorf("-want: %w", err)
	}
	fit, err := fleet.Fit(gpus, demand, 0)
	var no *fleet.FitError
	switch {
	case errors.As(err, &no):
		return refuseFleet(inv, no)
	case err != nil && (fit.Layouts == nil || !errors.Is(err, fleet.ErrGaveUp)):
		return fmt.Errorf("-want: %w", err)
	}
	answer := fleetAnswer{
		Schema: schema, Feasible: true, GPUs: []fleetGPU{}, Weight: fit.Weight, Bound: fit.Bound, Proven: fit.Bound == fit.Weight,
	}
	for _, l := range fit.Layouts {
		answer.GPUs = append(answer.GPUs, fleetGPU{Model: l.Model().Key(), Layout: instances(l)})
	}
	for _, i := range fit.Used {
		answer.GPUs[i].Used = true
	}
	return inv.Print(answer, func() string { return fleetText(gpus, demand, fit, answer.Proven) })
}

// fleetText draws the GPUs that get an instance.
func fleetText(gpus []fleet.GPU, demand mig.Demand, fit fleet.Assignment, proven bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s fits on %d of %s\n", cmp.Or(demand.String(), "an empty demand"), len(fit.Used), count(len(gpus), "GPU"))
	var rows []draw.Row
	for n, i := range fit.Used {
		l := fit.Layouts[i]
		rows = append(rows, draw.Row{Name: "GPU " + strconv.Itoa(i), Layout: l, Marks: added(gpus[i].Layout, l)})
		if n+1 == len(fit.Used) || fit.Layouts[fit.Used[n+1]].Model() != l.Model() {
			fmt.Fprintf(&b, "\n%s\n%s", l.Model(), draw.Rows(rows...))
			rows = nil
		}
	}
	if len(fit.Used) > 0 {
		fmt.Fprintf(&b, "\n%c created\n", draw.Created)
	}
	least := "the least that is possible"
	if !proven {
		least = fmt.Sprintf("at least %d is needed: the search ended before it had an exact answer", fit.Bound)
	}
	fmt.Fprintf(&b, "\nweight  %d, %s\n", fit.Weight, least)
	return b.String()
}

// added marks the instances that were not there before.
func added(before, after mig.Layout) map[int]rune {
	marks := map[int]rune{}
	for in := range after.Instances() {
		if old, found := before.At(in.Start); !found || old != in {
			marks[in.Start] = draw.Created
		}
	}
	return marks
}

// refuseFleet prints why a demand does not fit.
func refuseFleet(inv *command.Invocation, no *fleet.FitError) error {
	answer := fleetRefusal{Schema: schema, Reason: reason{Kind: no.Limit.String(), Detail: no.Detail}}
	return inv.Answer(false, answer, func() string {
		return fmt.Sprintf("%s does not fit on %s\nreason: %s: %s\n", no.Want, count(no.GPUs, "GPU"), no.Limit, no.Detail)
	})
}

// parseGPUs reads "8*a100-40gb:1g.5gb@3=2;h100-80gb-sxm5".
func parseGPUs(list string) ([]fleet.GPU, error) {
	var gpus []fleet.GPU
	for i, item := range strings.Split(list, ";") {
		n, gpu, err := parseGPU(item)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
		if len(gpus)+n > maxGPUs {
			return nil, fmt.Errorf("item %d: more than %d GPUs in all", i+1, maxGPUs)
		}
		gpus = append(gpus, slices.Repeat([]fleet.GPU{gpu}, n)...)
	}
	return gpus, nil
}

func parseGPU(item string) (n int, gpu fleet.GPU, err error) {
	n = 1
	if before, rest, found := strings.Cut(item, "*"); found {
		if n, err = number(before, maxGPUs); err != nil || n == 0 {
			return 0, fleet.GPU{}, fmt.Errorf("%q is no number of GPUs from 1 to %d", before, maxGPUs)
		}
		item = rest
	}
	if rest, weight, found := strings.Cut(item, "="); found {
		if gpu.Weight, err = number(weight, maxWeight); err != nil {
			return 0, fleet.GPU{}, fmt.Errorf("weight: %w", err)
		}
		gpu.Free = gpu.Weight == 0
		item = rest
	}
	key, layout, _ := strings.Cut(item, ":")
	m, err := mig.Lookup(key)
	if err != nil {
		return 0, fleet.GPU{}, err
	}
	gpu.Layout, err = parseLayout(m, layout)
	return n, gpu, err
}
