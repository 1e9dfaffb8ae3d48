package placement_test

import (
	"fmt"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
)

// Holes are filled before GPUs are opened, and a 3g begins at 4, since the half at
// 0 is the one that takes two 2g.
func ExampleByIndex() {
	a100, err := mig.Lookup("a100-40gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	states, err := fragmentation.NewStates(a100)
	if err != nil {
		fmt.Println(err)
		return
	}
	mix := fragmentation.Mix{
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "3g.20gb"}, Count: 1},
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "2g.10gb"}, Count: 1},
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "1g.5gb"}, Count: 1},
	}
	index, err := fragmentation.NewIndex(states, mix, fragmentation.DefaultIndex())
	if err != nil {
		fmt.Println(err)
		return
	}
	policy, err := placement.ByIndex(index)
	if err != nil {
		fmt.Println(err)
		return
	}
	cluster, err := placement.NewCluster([]placement.NodeSpec{
		{Name: "node", GPUs: []placement.GPUSpec{{MIG: a100}, {MIG: a100}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, profile := range []string{"3g.20gb", "2g.10gb", "3g.20gb", "2g.10gb"} {
		job := placement.Task{ID: fmt.Sprint(i), Shape: fragmentation.Shape{GPUs: 1, Profile: profile}}
		node, choice := cluster.Choose(policy, &job)
		if err := cluster.Place(node.Name(), placement.Assignment{Task: job, Spot: choice.Spot}); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s on GPU %s at %d\n", profile, choice.Spot.GPUs, choice.Spot.Start)
	}
	// Output:
	// 3g.20gb on GPU 0 at 4
	// 2g.10gb on GPU 0 at 0
	// 3g.20gb on GPU 1 at 4
	// 2g.10gb on GPU 0 at 2
}

// A mix that nobody knows is learned from what arrives.
func ExampleIndexLearner() {
	a100, err := mig.Lookup("a100-40gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	learner, err := placement.NewIndexLearner([]*mig.Model{a100}, fragmentation.DefaultIndex(), 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 200 {
		job := placement.Task{Shape: fragmentation.Shape{GPUs: 1, Profile: "1g.5gb"}}
		if learner.Observe(&job) {
			fmt.Println("a new policy")
		}
	}
	_ = learner.Policy() // to decide by
	// Output:
	// a new policy
	// a new policy
}
