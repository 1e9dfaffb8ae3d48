package openb_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay"
	"github.com/gpushare/gpushare/placement/replay/openb"
)

// benchExperiment is the default trace where it is at hand, else a made-up one
// of about its size.
func benchExperiment(b *testing.B) (*openb.Experiment, string) {
	b.Helper()
	var nodes []placement.NodeSpec
	var tasks []placement.Task
	name := "default"
	if _, err := os.Stat(sharedTrace + "node_list_gpu_node.csv"); errors.Is(err, fs.ErrNotExist) {
		name = "madeup"
		someNodes, someTasks := madeUp(b)
		for i := range 80 {
			for _, n := range someNodes {
				n.Name = fmt.Sprintf("%s-%d", n.Name, i)
				nodes = append(nodes, n)
			}
			for _, t := range someTasks {
				t.ID = fmt.Sprintf("%s-%d", t.ID, i)
				tasks = append(tasks, t)
			}
		}
	} else {
		nodes, tasks = sharedNodes(b), sharedTasks(b, "default")
	}
	e, err := openb.NewExperiment(nodes, tasks, openb.Ratio, openb.FirstSeed)
	if err != nil {
		b.Fatal(err)
	}
	return e, name
}

// forgetful makes the engine ask about every node for every task: the baseline.
type forgetful struct{ placement.Policy }

func (forgetful) PerTask() bool { return true }

// BenchmarkReplay measures whole runs. Choose=plain asks the policy about every
// node for every task, which takes long, so not every policy is measured so.
func BenchmarkReplay(b *testing.B) {
	e, trace := benchExperiment(b)
	value, err := fragmentation.NewFGD(e.Mix)
	if err != nil {
		b.Fatal(err)
	}
	own, err := placement.ByValue(value, 80, placement.SmallestFirst)
	if err != nil {
		b.Fatal(err)
	}
	run := func(name, choose string, policy placement.Policy) {
		b.Run(fmt.Sprintf("trace=%s/policy=%s/choose=%s", trace, name, choose), func(b *testing.B) {
			b.ReportAllocs()
			cfg := e.Config(policy)
			allocated := 0.0
			for b.Loop() {
				r, err := replay.Run(b.Context(), cfg)
				if err != nil {
					b.Fatal(err)
				}
				allocated = r.Final.AllocatedPercent()
			}
			b.ReportMetric(float64(b.N*len(e.Tasks))/b.Elapsed().Seconds(), "decisions/s")
			b.ReportMetric(allocated, "%allocated")
		})
	}
	for _, name := range openb.Policies() {
		policy, err := e.Policy(name)
		if err != nil {
			b.Fatal(err)
		}
		run(name, "remembered", policy)
		if name == openb.FGD || name == openb.GpuPacking {
			run(name, "plain", forgetful{policy})
		}
	}
	run("ByValue", "remembered", own)
	run("Random", "plain", placement.Random(42))
}
