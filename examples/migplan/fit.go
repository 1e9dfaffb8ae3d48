package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/examples/internal/draw"
	"github.com/gpushare/gpushare/mig"
)

type fitAnswer struct {
	Schema   int            `json:"schema"`
	Model    string         `json:"model"`
	Feasible bool           `json:"feasible"`
	Layout   []mig.Instance `json:"layout"`
	Unused   mig.SliceCount `json:"unused"`
	Stranded mig.SliceCount `json:"stranded"`
}

type refusal struct {
	Schema   int    `json:"schema"`
	Model    string `json:"model"`
	Feasible bool   `json:"feasible"`
	Reason   reason `json:"reason"`
}

type reason struct {
	Kind   string `json:"kind"` // memory, compute, count, media, position or, of a plan, busy
	Detail string `json:"detail"`
}

// fit says whether a demand fits on one GPU, or on many, beside what is there.
func fit(inv *command.Invocation, args []string) error {
	model := inv.Flags.String("model", "", "")
	want := inv.Flags.String("want", "", "")
	have := inv.Flags.String("have", "", "")
	gpus := inv.Flags.String("gpus", "", "")
	if err := inv.Parse(args, "want"); err != nil {
		return err
	}
	which, err := inv.ExactlyOne("model", "gpus")
	if err != nil {
		return err
	}
	if which == "gpus" {
		if inv.Given("have") {
			return errors.New("-gpus and -have exclude each other: what is there stands in -gpus")
		}
		return fitFleet(inv, *gpus, *want)
	}
	m, err := lookup(*model)
	if err != nil {
		return err
	}
	demand, err := mig.ParseDemand(*want)
	if err != nil {
		return fmt.Errorf("-want: %w", err)
	}
	before, err := parseLayout(m, *have)
	if err != nil {
		return fmt.Errorf("-have: %w", err)
	}
	after, err := before.Fit(demand)
	var no *mig.FitError
	switch {
	case errors.As(err, &no):
		return refuse(inv, no)
	case err != nil:
		return fmt.Errorf("-want: %w", err)
	}
	answer := fitAnswer{
		Schema: schema, Model: m.Key(), Feasible: true, Layout: instances(after),
		Unused: after.Unused(), Stranded: after.Stranded(),
	}
	return inv.Print(answer, func() string {
		return fmt.Sprintf("%s: %s fits %s\n\n%s\nunused    %c  %s\nstranded  %c  %s\n",
			m, cmp.Or(demand.String(), "an empty demand"), beside(before), draw.Layout(after), draw.Unused, after.Unused(), draw.Stranded, after.Stranded())
	})
}

// refuse prints why a demand does not fit.
func refuse(inv *command.Invocation, no *mig.FitError) error {
	m := no.Have.Model()
	answer := refusal{Schema: schema, Model: m.Key(), Reason: reason{Kind: no.Limit.String(), Detail: no.Detail}}
	return inv.Answer(false, answer, func() string {
		return fmt.Sprintf("%s: %s does not fit %s\nreason: %s: %s\n\n%s",
			m, no.Want, beside(no.Have), no.Limit, no.Detail, draw.Layout(no.Have))
	})
}

// beside says what a demand has to fit beside.
func beside(l mig.Layout) string {
	if l.Len() == 0 {
		return "on an empty GPU"
	}
	return "beside " + l.String()
}

// parseLayout reads "2g.10gb@0,1g.5gb@6"; nothing is an empty GPU.
func parseLayout(m *mig.Model, s string) (mig.Layout, error) {
	if s == "" {
		return m.Empty(), nil
	}
	var list []mig.Instance
	for item := range strings.SplitSeq(s, ",") {
		in, err := mig.ParseInstance(item)
		if err != nil {
			return mig.Layout{}, err
		}
		list = append(list, in)
	}
	return m.Layout(list...)
}

// instances returns the instances by start; never nil, so that JSON has a list.
func instances(l mig.Layout) []mig.Instance {
	return slices.AppendSeq([]mig.Instance{}, l.Instances())
}
