package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gpushare/gpushare/examples/internal/picture"
	"github.com/gpushare/gpushare/examples/internal/progress"
	"github.com/gpushare/gpushare/timeslice"
	"github.com/gpushare/gpushare/timeslice/governor/trial"
)

const governorUsage = `timeslice governor tries launch governors on a simulated GPU: a protected tenant with
requests at random beside a batch job without end, which asks its governor before each
launch. What does each cost the one and leave to the other?

Usage:
  timeslice governor [flags]

  -rules RULE,...    of the batch job; some figures of each where not given
                     none             it launches as it likes
                     feedback[:N]     credit for N thousandths of the GPU (500)
                     quota[:N]        N thousandths of every 100 ms (500)
                     aimd[:N]         what costs the other N thousandths at most (30)
                     corun[:N]        while the other has nothing to do, and N
                                      thousandths beside it (0)
  -engines E,...     sliced (time slices), fifo (first come, first served); both where
                     not given
  -load N            of the protected tenant, in thousandths of the GPU (300)
  -request TIME      what one of its requests takes alone, in launches of 1ms (5ms)
  -kernel TIME       a launch of the batch job, 30 % more or less (2ms)
  -slice TIME        a turn (1.024ms)   -switch TIME  lost when another runs (40µs)
  -for TIME          a run (1m)         -seeds N      runs of each, seeds 1 to N (3)
  -plot PREFIX       draw it to PREFIX.png and PREFIX.svg
  -json              one JSON object

P99 is the time from the arrival of a protected request to its end; AGAINST NONE what
that is of the one without a governor; BATCH the work of the batch job, in parts of
what it does alone. Figures are means over the seeds. Exit status 1 says that no rule
at least halves the P99 and leaves the batch job at least half of its work.
`

// trialFlags are the flags of the workload.
type trialFlags struct {
	rules, engines               string
	load, seeds                  int
	request, kernel, slice, lost span
	length                       span
	plot                         string
}

// launchesOf is what a request's launches take.
const launchesOf = time.Millisecond

// cellKey names a set of runs.
type cellKey struct {
	engine trial.Engine
	rule   rule
}

// tryGovernors compares the rules.
func tryGovernors(ctx context.Context, inv *invocation, args []string) error {
	f := trialFlags{request: 5_000_000, kernel: 2_000_000, slice: 1_024_000, lost: 40_000, length: 60_000_000_000}
	fs := inv.Flags
	fs.StringVar(&f.rules, "rules", defaultRules, "")
	fs.StringVar(&f.engines, "engines", "sliced,fifo", "")
	fs.IntVar(&f.load, "load", 300, "")
	fs.IntVar(&f.seeds, "seeds", 3, "")
	fs.Var(&f.request, "request", "")
	fs.Var(&f.kernel, "kernel", "")
	fs.Var(&f.slice, "slice", "")
	fs.Var(&f.lost, "switch", "")
	fs.Var(&f.length, "for", "")
	fs.StringVar(&f.plot, "plot", "", "")
	if err := inv.parse(args, 0); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	rules, err := parseRules(f.rules)
	if err != nil {
		return fmt.Errorf("-rules: %w", err)
	}
	engines, err := parseEngines(f.engines)
	if err != nil {
		return fmt.Errorf("-engines: %w", err)
	}
	if err := picture.Ready(f.plot); err != nil {
		return err
	}
	answer, err := f.compare(ctx, inv, rules, engines)
	if err != nil {
		return err
	}
	if f.plot != "" {
		if answer.Pictures, err = drawGovernors(f.plot, answer); err != nil {
			return err
		}
	}
	return inv.Answer(answer.Protected, answer, func() string { return governorText(answer) })
}

// mostSeeds and mostLength bound how long a slip of the keyboard takes.
const (
	mostSeeds  = 1000
	mostLength = int64(time.Hour)
)

func (f *trialFlags) check() error {
	for _, t := range []struct {
		name string
		span
		low, high int64
	}{
		{"request", f.request, int64(launchesOf), int64(time.Second)},
		{"kernel", f.kernel, 1000, int64(time.Second)},
		{"slice", f.slice, 1000, int64(time.Second)},
		{"switch", f.lost, 0, int64(time.Second)},
		{"for", f.length, int64(time.Second), mostLength},
	} {
		if err := t.within(t.low, t.high); err != nil {
			return fmt.Errorf("-%s: %w", t.name, err)
		}
	}
	if int64(f.request)%int64(launchesOf) != 0 {
		return fmt.Errorf("-request: %s is no whole number of launches of %s", f.request, launchesOf)
	}
	if f.load < 1 || f.load > 900 {
		return fmt.Errorf("-load: %d is not from 1 to 900 thousandths", f.load)
	}
	if f.seeds < 1 || f.seeds > mostSeeds {
		return fmt.Errorf("-seeds: %d is no number of runs from 1 to %d", f.seeds, mostSeeds)
	}
	return nil
}

// engineNames are the engines as they are asked for.
var engineNames = [...]string{trial.FIFO: "fifo", trial.TimeSliced: "sliced"}

func parseEngines(list string) ([]trial.Engine, error) {
	var engines []trial.Engine
	for name := range strings.SplitSeq(list, ",") {
		i := slices.Index(engineNames[:], name)
		if i < 0 {
			return nil, fmt.Errorf("%q is none of sliced, fifo", name)
		}
		if slices.Contains(engines, trial.Engine(i)) {
			return nil, fmt.Errorf("%s stands there twice", name)
		}
		engines = append(engines, trial.Engine(i))
	}
	return engines, nil
}

// tenants are the protected one and, first, the batch job.
func (f *trialFlags) tenants(r rule) ([]trial.Client, error) {
	g, err := r.governor()
	if err != nil {
		return nil, err
	}
	kernels := make([]time.Duration, int64(f.request)/int64(launchesOf))
	for i := range kernels {
		kernels[i] = launchesOf
	}
	return []trial.Client{
		{Name: "protected", Kernels: kernels, Gap: time.Duration(int64(f.request) * 1000 / int64(f.load)), Protected: true},
		{Name: "batch", Kernels: []time.Duration{time.Duration(f.kernel)}, Jitter: 300, Governor: g},
	}, nil
}

// job is one run; alone leaves one of the tenants out.
type job struct {
	cellKey
	seed  uint64
	alone int // which tenant is there: only that one, or noneAlone for both
}

const noneAlone = -1

func (f *trialFlags) run(j job) (trial.Report, error) {
	gpu := trial.GPU{Engine: j.engine, Slice: time.Duration(f.slice), Switch: time.Duration(f.lost), Seed: j.seed}
	clients, err := f.tenants(j.rule)
	if err != nil {
		return trial.Report{}, err
	}
	if j.alone != noneAlone {
		clients = clients[j.alone : j.alone+1]
	}
	return trial.Run(gpu, clients, time.Duration(f.length))
}

// compare runs all, on as many goroutines as there are processors.
func (f *trialFlags) compare(ctx context.Context, inv *invocation, rules []rule, engines []trial.Engine) (*governorAnswer, error) {
	var jobs []job
	for _, e := range engines {
		for seed := uint64(1); seed <= uint64(f.seeds); seed++ {
			for alone := range 2 {
				jobs = append(jobs, job{cellKey{e, rule{law: lawNone}}, seed, alone})
			}
			for _, r := range withNone(rules) {
				jobs = append(jobs, job{cellKey{e, r}, seed, noneAlone})
			}
		}
	}
	bar := progress.New(inv.stderr, "timeslice governor", len(jobs))
	reports := make([]trial.Report, len(jobs))
	errs := make([]error, len(jobs))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(jobs)) {
		wg.Go(func() {
			for i := range next {
				reports[i], errs[i] = f.run(jobs[i])
				bar.Add(jobs[i].rule.String(), 1)
			}
		})
	}
	for i := range jobs {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	bar.Close()
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return nil, err
	}
	return f.answer(rules, engines, jobs, reports), nil
}

// withNone adds the rule that all are compared with, where it is not asked for.
func withNone(rules []rule) []rule {
	if none := (rule{law: lawNone}); !slices.Contains(rules, none) {
		return append([]rule{none}, rules...)
	}
	return rules
}

// part is a ratio in thousandths.
func part(a, b int64) int64 { return timeslice.Ratio{Num: a, Den: b}.Milli() }
