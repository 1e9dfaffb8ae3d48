package replay_test

import (
	"cmp"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay"
)

// plain is a replay written down as plainly as possible: every node is asked
// anew for every task, and every figure is counted anew from the books, for
// every step.
type plain struct {
	cfg     replay.Config
	cluster *placement.Cluster
	leaves  map[string]int64 // by ID of a task that is there and will leave
	order   map[string]int   // of arrival
	metrics replay.Metrics
	events  []replay.Event
}

func replayPlainly(t *rapid.T, cfg replay.Config) *plain {
	cluster, err := placement.NewCluster(cfg.Nodes)
	require.NoError(t, err)
	p := &plain{cfg: cfg, cluster: cluster, leaves: map[string]int64{}, order: map[string]int{}}
	policy := cfg.Policy(cluster)
	tasks := slices.Clone(cfg.Tasks)
	slices.SortStableFunc(tasks, func(a, b replay.Task) int { return cmp.Compare(a.Arrive, b.Arrive) })
	placed, arrived := 0, int64(0)
	failures := map[placement.Kind]int{}
	steps := []replay.Sample{p.sample(0, 0, 0)}
	for i, task := range tasks {
		p.order[task.ID] = i
		p.depart(task.Arrive)
		group := replay.GroupOf(task.Shape)
		p.metrics.Offered[group]++
		arrived += p.demand(task.Shape)
		node, choice := cluster.Choose(policy, &task.Task)
		if node == nil {
			failures[choice.Refusal.Kind]++
		} else {
			placed++
			p.metrics.Accepted[group]++
			require.NoError(t, cluster.Place(node.Name(), placement.Assignment{Task: task.Task, Spot: choice.Spot}))
			node = cluster.Node(node.Name())
			if task.Lifetime > 0 {
				p.leaves[task.ID] = task.Arrive + task.Lifetime
			}
		}
		if task.Arrive >= cfg.WarmUp {
			p.tally(task.Shape, node == nil)
		}
		p.events = append(p.events, replay.Event{Time: task.Arrive, Task: &task.Task, Node: node, Choice: choice})
		steps = append(steps, p.sample(i+1, placed, arrived))
	}
	p.metrics.Final = steps[len(steps)-1]
	for percent := int64(0); ; percent++ {
		at := slices.IndexFunc(steps, func(s replay.Sample) bool { return 100*s.Arrived >= percent*s.Capacity })
		if at < 0 || percent > 1000 {
			break
		}
		p.metrics.Samples = append(p.metrics.Samples, steps[at])
	}
	for kind := placement.None; kind <= placement.NoStart; kind++ {
		if failures[kind] > 0 {
			p.metrics.Failures = append(p.metrics.Failures, replay.Failure{Kind: kind, Tasks: failures[kind]})
		}
	}
	return p
}

// depart releases what leaves until then: again and again the earliest, and of
// those the first that arrived.
func (p *plain) depart(now int64) {
	for {
		next := ""
		for id, at := range p.leaves {
			if at <= now && (next == "" || at < p.leaves[next] || at == p.leaves[next] && p.order[id] < p.order[next]) {
				next = id
			}
		}
		if next == "" {
			return
		}
		node := p.cluster.Locate(next)
		a, _ := node.Assignment(next)
		p.cluster.Release(next)
		p.events = append(p.events, replay.Event{
			Time: p.leaves[next], Departure: true, Task: &a.Task, Node: p.cluster.Node(node.Name()),
		})
		delete(p.leaves, next)
	}
}

// demand is what a task asks for; the sizes of the profiles are written out.
func (p *plain) demand(s fragmentation.Shape) int64 {
	if s.Profile == "" {
		return int64(s.GPUs) * s.Milli
	}
	size := map[string]map[string]int64{
		"A100-40": {"1g.5gb": 1, "1g.10gb": 2, "2g.10gb": 2, "3g.20gb": 4},
		"A100-80": {"1g.10gb": 1, "3g.40gb": 4, "7g.80gb": 8},
	}
	most := int64(0)
	for _, n := range p.cfg.Nodes {
		if s.Models == "" || string(s.Models) == n.Model {
			most = max(most, 125*size[n.Model][s.Profile])
		}
	}
	return most
}

// tally counts an arrival after the warm-up; compute slices are written out.
func (p *plain) tally(s fragmentation.Shape, refused bool) {
	slices := map[string]int{"1g.5gb": 1, "1g.10gb": 1, "2g.10gb": 2, "3g.20gb": 3, "3g.40gb": 3, "7g.80gb": 7}[s.Profile]
	cpu := int64(0)
	if s.GPUs == 0 {
		cpu = s.CPU
	}
	t := &p.metrics.Steady
	t.Offered[replay.GroupOf(s)]++
	t.OfferedSlices += slices
	t.OfferedCPU += cpu
	t.OfferedMilli += p.demand(s)
	if refused {
		t.Rejected[replay.GroupOf(s)]++
		t.RejectedSlices += slices
		t.RejectedCPU += cpu
		t.RejectedMilli += p.demand(s)
	}
}

// sample counts everything from the assignments.
func (p *plain) sample(tasks, placed int, arrived int64) replay.Sample {
	s := replay.Sample{Tasks: tasks, Placed: placed, Arrived: arrived}
	fragment := new(big.Rat)
	for n := range p.cluster.Nodes() {
		state := n.Capacity()
		s.Capacity += 1000 * int64(len(state.GPUs))
		used := map[int]bool{}
		for a := range n.Assignments() {
			s.CPU += a.Task.Shape.CPU
			for i := range a.Spot.GPUs.All() {
				used[i] = true
				s.Allocated += a.Task.Shape.Milli
			}
			if a.Task.Shape.Profile != "" {
				here := plain{cfg: replay.Config{Nodes: []placement.NodeSpec{n.Spec()}}}
				s.Allocated += here.demand(a.Task.Shape)
			}
		}
		s.GPUsInUse += len(used)
		if p.cfg.Value != nil {
			left := n.State()
			part := big.NewRat(fragmentation.Fragment(p.cfg.Value, &left), p.cfg.Value.Scale())
			fragment.Add(fragment, part)
		}
	}
	s.Fragment, _ = fragment.Float64()
	return s
}

// TestReplayLikePlain: the events (so every decision and departure) and every
// figure are those of the plain replay.
func TestReplayLikePlain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := genValue(t)
		cfg := replay.Config{Nodes: genNodes(t), Tasks: genTasks(t), Policy: genPolicy(t, value)}
		cfg.WarmUp = rapid.Int64Range(0, 20).Draw(t, "warm-up")
		if rapid.Bool().Draw(t, "measured") {
			cfg.Value = value
		}
		want := replayPlainly(t, cfg)
		var events []replay.Event
		cfg.Observe = func(e replay.Event) { events = append(events, e) }
		got, err := replay.Run(t.Context(), cfg)
		require.NoError(t, err)

		require.Len(t, events, len(want.events))
		for i, e := range events {
			w := want.events[i]
			require.Equal(t, w.Task, e.Task, "event %d", i)
			require.Equal(t, w.Time, e.Time, "event %d", i)
			require.Equal(t, w.Departure, e.Departure, "event %d", i)
			require.Equal(t, w.Choice, e.Choice, "event %d", i)
			require.Equal(t, w.Node == nil, e.Node == nil, "event %d", i)
			if w.Node != nil && e.Node != nil {
				require.Equal(t, w.Node.Name(), e.Node.Name(), "event %d", i)
				require.Equal(t, w.Node.State(), e.Node.State(), "event %d", i)
			}
		}
		assertMetrics(t, want.metrics, got.Metrics)

		again, err := replay.Run(t.Context(), cfg)
		require.NoError(t, err)
		require.Equal(t, got.Metrics, again.Metrics, "a replay is a function of its configuration")
	})
}

// assertMetrics compares exactly, but the fragment up to its last rounding.
func assertMetrics(t *rapid.T, want, got replay.Metrics) {
	require.Len(t, got.Samples, len(want.Samples))
	got.Samples = slices.Clone(got.Samples) // the caller goes on to use its own
	for i := range got.Samples {
		require.InDelta(t, want.Samples[i].Fragment, got.Samples[i].Fragment, 1e-6, "sample %d", i)
		got.Samples[i].Fragment = want.Samples[i].Fragment
	}
	require.InDelta(t, want.Final.Fragment, got.Final.Fragment, 1e-6)
	got.Final.Fragment = want.Final.Fragment
	require.Equal(t, want, got)
}

// TestNeverOversubscribed keeps a ledger of its own from the events alone: no
// GPU, CPU or memory is ever held twice, and the books of the result are those
// of the ledger.
func TestNeverOversubscribed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := genValue(t)
		cfg := replay.Config{Nodes: genNodes(t), Tasks: genTasks(t), Policy: genPolicy(t, value)}
		specs := map[string]placement.NodeSpec{}
		for _, n := range cfg.Nodes {
			specs[n.Name] = n
		}
		type held struct {
			node string
			a    placement.Assignment
		}
		there := map[string]held{}
		cfg.Observe = func(e replay.Event) {
			switch {
			case e.Departure:
				require.Contains(t, there, e.Task.ID)
				delete(there, e.Task.ID)
			case e.Node != nil:
				require.NotContains(t, there, e.Task.ID)
				there[e.Task.ID] = held{e.Node.Name(), placement.Assignment{Task: *e.Task, Spot: e.Choice.Spot}}
			}
			for name, spec := range specs {
				cpu, memory := int64(0), int64(0)
				milli, device := make([]int64, len(spec.GPUs)), make([]int64, len(spec.GPUs))
				slots := make([][8]bool, len(spec.GPUs))
				for _, h := range there {
					if h.node != name {
						continue
					}
					s := h.a.Task.Shape
					cpu += s.CPU
					memory += s.Memory
					for i := range h.a.Spot.GPUs.All() {
						milli[i] += s.Milli
						device[i] += s.DeviceMemory
						if s.Profile == "" {
							require.Nil(t, spec.GPUs[i].MIG)
							continue
						}
						p, err := spec.GPUs[i].MIG.Profile(s.Profile)
						require.NoError(t, err)
						for j := range p.Size {
							require.False(t, slots[i][h.a.Spot.Start+j], "slice %d of GPU %d is held twice", j, i)
							slots[i][h.a.Spot.Start+j] = true
						}
					}
				}
				require.LessOrEqual(t, cpu, spec.CPU)
				require.LessOrEqual(t, memory, spec.Memory)
				for i := range spec.GPUs {
					require.LessOrEqual(t, milli[i], int64(1000))
					require.LessOrEqual(t, device[i], spec.GPUs[i].Memory)
				}
			}
		}
		result, err := replay.Run(t.Context(), cfg)
		require.NoError(t, err)
		count := 0
		for n := range result.Cluster.Nodes() {
			for a := range n.Assignments() {
				count++
				require.Equal(t, held{n.Name(), a}, there[a.Task.ID])
			}
		}
		require.Len(t, there, count)
	})
}
