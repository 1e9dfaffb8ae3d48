package parted

import (
	"fmt"
	"strings"

	"github.com/gpushare/gpushare/mig"
)

// State is what stands on a GPU, in the terms of the format: how many instances
// of which name, and not where.
type State struct {
	GPU
	Enabled bool // MIG mode is on

	// Instances counts compute instances, each under the name that a driver
	// prints: "3g.20gb" for one that takes its whole GPU instance, "1c.3g.20gb"
	// for a smaller one.
	Instances mig.Demand

	// Remnants counts GPU instances without any compute instance. Nothing can
	// run on them and mig-parted does not see them, but they take memory.
	Remnants mig.Demand
}

// Difference is how a GPU differs from what a label wants.
type Difference struct {
	GPU         int        `json:"gpu"`         // index
	WantEnabled bool       `json:"wantEnabled"` // MIG mode
	Enabled     bool       `json:"enabled"`
	Missing     mig.Demand `json:"missing,omitempty"`  // wanted and not there
	Surplus     mig.Demand `json:"surplus,omitempty"`  // there and not wanted
	Remnants    mig.Demand `json:"remnants,omitempty"` // GPU instances without a compute instance
}

// String returns the form "GPU 0: MIG is off, not on; missing 3g.20gb=1".
func (d Difference) String() string {
	var parts []string
	if d.Enabled != d.WantEnabled {
		mode := map[bool]string{false: "off", true: "on"}
		parts = append(parts, fmt.Sprintf("MIG is %s, not %s", mode[d.Enabled], mode[d.WantEnabled]))
	}
	for _, p := range []struct {
		what string
		n    mig.Demand
	}{{"missing", d.Missing}, {"surplus", d.Surplus}, {"without compute instance", d.Remnants}} {
		if p.n.Total() > 0 {
			parts = append(parts, p.what+" "+p.n.String())
		}
	}
	return fmt.Sprintf("GPU %d: %s", d.GPU, strings.Join(parts, "; "))
}

// Report is the answer of Assert.
type Report struct {
	Label       string       `json:"label"`
	Differences []Difference `json:"differences"` // lowest index first
	Uncovered   []int        `json:"uncovered"`   // GPUs that no entry wants anything of
	Warnings    []Finding    `json:"warnings"`    // those of Select
}

// Satisfied reports whether every GPU that the label matches is as it says; the
// others may be as they like.
func (r Report) Satisfied() bool { return len(r.Differences) == 0 }

// Strict is Satisfied, and no GPU that can do MIG is left out. It is what
// mig-parted asserts: a label for some of a node's GPUs never holds there.
func (r Report) Strict() bool { return r.Satisfied() && len(r.Uncovered) == 0 }

// Assert compares a node with a label. Names are compared in their canonical
// spelling and a count of zero is the same as no entry, so unlike mig-parted it
// finds a state that was built from a file equal to that file.
//
// The error is that of Select.
func (c *Config) Assert(label string, states []State, o *SelectOptions) (Report, error) {
	gpus := make([]GPU, len(states))
	at := map[int]State{}
	for i, s := range states {
		gpus[i], at[s.Index] = s.GPU, s
	}
	selection, err := c.Select(label, gpus, o)
	if err != nil {
		return Report{}, err
	}
	r := Report{Label: selection.Label, Differences: []Difference{}, Uncovered: []int{}, Warnings: selection.Warnings}
	for _, t := range selection.Targets {
		if t.Entry == nil {
			if t.GPU.Capable {
				r.Uncovered = append(r.Uncovered, t.GPU.Index)
			}
			continue
		}
		if d := difference(t.Entry, at[t.GPU.Index]); d != nil {
			r.Differences = append(r.Differences, *d)
		}
	}
	return r, nil
}

// difference returns nil if there is none.
func difference(e *Entry, s State) *Difference {
	d := Difference{GPU: s.Index, WantEnabled: e.Enabled, Enabled: s.Enabled}
	if !e.Enabled && !s.Enabled {
		return nil
	}
	want, have := e.Demand(), normal(s.Instances)
	d.Missing, d.Surplus = minus(want, have), minus(have, want)
	d.Remnants = normal(s.Remnants)
	if e.Enabled == s.Enabled && d.Missing == nil && d.Surplus == nil && len(d.Remnants) == 0 {
		return nil
	}
	if len(d.Remnants) == 0 {
		d.Remnants = nil
	}
	return &d
}

// normal returns a demand under canonical names and without counts of zero.
func normal(d mig.Demand) mig.Demand {
	n := mig.Demand{}
	for name, count := range d {
		if count > 0 {
			n[canonical(name)] += count
		}
	}
	return n
}

// minus returns what is in a beyond b, nil for nothing.
func minus(a, b mig.Demand) mig.Demand {
	var d mig.Demand
	for name, count := range a {
		if count > b[name] {
			if d == nil {
				d = mig.Demand{}
			}
			d[name] = count - b[name]
		}
	}
	return d
}
