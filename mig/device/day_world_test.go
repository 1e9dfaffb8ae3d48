package device_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/nvmlfake"
	"github.com/gpushare/gpushare/nvmlfake/fault"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay"
)

// dayNodes is the fleet: so many GPUs of a model on a node.
var dayNodes = []struct {
	key  string
	gpus int
	cpu  int64
}{{"a100-40gb", 2, 24_000}, {"h100-80gb-sxm5", 2, 14_000}, {"a30-24gb", 2, 16_000}, {"a100-40gb", 1, 16_000}}

// dayMix is what arrives. Requests for 1g.10gb fit on two models.
var dayMix = []struct {
	profile string
	cpu     int64
	count   int64
}{
	{"1g.5gb", 1000, 6},
	{"1g.5gb+me", 1000, 1},
	{"2g.10gb", 2000, 3},
	{"3g.20gb", 3000, 3},
	{"4g.20gb", 4000, 1},
	{"7g.40gb", 6000, 1},
	{"1g.10gb", 1000, 5},
	{"2g.20gb", 2000, 2},
	{"3g.40gb", 3000, 2},
	{"7g.80gb", 6000, 1},
	{"1g.6gb", 1000, 5},
	{"2g.12gb", 3000, 3},
	{"4g.24gb", 6000, 1},
}

const dayLifetime = 3_600_000 // milliseconds

// unit is one GPU, with a handle that is past all faults.
type unit struct {
	node         string
	local, index int // on the node, on the machine
	plain, gpu   *device.GPU
}

// dayTask is a task that is booked. Others' instances are booked as tasks, too.
type dayTask struct {
	placement.Task
	ends    int64
	uuid    string // of its MIG device
	pid     int    // of its process; 0: it does not run
	leaving bool   // it has ended, its instance has not gone yet
	moving  bool   // it is stopped, to be moved
}

func (d *dayTask) others() bool { return others(&d.Task) }

func others(t *placement.Task) bool { return strings.HasPrefix(t.ID, "other") }

// day is a machine with GPUs, the books of it, and what runs there.
type day struct {
	name     string
	rng      *rand.Rand
	srv      *nvmlfake.Server
	rules    *fault.Rules
	lib      nvml.Interface // meets the faults
	units    []*unit
	specs    []placement.NodeSpec
	mix      fragmentation.Mix
	cluster  *placement.Cluster
	engine   *placement.Engine
	policy   placement.Policy
	learner  *placement.IndexLearner
	rule     placement.Repair
	repair   *placement.Repairer
	tasks    map[string]*dayTask
	now      int64
	pids     int
	intruder map[string]*dayTask // by UUID: what others have made and nobody has booked
	crashed  bool                // in this step
	calm     bool                // no more mishaps
	counts   dayCounts
	history  []string // the last transactions, to be read where a test fails
}

func newDay(t *testing.T, policy string, seed uint64) *day {
	t.Helper()
	w := &day{
		name: policy, rng: rand.New(rand.NewPCG(seed, 4)), rules: &fault.Rules{}, pids: 1000,
		tasks: map[string]*dayTask{}, intruder: map[string]*dayTask{},
		counts: dayCounts{Met: map[string]int{}, Ended: map[string]int{}},
	}
	var cfg nvmlfake.Config
	for i, n := range dayNodes {
		model, err := mig.Lookup(n.key)
		require.NoError(t, err)
		spec := placement.NodeSpec{Name: fmt.Sprint("node", i), CPU: n.cpu, Model: n.key}
		for local := range n.gpus {
			w.units = append(w.units, &unit{node: spec.Name, local: local, index: len(cfg.GPUs)})
			spec.GPUs = append(spec.GPUs, placement.GPUSpec{MIG: model})
			cfg.GPUs = append(cfg.GPUs, nvmlfake.GPU{Model: n.key, MIG: true})
		}
		w.specs = append(w.specs, spec)
	}
	var err error
	w.srv, err = nvmlfake.New(cfg)
	require.NoError(t, err)
	w.lib = fault.Wrap(w.srv.NVML(), w.rules)
	require.Equal(t, nvml.SUCCESS, w.lib.Init())
	for _, u := range w.units {
		u.plain = w.open(t, w.srv.NVML(), u)
		u.gpu = w.open(t, w.lib, u)
	}
	for _, e := range dayMix {
		w.mix = append(w.mix, fragmentation.Entry{Shape: fragmentation.Shape{CPU: e.cpu, GPUs: 1, Profile: e.profile}, Count: e.count})
	}
	w.cluster, err = placement.NewCluster(w.specs)
	require.NoError(t, err)
	w.decideBy(t, policy)
	w.engine = placement.NewEngine(w.cluster, w.policy)
	w.repair, err = w.engine.Repairer(w.rule)
	require.NoError(t, err)
	return w
}

// open opens a GPU by its index, as a process does that has just begun.
func (w *day) open(t *testing.T, lib nvml.Interface, u *unit) *device.GPU {
	t.Helper()
	handle, ret := lib.DeviceGetHandleByIndex(u.index)
	require.Equal(t, nvml.SUCCESS, ret)
	return open(t, handle)
}

// dayPolicies decide a day each.
var dayPolicies = []string{"used first", "index", "learned"}

func (w *day) decideBy(t *testing.T, name string) {
	t.Helper()
	value, err := fragmentation.NewMIGFGD(w.mix)
	require.NoError(t, err)
	w.rule = placement.Repair{Every: 5, Worth: value.Of, Pinned: others}
	var models []*mig.Model
	for _, key := range []string{"a100-40gb", "h100-80gb-sxm5", "a30-24gb"} {
		model, err := mig.Lookup(key)
		require.NoError(t, err)
		models = append(models, model)
	}
	switch name {
	case "used first":
		w.policy, err = placement.UsedFirst(value, 1, placement.SmallestFirst)
	case "index":
		var indexes []*fragmentation.Index
		for _, m := range models {
			states, err := fragmentation.NewStates(m)
			require.NoError(t, err)
			index, err := fragmentation.NewIndex(states, w.mix, fragmentation.DefaultIndex())
			require.NoError(t, err)
			indexes = append(indexes, index)
		}
		w.policy, err = placement.ByIndex(indexes...)
	default:
		w.learner, err = placement.NewIndexLearner(models, fragmentation.DefaultIndex(), 0)
		require.NoError(t, err)
		w.policy = w.learner.Policy()
	}
	require.NoError(t, err)
}

// arrivals are those of some hours, at a load above what the fleet has.
func (w *day) arrivals(t *testing.T, hours int) []replay.Task {
	t.Helper()
	gap, err := replay.GapFor(w.cluster, w.mix, dayLifetime, 1.3)
	require.NoError(t, err)
	churn := replay.Churn{Mix: w.mix, Gap: gap, Lifetime: dayLifetime, Sigma: 1.5, Tasks: max(1, int(int64(hours)*3_600_000/gap))}
	all, err := churn.Arrivals(w.rng.Uint64())
	require.NoError(t, err)
	return all
}

// at returns the GPU of a site.
func (w *day) at(s placement.Site) *unit {
	for _, u := range w.units {
		if u.node == s.Node && u.local == s.Spot.GPUs.First() {
			return u
		}
	}
	return nil
}

// site returns where the books have a task.
func (w *day) site(t *testing.T, id string) placement.Site {
	t.Helper()
	n := w.engine.Locate(id)
	require.NotNil(t, n, "%s is not booked", id)
	a, there := n.Assignment(id)
	require.True(t, there)
	return placement.Site{Node: n.Name(), Spot: a.Spot}
}

// booked returns the tasks that the books have on a GPU, by ID.
func (w *day) booked(u *unit) []placement.Assignment {
	var all []placement.Assignment
	for a := range w.engine.Node(u.node).Assignments() {
		if a.Spot.GPUs.First() == u.local {
			all = append(all, a)
		}
	}
	return all
}

// check compares the books with every device, as it reports itself, and with the
// machine's own: the same instances stand, each task that runs is on the MIG
// device that it was told, nothing stands that nobody knows of.
func (w *day) check(t *testing.T) {
	t.Helper()
	booked := 0
	for _, u := range w.units {
		w.counts.Checks++
		node := w.engine.Node(u.node)
		st, err := u.plain.PlanState(t.Context())
		require.NoError(t, err)
		own, err := w.srv.Layout(u.index)
		require.NoError(t, err)
		books := node.GPU(u.local).Layout
		require.Equal(t, books, own, "GPU %d: books %s, device %s", u.index, books, own)
		read, err := st.Layout()
		require.NoError(t, err)
		require.Equal(t, books, read, "GPU %d: books %s, read %s", u.index, books, read)
		all := w.booked(u)
		booked += len(all)
		require.Len(t, st.Instances, len(all))
		for _, a := range all {
			task := w.tasks[a.Task.ID]
			require.NotNil(t, task, "%s is in the books alone", a.Task.ID)
			require.Equal(t, task.Task, a.Task)
			require.False(t, task.moving)
			in, there := instanceAt(st, a.Spot.Start)
			require.True(t, there)
			require.Equal(t, a.Task.Shape.Profile, in.Profile)
			require.Equal(t, []string{task.uuid}, in.UUIDs, "%s was told another MIG device", a.Task.ID)
			require.Equal(t, task.pid != 0, in.Busy, "%s", a.Task.ID)
			require.Equal(t, task.leaving, task.pid == 0, "%s", a.Task.ID)
		}
	}
	require.Len(t, w.tasks, booked)
	require.Empty(t, w.intruder)
	foreign := 0
	for _, task := range w.tasks {
		if task.others() {
			foreign++
		}
	}
	c := &w.counts
	require.Equal(t, c.Arrived, c.Refused+c.Failed+c.Departed+c.Homeless+len(w.tasks)-foreign, "tasks are lost")
	i := 0
	views := w.engine.View()
	for n := range views.Nodes() {
		require.Same(t, w.engine.Node(w.specs[i].Name), n, "the view is behind")
		i++
	}
	require.NoError(t, w.srv.Audit())
	require.Empty(t, w.srv.Unmodelled())
}
