package mig_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
)

// bestByFit is Best by asking every GPU with Fit.
func bestByFit(gpus []mig.Layout, want mig.Demand) (gpu int, after mig.Layout) {
	gpu = -1
	bestLost, bestChoice, inUse := 0, 0, false
	for g, l := range gpus {
		got, err := l.Fit(want)
		if err != nil {
			continue
		}
		lost, choice := l.FreePairs()-got.FreePairs(), max(1, l.Model().Empty().FreePairs())
		if gpu >= 0 && inUse != (l.Len() > 0) {
			if inUse {
				continue
			}
			bestLost, bestChoice = 1, 0 // more than any share
		}
		if gpu < 0 || lost*bestChoice < bestLost*choice {
			gpu, after, bestLost, bestChoice, inUse = g, got, lost, choice, l.Len() > 0
		}
	}
	return gpu, after
}

// genFleet draws GPUs of up to three models, many of them alike, some not cut.
func genFleet(t *rapid.T) []mig.Layout {
	var kinds []mig.Layout
	for range rapid.IntRange(1, 3).Draw(t, "models") {
		m := genModel(t)
		for range rapid.IntRange(1, 3).Draw(t, "kinds") {
			kinds = append(kinds, genLayout(t, m))
		}
	}
	kinds = append(kinds, mig.Layout{})
	return rapid.SliceOfN(rapid.SampledFrom(kinds), 0, 12).Draw(t, "gpus")
}

// genFleetDemand draws a demand in the terms of one of the GPUs' models.
func genFleetDemand(t *rapid.T, gpus []mig.Layout) mig.Demand {
	m := mustLookup(t, "a100-40gb")
	for _, l := range gpus {
		if l.Model() != nil && rapid.Bool().Draw(t, "of this GPU") {
			m = l.Model()
			break
		}
	}
	d := genDemand(t, m)
	for name, n := range d {
		d[name] = min(n, 2)
	}
	return d
}

func mustLookup(t *rapid.T, key string) *mig.Model {
	m, err := mig.Lookup(key)
	require.NoError(t, err)
	return m
}

// TestBestIsTheBestFit compares with the plain loop over Fit.
func TestBestIsTheBestFit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		gpus := genFleet(t)
		want := genFleetDemand(t, gpus)
		gpu, after, err := mig.Best(gpus, want)
		wantGPU, wantAfter := bestByFit(gpus, want)
		require.Equal(t, wantGPU, gpu, "%s: %v", want, err)
		require.Equal(t, wantAfter, after)
		if gpu >= 0 {
			require.NoError(t, err)
			return
		}
		var no *mig.BestError
		require.ErrorAs(t, err, &no)
		checkBestError(t, gpus, want, no)
	})
}

func checkBestError(t *rapid.T, gpus []mig.Layout, want mig.Demand, no *mig.BestError) {
	count := mig.BestError{Want: want, GPUs: len(gpus)}
	binds := map[mig.Limit]int{}
	for _, l := range gpus {
		_, err := l.Fit(want)
		var full *mig.FitError
		switch {
		case errors.Is(err, mig.ErrUnknownModel):
			count.Uncut++
		case errors.Is(err, mig.ErrUnknownProfile):
			count.NotOffered++
		case errors.Is(err, mig.ErrUnknownGeometry):
			count.Unknown++
		case errors.As(err, &full):
			count.Full++
			binds[full.Limit]++
		default:
			require.Fail(t, "an answer after all", "%v", err)
		}
	}
	for _, kind := range []mig.Limit{mig.LimitMemory, mig.LimitCompute, mig.LimitCount, mig.LimitMedia, mig.LimitPosition} {
		if binds[kind] > count.Limited {
			count.Limit, count.Limited = kind, binds[kind]
		}
	}
	assert.Equal(t, &count, no)
}

func TestBestChooses(t *testing.T) {
	t.Parallel()
	a40, a80, a30 := lookup(t, "a100-40gb"), lookup(t, "a100-80gb"), lookup(t, "a30-24gb")
	for _, c := range []struct {
		name string
		gpus []mig.Layout
		want mig.Demand
		gpu  int
		says string // the layout afterwards
	}{
		{
			"a full hole before an empty GPU",
			[]mig.Layout{a40.Empty(), layout(t, a40, "4g.20gb@0")},
			mig.Demand{"3g.20gb": 1},
			1, "4g.20gb@0 3g.20gb@4",
		},
		{
			"half a hole before an empty GPU of another model",
			[]mig.Layout{lookup(t, "h100-80gb-sxm5").Empty(), a80.Empty(), layout(t, a80, "3g.40gb@4")},
			mig.Demand{"3g.40gb": 1},
			2, "3g.40gb@0 3g.40gb@4",
		},
		{
			"where it costs least",
			[]mig.Layout{layout(t, a40, "1g.5gb@6"), layout(t, a40, "1g.5gb@0", "1g.5gb@2", "3g.20gb@4"), a40.Empty()},
			mig.Demand{"1g.5gb": 1},
			1, "1g.5gb@0 1g.5gb@1 1g.5gb@2 3g.20gb@4",
		},
		{"lowest index of equals", []mig.Layout{a40.Empty(), a40.Empty()}, mig.Demand{"1g.5gb": 1}, 0, "1g.5gb@6"},
		{
			"models that do not offer it are passed over",
			[]mig.Layout{{}, a30.Empty(), a40.Empty()},
			mig.Demand{"1g.5gb": 1},
			2, "1g.5gb@6",
		},
		{
			// On an A100 80GB each takes one slice of eight, on an A100 40GB two.
			"one name, two sizes",
			[]mig.Layout{a40.Empty(), a80.Empty()},
			mig.Demand{"1g.10gb": 2},
			1, "1g.10gb@4 1g.10gb@5",
		},
		{
			"nothing goes to a GPU in use",
			[]mig.Layout{a40.Empty(), layout(t, a30, "1g.6gb@0")},
			mig.Demand{},
			1, "1g.6gb@0",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			gpu, after, err := mig.Best(c.gpus, c.want)
			require.NoError(t, err)
			assert.Equal(t, c.gpu, gpu)
			assert.Equal(t, c.says, after.String())
			assert.Same(t, c.gpus[gpu].Model(), after.Model())
		})
	}
}

func TestBestRefuses(t *testing.T) {
	t.Parallel()
	a40, a30 := lookup(t, "a100-40gb"), lookup(t, "a30-24gb")
	full := layout(t, a40, "7g.40gb@0")
	for _, c := range []struct {
		name string
		gpus []mig.Layout
		want mig.Demand
		is   error
		says string
	}{
		{"no GPU", nil, mig.Demand{"1g.5gb": 1}, mig.ErrNoFit, "1g.5gb=1 fits on none of 0 GPUs: 0 full, 0 of a model that does not offer it"},
		{"not cut", []mig.Layout{{}}, mig.Demand{"1g.5gb": 1}, mig.ErrNoFit, "0 of a model that does not offer it, 1 not cut"},
		{
			"full",
			[]mig.Layout{full, a30.Empty(), layout(t, a40, "1g.5gb@0"), full},
			mig.Demand{"4g.20gb": 1},
			mig.ErrNoFit, "4g.20gb=1 fits on none of 4 GPUs: 3 full (2 of them by memory), 1 of a model that does not offer it",
		},
		{"offered by none", []mig.Layout{a30.Empty(), {}}, mig.Demand{"1g.5gb": 1}, mig.ErrUnknownProfile, "0 full, 1 of a model that does not offer it, 1 not cut"},
		{"one of the profiles offered by none", []mig.Layout{a40.Empty()}, mig.Demand{"1g.5gb": 1, "1g.6gb": 1}, mig.ErrUnknownProfile, "1 of a model"},
		{"malformed name", []mig.Layout{a40.Empty()}, mig.Demand{"1g.6gb": 1, "1g": 1}, mig.ErrBadName, `"1g"`},
		{"malformed name, no GPU", nil, mig.Demand{"1g": 1}, mig.ErrBadName, `"1g"`},
		{"negative count", []mig.Layout{full}, mig.Demand{"1g.6gb": -1}, mig.ErrBadDemand, "1g.6gb=-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			gpu, after, err := mig.Best(c.gpus, c.want)
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.says)
			assert.Equal(t, -1, gpu)
			assert.Equal(t, mig.Layout{}, after)
		})
	}
}

// randomFleet returns GPUs of several models, each in a state drawn from all of
// its model.
func randomFleet(tb testing.TB, n int, models ...string) []mig.Layout {
	tb.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var states [][]mig.Layout
	for _, key := range models {
		states = append(states, newUniverse(lookup(tb, key), true).layouts)
	}
	var gpus []mig.Layout
	for range n {
		of := states[rng.IntN(len(states))]
		gpus = append(gpus, of[rng.IntN(len(of))])
	}
	return gpus
}

// BenchmarkBest asks for the best of 512 GPUs of four models, and compares with
// the plain loop over Fit.
func BenchmarkBest(b *testing.B) {
	gpus := randomFleet(b, 512, "a100-40gb", "a100-80gb", "h100-80gb-sxm5", "rtx-pro-6000-96gb")
	for _, want := range []mig.Demand{
		{"1g.10gb": 1},
		{"2g.20gb": 1},
		{"3g.40gb": 1, "1g.10gb": 2},
		{"2g.20gb": 1, "1g.10gb": 2},
		{"1g.24gb": 3},
		{"3g.40gb": 1, "1g.24gb": 2}, // no model offers both
	} {
		b.Run(fmt.Sprintf("want=%s/solver=best", want), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _, _ = mig.Best(gpus, want)
			}
		})
		b.Run(fmt.Sprintf("want=%s/solver=fit", want), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = bestByFit(gpus, want)
			}
			against(b, func() { _, _, _ = mig.Best(gpus, want) }, "x-best")
		})
	}
}
