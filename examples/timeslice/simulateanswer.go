package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/gpushare/gpushare/timeslice"
)

type simulateAnswer struct {
	Schema   int            `json:"schema"`
	Scenario scenario       `json:"scenario"`
	Policies []policyAnswer `json:"policies"`
	Pictures []string       `json:"pictures,omitempty"`
}

// policyAnswer is what came of one policy. Times are in ns; working, switching and
// idle add up to what was simulated.
type policyAnswer struct {
	Policy          string         `json:"policy"`
	ForNs           int64          `json:"forNs"`
	WorkingNs       int64          `json:"workingNs"`
	SwitchingNs     int64          `json:"switchingNs"`
	IdleNs          int64          `json:"idleNs"`
	WastedNs        int64          `json:"wastedNs"`        // idle while a client had work
	EfficiencyMilli *int64         `json:"efficiencyMilli"` // null: nothing ran
	Clients         []clientAnswer `json:"clients"`
	Window          windowAnswer   `json:"window"`
}

type clientAnswer struct {
	Name          string    `json:"name"`
	PresentNs     int64     `json:"presentNs"`
	ReadyNs       int64     `json:"readyNs"` // it had work, done or waiting
	ServedNs      int64     `json:"servedNs"`
	SwitchingNs   int64     `json:"switchingNs"`
	ShareMilli    *int64    `json:"shareMilli"`    // null: it was never there
	SlowdownMilli *int64    `json:"slowdownMilli"` // null: it never ran
	StretchMilli  *int64    `json:"stretchMilli"`  // null: no job was done
	Turns         int64     `json:"turns"`
	Jobs          int64     `json:"jobs"`
	Waits         quantiles `json:"waits"`
	Turnarounds   quantiles `json:"turnarounds"`
	WaitBoundNs   *int64    `json:"waitBoundNs"` // null: none
}

// quantiles sums times up, in ns.
type quantiles struct {
	Count int64 `json:"count"`
	P50Ns int64 `json:"p50Ns"`
	P95Ns int64 `json:"p95Ns"`
	P99Ns int64 `json:"p99Ns"`
	MaxNs int64 `json:"maxNs"`
}

type windowAnswer struct {
	FromNs int64       `json:"fromNs"`
	ToNs   int64       `json:"toNs"`
	Runs   []runAnswer `json:"runs"`
}

type runAnswer struct {
	Kind   string  `json:"kind"`
	Client *string `json:"client"` // null: idle in nobody's turn
	FromNs int64   `json:"fromNs"`
	ToNs   int64   `json:"toNs"`
}

func quantilesOf(h timeslice.Histogram) quantiles {
	return quantiles{h.Count(), h.Quantile(500), h.Quantile(950), h.Quantile(990), h.Max()}
}

func answerOf(policy string, sim timeslice.Sim, r timeslice.Report, w *window) policyAnswer {
	a := policyAnswer{
		Policy: policy, ForNs: r.Horizon, WorkingNs: r.Working, SwitchingNs: r.Switching, IdleNs: r.Idle, WastedNs: r.Wasted,
		EfficiencyMilli: milli(r.Efficiency()), Clients: []clientAnswer{},
		Window: windowAnswer{FromNs: w.from, ToNs: w.to, Runs: []runAnswer{}},
	}
	for i, c := range r.Clients {
		out := clientAnswer{
			Name: c.Name, PresentNs: c.Present, ReadyNs: c.Ready, ServedNs: c.Served, SwitchingNs: c.Switching,
			ShareMilli: milli(c.Share()), SlowdownMilli: milli(c.Slowdown()), StretchMilli: milli(c.Stretch()),
			Turns: c.Turns, Jobs: c.Jobs, Waits: quantilesOf(c.Waits), Turnarounds: quantilesOf(c.Turnarounds),
		}
		if bound, ok := sim.WorstWait(i); ok {
			out.WaitBoundNs = &bound
		}
		a.Clients = append(a.Clients, out)
	}
	for _, run := range w.runs {
		out := runAnswer{Kind: run.Kind.String(), FromNs: run.Start, ToNs: run.End}
		if run.Client != timeslice.Nobody {
			out.Client = &sim.Clients[run.Client].Name
		}
		a.Window.Runs = append(a.Window.Runs, out)
	}
	return a
}

// simulateText writes a chart and a table for each policy, and compares them.
func simulateText(a *simulateAnswer, drawn []ganttPanel, width int) string {
	var b strings.Builder
	s := &a.Scenario
	for i, p := range a.Policies {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s: slices of %s, switches of %s, for %s\n\n", p.Policy, s.Slice, s.Switch, s.For)
		b.WriteString(drawn[i].text(width))
		b.WriteString("\n")
		p.table(&b)
	}
	b.WriteString("\n")
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "POLICY\tWORKS\tSWITCHES\tIDLE\tWASTED\tEFFICIENCY")
	for _, p := range a.Policies {
		part := func(ns int64) string { return percent(timeslice.Ratio{Num: ns, Den: p.ForNs}.Milli()) }
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", p.Policy, part(p.WorkingNs), part(p.SwitchingNs), part(p.IdleNs), part(p.WastedNs), optional(p.EfficiencyMilli, percent))
	}
	t.Flush()
	b.WriteString("\n" + ganttLegend)
	if len(a.Pictures) > 0 {
		fmt.Fprintf(&b, "\npicture: %s\n", strings.Join(a.Pictures, ", "))
	}
	return b.String()
}

// table writes a row for each client.
func (p *policyAnswer) table(b *strings.Builder) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CLIENT\tSHARE\tSLOWDOWN\tWAIT P50\tP95\tP99\tMAX\tBOUND\tJOBS\tTOOK P50\tP99\tSTRETCH")
	for _, c := range p.Clients {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d", c.Name, optional(c.ShareMilli, percent), optional(c.SlowdownMilli, hundredths),
			c.Waits.text(c.Waits.P50Ns), c.Waits.text(c.Waits.P95Ns), c.Waits.text(c.Waits.P99Ns), c.Waits.text(c.Waits.MaxNs),
			optional(c.WaitBoundNs, short), c.Jobs)
		fmt.Fprintf(t, "\t%s\t%s\t%s\n", c.Turnarounds.text(c.Turnarounds.P50Ns), c.Turnarounds.text(c.Turnarounds.P99Ns), optional(c.StretchMilli, hundredths))
	}
	t.Flush()
}

// text writes a quantile, "-" where there is none.
func (q *quantiles) text(ns int64) string {
	if q.Count == 0 {
		return "-"
	}
	return short(ns)
}

func optional(v *int64, text func(int64) string) string {
	if v == nil {
		return "-"
	}
	return text(*v)
}
