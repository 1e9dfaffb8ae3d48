package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/examples/internal/draw"
)

// schema is the version of the JSON.
const schema = 1

// report is everything that a run found out.
type report struct {
	Schema     int         `json:"schema"`
	Policies   []outcome   `json:"policies"`
	CarriedOut *carriedOut `json:"carriedOut,omitempty"` // nil: no node has cut GPUs
	Pictures   []string    `json:"pictures,omitempty"`   // files
}

// status returns the exit status that the report calls for.
func (r *report) status() int {
	if r.CarriedOut != nil && len(r.CarriedOut.Differences) > 0 {
		return command.No
	}
	return command.Done
}

// writeJSON writes the report as one indented object.
func (r *report) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// writeText writes the report for people.
func (r *report) writeText(w io.Writer, o options) {
	several := len(o.seeds) > 1
	cut := r.CarriedOut != nil
	fmt.Fprintf(w, "%s; tasks ask for %g %% of all GPU, ", r.fleet(), 100*o.inflate)
	if several {
		fmt.Fprintf(w, "seeds %d to %d\n\n", o.seeds[0], o.seeds[len(o.seeds)-1])
	} else {
		fmt.Fprintf(w, "seed %d\n\n", o.seeds[0])
	}
	t := tabwriter.NewWriter(w, 0, 0, 0, ' ', tabwriter.AlignRight)
	head := []string{"policy", "allocated"}
	if several {
		head = append(head, "min", "max")
	}
	if cut {
		head = append(head, "uncut GPUs", "MIG GPUs")
	}
	head = append(head, "GPUs left", "fragmented", "decisions/s")
	row(t, head)
	for _, p := range r.Policies {
		cells := []string{p.Name, percent(p.AllocatedPercent.Mean)}
		if several {
			cells = append(cells, percent(p.AllocatedPercent.Min), percent(p.AllocatedPercent.Max))
		}
		if cut {
			cells = append(cells, percent(p.uncut), percent(p.cut))
		}
		row(t, append(cells, fmt.Sprintf("%.1f", p.UnallocatedGPUs), percent(p.FragmentPercent), fmt.Sprintf("%.0f", p.DecisionsPerSecond)))
	}
	t.Flush()
	fmt.Fprintln(w, "\nallocated: share of all GPU that the tasks hold at the end; fragmented: share that is")
	fmt.Fprintln(w, "left and of no use to the tasks that are expected")
	if len(r.Pictures) > 0 {
		fmt.Fprintf(w, "picture: %s\n", strings.Join(r.Pictures, ", "))
	}
	if cut {
		fmt.Fprintln(w)
		r.CarriedOut.writeText(w)
	}
}

// row writes the cells of a line, the first of them flush left.
func row(w io.Writer, cells []string) {
	fmt.Fprintf(w, "%-13s\t   %s\t\n", cells[0], strings.Join(cells[1:], "\t   "))
}

func percent(x float64) string { return fmt.Sprintf("%.2f %%", x) }

// fleet says how large the fleet is.
func (r *report) fleet() string {
	nodes, gpus, cut := 0, 0, 0
	for n := range r.Policies[0].final.Nodes() {
		nodes++
		for _, g := range n.Spec().GPUs {
			gpus++
			if g.MIG != nil {
				cut++
			}
		}
	}
	text := fmt.Sprintf("%d nodes, %d GPUs", nodes, gpus)
	if cut > 0 {
		text += fmt.Sprintf(", %d of them in MIG mode", cut)
	}
	return text
}

// writeText draws what was read back from the devices.
func (c *carriedOut) writeText(w io.Writer) {
	fmt.Fprintf(w, "MIG instances as %s placed them, created on simulated GPUs and read back:\n\n", c.Policy)
	for _, n := range c.nodes {
		n.writeText(w)
	}
	if len(c.Differences) == 0 {
		fmt.Fprintf(w, "%d instances on %d GPUs created and read back; books and devices agree\n", c.Instances, c.GPUs)
		return
	}
	for _, d := range c.Differences {
		fmt.Fprintln(w, d)
	}
	fmt.Fprintf(w, "%d instances on %d GPUs read back; books and devices disagree\n", c.Instances, c.GPUs)
}

// writeText draws the GPUs of a node, one a line.
func (n drawnNode) writeText(w io.Writer) {
	lines := strings.Split(strings.TrimSuffix(draw.Layouts(n.layouts...), "\n"), "\n")
	for i, line := range lines {
		label := ""
		switch {
		case i == 0:
			label = n.name
		case i >= 2 && i < len(lines)-1:
			label = fmt.Sprintf("GPU %d", i-2)
		}
		fmt.Fprintf(w, "%-7s%s\n", label, line)
	}
}
