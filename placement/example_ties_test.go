package placement_test

import (
	"fmt"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
)

// Four tasks of 300 milli-GPU and one of two GPUs, on two nodes of two GPUs. The
// steepest descent opens a GPU for each of the four, since that strands some
// hundredths of a GPU less than filling one to the brim. In steps these are ties, the
// first node is filled, and the other one stays whole.
func ExampleByValue_steps() {
	fraction := fragmentation.Shape{CPU: 4000, GPUs: 1, Milli: 300}
	pair := fragmentation.Shape{CPU: 4000, GPUs: 2, Milli: 1000}
	value, err := fragmentation.NewFGD(fragmentation.Mix{
		{Shape: fraction, Count: 23},
		{Shape: fragmentation.Shape{CPU: 4000, GPUs: 1, Milli: 600}, Count: 21},
		{Shape: pair, Count: 4},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, step := range []int64{1, 80} {
		policy, err := placement.ByValue(value, step, placement.NodeOrder)
		if err != nil {
			fmt.Println(err)
			return
		}
		cluster, err := placement.NewCluster([]placement.NodeSpec{
			{Name: "a", CPU: 32000, GPUs: make([]placement.GPUSpec, 2)},
			{Name: "b", CPU: 32000, GPUs: make([]placement.GPUSpec, 2)},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("steps of %d", step)
		for i, shape := range []fragmentation.Shape{fraction, fraction, fraction, fraction, pair} {
			task := placement.Task{ID: fmt.Sprint(i), Shape: shape}
			node, choice := cluster.Choose(policy, &task)
			if node == nil {
				fmt.Print(", no room")
				continue
			}
			fmt.Printf(", %s %s", node.Name(), choice.Spot.GPUs)
			if err := cluster.Place(node.Name(), placement.Assignment{Task: task, Spot: choice.Spot}); err != nil {
				fmt.Println(err)
				return
			}
		}
		fmt.Println()
	}
	// Output:
	// steps of 1, a 0, a 1, b 0, b 1, no room
	// steps of 80, a 0, a 1, a 0, a 0, b 0-1
}

// A 1g beside a 3g, or on an empty GPU. By value alone the empty GPU goes: whole
// ones are rarely asked for, and each time it is one. Used GPUs first, one is still
// there when it is.
func ExampleUsedFirst() {
	a100, err := mig.Lookup("a100-40gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	shape := func(profile string) fragmentation.Shape {
		return fragmentation.Shape{GPUs: 1, Profile: profile}
	}
	value, err := fragmentation.NewMIGFGD(fragmentation.Mix{
		{Shape: shape("7g.40gb"), Count: 2},
		{Shape: shape("4g.20gb"), Count: 30},
		{Shape: shape("3g.20gb"), Count: 5},
		{Shape: shape("1g.5gb"), Count: 63},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	alone, err := placement.ByValue(value, 1, placement.SmallestFirst)
	if err != nil {
		fmt.Println(err)
		return
	}
	used, err := placement.UsedFirst(value, 1, placement.SmallestFirst)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, policy := range []placement.Policy{alone, used} {
		fmt.Println([]string{"by value alone", "used GPUs first"}[i])
		cluster, err := placement.NewCluster([]placement.NodeSpec{
			{Name: "n", GPUs: []placement.GPUSpec{{MIG: a100}, {MIG: a100}}},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, profile := range []string{"3g.20gb", "1g.5gb", "7g.40gb"} {
			task := placement.Task{ID: profile, Shape: shape(profile)}
			node, choice := cluster.Choose(policy, &task)
			if node == nil {
				fmt.Println(" ", profile, "finds no room")
				continue
			}
			fmt.Printf("  %s on GPU %s at %d\n", profile, choice.Spot.GPUs, choice.Spot.Start)
			if err := cluster.Place(node.Name(), placement.Assignment{Task: task, Spot: choice.Spot}); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	// Output:
	// by value alone
	//   3g.20gb on GPU 0 at 4
	//   1g.5gb on GPU 1 at 6
	//   7g.40gb finds no room
	// used GPUs first
	//   3g.20gb on GPU 0 at 4
	//   1g.5gb on GPU 0 at 0
	//   7g.40gb on GPU 1 at 0
}
