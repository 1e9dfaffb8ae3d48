package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// report is what is printed.
type report struct {
	Schema   int           `json:"schema"`
	Runs     int           `json:"runs"`
	Equal    int           `json:"equal"`
	Seconds  float64       `json:"seconds"`
	Policies []policySpeed `json:"policies"`
	Outcomes []outcome     `json:"outcomes"`
	Random   *randomMean   `json:"random"` // null where it was not asked for
}

// policySpeed is the speed of a policy over all its runs.
type policySpeed struct {
	Name               string  `json:"name"`
	Runs               int     `json:"runs"`
	DecisionsPerSecond float64 `json:"decisionsPerSecond"`
	tasks              int
	elapsed            time.Duration
}

func (r *report) add(outcomes []outcome) {
	for _, o := range outcomes {
		r.Outcomes = append(r.Outcomes, o)
		r.Runs++
		if o.Equal {
			r.Equal++
		}
		p := r.policy(o.Policy)
		p.Runs++
		p.tasks += o.tasks
		p.elapsed += o.elapsed
		if p.elapsed > 0 { // a coarse clock may not have moved
			p.DecisionsPerSecond = float64(p.tasks) / p.elapsed.Seconds()
		}
	}
}

func (r *report) policy(name string) *policySpeed {
	for i := range r.Policies {
		if r.Policies[i].Name == name {
			return &r.Policies[i]
		}
	}
	r.Policies = append(r.Policies, policySpeed{Name: name})
	return &r.Policies[len(r.Policies)-1]
}

// good reports whether everything is as published.
func (r *report) good() bool { return r.Equal == r.Runs && (r.Random == nil || r.Random.Inside) }

func (r *report) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	if err := r.table(w); err != nil {
		return err
	}
	for _, o := range r.Outcomes {
		if !o.Equal {
			fmt.Fprintf(w, "different: %s %s seed %d: %d milli-GPU (expected %d), %d failed (expected %d)%s\n",
				o.Trace, o.Policy, o.Seed, o.Allocated, o.Expected, o.Failed, o.ExpectedFailed, o.decisions())
		}
	}
	if m := r.Random; m != nil {
		word := "inside"
		if !m.Inside {
			word = "OUTSIDE"
		}
		fmt.Fprintf(w, "%s on %s: mean of %d seeds %.2f %%, %s %.2f to %.2f\n", randomPolicy, m.Trace, m.Seeds, m.MeanPercent, word, m.Low, m.High)
	}
	_, err := fmt.Fprintf(w, "%d of %d equal, %.0f s\n", r.Equal, r.Runs, r.Seconds)
	return err
}

// decisions adds what the totals alone do not show.
func (o *outcome) decisions() string {
	if o.Decisions == nil || *o.Decisions {
		return ""
	}
	return ", other decisions"
}

// table prints a line for each trace and a column for each policy, with the
// mean allocated percentage of the runs.
func (r *report) table(w io.Writer) error {
	if len(r.Outcomes) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "trace")
	for _, p := range r.Policies {
		fmt.Fprintf(t, "\t%s", p.Name)
	}
	fmt.Fprintln(t)
	last := ""
	for _, o := range r.Outcomes {
		if o.Trace == last {
			continue
		}
		last = o.Trace
		fmt.Fprint(t, o.Trace)
		for _, p := range r.Policies {
			fmt.Fprintf(t, "\t%s", r.cell(o.Trace, p.Name))
		}
		fmt.Fprintln(t)
	}
	fmt.Fprint(t, "decisions/s")
	for _, p := range r.Policies {
		fmt.Fprintf(t, "\t%.0f", p.DecisionsPerSecond)
	}
	fmt.Fprintln(t)
	return t.Flush()
}

// cell says how many runs are equal, with the mean of what they allocated.
func (r *report) cell(trace, policy string) string {
	n, equal, sum := 0, 0, 0.0
	for _, o := range r.Outcomes {
		if o.Trace != trace || o.Policy != policy {
			continue
		}
		n++
		sum += 100 * float64(o.Allocated) / float64(o.capacity)
		if o.Equal {
			equal++
		}
	}
	switch {
	case n == 0:
		return "-"
	case equal == n:
		return fmt.Sprintf("%d equal (%.2f)", n, sum/float64(n))
	}
	return fmt.Sprintf("%d of %d DIFFERENT (%.2f)", n-equal, n, sum/float64(n))
}
