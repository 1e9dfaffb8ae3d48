package openb_test

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

func genShape(t *rapid.T) fragmentation.Shape {
	s := fragmentation.Shape{CPU: rapid.Int64Range(0, 20).Draw(t, "CPU") * 1000, GPUs: rapid.IntRange(0, 4).Draw(t, "GPUs")}
	switch {
	case s.GPUs == 1:
		s.Milli = rapid.SampledFrom([]int64{10, 120, 400, 460, 500, 810, 999, 1000}).Draw(t, "milli")
	case s.GPUs > 1:
		s.Milli = 1000
	}
	if s.GPUs > 0 {
		s.Models = rapid.SampledFrom([]fragmentation.Models{"", "", "", "M1", "M2|M3", "|M1|"}).Draw(t, "models")
	}
	return s
}

// genMix draws a target workload and the number of tasks of its trace.
func genMix(t *rapid.T) (fragmentation.Mix, int) {
	mix := fragmentation.MixOf(rapid.SliceOfN(rapid.Custom(genShape), 1, 40).Draw(t, "expected"))
	return mix, int(mix.Total()) + rapid.IntRange(0, 9).Draw(t, "rare tasks")
}

func genState(t *rapid.T) fragmentation.State {
	s := fragmentation.State{
		CPU:    rapid.Int64Range(0, 64).Draw(t, "CPU left") * 1000,
		Memory: 1 << 30,
		Model:  rapid.SampledFrom([]string{"", "M1", "M2", "M3", "M9"}).Draw(t, "model"),
	}
	for range rapid.IntRange(0, 6).Draw(t, "GPUs of the node") {
		left := rapid.SampledFrom([]int64{0, 10, 190, 400, 500, 540, 1000, 1000}).Draw(t, "left")
		s.GPUs = append(s.GPUs, fragmentation.GPU{Milli: left})
	}
	return s
}

// nodeOf returns a node on which exactly that is left.
func nodeOf(t *rapid.T, s fragmentation.State) *placement.Node {
	n, err := placement.NewNode(placement.NodeSpec{
		Name: "n", CPU: s.CPU, Memory: s.Memory, Model: s.Model, GPUs: make([]placement.GPUSpec, len(s.GPUs)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range s.GPUs {
		if g.Milli == fragmentation.Whole {
			continue
		}
		n, err = n.With(placement.Assignment{
			Task: placement.Task{ID: fmt.Sprint(i), Shape: fragmentation.Shape{GPUs: 1, Milli: fragmentation.Whole - g.Milli}},
			Spot: placement.Spot{GPUs: placement.GPUs(i)},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func genTrace(t *rapid.T) ([]placement.NodeSpec, []placement.Task) {
	var nodes []placement.NodeSpec
	for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
		nodes = append(nodes, placement.NodeSpec{
			Name: fmt.Sprintf("node-%d", 9-i), CPU: 64_000, Memory: 1 << 20, Model: "M1",
			GPUs: make([]placement.GPUSpec, rapid.IntRange(0, 4).Draw(t, "GPUs")),
		})
	}
	nodes = append(nodes, placement.NodeSpec{Name: "node-a", CPU: 64_000, GPUs: make([]placement.GPUSpec, 2)})
	tasks := []placement.Task{{ID: "task-a", Shape: fragmentation.Shape{GPUs: 1, Milli: 300}}}
	for i, s := range rapid.SliceOfN(rapid.Custom(genShape), 0, 12).Draw(t, "shapes") {
		tasks = append(tasks, placement.Task{ID: fmt.Sprintf("task-%d", 99-i), Shape: s})
	}
	return nodes, tasks
}
