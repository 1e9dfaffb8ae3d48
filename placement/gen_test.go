package placement_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
)

func lookup(t testing.TB, key string) *mig.Model {
	t.Helper()
	m, err := mig.Lookup(key)
	require.NoError(t, err)
	return m
}

// newNode is NewNode for a spec that must be good.
func newNode(t testing.TB, spec placement.NodeSpec) *placement.Node {
	t.Helper()
	n, err := placement.NewNode(spec)
	require.NoError(t, err)
	return n
}

func newCluster(t testing.TB, specs ...placement.NodeSpec) *placement.Cluster {
	t.Helper()
	c, err := placement.NewCluster(specs)
	require.NoError(t, err)
	return c
}

// with places tasks that must be taken.
func with(t testing.TB, n *placement.Node, assignments ...placement.Assignment) *placement.Node {
	t.Helper()
	for _, a := range assignments {
		next, err := n.With(a)
		require.NoError(t, err)
		n = next
	}
	return n
}

// uncut returns the spec of a node whose GPUs are not cut, with 64 vCPU and
// 16 GiB of device memory on each GPU.
func uncut(name string, gpus int) placement.NodeSpec {
	s := placement.NodeSpec{Name: name, CPU: 64000, Memory: 262144, Model: "T4"}
	for range gpus {
		s.GPUs = append(s.GPUs, placement.GPUSpec{Memory: 16384})
	}
	return s
}

// cut returns the spec of a node with GPUs in MIG mode.
func cut(t testing.TB, name, key string, gpus int) placement.NodeSpec {
	t.Helper()
	s := placement.NodeSpec{Name: name, CPU: 64000, Memory: 262144, Model: key}
	for range gpus {
		s.GPUs = append(s.GPUs, placement.GPUSpec{MIG: lookup(t, key)})
	}
	return s
}

func fraction(milli int64) fragmentation.Shape {
	return fragmentation.Shape{CPU: 1000, GPUs: 1, Milli: milli}
}

func whole(gpus int) fragmentation.Shape {
	return fragmentation.Shape{CPU: 1000, GPUs: gpus, Milli: fragmentation.Whole}
}

func instance(profile string) fragmentation.Shape {
	return fragmentation.Shape{CPU: 1000, GPUs: 1, Profile: profile}
}

func task(id string, s fragmentation.Shape) placement.Task { return placement.Task{ID: id, Shape: s} }

// fits asks for a task of a shape.
func fits(n *placement.Node, s fragmentation.Shape) placement.Refusal {
	return n.Fits(&placement.Task{Shape: s})
}

// at is a task on GPUs of a node.
func at(id string, s fragmentation.Shape, gpus ...int) placement.Assignment {
	return placement.Assignment{Task: task(id, s), Spot: placement.Spot{GPUs: placement.GPUs(gpus...)}}
}

// instanceAt is a task with a MIG instance.
func instanceAt(id, profile string, gpu, start int) placement.Assignment {
	return placement.Assignment{Task: task(id, instance(profile)), Spot: placement.Spot{GPUs: placement.GPUs(gpu), Start: start}}
}

func somewhere(id string, s fragmentation.Shape) placement.Assignment {
	return placement.Assignment{Task: task(id, s), Spot: placement.Spot{Anywhere: true}}
}

func assignments(n *placement.Node) []placement.Assignment { return slices.Collect(n.Assignments()) }

// migKeys are the models that generated nodes are cut as: two of 8 memory
// slices with profiles of equal names and other sizes, one of 4 and one of 12.
var migKeys = []string{"a100-40gb", "h100-80gb-sxm5", "a30-24gb", "rtx-pro-6000-96gb"}

// Models and profiles are drawn by name, so that failed tests stay readable.
func genMIGModel(t *rapid.T, label string) *mig.Model {
	m, err := mig.Lookup(rapid.SampledFrom(migKeys).Draw(t, label))
	require.NoError(t, err)
	return m
}

func genProfile(t *rapid.T, m *mig.Model) string {
	var names []string
	for p := range m.Profiles() {
		names = append(names, p.Name)
	}
	return rapid.SampledFrom(names).Draw(t, "profile")
}

func genDeviceMemory(t *rapid.T) int64 {
	return rapid.SampledFrom([]int64{16384, 16384, 8192, 0}).Draw(t, "device memory")
}

// genSpec draws a node with up to four GPUs, cut and uncut ones mixed, with
// device memory and MIG models of their own.
func genSpec(t *rapid.T, name string) placement.NodeSpec {
	s := placement.NodeSpec{
		Name:   name,
		CPU:    rapid.SampledFrom([]int64{64000, 64000, 64000, 8000, 0}).Draw(t, "CPU"),
		Memory: rapid.SampledFrom([]int64{262144, 262144, 262144, 2048, 0}).Draw(t, "memory"),
		Model:  rapid.SampledFrom([]string{"", "T4", "G2"}).Draw(t, "model"),
	}
	// Most nodes have GPUs of one kind.
	alike := rapid.Bool().Draw(t, "GPUs alike")
	memory, model := genDeviceMemory(t), genMIGModel(t, "model of cut GPUs")
	for range rapid.IntRange(0, 4).Draw(t, "GPUs") {
		if !alike {
			memory, model = genDeviceMemory(t), genMIGModel(t, "model of cut GPUs")
		}
		g := placement.GPUSpec{Memory: memory}
		if rapid.Bool().Draw(t, "cut") {
			g = placement.GPUSpec{MIG: model}
		}
		s.GPUs = append(s.GPUs, g)
	}
	return s
}

// genShape draws a valid shape of any kind.
func genShape(t *rapid.T) fragmentation.Shape {
	return genShapeOf(t, []string{"no GPU", "fraction", "whole", "MIG"}, genMIGModel(t, "profile of"))
}

// genShapeFor draws a shape of a kind that the node can take, most of the time.
func genShapeFor(t *rapid.T, spec placement.NodeSpec) fragmentation.Shape {
	if rapid.IntRange(0, 5).Draw(t, "any shape") == 0 {
		return genShape(t)
	}
	kinds := []string{"no GPU"}
	var keys []string
	for _, g := range spec.GPUs {
		if g.MIG != nil {
			kinds, keys = append(kinds, "MIG", "MIG"), append(keys, g.MIG.Key())
		} else {
			kinds = append(kinds, "fraction", "fraction", "whole")
		}
	}
	var m *mig.Model
	if keys != nil {
		var err error
		m, err = mig.Lookup(rapid.SampledFrom(keys).Draw(t, "profile of"))
		require.NoError(t, err)
	}
	return genShapeOf(t, kinds, m)
}

// genShapeOf draws from few different sizes, so that GPUs fill up exactly and
// tasks repeat.
func genShapeOf(t *rapid.T, kinds []string, m *mig.Model) fragmentation.Shape {
	s := fragmentation.Shape{
		CPU:    rapid.SampledFrom([]int64{0, 0, 1000, 4000}).Draw(t, "CPU"),
		Memory: rapid.SampledFrom([]int64{0, 0, 1024}).Draw(t, "memory"),
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "no GPU":
		return s
	case "fraction":
		s.GPUs, s.Milli = 1, rapid.SampledFrom([]int64{1, 250, 400, 500, 600, 999}).Draw(t, "milli")
		s.DeviceMemory = rapid.SampledFrom([]int64{0, 0, 4096, 8192, 16384}).Draw(t, "device memory")
	case "whole":
		s.GPUs, s.Milli = rapid.IntRange(1, 3).Draw(t, "GPUs"), fragmentation.Whole
		s.DeviceMemory = rapid.SampledFrom([]int64{0, 0, 16384}).Draw(t, "device memory")
	default:
		s.GPUs, s.Profile = 1, genProfile(t, m)
		s.DeviceMemory = rapid.SampledFrom([]int64{0, 0, 0, 4096, 16384}).Draw(t, "device memory")
	}
	s.Models = rapid.SampledFrom([]fragmentation.Models{"", "", "", "", "", "", "T4", "T4|G2"}).Draw(t, "models")
	return s
}

// genSpot draws a spot for a shape on a node that need not be free or even
// there.
func genSpot(t *rapid.T, gpus int, shape fragmentation.Shape) placement.Spot {
	switch rapid.IntRange(0, 3).Draw(t, "spot") {
	case 0:
		return placement.Spot{Anywhere: true}
	case 1: // as many GPUs as wanted or not, one of them perhaps out of range
		set := rapid.SliceOfN(rapid.IntRange(0, gpus), 0, 3).Draw(t, "GPUs of spot")
		return placement.Spot{GPUs: placement.GPUs(set...), Start: rapid.IntRange(0, 8).Draw(t, "start")}
	}
	order := rapid.Permutation(indexes(gpus)).Draw(t, "order of GPUs")
	s := placement.Spot{GPUs: placement.GPUs(order[:min(shape.GPUs, gpus)]...)}
	if shape.Profile != "" {
		s.Start = rapid.IntRange(0, 6).Draw(t, "start")
	}
	return s
}

func indexes(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// genNode draws a node with tasks on it, some of them anywhere.
func genNode(t *rapid.T, name string) *placement.Node {
	n, err := placement.NewNode(genSpec(t, name))
	require.NoError(t, err)
	for i := range rapid.IntRange(0, 6).Draw(t, "tasks") {
		shape := genShapeFor(t, n.Spec())
		free := freeSpots(n, shape)
		if len(free) == 0 {
			continue
		}
		a := placement.Assignment{Task: task(fmt.Sprintf("t%d", i), shape)}
		a.Spot = rapid.SampledFrom(free).Draw(t, "free spot")
		a.Spot.Anywhere = rapid.IntRange(0, 3).Draw(t, "anywhere") == 0
		n, err = n.With(a)
		require.NoError(t, err)
	}
	return n
}

// genClusterSpecs draws the specs of a few nodes.
func genClusterSpecs(t *rapid.T) []placement.NodeSpec {
	var specs []placement.NodeSpec
	for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
		specs = append(specs, genSpec(t, fmt.Sprintf("n%d", i)))
	}
	return specs
}
