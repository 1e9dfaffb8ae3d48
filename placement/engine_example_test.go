package placement_test

import (
	"fmt"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// An engine decides about a cluster that changes. Views of it may be asked by any
// number of goroutines while it does.
func ExampleEngine() {
	fraction := fragmentation.Shape{CPU: 4000, GPUs: 1, Milli: 300}
	value, err := fragmentation.NewFGD(fragmentation.Mix{{Shape: fraction, Count: 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	policy, err := placement.ByValue(value, 80, placement.NodeOrder)
	if err != nil {
		fmt.Println(err)
		return
	}
	cluster, err := placement.NewCluster([]placement.NodeSpec{
		{Name: "a", CPU: 64000, Memory: 1024, GPUs: make([]placement.GPUSpec, 1)},
		{Name: "b", CPU: 64000, Memory: 1024, GPUs: make([]placement.GPUSpec, 1)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	engine := placement.NewEngine(cluster, policy)
	before := engine.View()
	for _, id := range []string{"one", "two", "three"} {
		task := placement.Task{ID: id, Shape: fraction}
		node, choice := engine.Choose(&task)
		if err := engine.Place(node.Name(), placement.Assignment{Task: task, Spot: choice.Spot}); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(id, "on", node.Name())
	}
	first, _ := before.Choose(&placement.Task{Shape: fraction})
	latest, _ := engine.View().Choose(&placement.Task{Shape: fraction})
	fmt.Println("the next one on", latest.Name(), "and at first on", first.Name())
	// Output:
	// one on a
	// two on a
	// three on b
	// the next one on b and at first on a
}
