package main

import (
	"fmt"
	"strings"

	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/plan"
)

// changesText shows what will be done, that of several GPUs once if it is the
// same.
func changesText(changes []*change) string {
	return eachOnce(changes, func(c *change) (int, string) { return c.gpu.index, c.text() + "\n" })
}

// text shows a change without the GPU's name.
func (c *change) text() string {
	var b strings.Builder
	mode := "MIG " + onOff(c.mode.Current)
	if c.switches() {
		mode += " → " + onOff(c.on)
	}
	fmt.Fprintf(&b, "%s, %s\n", c.gpu.model(), mode)
	if r := c.refusal; r != nil {
		fmt.Fprintf(&b, "cannot be had: %s: %s\n", r.Kind, r.Detail)
		for _, h := range r.holders {
			fmt.Fprintf(&b, "  held by %s\n", h)
		}
		return b.String() + "\n" + c.picture
	}
	if !c.needed() {
		b.WriteString("nothing to do\n")
		return b.String()
	}
	p := c.plan
	p.GPU = "" // named already
	_, explained, _ := strings.Cut(p.Explain(), ": ")
	if len(p.Steps) == 0 {
		return b.String() + c.modeText()
	}
	b.WriteString("\n" + c.picture + "\n")
	if head, steps, _ := strings.Cut(explained, "\n"); c.on { // in the order in which it is done
		return b.String() + head + "\n" + c.modeText() + steps
	}
	return b.String() + explained + c.modeText()
}

// modeText lists the steps of a change of MIG mode.
func (c *change) modeText() string {
	var b strings.Builder
	for _, step := range plan.Mode(c.gpu.dev.Model(), c.mode.Current, c.mode.Pending, c.on) {
		fmt.Fprintf(&b, "  %s: %s\n", step.Op, step.Why)
	}
	return b.String()
}

// outcomeText says what became of the changes.
func outcomeText(a changeAnswer) string {
	var b strings.Builder
	for _, g := range a.GPUs {
		switch {
		case g.Error != "":
			fmt.Fprintf(&b, "GPU %d: not done: %s\n", g.Index, g.Error)
		case g.Report == nil && g.ModeFrom != g.ModeTo:
			fmt.Fprintf(&b, "GPU %d: MIG is %s\n", g.Index, onOff(g.ModeTo))
		case g.Report == nil:
			fmt.Fprintf(&b, "GPU %d: nothing to do\n", g.Index)
		}
		if g.Report == nil {
			continue
		}
		fmt.Fprintf(&b, "GPU %d: %s\n", g.Index, reportText(*g.Report))
		for _, r := range g.Report.Renewed {
			fmt.Fprintf(&b, "  %s has new UUIDs: %s instead of %s\n", r.Instance, strings.Join(r.New, ", "), strings.Join(r.Old, ", "))
		}
	}
	return b.String()
}

// reportText says in words how a transaction has ended and what stands there.
func reportText(r device.Report) string {
	text := map[device.Outcome]string{
		device.Done:          "done",
		device.RolledBack:    "as before, with new UUIDs",
		device.Unchanged:     "unchanged",
		device.Left:          "left half way; resume or undo carries on",
		device.Indeterminate: "not known yet: a call into the driver has not returned; resume or undo later",
	}[r.Outcome]
	if r.After == nil {
		return text
	}
	if r.Outcome == device.RolledBack && len(r.After) == 0 {
		text = "as before"
	}
	text += ": now"
	for _, in := range r.After {
		text += " " + in.String()
	}
	if len(r.After) == 0 {
		text += " empty"
	}
	return text
}
