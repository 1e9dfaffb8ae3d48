package fragmentation_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
)

// models are the GPU model names that generated nodes and shapes use.
var models = []string{"", "T4", "G2", "V100M32"}

func lookup(t testing.TB, key string) *mig.Model {
	t.Helper()
	m, err := mig.Lookup(key)
	require.NoError(t, err)
	return m
}

// layout reads "2g.10gb@0", "3g.20gb@4" into a layout that must be valid.
func layout(t testing.TB, m *mig.Model, instances ...string) mig.Layout {
	t.Helper()
	var list []mig.Instance
	for _, s := range instances {
		in, err := mig.ParseInstance(s)
		require.NoError(t, err)
		list = append(list, in)
	}
	l, err := m.Layout(list...)
	require.NoError(t, err)
	return l
}

// uncut returns GPUs with so much left and all device memory.
func uncut(milli ...int64) []fragmentation.GPU {
	gpus := []fragmentation.GPU{}
	for _, m := range milli {
		gpus = append(gpus, fragmentation.GPU{Milli: m, Memory: 16384})
	}
	return gpus
}

// sumOf is Sum for values that must have one.
func sumOf(t require.TestingT, values ...fragmentation.Value) fragmentation.Value {
	v, err := fragmentation.Sum(values...)
	require.NoError(t, err)
	return v
}

// fgdOf is NewFGD for a mix that must be good.
func fgdOf(t testing.TB, mix fragmentation.Mix) *fragmentation.FGD {
	t.Helper()
	v, err := fragmentation.NewFGD(mix)
	require.NoError(t, err)
	return v
}

func migFGDOf(t testing.TB, mix fragmentation.Mix) *fragmentation.MIGFGD {
	t.Helper()
	v, err := fragmentation.NewMIGFGD(mix)
	require.NoError(t, err)
	return v
}

// genMilli draws amounts at which comparisons change sides more often than a
// uniform draw would.
func genMilli(from, to int64) *rapid.Generator[int64] {
	steps := rapid.Custom(func(t *rapid.T) int64 {
		return min(max(rapid.Int64Range(0, 10).Draw(t, "tenths")*100, from), to)
	})
	return rapid.OneOf(steps, rapid.Int64Range(from, to))
}

// genCPU and genMemory draw few distinct values, so that needs and what is left
// are often equal.
func genCPU() *rapid.Generator[int64]    { return rapid.SampledFrom([]int64{0, 1000, 4000, 8000, 64000}) }
func genMemory() *rapid.Generator[int64] { return rapid.SampledFrom([]int64{0, 1000, 8000, 16384}) }

// Models and profiles are drawn by name, so that failed tests stay readable.
func genMIGModel(t *rapid.T, label string) *mig.Model {
	var keys []string
	for m := range mig.Models() {
		if m.HasGeometry() {
			keys = append(keys, m.Key())
		}
	}
	m, err := mig.Lookup(rapid.SampledFrom(keys).Draw(t, label))
	require.NoError(t, err)
	return m
}

func genProfile(t *rapid.T, m *mig.Model, label string) mig.Profile {
	var names []string
	for p := range m.Profiles() {
		names = append(names, p.Name)
	}
	p, err := m.Profile(rapid.SampledFrom(names).Draw(t, label))
	require.NoError(t, err)
	return p
}

func genLayout(t *rapid.T) mig.Layout {
	m := genMIGModel(t, "cut as")
	l := m.Empty()
	for range rapid.IntRange(0, 4).Draw(t, "instances") {
		p := genProfile(t, m, "profile")
		starts := slices.Collect(l.FreeStarts(p).All())
		if len(starts) == 0 {
			continue
		}
		next, err := l.With(p, rapid.SampledFrom(starts).Draw(t, "start"))
		require.NoError(t, err)
		l = next
	}
	return l
}

func genGPU(t *rapid.T) fragmentation.GPU {
	if rapid.IntRange(0, 3).Draw(t, "cut") == 0 {
		return fragmentation.GPU{Layout: genLayout(t)}
	}
	return fragmentation.GPU{
		Milli:  genMilli(0, fragmentation.Whole).Draw(t, "milli"),
		Memory: genMemory().Draw(t, "device memory"),
	}
}

func genState(t *rapid.T) *fragmentation.State {
	return &fragmentation.State{
		CPU:    genCPU().Draw(t, "CPU"),
		Memory: genMemory().Draw(t, "memory"),
		Model:  rapid.SampledFrom(models).Draw(t, "model"),
		GPUs:   rapid.SliceOfN(rapid.Custom(genGPU), 0, 8).Draw(t, "GPUs"),
	}
}

func genModels() *rapid.Generator[fragmentation.Models] {
	return rapid.SampledFrom([]fragmentation.Models{"", "", "T4", "G2|T4", "V100M32|", "|"})
}

// genPlainShape draws a shape that asks for no MIG instance.
func genPlainShape(t *rapid.T) fragmentation.Shape {
	s := fragmentation.Shape{CPU: genCPU().Draw(t, "CPU"), Memory: genMemory().Draw(t, "memory")}
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		return s
	case 1:
		s.GPUs, s.Milli = rapid.IntRange(1, 4).Draw(t, "whole GPUs"), fragmentation.Whole
	default:
		s.GPUs, s.Milli = 1, genMilli(1, fragmentation.Whole-1).Draw(t, "milli")
	}
	s.DeviceMemory = genMemory().Draw(t, "device memory")
	s.Models = genModels().Draw(t, "models")
	return s
}

// genMIGShape draws a request for an instance of any profile of any model.
func genMIGShape(t *rapid.T) fragmentation.Shape {
	p := genProfile(t, genMIGModel(t, "profile of"), "profile")
	return fragmentation.Shape{GPUs: 1, Profile: p.Name, Models: genModels().Draw(t, "models")}
}

func genMix(shape func(*rapid.T) fragmentation.Shape) *rapid.Generator[fragmentation.Mix] {
	return rapid.Custom(func(t *rapid.T) fragmentation.Mix {
		var mix fragmentation.Mix
		for range rapid.IntRange(1, 6).Draw(t, "entries") {
			mix = append(mix, fragmentation.Entry{
				Shape: rapid.Custom(shape).Draw(t, "shape"),
				Count: rapid.Int64Range(1, 1000).Draw(t, "count"),
			})
		}
		return mix
	})
}

// shuffled returns the state with its GPUs in another order.
func shuffled(t *rapid.T, s *fragmentation.State) *fragmentation.State {
	o := *s
	if len(s.GPUs) > 1 {
		o.GPUs = rapid.Permutation(s.GPUs).Draw(t, "order of GPUs")
	}
	return &o
}
