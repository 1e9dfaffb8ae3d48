package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/mig"
)

type verifyAnswer struct {
	Schema int         `json:"schema"`
	Agrees bool        `json:"agrees"`
	GPUs   []gpuVerify `json:"gpus"`
}

type gpuVerify struct {
	Index       int              `json:"index"`
	UUID        string           `json:"uuid"`
	Model       string           `json:"model"` // empty: no table is for it
	MIGCapable  bool             `json:"migCapable"`
	Agrees      bool             `json:"agrees"`
	Differences []mig.Difference `json:"differences"`
}

// verify compares the tables with what the devices say.
func verify(ctx context.Context, inv *invocation, args []string) error {
	strict := inv.Flags.Bool("strict", false, "")
	if err := inv.parseMachine(args, 0); err != nil {
		return err
	}
	return inv.with(ctx, func(_ *machine, gpus []*gpu) error {
		answer := verifyAnswer{Schema: schema, Agrees: true, GPUs: []gpuVerify{}}
		for _, g := range gpus {
			if g.err != nil {
				return g.err
			}
			v := gpuVerify{Index: g.index, UUID: g.uuid, MIGCapable: g.dev != nil, Agrees: g.tabled || g.dev == nil, Differences: []mig.Difference{}}
			if g.dev != nil && g.tabled {
				v.Model = g.model()
				list, err := g.dev.Verify(ctx)
				if err != nil {
					return fmt.Errorf("GPU %d: %w", g.index, err)
				}
				v.Differences = append(v.Differences, list...)
				v.Agrees = !slices.ContainsFunc(list, func(d mig.Difference) bool {
					return d.Verdict == mig.Contradiction && (*strict || d.Field != "memory")
				})
			}
			answer.Agrees = answer.Agrees && v.Agrees
			answer.GPUs = append(answer.GPUs, v)
		}
		return inv.Answer(answer.Agrees, answer, func() string { return verifyText(answer.GPUs) })
	})
}

// verifyText shows the differences, those of several GPUs once if they are the
// same.
func verifyText(gpus []gpuVerify) string {
	return eachOnce(gpus, func(v gpuVerify) (int, string) { return v.Index, v.text() })
}

func (v gpuVerify) text() string {
	switch {
	case !v.MIGCapable:
		return "cannot do MIG\n"
	case v.Model == "":
		return "no table is for it\n"
	}
	counts := map[mig.Verdict]int{}
	var list strings.Builder
	for _, d := range v.Differences {
		counts[d.Verdict]++
		if d.Verdict == mig.Contradiction {
			note := ""
			if d.Field == "memory" {
				note = " (another driver's figure)"
			}
			fmt.Fprintf(&list, "  %s%s\n", d, note)
		}
	}
	for _, d := range v.Differences {
		if d.Verdict != mig.Contradiction {
			fmt.Fprintf(&list, "  %s\n", d)
		}
	}
	verdict := "agrees with its table"
	if !v.Agrees {
		verdict = "contradicts its table"
	}
	return fmt.Sprintf("%s %s: %d contradictions, %d figures only in the table, %d only from the device\n%s",
		v.Model, verdict, counts[mig.Contradiction], counts[mig.DeviceUnknown], counts[mig.TableUnknown], list.String())
}
