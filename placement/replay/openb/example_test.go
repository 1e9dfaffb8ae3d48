package openb_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay"
	"github.com/gpushare/gpushare/placement/replay/openb"
)

// The published experiment on a small trace of the same format: the published
// rule beside the library's own.
func Example() {
	nodes, err := openb.ReadNodes(strings.NewReader(nodesCSV), "nodes.csv")
	if err != nil {
		fmt.Println(err)
		return
	}
	tasks, err := openb.ReadTasks(strings.NewReader(tasksCSV), "tasks.csv")
	if err != nil {
		fmt.Println(err)
		return
	}
	experiment, err := openb.NewExperiment(nodes, tasks, openb.Ratio, openb.FirstSeed)
	if err != nil {
		fmt.Println(err)
		return
	}
	published, err := experiment.Policy(openb.FGD)
	if err != nil {
		fmt.Println(err)
		return
	}
	value, err := fragmentation.NewFGD(experiment.Mix)
	if err != nil {
		fmt.Println(err)
		return
	}
	own, err := placement.ByValue(value, 80, placement.SmallestFirst)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, policy := range []placement.Policy{published, own} {
		result, err := replay.Run(context.Background(), experiment.Config(policy))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d of %d tasks placed, %.2f %% of the GPUs allocated\n",
			result.Final.Placed, result.Final.Tasks, result.Final.AllocatedPercent())
	}
	// Output:
	// 69 of 92 tasks placed, 99.22 % of the GPUs allocated
	// 69 of 92 tasks placed, 99.22 % of the GPUs allocated
}

// Errors name file, line, column and value.
func ExampleReadTasks() {
	const text = `name,cpu_milli,memory_mib,num_gpu,gpu_milli
notebook,4000,8192,1,500
training,16000,65536,1,1500
`
	_, err := openb.ReadTasks(strings.NewReader(text), "tasks.csv")
	fmt.Println(err)
	// Output:
	// openb: tasks.csv: line 3: column gpu_milli: "1500" with num_gpu 1: fragmentation: milli-GPU 1500: is more than one GPU; ask for several whole GPUs: bad shape: bad file
}
