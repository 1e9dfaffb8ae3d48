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
	strict := inv.flags.Bool("strict", false, "")
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
		return inv.answer(answer.Agrees, answer, func() string { return verifyText(answer.GPUs) })
	})
}

// verifyText shows the differences, those of several GPUs once if they are the
// same.
func verifyText(gpus []gpuVerify) string {
	var texts []string
	for _, v := range gpus {
		texts = append(texts, v.text())
	}
	var b strings.Builder
	for i, text := range texts {
		if slices.Index(texts, text) != i {
			continue
		}
		var same []int
		for k, other := range texts {
			if other == text {
				same = append(same, gpus[k].Index)
			}
		}
		fmt.Fprintf(&b, "%s: %s", gpuNames(same), text)
	}
	return b.String()
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

// gpuNames returns "GPU 0", "GPU 0, 2" or "GPU 0-7".
func gpuNames(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		k := i
		for k+1 < len(list) && list[k+1] == list[k]+1 {
			k++
		}
		switch {
		case k > i+1:
			parts = append(parts, fmt.Sprintf("%d-%d", list[i], list[k]))
		case k == i+1:
			parts = append(parts, fmt.Sprint(list[i]), fmt.Sprint(list[k]))
		default:
			parts = append(parts, fmt.Sprint(list[i]))
		}
		i = k + 1
	}
	return "GPU " + strings.Join(parts, ", ")
}
