package device_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/plan"
	"github.com/gpushare/gpushare/nvmlfake"
)

// geometry is all that decides which layouts a model has.
func geometry(m *mig.Model) string {
	text := fmt.Sprint(m.MemorySlices(), m.ComputeSlices())
	for p := range m.PlainProfiles() {
		text += fmt.Sprint(" ", p.ComputeSlices, p.Size, p.Starts, p.MaxInstances)
	}
	return text
}

// requests yields the distinct orders in which instances can be asked for, where
// two of one profile are alike; each only until the next.
func requests(all []mig.Instance) func(func([]mig.Instance) bool) {
	rest := slices.Clone(all)
	slices.SortStableFunc(rest, func(a, b mig.Instance) int {
		if a.Profile != b.Profile {
			return map[bool]int{true: -1, false: 1}[a.Profile < b.Profile]
		}
		return a.Start - b.Start
	})
	order := make([]mig.Instance, 0, len(rest))
	taken := make([]bool, len(rest))
	return func(yield func([]mig.Instance) bool) {
		var walk func() bool
		walk = func() bool {
			if len(order) == len(rest) {
				return yield(order)
			}
			for i := range rest {
				alike := i > 0 && rest[i-1].Profile == rest[i].Profile && !taken[i-1]
				if taken[i] || alike {
					continue
				}
				taken[i] = true
				order = append(order, rest[i])
				on := walk()
				order, taken[i] = order[:len(order)-1], false
				if !on {
					return false
				}
			}
			return true
		}
		walk()
	}
}

// raw carries out a plan with bare calls.
func raw(t *testing.T, dev nvml.Device, infos map[string]nvml.GpuInstanceProfileInfo, p plan.Plan) {
	t.Helper()
	for _, step := range p.Steps {
		info := infos[step.Profile]
		at := nvml.GpuInstancePlacement{Start: uint32(step.Start), Size: uint32(step.Size)}
		if _, ret := dev.CreateGpuInstanceWithPlacement(&info, &at); ret != nvml.SUCCESS {
			require.Equal(t, nvml.SUCCESS, ret, "%v of %v", step, p)
		}
	}
}

// Every layout of plain profiles, asked for in every order: there is a plan from
// the empty GPU, the same for all orders, and the fake accepts each of its steps.
// Once for each layout the plan is applied as a transaction. A short run and one
// with the race detector take a sample, a thin one of models whose geometry another
// has too.
func TestEveryLayoutInPlanOrder(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	var totalLayouts, totalOrders atomic.Int64
	t.Cleanup(func() { t.Logf("in all %d layouts in %d orders", totalLayouts.Load(), totalOrders.Load()) })
	for _, m := range models() {
		stride := 1
		if testing.Short() || raceEnabled {
			stride = 187
			if g := geometry(m); !seen[g] {
				seen[g], stride = true, 11
			}
		}
		t.Run(m.Key(), func(t *testing.T) {
			t.Parallel()
			layouts, orders := everyLayout(t, m, stride)
			totalLayouts.Add(int64(layouts))
			totalOrders.Add(int64(orders))
			t.Logf("%s: %d layouts in %d orders", m, layouts, orders)
			if stride == 1 && m.Key() == "a100-40gb" {
				assert.Equal(t, 722, layouts)
			}
		})
	}
}

func everyLayout(t *testing.T, m *mig.Model, stride int) (layouts, orders int) {
	t.Helper()
	srv, err := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: m.Key(), MIG: true}}})
	require.NoError(t, err)
	lib := srv.NVML()
	require.Equal(t, nvml.SUCCESS, lib.Init())
	dev, ret := lib.DeviceGetHandleByIndex(0)
	require.Equal(t, nvml.SUCCESS, ret)
	gpu, err := device.OpenModel(t.Context(), dev, m)
	require.NoError(t, err)
	infos := map[string]nvml.GpuInstanceProfileInfo{}
	for p := range m.Profiles() {
		info, ret := dev.GetGpuInstanceProfileInfo(p.Index)
		require.Equal(t, nvml.SUCCESS, ret)
		infos[p.Name] = info
	}
	empty := plan.State{GPU: gpu.UUID(), Model: m}
	n := 0
	for want := range m.Layouts(nil) {
		if n++; n%stride != 0 {
			continue
		}
		layouts++
		var first plan.Plan
		for order := range requests(slices.Collect(want.Instances())) {
			p, err := plan.Restore(empty, goalOf(m, order))
			require.NoError(t, err, "%v in order %v", want, order)
			raw(t, dev, infos, p)
			if l, err := srv.Layout(0); err != nil || l != want {
				require.Equal(t, want, l)
			}
			if orders++; first.Steps == nil {
				first = p
			}
			require.Len(t, p.Steps, len(first.Steps))
			for i := range p.Steps {
				if p.Steps[i].Instance.Instance != first.Steps[i].Instance.Instance {
					require.Equal(t, first.Steps, p.Steps)
				}
			}
			require.NoError(t, srv.Reset(0))
		}
		report, err := gpu.Apply(t.Context(), first, device.ApplyOptions{})
		require.NoError(t, err)
		require.Equal(t, device.Done, report.Outcome)
		require.Equal(t, want, layout(t, srv))
		require.NoError(t, srv.Reset(0))
	}
	return layouts, orders
}

// goalOf asks for one compute instance of full size in each, or for none where
// the table of the model has no compute profiles.
func goalOf(m *mig.Model, all []mig.Instance) []plan.Instance {
	var goal []plan.Instance
	for _, in := range all {
		g := plan.Instance{Instance: in}
		if !slices.ContainsFunc(slices.Collect(m.ComputeProfiles(in.Profile)), func(c mig.ComputeProfile) bool { return c.Default }) {
			g.Compute = []mig.ComputeInstance{}
		}
		goal = append(goal, g)
	}
	return goal
}
