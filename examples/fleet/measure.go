package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"gonum.org/v1/plot/plotter"

	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay"
)

// figure is a number over the seeds.
type figure struct {
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
}

// outcome is what a policy was worth, over all seeds. Shares are in % of the
// fleet, at the end of the run.
type outcome struct {
	Name               string  `json:"name"`
	Seeds              int     `json:"seeds"`
	AllocatedPercent   figure  `json:"allocatedPercent"`
	UnallocatedGPUs    float64 `json:"unallocatedGPUs"`      // mean
	FragmentPercent    float64 `json:"fragmentationPercent"` // mean
	DecisionsPerSecond float64 `json:"decisionsPerSecond"`

	uncut, cut float64            // mean share allocated of the uncut and of the cut GPUs; 0 without any
	curve      curve              // mean
	final      *placement.Cluster // the books of the first seed
}

// trial is one run of a policy.
type trial struct {
	*replay.Result
	uncut, cut float64
}

// measure replays every policy with every seed, as many at a time as there are
// processors, and reports how many hundredths of the work are done.
func measure(ctx context.Context, o options, s *scenario, tell func(policy string, hundredths int)) ([]outcome, error) {
	var all []outcome
	for _, name := range o.policies {
		trials, err := replay.Seeds(ctx, o.seeds, runtime.GOMAXPROCS(0), func(ctx context.Context, seed int64) (trial, error) {
			a, err := s.draw(seed)
			if err != nil {
				return trial{}, err
			}
			cfg := a.config
			if cfg.Policy, err = a.policy(name); err != nil {
				return trial{}, err
			}
			cfg.Value, cfg.Now = s.value, time.Now
			told := 0
			cfg.Progress = func(done, total int) {
				now := 100 * done / total
				tell(name, now-told)
				told = now
			}
			r, err := replay.Run(ctx, cfg)
			if err != nil {
				return trial{}, err
			}
			t := trial{Result: r}
			t.uncut, t.cut = halves(r.Cluster)
			if seed != o.seeds[0] {
				r.Cluster = nil // only the first is looked at later
			}
			return t, nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, summarize(name, trials))
	}
	return all, nil
}

// halves returns the share of the uncut and of the cut GPUs that is allocated,
// in %.
func halves(c *placement.Cluster) (uncut, cut float64) {
	var gpus, held [2]float64
	for n := range c.Nodes() {
		for _, g := range n.State().GPUs {
			i := 0
			if g.Cut() {
				i = 1
			}
			gpus[i]++
			held[i] += 1 - float64(g.Left())/1000
		}
	}
	return 100 * held[0] / max(gpus[0], 1), 100 * held[1] / max(gpus[1], 1)
}

// summarize takes the runs of one policy together.
func summarize(name string, trials []trial) outcome {
	n := float64(len(trials))
	first := trials[0].Final.AllocatedPercent()
	out := outcome{Name: name, Seeds: len(trials), AllocatedPercent: figure{Min: first, Max: first}, final: trials[0].Cluster}
	arrived, decisions, seconds := 0.0, 0.0, 0.0
	samples := len(trials[0].Samples)
	for _, t := range trials {
		allocated := t.Final.AllocatedPercent()
		out.AllocatedPercent.Mean += allocated / n
		out.AllocatedPercent.Min = min(out.AllocatedPercent.Min, allocated)
		out.AllocatedPercent.Max = max(out.AllocatedPercent.Max, allocated)
		out.UnallocatedGPUs += t.Final.UnallocatedGPUs() / n
		out.FragmentPercent += t.Final.FragmentPercent() / n
		out.uncut += t.uncut / n
		out.cut += t.cut / n
		arrived += t.Final.ArrivedPercent() / n
		decisions += float64(t.Offered.Total())
		seconds += t.Elapsed.Seconds()
		samples = min(samples, len(t.Samples))
	}
	if seconds > 0 {
		out.DecisionsPerSecond = decisions / seconds
	}
	out.curve = curve{name: name}
	for c := range samples {
		mean := 0.0
		for _, t := range trials {
			mean += t.Samples[c].AllocatedPercent() / n
		}
		out.curve.points = append(out.curve.points, plotter.XY{X: float64(c), Y: mean})
	}
	if end := float64(samples - 1); arrived > end {
		out.curve.points = append(out.curve.points, plotter.XY{X: arrived, Y: out.AllocatedPercent.Mean})
	}
	return out
}
