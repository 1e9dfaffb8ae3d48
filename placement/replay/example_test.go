package replay_test

import (
	"context"
	"fmt"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay"
)

// Eight tasks of half a GPU come, and four of them go, before a task that needs
// all four GPUs of a node: spread over the cluster, they are in its way.
func ExampleRun() {
	nodes := []placement.NodeSpec{
		{Name: "a", CPU: 64_000, GPUs: make([]placement.GPUSpec, 4)},
		{Name: "b", CPU: 64_000, GPUs: make([]placement.GPUSpec, 4)},
	}
	half := fragmentation.Shape{CPU: 4000, GPUs: 1, Milli: 500}
	var tasks []replay.Task
	for i := range int64(8) {
		t := replay.Task{Task: placement.Task{ID: fmt.Sprintf("notebook-%d", i), Shape: half}, Arrive: i}
		if i >= 4 {
			t.Lifetime = 20
		}
		tasks = append(tasks, t)
	}
	training := fragmentation.Shape{CPU: 16_000, GPUs: 4, Milli: fragmentation.Whole}
	tasks = append(tasks, replay.Task{Task: placement.Task{ID: "training", Shape: training}, Arrive: 100})

	for _, p := range []struct {
		name   string
		policy func(*placement.Cluster) placement.Policy
	}{
		{"worst fit", func(c *placement.Cluster) placement.Policy { return placement.WorstFit(c.Largest()) }},
		{"best fit", func(c *placement.Cluster) placement.Policy { return placement.BestFit(c.Largest()) }},
	} {
		result, err := replay.Run(context.Background(), replay.Config{Nodes: nodes, Tasks: tasks, Policy: p.policy})
		if err != nil {
			fmt.Println(err)
			return
		}
		final := result.Final
		fmt.Printf("%s: %d of %d placed, %.1f of 8 GPUs left\n", p.name, final.Placed, final.Tasks, final.UnallocatedGPUs())
		for _, f := range result.Failures {
			fmt.Printf("  %d refused: %v\n", f.Tasks, f.Kind)
		}
	}
	// Output:
	// worst fit: 8 of 9 placed, 6.0 of 8 GPUs left
	//   1 refused: not enough GPU left
	// best fit: 9 of 9 placed, 2.0 of 8 GPUs left
}

// Two seeds at a time; results come in the order of the seeds.
func ExampleSeeds() {
	nodes := []placement.NodeSpec{{Name: "a", CPU: 64_000, GPUs: make([]placement.GPUSpec, 4)}}
	shapes := []fragmentation.Shape{{GPUs: 1, Milli: 300}, {GPUs: 1, Milli: 900}, {GPUs: 3, Milli: fragmentation.Whole}}
	results, err := replay.Seeds(context.Background(), []int64{0, 1, 2}, 2,
		func(ctx context.Context, seed int64) (*replay.Result, error) {
			var tasks []replay.Task
			for i := range shapes { // the seed says who comes first
				tasks = append(tasks, replay.Task{Task: placement.Task{
					ID: fmt.Sprint(i), Shape: shapes[(i+int(seed))%len(shapes)],
				}})
			}
			return replay.Run(ctx, replay.Config{
				Nodes: nodes, Tasks: tasks,
				Policy: func(*placement.Cluster) placement.Policy { return placement.FirstFit() },
			})
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	for seed, r := range results {
		fmt.Printf("seed %d: %.1f %% allocated, %d GPUs in use\n", seed, r.Final.AllocatedPercent(), r.Final.GPUsInUse)
	}
	// Output:
	// seed 0: 30.0 % allocated, 2 GPUs in use
	// seed 1: 97.5 % allocated, 4 GPUs in use
	// seed 2: 82.5 % allocated, 4 GPUs in use
}

// What a rule is worth where instances come and go: the same arrivals for both,
// over several seeds.
func ExampleChurn() {
	model, err := mig.Lookup("a100-40gb")
	if err != nil {
		panic(err)
	}
	nodes := make([]placement.NodeSpec, 16)
	for i := range nodes {
		nodes[i] = placement.NodeSpec{Name: fmt.Sprintf("gpu-%d", i), GPUs: []placement.GPUSpec{{MIG: model}}}
	}
	mix := fragmentation.Mix{
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "1g.5gb"}, Count: 1},
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "2g.10gb"}, Count: 1},
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "3g.20gb"}, Count: 1},
	}
	states, err := fragmentation.NewStates(model)
	if err != nil {
		panic(err)
	}
	index, err := fragmentation.NewIndex(states, mix, fragmentation.DefaultIndex())
	if err != nil {
		panic(err)
	}
	byIndex, err := placement.ByIndex(index)
	if err != nil {
		panic(err)
	}
	cluster, err := placement.NewCluster(nodes)
	if err != nil {
		panic(err)
	}
	const lifetime = 1_000_000
	gap, err := replay.GapFor(cluster, mix, lifetime, 1.0)
	if err != nil {
		panic(err)
	}
	var firstFit, ours []float64
	for seed := range uint64(5) {
		tasks, err := replay.Churn{Mix: mix, Gap: gap, Lifetime: lifetime, Tasks: 3000}.Arrivals(seed)
		if err != nil {
			panic(err)
		}
		for _, rule := range []struct {
			policy   placement.Policy
			rejected *[]float64
		}{{placement.FirstFit(), &firstFit}, {byIndex, &ours}} {
			result, err := replay.Run(context.Background(), replay.Config{
				Nodes: nodes, Tasks: tasks, WarmUp: 6 * lifetime,
				Policy: func(*placement.Cluster) placement.Policy { return rule.policy },
			})
			if err != nil {
				panic(err)
			}
			*rule.rejected = append(*rule.rejected, result.Steady.RejectedSlicesPercent())
		}
	}
	change := replay.Change(ours, firstFit)
	fmt.Println("fewer compute slices are rejected:", change.Below(0))
	// Output: fewer compute slices are rejected: true
}
