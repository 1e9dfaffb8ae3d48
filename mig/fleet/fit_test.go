package fleet_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/fleet"
)

// gpusOf returns n GPUs for each layout.
func gpusOf(n int, layouts ...mig.Layout) []fleet.GPU {
	var gpus []fleet.GPU
	for _, l := range layouts {
		for range n {
			gpus = append(gpus, fleet.GPU{Layout: l})
		}
	}
	return gpus
}

// checkAssignment checks the certificate: what was there stands unmoved, what was
// added is the demand, each GPU is cut as Layout.Fit would, and the figures agree.
func checkAssignment(t require.TestingT, gpus []fleet.GPU, want mig.Demand, fit fleet.Assignment) {
	require.Len(t, fit.Layouts, len(gpus))
	added := mig.Demand{}
	var used []int
	weight := 0
	for i, g := range gpus {
		require.True(t, holds(fit.Layouts[i], g.Layout), "GPU %d: %s holds %s", i, fit.Layouts[i], g.Layout)
		more := mig.Demand{}
		before := g.Layout.Demand()
		for name, n := range fit.Layouts[i].Demand() {
			if n > before[name] {
				more[name] = n - before[name]
				added[name] += n - before[name]
			}
		}
		if len(more) == 0 {
			require.Equal(t, g.Layout, fit.Layouts[i])
			continue
		}
		used = append(used, i)
		weight += weightOf(g)
		l, err := g.Layout.Fit(more)
		require.NoError(t, err)
		require.Equal(t, l, fit.Layouts[i])
	}
	require.Equal(t, want.String(), added.String())
	require.Equal(t, used, fit.Used)
	require.Equal(t, weight, fit.Weight)
	require.LessOrEqual(t, fit.Bound, fit.Weight)
}

// TestFitAgreesWithExhaustion: the same answer, the same "no", and for the
// right reason.
func TestFitAgreesWithExhaustion(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		gpus := genGPUs(t)
		want := genGPUsDemand(t, gpus)
		best := exhaustFleet(gpus, want)
		fit, err := fleet.Fit(gpus, want, 0)
		if best == nil {
			var no *fleet.FitError
			require.ErrorAs(t, err, &no)
			require.ErrorIs(t, err, mig.ErrNoFit)
			limit := fleetLimitOf(gpus, want)
			if len(gpus) == 1 {
				var one *mig.FitError
				_, err := gpus[0].Layout.Fit(want)
				require.ErrorAs(t, err, &one)
				limit = one.Limit
			}
			require.Equal(t, limit, no.Limit, "%v", err)
			require.Equal(t, fleet.Assignment{}, fit)
			return
		}
		require.NoError(t, err)
		checkAssignment(t, gpus, want, fit)
		require.Equal(t, best.weight, fit.Weight)
		require.Equal(t, best.weight, fit.Bound)
		require.Equal(t, best.used, fit.Used)
	})
}

// TestFitWeight: the least weight and the fewest GPUs, on more GPUs, by a
// table over all that can be left to place.
func TestFitWeight(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		gpus := genManyGPUs(t)
		want := genGPUsDemand(t, gpus)
		weight, used, fits := tabulateFleet(gpus, want)
		fit, err := fleet.Fit(gpus, want, 0)
		if !fits {
			require.ErrorIs(t, err, mig.ErrNoFit)
			return
		}
		require.NoError(t, err)
		checkAssignment(t, gpus, want, fit)
		require.Equal(t, weight, fit.Weight)
		require.Len(t, fit.Used, used)
	})
}

// TestFitBudget: a search that ends early never says no, and what it does
// say is true.
func TestFitBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		gpus := genManyGPUs(t)
		want := genGPUsDemand(t, gpus)
		weight, _, fits := tabulateFleet(gpus, want)
		fit, err := fleet.Fit(gpus, want, rapid.IntRange(1, 20).Draw(t, "budget"))
		if !fits {
			require.Error(t, err)
			require.Nil(t, fit.Layouts)
			return
		}
		require.NotErrorIs(t, err, mig.ErrNoFit)
		require.LessOrEqual(t, fit.Bound, weight)
		if err == nil {
			require.Equal(t, weight, fit.Weight)
		} else {
			require.ErrorIs(t, err, fleet.ErrGaveUp)
		}
		if fit.Layouts != nil {
			checkAssignment(t, gpus, want, fit)
			require.GreaterOrEqual(t, fit.Weight, weight)
		}
	})
}

// TestFitOrder: the order of equal GPUs does not matter to the weight, and a
// second call gives the same answer.
func TestFitOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		gpus := genGPUs(t)
		want := genGPUsDemand(t, gpus)
		shuffled := rapid.Permutation(gpus).Draw(t, "order")
		a, aErr := fleet.Fit(gpus, want, 0)
		again, againErr := fleet.Fit(gpus, maps.Clone(want), 0)
		b, bErr := fleet.Fit(shuffled, want, 0)
		require.Equal(t, a, again)
		require.Equal(t, aErr, againErr)
		require.Equal(t, aErr == nil, bErr == nil)
		require.Equal(t, a.Weight, b.Weight)
		require.Len(t, b.Used, len(a.Used))
	})
}

func TestFit(t *testing.T) {
	t.Parallel()
	small, large, a30 := lookup(t, "a100-40gb"), lookup(t, "a100-80gb"), lookup(t, "a30-24gb")
	for _, c := range []struct {
		name   string
		gpus   []fleet.GPU
		want   mig.Demand
		used   []int
		weight int
		limit  mig.Limit
	}{
		{name: "nothing", gpus: gpusOf(2, small.Empty()), want: mig.Demand{"1g.5gb": 0}},
		{
			name: "110 a group of none is passed over, beside one of one", gpus: gpusOf(1, small.Empty()),
			want: mig.Demand{"7g.40gb": 0, "1g.5gb": 1}, used: []int{0}, weight: 1,
		},
		{
			name: "110 groups of none need no room", gpus: gpusOf(1, layout(t, small, "7g.40gb@0")),
			want: mig.Demand{"7g.40gb": 0, "1g.5gb": 0},
		},
		{name: "nothing of no GPU"},
		{
			name: "02 what one GPU has no memory for", gpus: gpusOf(3, small.Empty()),
			want: mig.Demand{"1g.10gb": 4, "1g.5gb": 3}, used: []int{0, 1}, weight: 2,
		},
		{
			name: "06 one profile fills the first GPU first", gpus: gpusOf(3, small.Empty()),
			want: mig.Demand{"1g.5gb": 7}, used: []int{0}, weight: 1,
		},
		{
			name: "one name, two sizes", gpus: gpusOf(1, small.Empty(), large.Empty()),
			want: mig.Demand{"1g.10gb": 11}, used: []int{0, 1}, weight: 2,
		},
		{
			name: "one name, one too many for both", gpus: gpusOf(1, small.Empty(), large.Empty()),
			want: mig.Demand{"1g.10gb": 12}, limit: mig.LimitCount,
		},
		{
			name: "the GPU that takes all, though it comes last", gpus: gpusOf(1, small.Empty(), large.Empty()),
			want: mig.Demand{"1g.10gb": 5}, used: []int{1}, weight: 1,
		},
		{
			name: "two cheap ones before a dear one",
			gpus: []fleet.GPU{{Layout: large.Empty(), Weight: 3}, {Layout: small.Empty()}, {Layout: small.Empty()}},
			want: mig.Demand{"1g.10gb": 6}, used: []int{1, 2}, weight: 2,
		},
		{
			name: "what is in use costs nothing",
			gpus: []fleet.GPU{{Layout: small.Empty()}, {Layout: layout(t, small, "3g.20gb@4"), Free: true}},
			want: mig.Demand{"1g.5gb": 4}, used: []int{1}, weight: 0,
		},
		{
			name: "each model serves its own", gpus: gpusOf(1, a30.Empty(), small.Empty()),
			want: mig.Demand{"2g.12gb": 2, "3g.20gb": 2}, used: []int{0, 1}, weight: 2,
		},
		{
			name: "a misplaced 1g on each", gpus: gpusOf(2, layout(t, small, "1g.5gb@0")),
			want: mig.Demand{"4g.20gb": 1}, limit: mig.LimitPosition,
		},
		{
			name: "slices enough, but the 1g stands where the 3g would", gpus: gpusOf(2, layout(t, small, "1g.5gb@6")),
			want: mig.Demand{"4g.20gb": 2, "3g.20gb": 1}, limit: mig.LimitPosition,
		},
		{
			name: "one media extension each", gpus: gpusOf(3, small.Empty()),
			want: mig.Demand{"1g.5gb+me": 4}, limit: mig.LimitCount,
		},
		{
			name: "one that is not cut is passed over", gpus: []fleet.GPU{{}, {Layout: small.Empty()}, {}},
			want: mig.Demand{"1g.5gb": 7}, used: []int{1}, weight: 1,
		},
		{
			name: "none is cut", gpus: []fleet.GPU{{}, {}}, want: mig.Demand{"1g.5gb": 1}, limit: mig.LimitMemory,
		},
		{
			name: "no GPU", want: mig.Demand{"1g.5gb": 1}, limit: mig.LimitMemory,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fit, err := fleet.Fit(c.gpus, c.want, 0)
			if c.limit != 0 {
				var no *fleet.FitError
				require.ErrorAs(t, err, &no)
				assert.Equal(t, c.limit, no.Limit)
				assert.Equal(t, len(c.gpus), no.GPUs)
				return
			}
			require.NoError(t, err)
			checkAssignment(t, c.gpus, c.want, fit)
			assert.Equal(t, c.used, fit.Used)
			assert.Equal(t, c.weight, fit.Weight)
		})
	}
}

// TestFitNames: a demand may name a profile in any way that the model takes,
// and in two ways at once.
func TestFitNames(t *testing.T) {
	t.Parallel()
	gpus := gpusOf(2, lookup(t, "a100-40gb").Empty())
	fit, err := fleet.Fit(gpus, mig.Demand{"1c.1g.5gb": 3, "1g.5gb": 6}, 0)
	require.NoError(t, err)
	checkAssignment(t, gpus, mig.Demand{"1g.5gb": 9}, fit)
}

// TestFitMany: thousands of equal GPUs, where the sum of slices says how many
// are needed.
func TestFitMany(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	for _, c := range []struct {
		name string
		want mig.Demand
		used int
	}{
		{"full of 3g and 4g", mig.Demand{"3g.20gb": 1500, "4g.20gb": 1500}, 1500},
		{"seven 1g each", mig.Demand{"1g.5gb": 7 * 1999}, 1999},
		{"memory binds", mig.Demand{"3g.20gb": 1000, "2g.10gb": 1500, "1g.10gb": 300, "1g.5gb": 2000}, 1200},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			gpus := gpusOf(2000, m.Empty())
			fit, err := fleet.Fit(gpus, c.want, 0)
			require.NoError(t, err)
			checkAssignment(t, gpus, c.want, fit)
			assert.Equal(t, c.used, fit.Weight)
		})
	}
}

// TestFitDiffering: many different GPUs, where the search may end before it
// has a proof: the answer is valid, no worse than first fit, and its bound true.
func TestFitDiffering(t *testing.T) {
	t.Parallel()
	var models []*mig.Model
	for _, key := range []string{"a30-24gb", "a100-40gb", "a100-80gb", "h100-80gb-sxm5"} {
		models = append(models, lookup(t, key))
	}
	questions := 6
	if testing.Short() {
		questions = 2
	}
	proven, total := 0, 0
	for _, weights := range []bool{false, true} {
		for _, gpus := range []int{16, 64, 160} {
			for i, q := range fleetQuestions(models, gpus, questions, weights) {
				fit, err := fleet.Fit(q.gpus, q.want, 50_000)
				total++
				if err == nil {
					proven++
					require.Equal(t, fit.Weight, fit.Bound)
				} else {
					require.ErrorIs(t, err, fleet.ErrGaveUp)
					require.Less(t, fit.Bound, fit.Weight)
				}
				checkAssignment(t, q.gpus, q.want, fit)
				if weight, fits := firstFit(q); fits {
					require.LessOrEqual(t, fit.Weight, weight, "%d GPUs, question %d", gpus, i)
				}
			}
		}
	}
	t.Logf("%d of %d answers proven", proven, total)
	assert.Greater(t, proven, total/2)
}

func TestFitRefuses(t *testing.T) {
	t.Parallel()
	small, a30 := lookup(t, "a100-40gb"), lookup(t, "a30-24gb")
	for _, c := range []struct {
		name string
		gpus []fleet.GPU
		want mig.Demand
		is   error
		says string
	}{
		{"negative weight", []fleet.GPU{{Layout: small.Empty(), Weight: -1}}, nil, fleet.ErrBadWeight, "GPU 0: weight -1"},
		{"huge weight", []fleet.GPU{{Layout: small.Empty(), Weight: 1 << 60}, {Layout: small.Empty()}}, mig.Demand{"1g.5gb": 1}, fleet.ErrBadWeight, "weight"},
		{"negative count", gpusOf(1, small.Empty()), mig.Demand{"1g.5gb": -1}, mig.ErrBadDemand, "1g.5gb=-1"},
		{"bad name", gpusOf(1, small.Empty()), mig.Demand{"0g.5gb": 1}, mig.ErrBadName, "0g.5gb"},
		{"bad name, no GPU", nil, mig.Demand{"0g.5gb": 1}, mig.ErrBadName, "0g.5gb"},
		{"of another model", gpusOf(1, small.Empty()), mig.Demand{"1g.6gb": 1}, mig.ErrUnknownProfile, "it has 1g.5gb"},
		{"of another model, none wanted", gpusOf(1, small.Empty()), mig.Demand{"1g.6gb": 0}, mig.ErrUnknownProfile, "1g.6gb"},
		{"of neither model", gpusOf(1, small.Empty(), a30.Empty()), mig.Demand{"1g.11gb": 1}, mig.ErrUnknownProfile, "a100-40gb, a30-24gb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fit, err := fleet.Fit(c.gpus, c.want, 0)
			require.ErrorIs(t, err, c.is)
			require.NotErrorIs(t, err, mig.ErrNoFit)
			require.ErrorContains(t, err, c.says)
			assert.Equal(t, fleet.Assignment{}, fit)
		})
	}
}

// TestFitErrorSays: the figures are in the text.
func TestFitErrorSays(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	for _, c := range []struct {
		want mig.Demand
		says string
	}{
		{mig.Demand{"3g.20gb": 5}, "fleet: 3g.20gb=5 does not fit on 2 GPUs: memory: 20 memory slices needed, 16 unused on GPUs that offer the profiles"},
		{mig.Demand{"4g.20gb": 3}, "count: 3 of 4g.20gb wanted, the driver allows 2 more on all GPUs"},
		{mig.Demand{"1g.5gb": 1_000_000}, "1000000 memory slices needed"},
	} {
		_, err := fleet.Fit(gpusOf(2, m.Empty()), c.want, 0)
		assert.ErrorContains(t, err, c.says)
	}
}

// TestFitUnknownGeometry: a GPU of which nobody knows where instances go is
// passed over, but never counted as proof that a demand does not fit.
func TestFitUnknownGeometry(t *testing.T) {
	t.Parallel()
	var unknown *mig.Model
	for m := range mig.Models() {
		if m.MemorySlices() == 0 {
			unknown = m
		}
	}
	require.NotNil(t, unknown)
	var name string
	for p := range unknown.Profiles() {
		name = p.Name
	}
	small := lookup(t, "a100-40gb")
	gpus := gpusOf(1, unknown.Empty(), small.Empty())
	fit, err := fleet.Fit(gpus, mig.Demand{"1g.5gb": 7}, 0)
	require.NoError(t, err)
	assert.Equal(t, []int{1}, fit.Used)
	_, err = fleet.Fit(gpus, mig.Demand{"1g.5gb": 8}, 0)
	require.ErrorIs(t, err, mig.ErrNoFit)
	_, err = fleet.Fit(gpus, mig.Demand{name: 1}, 0)
	require.ErrorIs(t, err, mig.ErrUnknownGeometry)
	assert.ErrorContains(t, err, "GPU 0")
}
