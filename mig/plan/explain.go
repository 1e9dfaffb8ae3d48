package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpushare/gpushare/mig"
)

// Count returns how many instances the plan destroys and creates.
func (p Plan) Count() (destroyed, created int) {
	for _, s := range p.Steps {
		if s.Op == Destroy {
			destroyed++
		} else {
			created++
		}
	}
	return destroyed, created
}

// String returns the steps on one line: "destroy 1g.5gb@4, create 3g.20gb@4".
func (p Plan) String() string {
	if len(p.Steps) == 0 {
		return "nothing to do"
	}
	var parts []string
	for _, s := range p.Steps {
		parts = append(parts, s.String())
	}
	return strings.Join(parts, ", ")
}

// Explain returns the plan for people, in several lines: what stays, what is done
// in which order, why each victim has to go, and what it costs at the default
// costs. The text is not for programs and may change.
func (p Plan) Explain() string {
	var b strings.Builder
	m, _ := mig.Lookup(p.Model) // nil for a model of the caller's own
	destroyed, created := p.Count()
	b.WriteString(p.Model)
	if p.GPU != "" {
		b.WriteString(" " + p.GPU)
	}
	fmt.Fprintf(&b, ": destroys %d, creates %d, keeps %d\n", destroyed, created, len(p.Kept))
	for _, in := range p.Kept {
		row(&b, "keep", in.describe(m), "")
	}
	for i, s := range p.Steps {
		note := ""
		if s.Op == Destroy {
			note = p.why(m, i)
		}
		row(&b, string(s.Op), s.describe(m), note)
	}
	if len(p.Steps) == 0 {
		b.WriteString("nothing to do\n")
		return b.String()
	}
	c := DefaultCosts().Of(p)
	fmt.Fprintf(&b, "takes about %s at the default costs", c.Duration.Round(100*time.Millisecond))
	if lost := c.SliceTime(); lost > 0 {
		fmt.Fprintf(&b, " and costs %s of one memory slice", lost.Round(100*time.Millisecond))
	}
	b.WriteString("\n")
	return b.String()
}

func row(b *strings.Builder, what, instance, note string) {
	b.WriteString(strings.TrimRight(fmt.Sprintf("  %-8s %-14s %s", what, instance, note), " ") + "\n")
}

// why says why the instance of step i is destroyed.
func (p Plan) why(m *mig.Model, i int) string {
	old := p.Steps[i]
	var reasons, ways []string
	for _, s := range p.Steps[i:] {
		switch {
		case s.Op != Create:
		case s.Instance.Instance == old.Instance.Instance:
			reasons = append(reasons, "its compute instances change")
		case old.overlaps(s.Instance) || m != nil && inTheWay(m, old.Instance, s.Instance):
			ways = append(ways, s.Instance.String())
		}
	}
	if len(ways) > 0 {
		reasons = append(reasons, "in the way of "+strings.Join(ways, ", "))
	}
	if len(reasons) == 0 {
		reasons = append(reasons, "not wanted")
	}
	if old.LossSeconds > 0 {
		reasons = append(reasons, fmt.Sprintf("%d s of work lost", old.LossSeconds))
	}
	return strings.Join(reasons, "; ")
}

func (in Instance) overlaps(other Instance) bool {
	return in.Start < other.Start+other.Size && other.Start < in.Start+in.Size
}
