package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/examples/internal/draw"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

type planAnswer struct {
	Schema      int            `json:"schema"`
	Model       string         `json:"model"`
	Feasible    bool           `json:"feasible"`
	Destroyed   int            `json:"destroyed"`
	Created     int            `json:"created"`
	Kept        []mig.Instance `json:"kept"`
	Steps       []stepInfo     `json:"steps"`
	Goal        []mig.Instance `json:"goal"` // all that stands at the end
	Fingerprint string         `json:"fingerprint"`
}

type stepInfo struct {
	Op plan.Op `json:"op"` // destroy or create
	mig.Instance
	ComputeInstances []mig.ComputeInstance `json:"computeInstances"`
}

type planRefusal struct {
	refusal
	Busy []mig.Instance `json:"busy"` // those in the way
}

// planCommand plans the way from what stands on a GPU to what is wanted.
func planCommand(inv *command.Invocation, args []string) error {
	q := ask(inv)
	out := inv.Flags.String("out", "", "")
	if err := inv.Parse(args, "model"); err != nil {
		return err
	}
	c, err := q.answer(inv)
	if err != nil {
		return err
	}
	if c.refusal != nil {
		return refusePlan(inv, c)
	}
	picture, err := draw.Plan(c.state, c.plan)
	if err != nil {
		return err
	}
	if inv.Given("out") {
		if err := writePlan(*out, c.plan); err != nil {
			return fmt.Errorf("-out: %w", err)
		}
	}
	destroyed, created := c.plan.Count()
	answer := planAnswer{
		Schema: schema, Model: c.plan.Model, Feasible: true, Destroyed: destroyed, Created: created,
		Kept: bare(c.plan.Kept), Steps: []stepInfo{}, Goal: bare(c.plan.Goal), Fingerprint: c.plan.Fingerprint,
	}
	for _, s := range c.plan.Steps {
		answer.Steps = append(answer.Steps, stepInfo{s.Op, s.Instance.Instance, append([]mig.ComputeInstance{}, s.Compute...)})
	}
	return inv.Print(answer, func() string {
		return fmt.Sprintf("%s: %s can be had\n\n%s\n%s", c.plan.Model, c.asked, picture, c.plan.Explain())
	})
}

// writePlan writes the form that plan.Decode reads.
func writePlan(name string, p plan.Plan) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}

// refusePlan prints why there is no plan.
func refusePlan(inv *command.Invocation, c *change) error {
	no := c.refusal
	m := no.Have.Model()
	detail := no.Detail
	if len(no.Busy) > 0 && no.Limit != 0 {
		detail += "; busy and in the way: " + names(no.Busy)
	}
	answer := planRefusal{
		refusal: refusal{Schema: schema, Model: m.Key(), Reason: reason{Kind: no.Kind(), Detail: detail}},
		Busy:    bare(no.Busy),
	}
	picture, err := draw.State("", c.state)
	if err != nil {
		return err
	}
	return inv.Answer(false, answer, func() string {
		return fmt.Sprintf("%s: %s cannot be had\nreason: %s: %s\n\n%s", m, c.asked, no.Kind(), detail, picture)
	})
}

// bare returns the GPU instances without what stands in them; never nil, so that
// JSON has a list.
func bare(list []plan.Instance) []mig.Instance {
	instances := []mig.Instance{}
	for _, in := range list {
		instances = append(instances, in.Instance)
	}
	return instances
}

func names(list []plan.Instance) string {
	var parts []string
	for _, in := range list {
		parts = append(parts, in.String())
	}
	return strings.Join(parts, ", ")
}
