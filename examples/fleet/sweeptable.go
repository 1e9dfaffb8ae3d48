package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/placement/replay"
)

// sweepSummary is what a sweep found out.
type sweepSummary struct {
	Schema   int        `json:"schema"`
	Rows     []sweepRow `json:"rows"`
	Pictures []string   `json:"pictures,omitempty"` // files
}

// sweepRow is the figures of cells that differ in their seeds alone.
type sweepRow struct {
	cell
	Seeds   int                 `json:"seeds"`
	Figures map[string]interval `json:"figures"`
	// Changes are relative, against the first policy over the same seeds: -0.2 is
	// a fifth less. It has those of figures where less is better.
	Changes map[string]interval `json:"changes,omitempty"`
}

// interval is a mean with half of its 95 % interval. A change against a base that
// has none has the largest mean there is, without a half.
type interval struct {
	Mean float64  `json:"mean"`
	Half *float64 `json:"half95,omitempty"` // none for one seed
}

const moreThanNone = math.MaxFloat64

func (i interval) finite() bool { return i.Mean < moreThanNone }

func intervalOf(i replay.Interval) interval {
	if math.IsInf(i.Mean, 0) {
		return interval{Mean: moreThanNone}
	}
	if math.IsInf(i.Half, 0) || math.IsNaN(i.Half) {
		return interval{Mean: i.Mean}
	}
	return interval{i.Mean, &i.Half}
}

// base is the policy that the others of a kind are compared with.
func base(kind string) string {
	if kind == shareCells {
		return sharePolicies[0]
	}
	return instanceRules[0]
}

// summarizeSweep takes the seeds together.
func summarizeSweep(all []finished) *sweepSummary {
	s := &sweepSummary{Schema: schema}
	groups := grouped(all)
	for _, g := range groups {
		r := sweepRow{cell: g.cell, Seeds: len(g.seeds), Figures: map[string]interval{}}
		for name, figures := range g.figures {
			r.Figures[name] = intervalOf(replay.Mean(figures))
		}
		against := g.cell
		against.Policy = base(g.Kind)
		if i := slices.IndexFunc(groups, func(o *cellGroup) bool { return o.cell == against }); i >= 0 && g.Policy != against.Policy {
			r.Changes = map[string]interval{}
			for _, name := range []string{at100, at130, lost, rejected, rejSlices} {
				if mine, bases, ok := paired(g, groups[i], name); ok {
					r.Changes[name] = intervalOf(replay.Change(mine, bases))
				}
			}
		}
		s.Rows = append(s.Rows, r)
	}
	return s
}

// paired returns a figure of two groups for the seeds that both have.
func paired(a, b *cellGroup, name string) (mine, bases []float64, ok bool) {
	for i, seed := range a.seeds {
		j, found := slices.BinarySearch(b.seeds, seed)
		if found && i < len(a.figures[name]) && j < len(b.figures[name]) {
			mine, bases = append(mine, a.figures[name][i]), append(bases, b.figures[name][j])
		}
	}
	return mine, bases, len(mine) > 0
}

// writeMarkdown writes the tables.
func (s *sweepSummary) writeMarkdown(w io.Writer) {
	s.writeShares(w)
	s.writeInstances(w)
	if len(s.Pictures) > 0 {
		fmt.Fprintf(w, "Pictures: %s\n", strings.Join(s.Pictures, ", "))
	}
}

// distinct lists what rows have, in order of appearance.
func distinct[R any, T comparable](rows []R, of func(R) T) []T {
	var all []T
	for _, r := range rows {
		if x := of(r); !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	return all
}

func (s *sweepSummary) kind(kind string) []sweepRow {
	var rows []sweepRow
	for _, r := range s.Rows {
		if r.Kind == kind {
			rows = append(rows, r)
		}
	}
	return rows
}

// writeShares writes one table of what is left, and one of who pays.
func (s *sweepSummary) writeShares(w io.Writer) {
	rows := s.kind(shareCells)
	if len(rows) == 0 {
		return
	}
	policies := distinct(rows, func(r sweepRow) string { return r.Policy })
	traces := distinct(rows, func(r sweepRow) string { return r.Trace })
	for _, table := range []struct {
		title, first, second string
	}{
		{"GPU left, % of the fleet, when 100 % / 130 % of it has been asked for", at100, at130},
		{"Accepted by 130 %: tasks of several GPUs / CPU of the tasks without GPU, %", several, cpuOnly},
		{"Lost by 130 %: GPU left and CPU refused to tasks without GPU, % of the fleet / tasks moved, % of the admissions", lost, movedTask},
	} {
		fmt.Fprintf(w, "%s\n\n| trace | seeds |", table.title)
		for _, p := range policies {
			fmt.Fprintf(w, " %s |", p)
		}
		fmt.Fprintf(w, "\n|---|---|%s\n", strings.Repeat("---|", len(policies)))
		sums := make([][2]float64, len(policies))
		counts := make([]int, len(policies))
		for _, trace := range traces {
			cells, seeds := make([]string, len(policies)), 0
			for _, r := range rows {
				if r.Trace != trace {
					continue
				}
				i := slices.Index(policies, r.Policy)
				a, b := r.Figures[table.first], r.Figures[table.second]
				cells[i] = a.text("%.2f") + " / " + b.text("%.2f")
				sums[i][0] += a.Mean
				sums[i][1] += b.Mean
				counts[i]++
				seeds = max(seeds, r.Seeds)
			}
			fmt.Fprintf(w, "| %s | %d | %s |\n", trace, seeds, strings.Join(cells, " | "))
		}
		fmt.Fprint(w, "| mean | |")
		for i := range policies {
			n := float64(max(counts[i], 1))
			fmt.Fprintf(w, " %.2f / %.2f |", sums[i][0]/n, sums[i][1]/n)
		}
		fmt.Fprint(w, "\n\n")
	}
}

// writeInstances writes one table for each model and kind of lifetimes.
func (s *sweepSummary) writeInstances(w io.Writer) {
	rows := s.kind(instanceCells)
	for _, model := range distinct(rows, func(r sweepRow) string { return r.Model }) {
		for _, life := range distinct(rows, func(r sweepRow) string { return r.Lifetimes }) {
			var mine []sweepRow
			for _, r := range rows {
				if r.Model == model && r.Lifetimes == life {
					mine = append(mine, r)
				}
			}
			if len(mine) > 0 {
				writeInstanceTable(w, fmt.Sprintf("%s, %s lifetimes", model, life), mine)
			}
		}
	}
}

func writeInstanceTable(w io.Writer, title string, rows []sweepRow) {
	mixes := distinct(rows, func(r sweepRow) string { return r.Mix })
	first := base(instanceCells)
	fmt.Fprintf(w, "%s: rejected requests / compute slices; %s in %%, the others in %% of it, more or less\n\n| GPUs | load | rule | seeds |", title, first)
	for _, m := range mixes {
		fmt.Fprintf(w, " %s |", m)
	}
	fmt.Fprintf(w, " mean | moved |\n|---|---|---|---|%s---|---|\n", strings.Repeat("---|", len(mixes)))
	type place struct {
		gpus int
		load float64
		rule string
	}
	places := distinct(rows, func(r sweepRow) place { return place{r.GPUs, r.Load, r.Policy} })
	for _, p := range places {
		cells, seeds, moved := make([]string, len(mixes)), 0, 0.0
		var requests, slicesLost []interval
		for _, r := range rows {
			if (place{r.GPUs, r.Load, r.Policy}) != p {
				continue
			}
			i := slices.Index(mixes, r.Mix)
			a, b, format, times := r.Changes[rejected], r.Changes[rejSlices], "%+.0f", 100.0
			if p.rule == first {
				a, b, format, times = r.Figures[rejected], r.Figures[rejSlices], "%.2f", 1
			} else if r.Changes == nil {
				continue
			}
			a, b = a.scaled(times), b.scaled(times)
			cells[i] = a.text(format) + " / " + b.text(format)
			requests, slicesLost = append(requests, a), append(slicesLost, b)
			moved = max(moved, r.Figures[movedTask].Mean)
			seeds = max(seeds, r.Seeds)
		}
		if len(requests) == 0 {
			continue
		}
		format := "%+.1f"
		if p.rule == first {
			format = "%.2f"
		}
		fmt.Fprintf(w, "| %d | %g | %s | %d | %s | %s / %s | %.2f |\n", p.gpus, p.load, p.rule, seeds,
			strings.Join(cells, " | "), meanOf(requests).text(format), meanOf(slicesLost).text(format), moved)
	}
	writeWorse(w, rows)
}

// meanOf returns the mean of the finite ones, without an interval.
func meanOf(all []interval) interval {
	sum, count := 0.0, 0
	for _, i := range all {
		if i.finite() {
			sum += i.Mean
			count++
		}
	}
	if count == 0 {
		return interval{Mean: moreThanNone}
	}
	return interval{Mean: sum / float64(count)}
}

// writeWorse says of every rule in how many cells it rejects more than the first,
// as far as the seeds can tell.
func writeWorse(w io.Writer, rows []sweepRow) {
	var all []string
	for _, rule := range distinct(rows, func(r sweepRow) string { return r.Policy }) {
		cells, requests, slices := 0, 0, 0
		for _, r := range rows {
			if r.Policy != rule || r.Changes == nil {
				continue
			}
			cells++
			if r.Changes[rejected].above() {
				requests++
			}
			if r.Changes[rejSlices].above() {
				slices++
			}
		}
		if cells > 0 {
			all = append(all, fmt.Sprintf("%s in %d / %d of %d cells", rule, requests, slices, cells))
		}
	}
	if len(all) > 0 {
		fmt.Fprintf(w, "\nRejects more than %s beyond the 95 %% interval, requests / slices: %s.\n", base(instanceCells), strings.Join(all, ", "))
	}
	fmt.Fprintln(w)
}

// above reports whether the whole interval is above zero; one of a single seed is
// not known to be.
func (i interval) above() bool { return i.Half != nil && i.Mean-*i.Half > 0 }

func (i interval) scaled(times float64) interval {
	i.Mean *= times
	if i.Half != nil {
		half := *i.Half * times
		i.Half = &half
	}
	return i
}

// text writes the mean, and the half of its interval after it.
func (i interval) text(format string) string {
	switch {
	case !i.finite():
		return "more than none"
	case i.Half == nil:
		return fmt.Sprintf(format, i.Mean)
	default:
		return fmt.Sprintf(format+"±"+strings.Replace(format, "+", "", 1), i.Mean, *i.Half)
	}
}
