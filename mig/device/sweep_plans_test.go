package device_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/plan"
	"github.com/gpushare/gpushare/nvmlfake"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

// sweepCase is a plan from a random state to a random goal, and the machine that
// it starts from.
type sweepCase struct {
	snap    nvmlfake.Snapshot
	from    plan.State
	plan    plan.Plan
	calls   int // of a run without faults
	changes int // those of them that change the GPU
}

// sweepModels are the models that a plan can be made for: placements and compute
// profiles are known.
func sweepModels() []*mig.Model {
	var all []*mig.Model
	for _, m := range models() {
		known := true
		for p := range m.Profiles() {
			known = known && slices.ContainsFunc(slices.Collect(m.ComputeProfiles(p.Name)), func(c mig.ComputeProfile) bool { return c.Default })
		}
		if known {
			all = append(all, m)
		}
	}
	return all
}

// randomLayout draws instances with what stands in them: mostly one of full size,
// sometimes several small ones, and in a state also none.
func randomLayout(rng *rand.Rand, m *mig.Model, empty bool) []plan.Instance {
	l := m.Empty()
	var all []plan.Instance
	profiles := slices.Collect(m.Profiles())
	for range 1 + rng.IntN(7) {
		p := profiles[rng.IntN(len(profiles))]
		starts := slices.Collect(l.FreeStarts(p).All())
		if len(starts) == 0 {
			continue
		}
		start := starts[rng.IntN(len(starts))]
		next, err := l.With(p, start)
		if err != nil {
			continue
		}
		l = next
		in := plan.Instance{Instance: mig.Instance{Profile: p.Name, Start: start, Size: p.Size}}
		switch k := rng.IntN(10); {
		case k == 0 && empty:
			in.Compute = []mig.ComputeInstance{}
		case k < 4:
			in.Compute = smallCompute(rng, m, p.Name)
		}
		all = append(all, in)
	}
	return all
}

// smallCompute draws up to three compute instances of one slice each, or none if
// the profile has no such.
func smallCompute(rng *rand.Rand, m *mig.Model, profile string) []mig.ComputeInstance {
	for c := range m.ComputeProfiles(profile) {
		if c.Index != nvml.COMPUTE_INSTANCE_PROFILE_1_SLICE || c.Default || c.Size != 1 {
			continue
		}
		starts := slices.Collect(c.Starts.All())
		rng.Shuffle(len(starts), func(i, j int) { starts[i], starts[j] = starts[j], starts[i] })
		starts = starts[:1+rng.IntN(min(3, c.MaxInstances, len(starts)))]
		var all []mig.ComputeInstance
		for _, s := range starts {
			all = append(all, mig.ComputeInstance{Profile: c.Name, Start: s, Size: c.Size, Index: c.Index})
		}
		return all
	}
	return nil
}

// sweepCaseOf draws the i-th case: the state comes about by a plan, too.
func sweepCaseOf(ctx context.Context, t tb, i int, models []*mig.Model) sweepCase {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(i), 7))
	m := models[rng.IntN(len(models))]
	for {
		r := newRig(ctx, t, m.Key())
		p, err := plan.Restore(r.state(ctx, t), randomLayout(rng, m, true))
		require.NoError(t, err)
		report, err := r.gpu.Apply(ctx, p, device.ApplyOptions{})
		require.NoError(t, err)
		require.Equal(t, device.Done, report.Outcome)
		c := sweepCase{snap: r.srv.Snapshot(), from: r.state(ctx, t)}
		c.plan, err = plan.Restore(c.from, randomLayout(rng, m, false))
		require.NoError(t, err)
		if len(c.plan.Steps) > 0 {
			return c
		}
	}
}

// rig returns a machine in the state that the plan starts from.
func (c sweepCase) rig(ctx context.Context, t tb) *rig {
	t.Helper()
	srv, err := nvmlfake.Restore(c.snap)
	require.NoError(t, err)
	lib := srv.NVML()
	require.Equal(t, nvml.SUCCESS, lib.Init())
	dev, ret := lib.DeviceGetHandleByIndex(0)
	require.Equal(t, nvml.SUCCESS, ret)
	r := &rig{srv: srv, rules: &fault.Rules{}}
	r.plain, err = device.OpenModel(ctx, dev, c.from.Model)
	require.NoError(t, err)
	r.gpu, err = device.OpenModel(ctx, fault.WrapDevice(dev, r.rules), c.from.Model)
	require.NoError(t, err)
	return r
}

// count counts the calls of a run without faults.
func (c *sweepCase) count(ctx context.Context, t tb) {
	t.Helper()
	r := c.rig(ctx, t)
	r.rules.Forget()
	report, err := r.gpu.Apply(ctx, c.plan, device.ApplyOptions{})
	require.NoError(t, err)
	require.Equal(t, device.Done, report.Outcome)
	require.True(t, standsAs(r.state(ctx, t).Instances, c.plan.Goal, false))
	for _, call := range r.rules.Calls() {
		c.calls++
		if strings.Contains(call.Method, "Create") || strings.Contains(call.Method, "Destroy") {
			c.changes++
		}
	}
}
