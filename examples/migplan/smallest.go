package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/mig"
)

type smallestAnswer struct {
	Schema   int         `json:"schema"`
	Model    string      `json:"model"`
	Feasible bool        `json:"feasible"`
	Profile  profileInfo `json:"profile"`
}

type smallestRefusal struct {
	refusal
	Unknown []string `json:"unknown"` // profiles that might do, were their figures known
}

// smallest names the smallest profile that covers a need.
func smallest(inv *command.Invocation, args []string) error {
	model := inv.Flags.String("model", "", "")
	memory := inv.Flags.String("memory", "", "")
	sms := inv.Flags.String("sms", "0", "")
	attrs := inv.Flags.String("attrs", "", "")
	if err := inv.Parse(args, "model", "memory"); err != nil {
		return err
	}
	m, err := lookup(*model)
	if err != nil {
		return err
	}
	var need mig.Need
	if need.MemoryMiB, err = number(*memory, maxFigure); err != nil {
		return fmt.Errorf("-memory: %w", err)
	}
	if need.SMs, err = number(*sms, maxFigure); err != nil {
		return fmt.Errorf("-sms: %w", err)
	}
	if need.Attrs, err = parseAttrs(*attrs); err != nil {
		return fmt.Errorf("-attrs: %w", err)
	}
	p, err := m.Smallest(need)
	var no *mig.NeedError
	switch {
	case errors.As(err, &no):
		return refuseNeed(inv, no)
	case err != nil:
		return err
	}
	answer := smallestAnswer{Schema: schema, Model: m.Key(), Feasible: true, Profile: infoOf(p)}
	return inv.Print(answer, func() string {
		return fmt.Sprintf("%s: %s covers %s\n\nmemory           %s\nmultiprocessors  %s\nmemory slices    %s of %d\ncompute slices   %d of %d\n",
			m, p.Name, need, figure(p.MemoryMiB, "MiB"), figure(p.SMs, ""),
			figure(p.Size, ""), m.MemorySlices(), p.ComputeSlices, m.ComputeSlices())
	})
}

// refuseNeed prints why no profile was chosen.
func refuseNeed(inv *command.Invocation, no *mig.NeedError) error {
	answer := smallestRefusal{
		refusal: refusal{Schema: schema, Model: no.Model.Key(), Reason: reason{Kind: "need", Detail: "no profile has so much"}},
		Unknown: append([]string{}, no.Unknown...),
	}
	if len(no.Unknown) > 0 {
		answer.Reason = reason{Kind: "unknown", Detail: "nobody has published the figures of " + strings.Join(no.Unknown, ", ")}
	}
	return inv.Answer(false, answer, func() string {
		return fmt.Sprintf("%s: no profile is known to cover %s\nreason: %s: %s\n", no.Model, no.Need, answer.Reason.Kind, answer.Reason.Detail)
	})
}

// parseAttrs reads the end of a profile name, such as "+me".
func parseAttrs(s string) (mig.Attrs, error) {
	n, err := mig.ParseName("1g.1gb" + s)
	if err != nil || n.MemoryGB != 1 {
		return 0, fmt.Errorf("%q is no end of a profile name such as +me", s)
	}
	return n.Attrs, nil
}
