package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/churn"
	"github.com/gpushare/gpushare/placement/replay"
)

// instanceRules are the rules for MIG instances, the one that the others are
// compared with first.
var instanceRules = [...]string{
	"firstfit", "bestfit", "migfgd", "usedfirst", "selected", "learned", "repacking",
	"firstfit" + repairSuffix, "selected" + repairSuffix, "selected" + movesSuffix, "learned" + movesSuffix,
}

// movesSuffix says that moves are made in the background too.
const movesSuffix = "+moves"

const (
	exponentialLife = "exponential"
	heavyLife       = "heavy"
)

// selectSeed is that of the traces by which a table is selected: none of those on
// which it is measured.
const selectSeed = 1

// rulesOf is what a set of rules is made for.
type rulesOf struct{ model, mix string }

// ruleSet is the rules that know a mix.
type ruleSet struct {
	models            []*mig.Model
	mix               fragmentation.Mix
	then              []fragmentation.Mix // the mixes that follow, if it drifts
	migFGD, usedFirst placement.Policy
	smoothed          []*fragmentation.Index // of the mix with a uniform part, one for each model
	selected          func() (selectedRule, error)
}

// selectedRule is the rule that rejected least in simulations of the mix, with
// what states are worth by it.
type selectedRule struct {
	policy placement.Policy
	worth  func(*fragmentation.State) int64
}

func (l *laboratory) ruleSet(c cell) (ruleSet, error) {
	return l.rules.get(rulesOf{c.Model, c.Mix}, func() (s ruleSet, err error) {
		if s.models, err = modelsOf(c.Model); err != nil {
			return s, err
		}
		if s.mix, s.then, err = mixOf(s.models, c.Mix); err != nil {
			return s, err
		}
		value, err := fragmentation.NewMIGFGD(s.mix)
		if err != nil {
			return s, err
		}
		if s.migFGD, err = placement.ByValue(value, 1, placement.SmallestFirst); err != nil {
			return s, err
		}
		if s.usedFirst, err = placement.UsedFirst(value, 1, placement.SmallestFirst); err != nil {
			return s, err
		}
		for _, m := range s.models {
			states, err := fragmentation.NewStates(m)
			if err != nil {
				return s, err
			}
			index, err := fragmentation.NewIndex(states, s.mix, fragmentation.DefaultIndex())
			if err != nil {
				return s, err
			}
			s.smoothed = append(s.smoothed, index)
		}
		s.selected = sync.OnceValues(func() (selectedRule, error) { // takes about a second
			best, err := churn.Select(s.models[0], s.mix, selectSeed)
			if err != nil {
				return selectedRule{}, err
			}
			if x := best.Best.Index; x != nil {
				return selectedRule{best.Best.Policy, worthBy(x)}, nil
			}
			return selectedRule{best.Best.Policy, value.Of}, nil
		})
		return s, nil
	})
}

// worthBy returns what a node is worth by an index: the sum over its GPUs.
func worthBy(x *fragmentation.Index) func(*fragmentation.State) int64 {
	return func(s *fragmentation.State) int64 {
		sum := int64(0)
		for i := range s.GPUs {
			sum += x.Value(x.States().Number(s.GPUs[i].Layout))
		}
		return sum
	}
}

// ofOneModel reports whether a rule is for a fleet of one model: repacking counts
// its positions, and a table is selected, and says what moving is worth, for one.
func ofOneModel(rule string) bool {
	return rule == "repacking" || strings.HasPrefix(rule, "selected") || strings.HasSuffix(rule, movesSuffix)
}

// fleetOf divides GPUs among models, the first ones taking what is over.
func fleetOf(models []*mig.Model, gpus int) []churn.Group {
	var all []churn.Group
	for i, m := range models {
		all = append(all, churn.Group{Model: m, GPUs: (gpus + len(models) - 1 - i) / len(models)})
	}
	return all
}

// instances runs requests that come and go.
func (l *laboratory) instances(ctx context.Context, c cell) (map[string]float64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, err := l.ruleSet(c)
	if err != nil {
		return nil, err
	}
	trace, err := churn.NewTrace(churn.Config{
		Fleet: fleetOf(s.models, c.GPUs), Mix: s.mix, Then: s.then, Phase: driftPhase,
		Load: c.Load, Heavy: c.Lifetimes == heavyLife, WarmUp: c.WarmUp, Arrivals: c.Arrivals, Seed: uint64(c.Seed),
	})
	if err != nil {
		return nil, err
	}
	rule, _, moving := strings.Cut(c.Policy, "+")
	switch {
	case rule == "repacking":
		r, err := trace.RunRepacking()
		return instanceFigures(r), err
	case rule == "learned" && !moving:
		r, err := runLearned(trace, s.models)
		return instanceFigures(r), err
	}
	policy, worth, err := s.rule(rule)
	if err != nil {
		return nil, err
	}
	if !moving {
		r, err := trace.Run(policy)
		return instanceFigures(r), err
	}
	repair := &placement.Repair{Every: repairEvery}
	if strings.HasSuffix(c.Policy, movesSuffix) {
		repair.Worth = worth
	}
	return repairedInstances(ctx, trace, fleetOf(s.models, c.GPUs), policy, repair)
}

// rule returns a rule with what states are worth by it; nil if by nothing.
func (s *ruleSet) rule(name string) (placement.Policy, func(*fragmentation.State) int64, error) {
	switch name {
	case "firstfit":
		return placement.FirstFit(), nil, nil
	case "bestfit":
		return placement.BestFit(placement.Largest{GPU: fragmentation.Whole}), nil, nil
	case "migfgd":
		return s.migFGD, nil, nil
	case "usedfirst":
		return s.usedFirst, nil, nil
	case "selected":
		best, err := s.selected()
		return best.policy, best.worth, err
	case "learned": // what is learned in the end, if the mix stays
		p, err := placement.ByIndex(s.smoothed...)
		return p, worthBy(s.smoothed[0]), err
	default:
		return nil, nil, fmt.Errorf("no rule %q for instances", name)
	}
}

// runLearned runs the rule that knows nothing of the mix and learns it.
func runLearned(t *churn.Trace, models []*mig.Model) (churn.Result, error) {
	learner, err := placement.NewIndexLearner(models, fragmentation.DefaultIndex(), 0)
	if err != nil {
		return churn.Result{}, err
	}
	begun := false
	return t.RunWith(func(request *placement.Task) placement.Policy {
		if changed := learner.Observe(request); begun && !changed {
			return nil
		}
		begun = true
		return learner.Policy()
	})
}

// repairedInstances runs a trace on a cluster of nodes of one GPU, with repair.
func repairedInstances(ctx context.Context, t *churn.Trace, fleet []churn.Group, p placement.Policy, rule *placement.Repair) (map[string]float64, error) {
	cfg := replay.Config{Policy: fixed(p), Repair: rule, WarmUp: math.MaxInt64}
	for _, g := range fleet {
		for range g.GPUs {
			cfg.Nodes = append(cfg.Nodes, placement.NodeSpec{
				Name: "gpu-" + strconv.Itoa(len(cfg.Nodes)), GPUs: []placement.GPUSpec{{MIG: g.Model}},
			})
		}
	}
	const lifetime = 1 << 32 // a mean lifetime in ticks
	for a := range t.Arrivals() {
		task := replay.Task{
			Task:     placement.Task{ID: strconv.Itoa(len(cfg.Tasks)), Shape: a.Shape},
			Arrive:   int64(a.At * lifetime),
			Lifetime: max(1, int64(a.Lifetime*lifetime)),
		}
		if a.Measured {
			cfg.WarmUp = min(cfg.WarmUp, task.Arrive)
		}
		cfg.Tasks = append(cfg.Tasks, task)
	}
	r, err := replay.Run(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return map[string]float64{
		rejected:  r.Steady.RejectedPercent(),
		rejSlices: r.Steady.RejectedSlicesPercent(),
		movedTask: 100 * float64(r.Moves) / float64(max(r.Accepted.Total(), 1)),
	}, nil
}

func instanceFigures(r churn.Result) map[string]float64 {
	return map[string]float64{rejected: 100 * r.Requests.Share(), rejSlices: 100 * r.Slices.Share(), movedTask: 0}
}
