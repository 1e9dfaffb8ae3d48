package device_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/nvmlfake"
	"github.com/gpushare/gpushare/placement"
)

// fleet is a small cluster with the fake GPUs that stand for it.
type fleet struct {
	cluster *placement.Cluster
	gpus    map[string][]*device.GPU // by node
	fake    *nvmlfake.Server
	running map[string]device.Instance // by task
	arrived int
}

func newFleet(ctx context.Context, t require.TestingT) *fleet {
	f := &fleet{gpus: map[string][]*device.GPU{}, running: map[string]device.Instance{}}
	var specs []placement.NodeSpec
	var cfg nvmlfake.Config
	for i, key := range []string{"a100-40gb", "h100-80gb-sxm5", "b200-180gb", "a30-24gb", "rtx-pro-6000-96gb"} {
		model, err := mig.Lookup(key)
		require.NoError(t, err)
		spec := placement.NodeSpec{Name: fmt.Sprint("node", i), CPU: 64_000, Memory: 1 << 20, Model: key}
		for range 2 {
			spec.GPUs = append(spec.GPUs, placement.GPUSpec{MIG: model})
			cfg.GPUs = append(cfg.GPUs, nvmlfake.GPU{Model: key, MIG: true})
		}
		specs = append(specs, spec)
	}
	var err error
	f.cluster, err = placement.NewCluster(specs)
	require.NoError(t, err)
	f.fake, err = nvmlfake.New(cfg)
	require.NoError(t, err)
	lib := f.fake.NVML()
	require.Equal(t, nvml.SUCCESS, lib.Init())
	for i := range cfg.GPUs {
		handle, ret := lib.DeviceGetHandleByIndex(i)
		require.Equal(t, nvml.SUCCESS, ret)
		d, err := device.Open(ctx, handle)
		require.NoError(t, err)
		node := specs[i/2].Name
		f.gpus[node] = append(f.gpus[node], d)
	}
	return f
}

// arrive decides where a task goes and creates its instance.
func (f *fleet) arrive(ctx context.Context, t *rapid.T, p placement.Policy, profile string) {
	f.arrived++
	task := placement.Task{
		ID:    fmt.Sprint("task", f.arrived),
		Shape: fragmentation.Shape{CPU: 1000, Memory: 1024, GPUs: 1, Profile: profile},
	}
	node, choice := f.cluster.Choose(p, &task)
	if node == nil {
		f.requireFull(ctx, t, profile)
		return
	}
	require.NoError(t, f.cluster.Place(node.Name(), placement.Assignment{Task: task, Spot: choice.Spot}))
	in, err := f.gpus[node.Name()][choice.Spot.GPUs.First()].Create(ctx, mig.Instance{Profile: profile, Start: choice.Spot.Start})
	require.NoError(t, err, "the driver refuses what the books grant")
	require.Len(t, in.Compute, 1)
	require.NotEmpty(t, in.Compute[0].UUID)
	f.running[task.ID] = in
}

// requireFull asks the devices themselves for the instance that the books
// refuse, at every start of every GPU.
func (f *fleet) requireFull(ctx context.Context, t *rapid.T, profile string) {
	for _, gpus := range f.gpus {
		for _, d := range gpus {
			p, err := d.Model().Profile(profile)
			if err != nil {
				continue
			}
			for start := range p.Starts.All() {
				_, err := d.Create(ctx, mig.Instance{Profile: profile, Start: start})
				require.Error(t, err, "%s grants %s at %d, the books do not", d, profile, start)
				require.True(t, errors.Is(err, mig.ErrConflict) || errors.Is(err, device.ErrNoRoom), "%v", err)
			}
		}
	}
}

// leave ends a task and destroys its instance.
func (f *fleet) leave(ctx context.Context, t *rapid.T, id string) {
	node := f.cluster.Locate(id)
	require.NotNil(t, node)
	a, there := node.Assignment(id)
	require.True(t, there)
	require.True(t, f.cluster.Release(id))
	require.NoError(t, f.gpus[node.Name()][a.Spot.GPUs.First()].Destroy(ctx, f.running[id]))
	delete(f.running, id)
}

// check reads every device and compares it with the books.
func (f *fleet) check(ctx context.Context, t *rapid.T) {
	instances := 0
	for n := range f.cluster.Nodes() {
		for i, g := range n.State().GPUs {
			st, err := f.gpus[n.Name()][i].State(ctx)
			require.NoError(t, err)
			require.Equal(t, g.Layout, st.Layout, "%s GPU %d: books %s, device %s", n.Name(), i, g.Layout, st.Layout)
			instances += len(st.Instances)
		}
	}
	require.Equal(t, len(f.running), instances)
	require.NoError(t, f.fake.Audit())
}

// The whole loop: tasks that ask for MIG instances arrive and leave at random,
// a policy decides, the decision is carried out on fake GPUs, and after every
// step what the devices report is what the books say.
func TestBooksAndDevicesAgree(t *testing.T) {
	t.Parallel()
	var mix fragmentation.Mix
	for _, name := range profileNames() {
		mix = append(mix, fragmentation.Entry{Shape: fragmentation.Shape{GPUs: 1, Profile: name}, Count: 1})
	}
	value, err := fragmentation.NewMIGFGD(mix)
	require.NoError(t, err)
	least, err := placement.ByValue(value, 1, placement.SmallestFirst)
	require.NoError(t, err)
	largest := placement.Largest{CPU: 64_000, GPU: 2000}
	policies := map[string]placement.Policy{
		"byvalue":  least,
		"firstfit": placement.FirstFit(),
		"bestfit":  placement.BestFit(largest),
		"worstfit": placement.WorstFit(largest),
		"random":   placement.Random(7),
	}
	for name, policy := range policies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				ctx := t.Context()
				f := newFleet(ctx, t)
				names := profileNames()
				t.Repeat(map[string]func(*rapid.T){
					"arrive": func(t *rapid.T) {
						f.arrive(ctx, t, policy, rapid.SampledFrom(names).Draw(t, "profile"))
					},
					"leave": func(t *rapid.T) {
						ids := sortedKeys(f.running)
						if len(ids) == 0 {
							t.Skip("nothing runs")
						}
						f.leave(ctx, t, rapid.SampledFrom(ids).Draw(t, "task"))
					},
					"": func(t *rapid.T) { f.check(ctx, t) },
				})
			})
		})
	}
}

// profileNames returns the names of all profiles of the fleet, each once.
func profileNames() []string {
	seen := map[string]bool{}
	for _, m := range models() {
		for p := range m.Profiles() {
			seen[p.Name] = true
		}
	}
	return sortedKeys(seen)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
