package replay_test

import (
	"fmt"
	"testing"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay"
)

// fleet is a made-up fleet of 512 nodes with tasks that fill it, of 24 shapes.
func fleet() ([]placement.NodeSpec, []replay.Task) {
	var nodes []placement.NodeSpec
	for i := range 512 {
		nodes = append(nodes, placement.NodeSpec{
			Name: fmt.Sprintf("node-%d", i), CPU: 96_000, Memory: 1 << 20, GPUs: make([]placement.GPUSpec, 2+i%4*2),
		})
	}
	var shapes []fragmentation.Shape
	for i := range int64(24) {
		s := fragmentation.Shape{CPU: 2000 + 500*i, GPUs: 1, Milli: 1000}
		if i%2 == 0 {
			s.Milli = 40 * (i + 1)
		}
		shapes = append(shapes, s)
	}
	var tasks []replay.Task
	for i := range 6000 {
		tasks = append(tasks, replay.Task{
			Task:   placement.Task{ID: fmt.Sprintf("task-%d", i), Shape: shapes[i*i%len(shapes)]},
			Arrive: int64(i), Lifetime: int64(i * 7919 % 4000),
		})
	}
	return nodes, tasks
}

// BenchmarkReplay measures a whole replay. Sampling=none is the baseline of the
// fragmentation metric; choose=plain that of the memory of placement.Engine.
func BenchmarkReplay(b *testing.B) {
	nodes, tasks := fleet()
	shapes := make([]fragmentation.Shape, len(tasks))
	for i, t := range tasks {
		shapes[i] = t.Shape
	}
	value, err := fragmentation.NewFGD(fragmentation.MixOf(shapes))
	if err != nil {
		b.Fatal(err)
	}
	policy := func(c *placement.Cluster) placement.Policy { return placement.BestFit(c.Largest()) }
	for _, c := range []struct {
		name   string
		value  fragmentation.Value
		policy func(*placement.Cluster) placement.Policy
	}{
		{"choose=remembered/sampling=none", nil, policy},
		{"choose=remembered/sampling=percents", value, policy},
		{"choose=plain/sampling=none", nil, func(c *placement.Cluster) placement.Policy { return forgetful{policy(c)} }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := replay.Run(b.Context(), replay.Config{Nodes: nodes, Tasks: tasks, Policy: c.policy, Value: c.value}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*len(tasks))/b.Elapsed().Seconds(), "decisions/s")
		})
	}
}

// forgetful makes the engine ask about every node for every task.
type forgetful struct{ placement.Policy }

func (forgetful) PerTask() bool { return true }
