package main

import (
	"context"
	"slices"

	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay"
	"github.com/gpushare/gpushare/placement/replay/openb"
)

// randomPolicy is the name of the one policy that is not repeatable in the
// reference, where it depends on the timing of goroutines. Its mean over ten
// seeds of the default trace must lie in a range.
const randomPolicy = "Random"

// randomMean is that mean for the library's random policy.
type randomMean struct {
	Trace       string  `json:"trace"`
	Seeds       int     `json:"seeds"`
	MeanPercent float64 `json:"meanAllocatedPercent"`
	Low         float64 `json:"low"`
	High        float64 `json:"high"`
	Inside      bool    `json:"inside"`
}

// wantsRandom says whether the mean is asked for: by name, or with everything.
func (o *options) wantsRandom() bool {
	if len(o.policies) > 0 {
		return slices.Contains(o.policies, randomPolicy)
	}
	return len(o.traces) == 0 && len(o.seeds) == 0
}

// random measures the mean.
func random(ctx context.Context, o options, nodes []placement.NodeSpec) (*randomMean, error) {
	m := &randomMean{Trace: "default", Seeds: 10, Low: 87.07, High: 88.03}
	tasks, err := readTasks(o.data, m.Trace)
	if err != nil {
		return nil, err
	}
	var seeds []int64
	for i := range int64(m.Seeds) {
		seeds = append(seeds, openb.FirstSeed+i)
	}
	percents, err := replay.Seeds(ctx, seeds, o.parallel, func(ctx context.Context, seed int64) (float64, error) {
		e, err := openb.NewExperiment(nodes, tasks, openb.Ratio, seed)
		if err != nil {
			return 0, err
		}
		result, err := replay.Run(ctx, e.Config(placement.Random(uint64(seed))))
		if err != nil {
			return 0, err
		}
		return result.Final.AllocatedPercent(), nil
	})
	if err != nil {
		return nil, err
	}
	for _, p := range percents {
		m.MeanPercent += p / float64(len(percents))
	}
	m.Inside = m.Low <= m.MeanPercent && m.MeanPercent <= m.High
	return m, nil
}
