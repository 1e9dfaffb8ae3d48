package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/gpushare/gpushare/examples/internal/progress"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay"
	"github.com/gpushare/gpushare/placement/replay/openb"
)

// outcome is one run beside the reference.
type outcome struct {
	Trace     string `json:"trace"`
	Policy    string `json:"policy"`
	Seed      int64  `json:"seed"`
	Equal     bool   `json:"equal"`
	Allocated int64  `json:"allocatedMilliGPU"`
	Expected  int64  `json:"expectedMilliGPU"`
	Failed    int    `json:"failedTasks"`
	// ExpectedFailed is the reference's count.
	ExpectedFailed int `json:"expectedFailedTasks"`
	// Decisions says whether every single decision is the reference's; null
	// where it gives no digest of them.
	Decisions *bool `json:"decisionsEqual"`
	capacity  int64
	tasks     int
	elapsed   time.Duration
}

// compare runs all jobs and says on stderr how far it is.
func compare(ctx context.Context, o options, stderr io.Writer) (report, error) {
	g, all, err := jobs(o)
	if err != nil {
		return report{}, err
	}
	nodes, err := readNodes(o.data)
	if err != nil {
		return report{}, err
	}
	r := report{Schema: schema, Policies: []policySpeed{}, Outcomes: []outcome{}}
	runs := 0
	for _, j := range all {
		runs += len(j.seeds)
	}
	start := time.Now()
	bar := progress.New(stderr, "openb", runs)
	defer bar.Close()
	var tasks []placement.Task
	for i, j := range all {
		if i == 0 || j.trace != all[i-1].trace {
			if tasks, err = readTasks(o.data, j.trace); err != nil {
				return report{}, err
			}
		}
		outcomes, err := replay.Seeds(ctx, j.seeds, o.parallel, func(ctx context.Context, seed int64) (outcome, error) {
			out, err := one(ctx, g, nodes, tasks, j, seed)
			bar.Add(j.trace+" "+j.policy, 1)
			return out, err
		})
		if err != nil {
			return report{}, fmt.Errorf("%s: %s: %w", j.trace, j.policy, err)
		}
		r.add(outcomes)
	}
	if o.wantsRandom() {
		if r.Random, err = random(ctx, o, nodes); err != nil {
			return report{}, fmt.Errorf("%s: %w", randomPolicy, err)
		}
	}
	r.Seconds = time.Since(start).Seconds()
	return r, nil
}

// one runs one experiment.
func one(ctx context.Context, g *golden, nodes []placement.NodeSpec, tasks []placement.Task, j job, seed int64) (outcome, error) {
	e, err := openb.NewExperiment(nodes, tasks, openb.Ratio, seed)
	if err != nil {
		return outcome{}, err
	}
	policy, err := e.Policy(j.policy)
	if err != nil {
		return outcome{}, err
	}
	digest := openb.NewDigest()
	cfg := e.Config(policy)
	cfg.Observe, cfg.Now = digest.Add, time.Now
	result, err := replay.Run(ctx, cfg)
	if err != nil {
		return outcome{}, err
	}
	expected := g.Totals.ByTrace[j.trace][j.policy][strconv.FormatInt(seed, 10)]
	final := result.Final
	out := outcome{
		Trace: j.trace, Policy: j.policy, Seed: seed,
		Allocated: final.Allocated, Expected: expected.Allocated,
		Failed: final.Tasks - final.Placed, ExpectedFailed: expected.Failed,
		capacity: final.Capacity, tasks: final.Tasks, elapsed: result.Elapsed,
	}
	out.Equal = out.Allocated == out.Expected && out.Failed == out.ExpectedFailed
	if want := g.Default.Policies[j.policy].Digest; j.trace == "default" && seed == openb.FirstSeed && want != "" {
		same := digest.String() == want
		out.Decisions = &same
		out.Equal = out.Equal && same
	}
	return out, nil
}
