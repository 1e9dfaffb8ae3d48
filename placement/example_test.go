package placement_test

import (
	"fmt"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
)

// A node view does not change: With and Without return others.
func ExampleNode_With() {
	empty, err := placement.NewNode(placement.NodeSpec{
		Name: "node", CPU: 64000, Memory: 262144, Model: "T4",
		GPUs: []placement.GPUSpec{{Memory: 16384}, {Memory: 16384}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	small := placement.Task{ID: "small", Shape: fragmentation.Shape{CPU: 4000, GPUs: 1, Milli: 600, DeviceMemory: 8192}}
	used, err := empty.With(placement.Assignment{Task: small, Spot: placement.Spot{GPUs: placement.GPUs(1)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	large := placement.Task{ID: "large", Shape: fragmentation.Shape{CPU: 8000, GPUs: 2, Milli: 1000}}
	for _, n := range []*placement.Node{empty, used, used.Without("small")} {
		refusal := n.Fits(&large)
		fmt.Printf("%v (could eviction help: %v)\n", refusal, refusal.Evictable)
	}
	// Output:
	// fits (could eviction help: false)
	// not enough GPU left (could eviction help: true)
	// fits (could eviction help: false)
}

// The policy sees that a 1g at the end of a GPU leaves room for all others.
func ExampleByValue() {
	mix := fragmentation.Mix{
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "1g.5gb"}, Count: 2},
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "3g.20gb"}, Count: 1},
	}
	value, err := fragmentation.NewMIGFGD(mix)
	if err != nil {
		fmt.Println(err)
		return
	}
	policy, err := placement.ByValue(value, 1, placement.SmallestFirst)
	if err != nil {
		fmt.Println(err)
		return
	}
	a100, err := mig.Lookup("a100-40gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	node, err := placement.NewNode(placement.NodeSpec{Name: "node", CPU: 64000, GPUs: []placement.GPUSpec{{MIG: a100}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"a", "b", "c"} {
		task := placement.Task{ID: name, Shape: mix[0].Shape}
		choice := policy.Choose(node, &task)
		if !choice.OK() {
			fmt.Println(choice.Refusal)
			return
		}
		if node, err = node.With(placement.Assignment{Task: task, Spot: choice.Spot}); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(node.State().GPUs[0].Layout)
	// Output: 1g.5gb@4 1g.5gb@5 1g.5gb@6
}

// The loop of a scheduler: choose, place, and release when a task ends.
func ExampleChooser() {
	cluster, err := placement.NewCluster([]placement.NodeSpec{
		{Name: "one", CPU: 16000, GPUs: make([]placement.GPUSpec, 1)},
		{Name: "two", CPU: 32000, GPUs: make([]placement.GPUSpec, 2)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	chooser := placement.NewChooser(cluster, placement.BestFit(cluster.Largest()))
	arrive := func(id string, gpus int, milli int64) {
		task := placement.Task{ID: id, Shape: fragmentation.Shape{CPU: 2000, GPUs: gpus, Milli: milli}}
		node, choice := chooser.Choose(&task)
		if node == nil {
			fmt.Printf("%s waits: %s\n", id, choice.Refusal)
			return
		}
		if err := cluster.Place(node.Name(), placement.Assignment{Task: task, Spot: choice.Spot}); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s goes to node %s, GPU %s\n", id, node.Name(), choice.Spot.GPUs)
	}
	arrive("a", 1, 400)
	arrive("b", 2, 1000)
	arrive("c", 1, 700)
	cluster.Release("a")
	arrive("c", 1, 700)
	// Output:
	// a goes to node one, GPU 0
	// b goes to node two, GPU 0-1
	// c waits: not enough GPU left
	// c goes to node one, GPU 0
}

// After a restart the books come back from what was recorded; what cannot be
// true is reported and left out.
func ExampleRebuild() {
	a100, err := mig.Lookup("a100-40gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	spec := placement.NodeSpec{Name: "node", CPU: 64000, GPUs: []placement.GPUSpec{{MIG: a100}}}
	record := func(id, profile string, start int) placement.Assignment {
		return placement.Assignment{
			Task: placement.Task{ID: id, Shape: fragmentation.Shape{GPUs: 1, Profile: profile}},
			Spot: placement.Spot{GPUs: placement.GPUs(0), Start: start},
		}
	}
	unknownStart := record("d", "2g.10gb", 0)
	unknownStart.Spot = placement.Spot{Anywhere: true} // the kubelet chose
	node, wrong, err := placement.Rebuild(spec, []placement.Assignment{
		record("a", "3g.20gb", 4),
		record("b", "1g.5gb", 5),
		record("c", "1g.5gb", 0),
		unknownStart,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(node.State().GPUs[0].Layout)
	for _, w := range wrong {
		fmt.Println(w)
	}
	// Output:
	// 1g.5gb@0 2g.10gb@2 3g.20gb@4
	// placement: task "b" on node "node": GPU 0: no free start for the MIG profile: mig: model a100-40gb: 3g.20gb@4 and 1g.5gb@5 overlap
}

// Devices in the order in which a node should offer them.
func ExampleValuePolicy_Rank() {
	fgd, err := fragmentation.NewFGD(fragmentation.Mix{
		{Shape: fragmentation.Shape{GPUs: 1, Milli: 300}, Count: 2},
		{Shape: fragmentation.Shape{GPUs: 1, Milli: 1000}, Count: 1},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	policy, err := placement.ByValue(fgd, 1, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	node, err := placement.NewNode(placement.NodeSpec{Name: "node", GPUs: make([]placement.GPUSpec, 3)})
	if err != nil {
		fmt.Println(err)
		return
	}
	old := placement.Task{ID: "old", Shape: fragmentation.Shape{GPUs: 1, Milli: 700}}
	if node, err = node.With(placement.Assignment{Task: old, Spot: placement.Spot{GPUs: placement.GPUs(1)}}); err != nil {
		fmt.Println(err)
		return
	}
	task := placement.Task{ID: "new", Shape: fragmentation.Shape{GPUs: 1, Milli: 300}}
	for _, choice := range policy.Rank(node, &task) {
		fmt.Println("GPU", choice.Spot.GPUs)
	}
	// Output:
	// GPU 1
	// GPU 0
	// GPU 2
}

// Scores of any size become the small range that a scheduler wants, in order.
func ExampleNormalize() {
	scores := []int64{-7_000_000, 12, 13, -7_000_000}
	merged, err := placement.Normalize(scores, 0, 100)
	fmt.Println(scores, merged, err)
	merged, err = placement.Normalize(scores, 0, 1)
	fmt.Println(scores, merged, err)
	// Output:
	// [0 50 100 0] false <nil>
	// [0 0 1 0] true <nil>
}
