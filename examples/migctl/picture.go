package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/examples/internal/draw"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/plan"
)

// changesText shows what will be done, that of several GPUs once if it is the
// same.
func changesText(changes []*change) string {
	var texts []string
	for _, c := range changes {
		texts = append(texts, c.text())
	}
	var b strings.Builder
	for i, text := range texts {
		if slices.Index(texts, text) != i {
			continue
		}
		var same []int
		for k, other := range texts {
			if other == text {
				same = append(same, changes[k].gpu.index)
			}
		}
		fmt.Fprintf(&b, "%s: %s\n", gpuNames(same), text)
	}
	return b.String()
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
		marks := busyMarks(c.from)
		b.WriteString("\n" + draw.Rows(draw.Row{Name: "now", Layout: c.layout(c.from), Marks: marks}) + legend(marks))
		return b.String()
	}
	if !c.needed() {
		b.WriteString("nothing to do\n")
		return b.String()
	}
	p := c.plan
	p.GPU = "" // named already
	_, explained, _ := strings.Cut(p.Explain(), ": ")
	if len(p.Steps) > 0 {
		b.WriteString("\n" + c.picture() + "\n" + explained)
	}
	for _, step := range plan.Mode(c.gpu.dev.Model(), c.mode.Current, c.mode.Pending, c.on) {
		fmt.Fprintf(&b, "  %s: %s\n", step.Op, step.Why)
	}
	return b.String()
}

// picture draws the GPU before and after, with the victims marked.
func (c *change) picture() string {
	old, now := busyMarks(c.from), busyMarks(c.from)
	for _, step := range c.plan.Steps {
		if step.Op == plan.Destroy {
			old[step.Start] = draw.Destroyed
		} else {
			now[step.Start] = draw.Created
		}
	}
	end := c.from
	end.Instances = c.plan.Goal
	return draw.Rows(
		draw.Row{Name: "before", Layout: c.layout(c.from), Marks: old},
		draw.Row{Name: "after", Layout: c.layout(end), Marks: now},
	) + legend(old, now)
}

// layout returns what to draw of a state, which was read or planned and is legal.
func (c *change) layout(s plan.State) mig.Layout {
	l, err := s.Layout()
	if err != nil {
		return mig.Layout{}
	}
	return l
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
		if slices.ContainsFunc(used, func(marks map[int]rune) bool {
			return slices.Contains(slices.Collect(maps.Values(marks)), mark.rune)
		}) {
			parts = append(parts, fmt.Sprintf("%c %s", mark.rune, mark.means))
		}
	}
	if parts == nil {
		return ""
	}
	return "\n" + strings.Join(parts, "   ") + "\n"
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
	text += ": now"
	for _, in := range r.After {
		text += " " + in.String()
	}
	if len(r.After) == 0 {
		text += " empty"
	}
	return text
}
