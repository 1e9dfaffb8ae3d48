package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/mig/plan"
)

type costAnswer struct {
	Schema               int            `json:"schema"`
	Model                string         `json:"model"`
	Feasible             bool           `json:"feasible"`
	Destroyed            int            `json:"destroyed"`
	Created              int            `json:"created"`
	DurationSeconds      float64        `json:"durationSeconds"`
	LostSliceSeconds     float64        `json:"lostSliceSeconds"`     // work done again
	DowntimeSliceSeconds float64        `json:"downtimeSliceSeconds"` // out of service
	Gain                 float64        `json:"gain"`                 // memory slices
	BreakEvenSeconds     *float64       `json:"breakEvenSeconds"`     // from the start on; null: never
	Constants            []constantInfo `json:"constants"`
}

type constantInfo struct {
	Name      string  `json:"name"`
	Flag      string  `json:"flag"` // that overrides it
	Seconds   float64 `json:"seconds"`
	Source    string  `json:"source"`
	Published bool    `json:"published"` // a public source gives the figure
}

// maxConstant is the most that a constant may be.
const maxConstant = 24 * time.Hour

// constant is one that the cost of a plan depends on, with the flag that
// overrides it.
type constant struct {
	name, flag string // name: that of the assumption
	value      *time.Duration
	given      string
}

// cost says what a plan costs and when it has paid for itself.
func cost(inv *command.Invocation, args []string) error {
	q := ask(inv)
	file := inv.Flags.String("plan", "", "")
	gain := inv.Flags.String("gain", "1", "")
	costs := plan.DefaultCosts()
	constants := []constant{
		{name: "destroy GPU instance", flag: "destroy", value: &costs.DestroyGPUInstance},
		{name: "create GPU instance", flag: "create", value: &costs.CreateGPUInstance},
		{name: "destroy compute instance", flag: "destroy-compute", value: &costs.DestroyComputeInstance},
		{name: "create compute instance", flag: "create-compute", value: &costs.CreateComputeInstance},
		{name: "set up a job", flag: "job-setup", value: &costs.JobSetup},
	}
	for i := range constants {
		inv.Flags.StringVar(&constants[i].given, constants[i].flag, "", "")
	}
	if err := inv.Parse(args); err != nil {
		return err
	}
	for _, c := range constants {
		if !inv.Given(c.flag) {
			continue
		}
		d, err := time.ParseDuration(c.given)
		if err != nil || d < 0 || d > maxConstant {
			return fmt.Errorf("-%s: %q is no duration from 0s to %s", c.flag, c.given, maxConstant)
		}
		*c.value = d
	}
	milli, err := parseGain(*gain)
	if err != nil {
		return fmt.Errorf("-gain: %w", err)
	}
	c, err := planned(inv, q, *file)
	if err != nil {
		return err
	}
	if c.refusal != nil {
		return refusePlan(inv, c)
	}
	total := costs.Of(c.plan)
	answer := costAnswer{
		Schema: schema, Model: c.plan.Model, Feasible: true,
		DurationSeconds: total.Duration.Seconds(), LostSliceSeconds: total.Lost.Seconds(),
		DowntimeSliceSeconds: total.Downtime.Seconds(), Gain: float64(milli) / 1000,
	}
	answer.Destroyed, answer.Created = c.plan.Count()
	if after, ok := total.BreakEven(milli); ok {
		seconds := after.Seconds()
		answer.BreakEvenSeconds = &seconds
	}
	for _, a := range plan.Assumptions() {
		for _, k := range constants {
			if k.name == a.Name {
				answer.Constants = append(answer.Constants, describe(inv, k, a))
			}
		}
	}
	return inv.Print(answer, func() string { return costText(c.plan, costs, milli, answer) })
}

// planned returns the plan of a file, or the one that the other flags ask for.
func planned(inv *command.Invocation, q *question, file string) (*change, error) {
	if !inv.Given("plan") {
		if !inv.Given("model") {
			return nil, errors.New("-model or -plan is missing (-h explains)")
		}
		return q.answer(inv)
	}
	for _, name := range append([]string{"model", "have", "busy", "loss"}, goalFlags[:]...) {
		if inv.Given(name) {
			return nil, fmt.Errorf("-plan and -%s exclude each other", name)
		}
	}
	text, err := inv.Read(file)
	if err != nil {
		return nil, fmt.Errorf("-plan: %w", err)
	}
	p, err := plan.Decode(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("-plan %s: %w", file, err)
	}
	m, err := lookup(p.Model)
	if err != nil {
		return nil, fmt.Errorf("-plan %s: %w", file, errors.Unwrap(err))
	}
	// The state that it starts from: what it keeps and what it destroys.
	c := &change{plan: p, state: plan.State{GPU: p.GPU, Model: m, Instances: p.Kept}}
	for _, s := range p.Steps {
		if s.Op == plan.Destroy {
			c.state.Instances = append(c.state.Instances, s.Instance)
		}
	}
	if err := p.Check(c.state); err != nil {
		return nil, fmt.Errorf("-plan %s: %w", file, err)
	}
	return c, nil
}

// parseGain reads a number of memory slices and returns thousandths.
func parseGain(s string) (int, error) {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(math.Abs(x) <= 1e6) {
		return 0, fmt.Errorf("%q is no number of memory slices", s)
	}
	return int(math.Round(1000 * x)), nil
}

// describe says where a constant comes from.
func describe(inv *command.Invocation, k constant, a plan.Assumption) constantInfo {
	info := constantInfo{Name: k.name, Flag: "-" + k.flag, Seconds: k.value.Seconds(), Source: a.Source, Published: a.Published}
	if inv.Given(k.flag) {
		info.Source, info.Published = "given on the command line", false
	}
	return info
}

func costText(p plan.Plan, costs plan.Costs, gainMilli int, answer costAnswer) string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s: destroys %d, creates %d, keeps %d\n\n", p.Model, answer.Destroyed, answer.Created, len(p.Kept))
	if len(p.Steps) > 0 {
		fmt.Fprintln(t, "STEP\tTAKES")
		for _, s := range p.Steps {
			one := p
			one.Steps = []plan.Step{s}
			fmt.Fprintf(t, "%s\t%s\n", s, costs.Of(one).Duration)
		}
		fmt.Fprintln(t)
	}
	total := costs.Of(p)
	fmt.Fprintf(t, "duration\t%s\n", total.Duration)
	fmt.Fprintf(t, "lost work\t%s\tof one memory slice\n", total.Lost)
	fmt.Fprintf(t, "downtime\t%s\tof one memory slice\n", total.Downtime)
	when := "never"
	if after, ok := total.BreakEven(gainMilli); ok {
		when = after.Round(time.Millisecond).String()
	}
	slices := strconv.FormatFloat(answer.Gain, 'f', -1, 64)
	fmt.Fprintf(t, "break-even\t%s\tif it gains the work of %s memory %s\n\n", when, slices, plural(slices, "slice"))
	fmt.Fprintln(t, "CONSTANT\tVALUE\tFLAG\tSOURCE")
	for _, k := range answer.Constants {
		value := time.Duration(math.Round(k.Seconds * float64(time.Second)))
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", k.Name, value, k.Flag, k.Source)
	}
	t.Flush()
	return b.String()
}
