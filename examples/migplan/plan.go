package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

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
func planCommand(inv *invocation, args []string) error {
	q := ask(inv)
	out := inv.flags.String("out", "", "")
	if err := inv.parse(args, "model"); err != nil {
		return err
	}
	c, err := q.answer(inv)
	if err != nil {
		return err
	}
	if c.refusal != nil {
		return refusePlan(inv, c)
	}
	picture, err := drawPlan(c.state, c.plan)
	if err != nil {
		return err
	}
	if inv.given("out") {
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
	return inv.print(answer, func() string {
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
func refusePlan(inv *invocation, c *change) error {
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
	err := inv.print(answer, func() string {
		marks := busyMarks(c.state)
		return fmt.Sprintf("%s: %s cannot be had\nreason: %s: %s\n\n%s%s",
			m, c.asked, no.Kind(), detail, draw.Rows(draw.Row{Layout: no.Have, Marks: marks}), legend(marks))
	})
	if err != nil {
		return err
	}
	return errNo
}

// drawPlan draws what stands there before and after, the victims marked.
func drawPlan(s plan.State, p plan.Plan) (string, error) {
	before, err := s.Layout()
	if err != nil {
		return "", err
	}
	end, err := p.After(s, len(p.Steps))
	if err != nil {
		return "", err
	}
	after, err := end.Layout()
	if err != nil {
		return "", err
	}
	old, now := busyMarks(s), busyMarks(s)
	for _, step := range p.Steps {
		if step.Op == plan.Destroy {
			old[step.Start] = draw.Destroyed
		} else {
			now[step.Start] = draw.Created
		}
	}
	return draw.Rows(
		draw.Row{Name: "before", Layout: before, Marks: old},
		draw.Row{Name: "after", Layout: after, Marks: now},
	) + legend(old, now), nil
}

func busyMarks(s plan.State) map[int]rune {
	marks := map[int]rune{}
	for _, in := range s.Instances {
		if in.Busy {
			marks[in.Start] = draw.Busy
		}
	}
	return marks
}

// legend explains the marks that are used, in a line after an empty one.
func legend(used ...map[int]rune) string {
	var parts []string
	for _, mark := range []struct {
		rune  rune
		means string
	}{{draw.Destroyed, "destroyed"}, {draw.Created, "created"}, {draw.Busy, "in use"}} {
		for _, marks := range used {
			if slices.Contains(slices.Collect(maps.Values(marks)), mark.rune) {
				parts = append(parts, fmt.Sprintf("%c %s", mark.rune, mark.means))
				break
			}
		}
	}
	if parts == nil {
		return ""
	}
	return "\n" + strings.Join(parts, "   ") + "\n"
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
