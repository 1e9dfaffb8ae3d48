package placement_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// benchNodes are a node with eight uncut and one with eight cut GPUs, in use.
func benchNodes(b *testing.B) (shared, instances *placement.Node) {
	b.Helper()
	shared = with(b, newNode(b, uncut("shared", 8)),
		at("a", fraction(810), 0), at("b", fraction(470), 1), at("c", fraction(470), 1),
		at("d", fraction(250), 3), at("e", whole(2), 4, 5), at("f", fraction(680), 6))
	instances = with(b, newNode(b, cut(b, "cut", "a100-40gb", 8)),
		instanceAt("a", "1g.5gb", 0, 6), instanceAt("b", "2g.10gb", 0, 0), instanceAt("c", "3g.20gb", 1, 4),
		instanceAt("d", "3g.20gb", 2, 0), instanceAt("e", "7g.40gb", 3, 0), instanceAt("f", "1g.5gb", 4, 2))
	return shared, instances
}

func BenchmarkFits(b *testing.B) {
	shared, instances := benchNodes(b)
	for _, bb := range []struct {
		name string
		node *placement.Node
		job  placement.Task
	}{
		{"task=fraction", shared, task("job", fraction(460))},
		{"task=whole", shared, task("job", whole(2))},
		{"task=refused", shared, task("job", whole(8))},
		{"task=instance", instances, task("job", instance("2g.10gb"))},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bb.node.Fits(&bb.job)
			}
		})
	}
}

// BenchmarkChoose has first fit as the baseline: what the walk alone costs.
func BenchmarkChoose(b *testing.B) {
	shared, instances := benchNodes(b)
	for _, bb := range []struct {
		name string
		node *placement.Node
		job  placement.Task
	}{
		{"fraction", shared, task("job", fraction(320))},
		{"instance", instances, task("job", instance("1g.5gb"))},
	} {
		for _, p := range policies(b) {
			b.Run(fmt.Sprintf("task=%s/policy=%s", bb.name, p.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					p.policy.Choose(bb.node, &bb.job)
				}
			})
		}
	}
}

// BenchmarkWithWithout places a task and takes it off again. With a task placed
// anywhere on the node, spots are looked for at each step.
func BenchmarkWithWithout(b *testing.B) {
	shared, instances := benchNodes(b)
	for _, bb := range []struct {
		name string
		node *placement.Node
		a    placement.Assignment
	}{
		{"task=fraction", shared, at("job", fraction(500), 7)},
		{"task=instance", instances, instanceAt("job", "3g.20gb", 5, 4)},
		{"task=anywhere", instances, somewhere("job", instance("3g.20gb"))},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n, err := bb.node.With(bb.a)
				if err != nil {
					b.Fatal(err)
				}
				n.Without("job")
			}
		})
	}
}

// fleet is a cluster of so many nodes in use, and a run of tasks of ten shapes.
func fleet(b *testing.B, nodes int) (*placement.Cluster, []placement.Task) {
	b.Helper()
	var specs []placement.NodeSpec
	for i := range nodes {
		specs = append(specs, uncut(fmt.Sprintf("n%04d", i), 2+6*(i%2)))
	}
	c := newCluster(b, specs...)
	for i := range nodes {
		require.NoError(b, c.Place(fmt.Sprintf("n%04d", i), at(fmt.Sprintf("old%d", i), fraction(int64(100+i*37%900)), 0)))
	}
	var tasks []placement.Task
	for i := range 10 {
		tasks = append(tasks, task(fmt.Sprintf("job%d", i), fraction(int64(50+90*i))))
	}
	return c, tasks
}

// BenchmarkCluster decides, places and releases on 1000 nodes, with a Chooser
// and without one, in turns; the metric is how many times faster the Chooser is
// in the same run.
func BenchmarkCluster(b *testing.B) {
	c, tasks := fleet(b, 1000)
	fgd, err := fragmentation.NewFGD(plainMix())
	require.NoError(b, err)
	p := byValue(b, fgd, 40, placement.SmallestFirst)
	h := placement.NewChooser(c, p)
	var with, without time.Duration
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		job := &tasks[i%len(tasks)]
		i++
		begin := time.Now()
		n, choice := h.Choose(job)
		middle := time.Now()
		same, _ := c.Choose(p, job)
		without += time.Since(middle)
		with += middle.Sub(begin)
		if n != same {
			b.Fatalf("%s and %s", n.Name(), same.Name())
		}
		if err := c.Place(n.Name(), placement.Assignment{Task: *job, Spot: choice.Spot}); err != nil {
			b.Fatal(err)
		}
		c.Release(job.ID)
	}
	b.ReportMetric(float64(with.Nanoseconds())/float64(i), "chooser-ns/op")
	b.ReportMetric(float64(without.Nanoseconds())/float64(i), "cluster-ns/op")
	b.ReportMetric(float64(without)/float64(with), "times-faster")
}
