package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
)

// growthRounds is how many rounds of decisions a line takes, besides filling the
// fleet.
const growthRounds = 9

// growthRule is a rule whose decisions are measured, with the fleet for it.
type growthRule struct {
	name   string
	policy placement.Policy
	mix    fragmentation.Mix
	nodes  []placement.NodeSpec // of which fleets consist
	fill   int64                // milli-GPU of each GPU that is taken
}

// growthRules returns the rules in the order of the table.
func growthRules() ([]growthRule, error) {
	w, err := readWorkload(embedded)
	if err != nil {
		return nil, fmt.Errorf("embedded workload: %w", err)
	}
	shares := growthRule{mix: w.shares, fill: 750}
	for _, n := range w.nodes {
		if len(n.GPUs) > 0 && n.GPUs[0].MIG == nil {
			shares.nodes = append(shares.nodes, n)
		}
	}
	model, err := mig.Lookup("a100-40gb")
	if err != nil {
		return nil, err
	}
	instances := growthRule{fill: 500, nodes: []placement.NodeSpec{{GPUs: slices.Repeat([]placement.GPUSpec{{MIG: model}}, 8)}}}
	if instances.mix, _, err = mixOf([]*mig.Model{model}, "small7"); err != nil {
		return nil, err
	}
	byValue := func(step int64, order placement.Order) func(fragmentation.Value, error) (placement.Policy, error) {
		return func(v fragmentation.Value, err error) (placement.Policy, error) {
			if err != nil {
				return nil, err
			}
			return placement.ByValue(v, step, order)
		}
	}
	var rules []growthRule
	for _, r := range []struct {
		name   string
		like   growthRule
		policy func() (placement.Policy, error)
	}{
		{"FGD", shares, func() (placement.Policy, error) {
			v, err := fragmentation.NewFGD(shares.mix)
			return byValue(shareStep, placement.NodeOrder)(v, err)
		}},
		{"expected fill", shares, func() (placement.Policy, error) {
			v, err := fragmentation.NewFill(shares.mix, fragmentation.FillOptions{})
			return byValue(fillStep, placement.NodeOrder)(v, err)
		}},
		{"MIG-FGD", instances, func() (placement.Policy, error) {
			v, err := fragmentation.NewMIGFGD(instances.mix)
			return byValue(1, placement.SmallestFirst)(v, err)
		}},
		{"value index", instances, func() (placement.Policy, error) {
			states, err := fragmentation.NewStates(model)
			if err != nil {
				return nil, err
			}
			x, err := fragmentation.NewIndex(states, instances.mix, fragmentation.DefaultIndex())
			if err != nil {
				return nil, err
			}
			return placement.ByIndex(x)
		}},
	} {
		rule := r.like
		rule.name = r.name
		if rule.policy, err = r.policy(); err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// growthFleet is a fleet on which tasks come and go.
type growthFleet struct {
	rule    *growthRule
	random  *rand.Rand
	cluster *placement.Cluster
	names   []string
	there   []string // IDs of the tasks on it
	number  int
}

// fleet returns a fleet of so many GPUs with tasks on nodes drawn at random.
func (r *growthRule) fleet(ctx context.Context, gpus int) (*growthFleet, error) {
	f := &growthFleet{rule: r, random: rand.New(rand.NewPCG(uint64(gpus), 1)), cluster: &placement.Cluster{}}
	capacity := int64(0)
	for capacity < int64(gpus) {
		spec := r.nodes[f.random.IntN(len(r.nodes))]
		spec.Name = "node-" + strconv.Itoa(len(f.names))
		if _, err := f.cluster.Put(spec, nil); err != nil {
			return nil, err
		}
		capacity += int64(len(spec.GPUs))
		f.names = append(f.names, spec.Name)
	}
	anywhere := placement.Random(1)
	const mostTries = 10_000 // in a row: a small fleet may have no CPU for so much
	for taken, tries := int64(0), 0; taken < capacity*r.fill && tries < mostTries; tries++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t := f.next()
		node := f.cluster.Node(f.names[f.random.IntN(len(f.names))])
		choice := anywhere.Choose(node, &t)
		if !choice.OK() {
			continue
		}
		before := node.State()
		if err := f.cluster.Place(node.Name(), placement.Assignment{Task: t, Spot: choice.Spot}); err != nil {
			return nil, err
		}
		after := f.cluster.Node(node.Name()).State()
		taken += before.Left() - after.Left()
		f.there = append(f.there, t.ID)
		tries = 0
	}
	return f, nil
}

// next returns the next task.
func (f *growthFleet) next() placement.Task {
	f.number++
	return placement.Task{ID: "task-" + strconv.Itoa(f.number), Shape: pickShape(f.random, f.rule.mix)}
}

// measure measures decisions on a fleet; step is called growthRounds+1 times.
func (r *growthRule) measure(ctx context.Context, gpus, decisions int, step func()) (growthRow, error) {
	row := growthRow{Rule: r.name, GPUs: gpus}
	f, err := r.fleet(ctx, gpus)
	if err != nil {
		return row, err
	}
	engine := placement.NewEngine(f.cluster, r.policy)
	for _, e := range r.mix {
		engine.Choose(&placement.Task{Shape: e.Shape}) // the kinds of task are known
	}
	step()
	var engines, plains []time.Duration
	for round := range growthRounds {
		t := f.next()
		begin := time.Now()
		node, choice := f.cluster.Choose(r.policy, &t)
		plain := time.Since(begin)
		if same, sameChoice := engine.Choose(&t); same != node || node != nil && choice != sameChoice {
			return row, fmt.Errorf("the engine decides %v about %v, and not %v", sameChoice, t.Shape, choice)
		}
		if _, err := f.round(ctx, engine, decisions/10); err != nil { // asking all has emptied the caches
			return row, err
		}
		took, err := f.round(ctx, engine, decisions)
		if err != nil {
			return row, err
		}
		if round > 0 {
			engines, plains = append(engines, took/time.Duration(decisions)), append(plains, plain)
		}
		step()
	}
	row.Engine, row.Plain = median(engines), median(plains)
	return row, nil
}

// round makes decisions and returns how long they took, without the clock and
// without entering them.
func (f *growthFleet) round(ctx context.Context, engine *placement.Engine, decisions int) (time.Duration, error) {
	took, clock := time.Duration(0), time.Duration(0)
	for range decisions {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		t := f.next()
		begin := time.Now()
		clock += time.Since(begin)
		begin = time.Now()
		node, choice := engine.Choose(&t)
		took += time.Since(begin)
		if node != nil {
			if err := engine.Place(node.Name(), placement.Assignment{Task: t, Spot: choice.Spot}); err != nil {
				return 0, err
			}
			f.there = append(f.there, t.ID)
		}
		if len(f.there) == 0 {
			continue
		}
		leaving := f.random.IntN(len(f.there))
		engine.Release(f.there[leaving])
		f.there[leaving] = f.there[len(f.there)-1]
		f.there = f.there[:len(f.there)-1]
	}
	return max(took-clock, 0), nil
}

// median returns the median in microseconds.
func median(all []time.Duration) float64 {
	slices.Sort(all)
	return float64((all[len(all)/2] + all[(len(all)-1)/2]).Nanoseconds()) / 2000
}
