package openb

import (
	"cmp"
	"fmt"
	"math/rand"
	"slices"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay"
)

// What the published experiment uses.
const (
	// Ratio is how much GPU the tasks ask for in all, over the capacity.
	Ratio = 1.3
	// Popularity is the percentage of the tasks that the target workload covers.
	Popularity = 95
	// FirstSeed is the first of the ten seeds in a row.
	FirstSeed = 42
)

// Experiment is one run of the published protocol, ready to be replayed with
// any policy.
type Experiment struct {
	// Nodes are ordered by rank: a tie goes to the first.
	Nodes []placement.NodeSpec
	// Tasks are in the order in which they are offered. None ever leaves.
	Tasks []placement.Task
	// Mix is the target workload, from the trace as it was given.
	Mix fragmentation.Mix
	// TraceTasks is the number of tasks of that trace.
	TraceTasks int
}

// NewExperiment prepares a run as published: the target workload, then, all
// from one generator, the order of the tasks, their tuning to ratio times the
// capacity (which repeats tasks or leaves some out) and the ranks of the nodes.
// Task IDs and node names must be unique. The arguments are not changed.
//
// The error names what is out of range and wraps ErrBadExperiment.
func NewExperiment(nodes []placement.NodeSpec, tasks []placement.Task, ratio float64, seed int64) (*Experiment, error) {
	capacity := int64(0)
	for _, n := range nodes {
		capacity += fragmentation.Whole * int64(len(n.GPUs))
	}
	if capacity == 0 {
		return nil, fmt.Errorf("openb: none of %d nodes has a GPU: %w", len(nodes), ErrBadExperiment)
	}
	mix, err := TargetMix(tasks, Popularity)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrBadExperiment)
	}
	random := rand.New(rand.NewSource(seed))
	discardBeforeShuffle(random)
	named := slices.SortedFunc(slices.Values(tasks), func(a, b placement.Task) int { return cmp.Compare(a.ID, b.ID) })
	offered := slices.Clone(named)
	random.Shuffle(len(offered), func(i, j int) { offered[i], offered[j] = offered[j], offered[i] })
	if offered, err = tune(random, offered, named, ratio, capacity); err != nil {
		return nil, err
	}
	discardBeforeRanks(random)
	return &Experiment{Nodes: rank(random, nodes), Tasks: offered, Mix: mix, TraceTasks: len(tasks)}, nil
}

// Config returns the replay of an experiment with a policy: the published one
// offers all tasks at one time, and none leaves. The caller may set the rest, and
// also another Config.Policy, for one that looks at the cluster first.
func (e *Experiment) Config(policy placement.Policy) replay.Config {
	cfg := replay.Config{
		Nodes:  e.Nodes,
		Tasks:  make([]replay.Task, len(e.Tasks)),
		Policy: func(*placement.Cluster) placement.Policy { return policy },
	}
	for i, t := range e.Tasks {
		cfg.Tasks[i].Task = t
	}
	return cfg
}

// TargetMix returns the target workload of a trace: its most frequent shapes
// until they cover percent of the tasks. Main memory is no part of a shape
// here. The error is that of fragmentation.Mix.Cover.
func TargetMix(tasks []placement.Task, percent float64) (fragmentation.Mix, error) {
	shapes := make([]fragmentation.Shape, len(tasks))
	for i, t := range tasks {
		shapes[i] = t.Shape
		shapes[i].Memory = 0
	}
	mix, err := fragmentation.MixOf(shapes).Cover(percent)
	if err != nil {
		return nil, fmt.Errorf("openb: target workload of %d tasks: %w", len(tasks), err)
	}
	return mix, nil
}

// discardBeforeShuffle takes the one value that the simulator draws for a
// purpose without effect.
func discardBeforeShuffle(random *rand.Rand) { random.Int() }

// drawsBeforeRanks is how many values the start of the simulator's control
// plane takes from the shared generator before the nodes are ranked. The number
// was found by matching and holds for every seed and trace compared.
const drawsBeforeRanks = 10

func discardBeforeRanks(random *rand.Rand) {
	for range drawsBeforeRanks {
		random.Int63()
	}
}

// rank returns the nodes in the order that breaks ties: by name, then permuted.
func rank(random *rand.Rand, nodes []placement.NodeSpec) []placement.NodeSpec {
	named := slices.SortedFunc(slices.Values(nodes), func(a, b placement.NodeSpec) int { return cmp.Compare(a.Name, b.Name) })
	ranked := make([]placement.NodeSpec, len(named))
	for i, r := range random.Perm(len(named)) {
		ranked[r] = named[i]
	}
	return ranked
}
