package draw

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/mig/plan"
)

// Plan draws what stands on a GPU before and after a plan, with a legend of the
// marks that are used: what goes, what comes, and what is in use.
//
//	        0       1       2       3
//	       ┌───────┬───────┬───────────────┐
//	before │✗1g.6gb│·······│!2g.12gb       │
//	after  │+2g.12gb       │!2g.12gb       │
//	       └───────────────┴───────────────┘
//
//	✗ destroyed   + created   ! in use
//
// The error is that of a plan which is not possible in this state.
func Plan(from plan.State, p plan.Plan) (string, error) {
	before, err := from.Layout()
	if err != nil {
		return "", err
	}
	end, err := p.After(from, len(p.Steps))
	if err != nil {
		return "", err
	}
	after, err := end.Layout()
	if err != nil {
		return "", err
	}
	old, now := busy(from), busy(from)
	for _, step := range p.Steps {
		if step.Op == plan.Destroy {
			old[step.Start] = Destroyed
		} else {
			now[step.Start] = Created
		}
	}
	return Rows(
		Row{Name: "before", Layout: before, Marks: old},
		Row{Name: "after", Layout: after, Marks: now},
	) + legend(old, now), nil
}

// State draws what stands on a GPU as one row with a name, which may be empty: what
// is in use is marked, with a legend if there is any. The error is that of a state
// which is no layout.
func State(name string, s plan.State) (string, error) {
	l, err := s.Layout()
	if err != nil {
		return "", err
	}
	marks := busy(s)
	return Rows(Row{Name: name, Layout: l, Marks: marks}) + legend(marks), nil
}

// busy marks what is in use.
func busy(s plan.State) map[int]rune {
	marks := map[int]rune{}
	for _, in := range s.Instances {
		if in.Busy {
			marks[in.Start] = Busy
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
	}{{Destroyed, "destroyed"}, {Created, "created"}, {Busy, "in use"}} {
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
