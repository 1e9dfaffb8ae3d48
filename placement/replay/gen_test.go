package replay_test

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay"
)

func model(t rapid.TB, key string) *mig.Model {
	t.Helper()
	m, err := mig.Lookup(key)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// genNodes draws a small fleet with at least one GPU: uncut ones and two cut
// models that offer 1g.10gb in different sizes.
func genNodes(t *rapid.T) []placement.NodeSpec {
	small, large := model(t, "a100-40gb"), model(t, "a100-80gb")
	nodes := []placement.NodeSpec{{Name: "first", CPU: 16_000, Memory: 64, Model: "T4", GPUs: make([]placement.GPUSpec, 1)}}
	for i := range rapid.IntRange(0, 4).Draw(t, "more nodes") {
		n := placement.NodeSpec{
			Name:   fmt.Sprintf("node-%d", i),
			CPU:    rapid.Int64Range(0, 32).Draw(t, "CPU") * 1000,
			Memory: rapid.Int64Range(0, 64).Draw(t, "memory"),
		}
		kind := rapid.SampledFrom([]string{"T4", "A100", "cut 40", "cut 80", "none"}).Draw(t, "kind")
		for range rapid.IntRange(1, 4).Draw(t, "GPUs") {
			switch kind {
			case "none":
			case "cut 40":
				n.Model = "A100-40"
				n.GPUs = append(n.GPUs, placement.GPUSpec{MIG: small})
			case "cut 80":
				n.Model = "A100-80"
				n.GPUs = append(n.GPUs, placement.GPUSpec{MIG: large})
			default:
				n.Model = kind
				n.GPUs = append(n.GPUs, placement.GPUSpec{Memory: 16_000})
			}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func genShape(t *rapid.T) fragmentation.Shape {
	s := fragmentation.Shape{
		CPU:    rapid.Int64Range(0, 8).Draw(t, "CPU") * 1000,
		Memory: rapid.Int64Range(0, 16).Draw(t, "memory"),
	}
	switch rapid.SampledFrom([]string{"none", "fraction", "whole", "several", "instance"}).Draw(t, "asks for") {
	case "fraction":
		s.GPUs, s.Milli = 1, rapid.SampledFrom([]int64{1, 250, 460, 500, 999}).Draw(t, "milli")
		s.DeviceMemory = rapid.SampledFrom([]int64{0, 0, 8_000}).Draw(t, "device memory")
		s.Models = genModels(t)
	case "whole":
		s.GPUs, s.Milli = 1, 1000
		s.Models = genModels(t)
	case "several":
		s.GPUs, s.Milli = rapid.IntRange(2, 4).Draw(t, "GPUs"), 1000
	case "instance":
		s.GPUs = 1
		s.Profile = rapid.SampledFrom([]string{"1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "3g.40gb", "7g.80gb"}).Draw(t, "profile")
		s.Models = rapid.SampledFrom([]fragmentation.Models{"", "", "A100-40", "A100-80"}).Draw(t, "models")
	}
	return s
}

func genModels(t *rapid.T) fragmentation.Models {
	return rapid.SampledFrom([]fragmentation.Models{"", "", "T4", "A100|V100"}).Draw(t, "models")
}

// genTasks draws tasks of few shapes, so that shapes come back.
func genTasks(t *rapid.T) []replay.Task {
	shapes := rapid.SliceOfN(rapid.Custom(genShape), 1, 6).Draw(t, "shapes")
	tasks := make([]replay.Task, rapid.IntRange(1, 40).Draw(t, "tasks"))
	for i := range tasks {
		tasks[i].ID = fmt.Sprintf("task-%d", i)
		tasks[i].Shape = rapid.SampledFrom(shapes).Draw(t, "shape")
		tasks[i].Arrive = rapid.Int64Range(0, 20).Draw(t, "arrive")
		tasks[i].Lifetime = rapid.Int64Range(0, 10).Draw(t, "lifetime")
	}
	return tasks
}

// genMix draws a mix for both values, so that their sum can be measured.
func genValue(t *rapid.T) fragmentation.Value {
	shapes := append(rapid.SliceOfN(rapid.Custom(genShape), 0, 6).Draw(t, "expected"),
		fragmentation.Shape{GPUs: 1, Milli: 300}, fragmentation.Shape{GPUs: 1, Profile: "2g.10gb"})
	fgd, err := fragmentation.NewFGD(fragmentation.MixOf(shapes))
	if err != nil {
		t.Fatal(err)
	}
	cut, err := fragmentation.NewMIGFGD(fragmentation.MixOf(shapes))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := fragmentation.Sum(fgd, cut)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func genPolicy(t *rapid.T, v fragmentation.Value) func(*placement.Cluster) placement.Policy {
	byValue, err := placement.ByValue(v, 40, placement.SmallestFirst)
	if err != nil {
		t.Fatal(err)
	}
	return rapid.SampledFrom([]func(*placement.Cluster) placement.Policy{
		func(*placement.Cluster) placement.Policy { return placement.FirstFit() },
		func(c *placement.Cluster) placement.Policy { return placement.WorstFit(c.Largest()) },
		func(c *placement.Cluster) placement.Policy { return placement.Clustering(c.Largest()) },
		func(*placement.Cluster) placement.Policy { return placement.Random(7) },
		func(*placement.Cluster) placement.Policy { return byValue },
	}).Draw(t, "policy")
}
