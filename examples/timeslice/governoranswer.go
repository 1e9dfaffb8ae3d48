package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/gpushare/gpushare/timeslice/governor/trial"
)

// governorAnswer compares rules. Times are in ns, parts in thousandths.
type governorAnswer struct {
	Schema    int            `json:"schema"`
	Workload  workloadAnswer `json:"workload"`
	Protected bool           `json:"protected"` // some rule is
	Engines   []engineAnswer `json:"engines"`
	Pictures  []string       `json:"pictures,omitempty"`
}

type workloadAnswer struct {
	LoadMilli int  `json:"loadMilli"`
	Request   span `json:"request"`
	Kernel    span `json:"kernel"`
	Slice     span `json:"slice"`
	Switch    span `json:"switch"`
	For       span `json:"for"`
	Seeds     int  `json:"seeds"`
}

type engineAnswer struct {
	Engine       string       `json:"engine"`
	AloneP50Ns   int64        `json:"aloneP50Ns"` // of the protected tenant
	AloneP95Ns   int64        `json:"aloneP95Ns"`
	AloneP99Ns   int64        `json:"aloneP99Ns"`
	AloneBatchNs int64        `json:"aloneBatchNs"` // GPU time of the batch job
	Rules        []ruleAnswer `json:"rules"`
}

// ruleAnswer has means over the seeds, and the runs by seed.
type ruleAnswer struct {
	Rule             string      `json:"rule"`
	P50Ns            int64       `json:"p50Ns"`
	P95Ns            int64       `json:"p95Ns"`
	P99Ns            int64       `json:"p99Ns"`
	AgainstNoneMilli int64       `json:"againstNoneMilli"` // p99
	BatchMilli       int64       `json:"batchMilli"`       // of its GPU time alone
	Protects         bool        `json:"protects"`         // p99 halved or better, batch at half or more
	Runs             []runFigure `json:"runs"`

	rule rule
}

type runFigure struct {
	Seed       uint64 `json:"seed"`
	P50Ns      int64  `json:"p50Ns"`
	P95Ns      int64  `json:"p95Ns"`
	P99Ns      int64  `json:"p99Ns"`
	BatchMilli int64  `json:"batchMilli"`
	Requests   int    `json:"requests"`
	Launches   int    `json:"launches"` // of the batch job
	Refused    int    `json:"refused"`  // times that its governor said no
}

// answer puts the runs together.
func (f *trialFlags) answer(rules []rule, engines []trial.Engine, jobs []job, reports []trial.Report) *governorAnswer {
	a := &governorAnswer{
		Schema:   schema,
		Workload: workloadAnswer{f.load, f.request, f.kernel, f.slice, f.lost, f.length, f.seeds},
		Engines:  []engineAnswer{},
	}
	found := make(map[job]*trial.Report, len(jobs))
	for i := range jobs {
		found[jobs[i]] = &reports[i]
	}
	n := int64(f.seeds)
	for _, e := range engines {
		out := engineAnswer{Engine: engineNames[e]}
		none := cellKey{e, rule{law: lawNone}}
		noneP99 := int64(0) // sum over the seeds, as are the others here
		for seed := uint64(1); seed <= uint64(f.seeds); seed++ {
			solo := &found[job{none, seed, 0}].Clients[0]
			out.AloneP50Ns += int64(solo.Latency(500))
			out.AloneP95Ns += int64(solo.Latency(950))
			out.AloneP99Ns += int64(solo.Latency(990))
			out.AloneBatchNs += int64(found[job{none, seed, 1}].Clients[0].GPUTime)
			noneP99 += int64(found[job{none, seed, noneAlone}].Clients[0].Latency(990))
		}
		for _, r := range rules {
			row := ruleAnswer{Rule: r.String(), rule: r}
			batch := int64(0)
			for seed := uint64(1); seed <= uint64(f.seeds); seed++ {
				tenants := found[job{cellKey{e, r}, seed, noneAlone}].Clients
				alone := found[job{none, seed, 1}].Clients[0].GPUTime
				run := runFigure{
					Seed: seed, P50Ns: int64(tenants[0].Latency(500)), P95Ns: int64(tenants[0].Latency(950)), P99Ns: int64(tenants[0].Latency(990)),
					BatchMilli: part(int64(tenants[1].GPUTime), int64(alone)),
					Requests:   tenants[0].Requests, Launches: tenants[1].Launches, Refused: tenants[1].Refused,
				}
				row.P50Ns += run.P50Ns
				row.P95Ns += run.P95Ns
				row.P99Ns += run.P99Ns
				batch += int64(tenants[1].GPUTime)
				row.Runs = append(row.Runs, run)
			}
			row.AgainstNoneMilli = part(row.P99Ns, noneP99)
			row.BatchMilli = part(batch, out.AloneBatchNs)
			row.Protects = 2*row.P99Ns <= noneP99 && 2*batch >= out.AloneBatchNs
			a.Protected = a.Protected || row.Protects
			row.P50Ns, row.P95Ns, row.P99Ns = row.P50Ns/n, row.P95Ns/n, row.P99Ns/n
			out.Rules = append(out.Rules, row)
		}
		out.AloneP50Ns, out.AloneP95Ns, out.AloneP99Ns = out.AloneP50Ns/n, out.AloneP95Ns/n, out.AloneP99Ns/n
		out.AloneBatchNs /= n
		a.Engines = append(a.Engines, out)
	}
	return a
}

// governorText writes a table for each engine.
func governorText(a *governorAnswer) string {
	var b strings.Builder
	w := a.Workload
	fmt.Fprintf(&b, "requests of %s at %s load beside a batch job with launches of %s; slices of %s, switches of %s, %s for %s\n",
		w.Request, percent(int64(w.LoadMilli)), w.Kernel, w.Slice, w.Switch, w.For, count(w.Seeds, "seed"))
	for _, e := range a.Engines {
		fmt.Fprintf(&b, "\n%s\n", e.Engine)
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "RULE\tP50\tP95\tP99\tAGAINST NONE\tBATCH\t")
		fmt.Fprintf(t, "alone\t%s\t%s\t%s\t\t%s\t\n", short(e.AloneP50Ns), short(e.AloneP95Ns), short(e.AloneP99Ns), percent(1000))
		for _, r := range e.Rules {
			mark := ""
			if r.Protects {
				mark = "protects"
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Rule, short(r.P50Ns), short(r.P95Ns), short(r.P99Ns), percent(r.AgainstNoneMilli), percent(r.BatchMilli), mark)
		}
		t.Flush()
	}
	if a.Protected {
		b.WriteString("\nprotects: at most half of the P99 without a governor, at least half of the batch job's work alone\n")
	} else {
		b.WriteString("\nno rule halves the P99 and leaves the batch job half of its work\n")
	}
	if len(a.Pictures) > 0 {
		fmt.Fprintf(&b, "picture: %s\n", strings.Join(a.Pictures, ", "))
	}
	return b.String()
}
