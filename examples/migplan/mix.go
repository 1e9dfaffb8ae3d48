package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/examples/internal/draw"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/fleet"
)

type mixAnswer struct {
	Schema   int        `json:"schema"`
	Model    string     `json:"model"`
	Cuts     []cutInfo  `json:"cuts"` // every GPU counted
	Served   mig.Demand `json:"served"`
	Unserved mig.Demand `json:"unserved"`
	Value    int        `json:"value"`  // of the served ones
	Bound    int        `json:"bound"`  // no mix has a larger value
	Proven   bool       `json:"proven"` // the value is the largest
}

type cutInfo struct {
	GPUs   int            `json:"gpus"`
	Layout []mig.Instance `json:"layout"`
}

// mix cuts GPUs of one model for many requests.
func mix(inv *command.Invocation, args []string) error {
	model := inv.Flags.String("model", "", "")
	gpus := inv.Flags.String("gpus", "", "")
	requests := inv.Flags.String("requests", "", "")
	if err := inv.Parse(args, "model", "gpus", "requests"); err != nil {
		return err
	}
	m, err := lookup(*model)
	if err != nil {
		return err
	}
	if !m.HasGeometry() {
		return fmt.Errorf("-model: %s: %w", m, mig.ErrUnknownGeometry)
	}
	n, err := number(*gpus, maxGPUs)
	if err != nil {
		return fmt.Errorf("-gpus: %w", err)
	}
	list, err := parseRequests(*requests)
	if err != nil {
		return fmt.Errorf("-requests: %w", err)
	}
	best, err := fleet.BestMix([]fleet.Pool{{Layout: m.Empty(), Count: n}}, list, 0)
	if err != nil && !errors.Is(err, fleet.ErrGaveUp) {
		return fmt.Errorf("-requests: %w", err)
	}
	answer := mixAnswer{
		Schema: schema, Model: m.Key(), Cuts: []cutInfo{}, Served: best.Served, Unserved: best.Unserved,
		Value: best.Value, Bound: best.Bound, Proven: err == nil,
	}
	for _, c := range best.Cuts {
		answer.Cuts = append(answer.Cuts, cutInfo{GPUs: c.Count, Layout: instances(c.Layout)})
	}
	return inv.Print(answer, func() string {
		var rows []draw.Row
		for _, c := range best.Cuts {
			rows = append(rows, draw.Row{Name: count(c.Count, "GPU"), Layout: c.Layout})
		}
		most := "the most that is possible"
		if err != nil {
			most = fmt.Sprintf("%d may be possible: the search ended before it had an exact answer", best.Bound)
		}
		picture := draw.Rows(rows...)
		if picture != "" {
			picture += "\n"
		}
		return fmt.Sprintf("%s: %s for %s\n\n%sserved    %s\nunserved  %s\nvalue     %d, %s\n",
			m, count(n, "GPU"), *requests, picture, nameOf(best.Served), nameOf(best.Unserved), best.Value, most)
	})
}

// maxRequests is the most requests of one row, and the largest value of one.
const maxRequests = 1_000_000

// parseRequests reads "1g.5gb=40,3g.20gb=12:5": so many are asked for, each of so
// much value.
func parseRequests(s string) ([]fleet.Request, error) {
	var list []fleet.Request
	for item := range strings.SplitSeq(s, ",") {
		name, rest, found := strings.Cut(item, "=")
		if !found {
			return nil, fmt.Errorf("%q is not of the form PROFILE=COUNT", item)
		}
		r := fleet.Request{Profile: name}
		figure, value, valued := strings.Cut(rest, ":")
		var err error
		if r.Count, err = number(figure, maxRequests); err != nil {
			return nil, fmt.Errorf("%s: count: %w", name, err)
		}
		if valued {
			if r.Value, err = number(value, maxRequests); err != nil || r.Value == 0 {
				return nil, fmt.Errorf("%s: value: %q is no whole number from 1 to %d", name, value, maxRequests)
			}
		}
		list = append(list, r)
	}
	return list, nil
}
