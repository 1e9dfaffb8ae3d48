package placement_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay/openb"
)

// sharedTrace is where the public trace lies beside the repository, if it does.
const sharedTrace = "../../shared/data/openb/openb_"

// openbExperiment is the published experiment on the default trace with its first
// seed, or a skip.
func openbExperiment(tb testing.TB) *openb.Experiment {
	tb.Helper()
	open := func(name string) *os.File {
		f, err := os.Open(sharedTrace + name)
		if err != nil {
			tb.Skipf("the public trace is not beside the repository: %v", err)
		}
		tb.Cleanup(func() { require.NoError(tb, f.Close()) })
		return f
	}
	nodes, err := openb.ReadNodes(open("node_list_gpu_node.csv"), "nodes")
	require.NoError(tb, err)
	tasks, err := openb.ReadTasks(open("pod_list_default.csv"), "default")
	require.NoError(tb, err)
	e, err := openb.NewExperiment(nodes, tasks, openb.Ratio, openb.FirstSeed)
	require.NoError(tb, err)
	return e
}

// benchPolicies are the policies by value for a mix.
func benchPolicies(tb testing.TB, mix fragmentation.Mix) []namedPolicy {
	tb.Helper()
	fgd, err := fragmentation.NewFGD(mix)
	require.NoError(tb, err)
	fill, err := fragmentation.NewFill(mix, fragmentation.FillOptions{})
	require.NoError(tb, err)
	return []namedPolicy{
		{name: "FGD", policy: byValue(tb, fgd, 80, placement.NodeOrder)},
		{name: "Fill", policy: byValue(tb, fill, 160, placement.NodeOrder)},
	}
}

// BenchmarkEngineOpenb replays the default trace. The time is that of a decision;
// what entering it costs is counted apart. Every 100th decision is made by asking
// all nodes as well, which must agree.
func BenchmarkEngineOpenb(b *testing.B) {
	e := openbExperiment(b)
	for _, p := range benchPolicies(b, e.Mix) {
		b.Run("policy="+p.name, func(b *testing.B) {
			var choose, place, plain time.Duration
			decisions, plains := 0, 0
			for b.Loop() {
				c, err := placement.NewCluster(e.Nodes)
				require.NoError(b, err)
				engine := placement.NewEngine(c, p.policy)
				for i := range e.Tasks {
					begin := time.Now()
					n, choice := engine.Choose(&e.Tasks[i])
					choose += time.Since(begin)
					decisions++
					if i%100 == 0 {
						begin = time.Now()
						same, sameChoice := c.Choose(p.policy, &e.Tasks[i])
						plain += time.Since(begin)
						plains++
						if n != same || n != nil && choice != sameChoice {
							b.Fatalf("task %d: %v and %v", i, choice, sameChoice)
						}
					}
					if n == nil {
						continue
					}
					begin = time.Now()
					err := engine.Place(n.Name(), placement.Assignment{Task: e.Tasks[i], Spot: choice.Spot})
					place += time.Since(begin)
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			report(b, choose, decisions, place, plain, plains)
		})
	}
}

func report(b *testing.B, choose time.Duration, decisions int, place, plain time.Duration, plains int) {
	b.Helper()
	one := float64(choose.Nanoseconds()) / float64(decisions)
	all := float64(plain.Nanoseconds()) / float64(plains)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(one, "ns/decision")
	b.ReportMetric(float64(place.Nanoseconds())/float64(decisions), "ns/entry")
	b.ReportMetric(all, "plain-ns/decision")
	b.ReportMetric(all/one, "times-faster")
}

// diverse is a fleet of so many GPUs in states drawn at random: nodes of the
// public trace, filled to three quarters with its tasks on nodes drawn at random.
// It returns the tasks that are there, and the stream of those to come.
//
// The tasks are those of the target mix, or all of the trace.
func diverse(tb testing.TB, e *openb.Experiment, gpus int, all bool) (c *placement.Cluster, there []string, next func() placement.Task) {
	tb.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	c = &placement.Cluster{}
	capacity := int64(0)
	var names []string
	for i := 0; capacity < int64(gpus); i++ {
		spec := e.Nodes[random.IntN(len(e.Nodes))]
		spec.Name = fmt.Sprintf("n%06d", i)
		_, err := c.Put(spec, nil)
		require.NoError(tb, err)
		capacity += int64(len(spec.GPUs))
		names = append(names, spec.Name)
	}
	number := 0
	tasks := e.Tasks
	if !all {
		tasks = nil
		for _, entry := range e.Mix {
			for range entry.Count {
				tasks = append(tasks, placement.Task{Shape: entry.Shape})
			}
		}
	}
	next = func() placement.Task {
		t := tasks[random.IntN(len(tasks))]
		t.ID = fmt.Sprintf("t%07d", number)
		number++
		return t
	}
	anywhere := placement.Random(7)
	for taken := int64(0); taken < capacity*750; {
		t := next()
		name := names[random.IntN(len(names))]
		choice := anywhere.Choose(c.Node(name), &t)
		if !choice.OK() {
			continue
		}
		require.NoError(tb, c.Place(name, placement.Assignment{Task: t, Spot: choice.Spot}))
		there = append(there, t.ID)
		taken += t.Shape.TotalMilli()
	}
	return c, there, next
}

// BenchmarkEngineFleet decides about tasks that come and go on fleets of diverse
// states, from 1,000 GPUs to 100,000. For each task that is placed another one,
// drawn at random, leaves. The kinds of task are known before: 35 of the target mix,
// or 151 of the whole trace.
func BenchmarkEngineFleet(b *testing.B) {
	e := openbExperiment(b)
	for _, gpus := range []int{1_000, 3_000, 10_000, 30_000, 100_000} {
		for _, all := range []bool{false, true} {
			for _, p := range benchPolicies(b, e.Mix) {
				b.Run(fmt.Sprintf("gpus=%d/whole-trace=%v/policy=%s", gpus, all, p.name), func(b *testing.B) {
					c, there, next := diverse(b, e, gpus, all)
					engine := placement.NewEngine(c, p.policy)
					run := churn(b, engine, c, p.policy, there, next)
					for range 20_000 {
						t := next()
						engine.Choose(&t)
					}
					run(2_000, false)
					b.ResetTimer()
					for b.Loop() {
						run(100, false) // the look at every node empties the caches
						run(1_000, true)
					}
					run(0, true)
				})
			}
		}
	}
}

// churn returns a function that makes so many decisions, counted or not; with
// none it reports.
func churn(b *testing.B, engine *placement.Engine, c *placement.Cluster, p placement.Policy, there []string, next func() placement.Task) func(times int, counted bool) {
	b.Helper()
	random := rand.New(rand.NewPCG(3, 4))
	var choose, place, plain time.Duration
	decisions, plains := 0, 0
	return func(times int, counted bool) {
		for i := range times {
			t := next()
			begin := time.Now()
			n, choice := engine.Choose(&t)
			took := time.Since(begin)
			begin = time.Now()
			if n != nil {
				if err := engine.Place(n.Name(), placement.Assignment{Task: t, Spot: choice.Spot}); err != nil {
					b.Fatal(err)
				}
				there = append(there, t.ID)
			}
			leaving := random.IntN(len(there))
			engine.Release(there[leaving])
			there[leaving] = there[len(there)-1]
			there = there[:len(there)-1]
			if counted {
				place += time.Since(begin)
				choose += took
				decisions++
			}
			if counted && i == times-1 {
				begin = time.Now()
				same, sameChoice := c.Choose(p, &t)
				plain += time.Since(begin)
				plains++
				n, choice = engine.Choose(&t)
				if n != same || n != nil && choice != sameChoice {
					b.Fatalf("%v and %v", choice, sameChoice)
				}
			}
		}
		if times == 0 {
			report(b, choose, decisions, place, plain, plains)
		}
	}
}

// halfFull is a cluster of cut GPUs, eight to a node, filled to a half by first
// fit and departures at random.
func halfFull(b *testing.B, gpus int, cpu int64) (c *placement.Cluster, there []string, next func() placement.Task) {
	b.Helper()
	random := rand.New(rand.NewPCG(5, 6))
	c = &placement.Cluster{}
	var names []string
	for i := range gpus / 8 {
		spec := cut(b, fmt.Sprintf("n%05d", i), "a100-40gb", 8)
		spec.CPU = cpu
		_, err := c.Put(spec, nil)
		require.NoError(b, err)
		names = append(names, spec.Name)
	}
	profiles := strings.Fields("1g.5gb 1g.5gb 1g.5gb 2g.10gb 2g.10gb 3g.20gb 4g.20gb 7g.40gb 1g.10gb")
	number := 0
	next = func() placement.Task {
		number++
		return task(fmt.Sprintf("t%07d", number), instance(profiles[random.IntN(len(profiles))]))
	}
	anywhere := placement.Random(7)
	for taken := int64(0); taken < int64(gpus)*500; {
		t := next()
		name := names[random.IntN(len(names))]
		choice := anywhere.Choose(c.Node(name), &t)
		if !choice.OK() {
			continue
		}
		before := c.Node(name).GPU(choice.Spot.GPUs.First()).Left()
		require.NoError(b, c.Place(name, placement.Assignment{Task: t, Spot: choice.Spot}))
		taken += before - c.Node(name).GPU(choice.Spot.GPUs.First()).Left()
		there = append(there, t.ID)
	}
	return c, there, next
}

// BenchmarkEngineInstances decides about requests for MIG instances that come and
// go on half-full GPUs. With cpu=short most nodes lack the CPU.
func BenchmarkEngineInstances(b *testing.B) {
	value, err := fragmentation.NewMIGFGD(migMix())
	require.NoError(b, err)
	smallest := byValue(b, value, 1, placement.SmallestFirst)
	used, err := placement.UsedFirst(value, 1, placement.SmallestFirst)
	require.NoError(b, err)
	index := byIndex(b, twoIndexes()["a100-40gb"])
	for _, gpus := range []int{512, 4_096, 100_000} {
		for _, p := range []namedPolicy{
			{name: "MIGFGD", policy: smallest},
			{name: "UsedFirst", policy: used},
			{name: "Index", policy: index},
			{name: "FirstFit", policy: placement.FirstFit()},
		} {
			for _, cpu := range []string{"plenty", "short"} {
				b.Run(fmt.Sprintf("gpus=%d/policy=%s/cpu=%s", gpus, p.name, cpu), func(b *testing.B) {
					amount := int64(64000)
					if cpu == "short" {
						amount = 13000
					}
					c, there, next := halfFull(b, gpus, amount)
					engine := placement.NewEngine(c, p.policy)
					run := churn(b, engine, c, p.policy, there, next)
					run(2_000, false)
					b.ResetTimer()
					for b.Loop() {
						run(100, false) // the look at every node empties the caches
						run(1_000, true)
					}
					run(0, true)
				})
			}
		}
	}
}
