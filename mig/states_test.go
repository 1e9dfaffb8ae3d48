package mig_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
)

// wanted is a demand as counts by table position, so that it can be a map key.
type wanted [18]uint8

func (w wanted) demand(names []string) mig.Demand {
	d := mig.Demand{}
	for i, n := range w {
		if n > 0 {
			d[names[i]] = int(n)
		}
	}
	return d
}

// question is what Fit is asked.
type question struct {
	have mig.Layout
	want wanted
}

// answers is the exhaustive answer to every question: each legal set of instances
// answers for each of its subsets what is wanted besides, and the best answer
// stays, by free pairs and then by the starts of what was added.
type answers struct {
	model   *mig.Model
	names   []string
	states  []mig.Layout
	sets    [][]placed // of the states
	demands []wanted   // every one that some state is
	best    map[question]answer
}

type answer struct {
	layout mig.Layout
	pairs  int
	starts []int
}

func newAnswers(m *mig.Model) *answers {
	a := &answers{model: m, best: map[question]answer{}}
	position := map[string]int{}
	for p := range m.Profiles() {
		position[p.Name] = len(a.names)
		a.names = append(a.names, p.Name)
	}
	seen := map[wanted]bool{}
	subsets(pairs(m, false), func(set []placed) {
		l := m.Empty()
		var all wanted
		for _, p := range set {
			l, _ = l.With(p.profile, p.start)
			all[position[p.profile.Name]]++
		}
		a.states, a.sets = append(a.states, l), append(a.sets, set)
		if !seen[all] {
			seen[all] = true
			a.demands = append(a.demands, all)
		}
		// What is added is compared largest profile first, then in table order.
		order := slices.Clone(set)
		slices.SortFunc(order, func(x, y placed) int {
			if d := y.profile.Size - x.profile.Size; d != 0 {
				return d
			}
			if d := position[x.profile.Name] - position[y.profile.Name]; d != 0 {
				return d
			}
			return x.start - y.start
		})
		free := freePairs(l)
		for chosen := range 1 << len(order) {
			have, starts := m.Empty(), []int{}
			var want wanted
			for k, p := range order {
				if chosen>>k&1 == 0 {
					have, _ = have.With(p.profile, p.start)
					continue
				}
				want[position[p.profile.Name]]++
				starts = append(starts, p.start)
			}
			q := question{have, want}
			old, found := a.best[q]
			if !found || free > old.pairs || free == old.pairs && slices.Compare(starts, old.starts) < 0 {
				a.best[q] = answer{l, free, starts}
			}
		}
	})
	return a
}

// TestEveryState asks every question on every state of every model whose
// placements are known, media variants included, and compares the answers with
// the exhaustive ones: free starts and capacity of every profile, and the fit of
// every demand that an empty GPU could hold. Where time is short one model of
// each geometry stands for all of it. The numbers are logged: -v shows them.
func TestEveryState(t *testing.T) {
	t.Parallel()
	forEach := forEachGeometry
	if underRace || testing.Short() {
		forEach = forEachShape
	}
	var mu sync.Mutex
	models, states, fits := 0, 0, 0
	t.Cleanup(func() { t.Logf("%d models, %d states, %d questions of fit", models, states, fits) })
	forEach(t, func(t *testing.T, m *mig.Model) {
		a := newAnswers(m)
		yes := a.check(t)
		t.Logf("%d states, %d demands, %d questions of fit, %d of them yes", len(a.states), len(a.demands), len(a.states)*len(a.demands), yes)
		mu.Lock()
		defer mu.Unlock()
		models, states, fits = models+1, states+len(a.states), fits+len(a.states)*len(a.demands)
	})
}

func (a *answers) check(t *testing.T) (yes int) {
	t.Helper()
	var demands []mig.Demand
	for _, w := range a.demands {
		demands = append(demands, w.demand(a.names))
	}
	for i, have := range a.states {
		for p := range a.model.Profiles() {
			var free mig.Mask
			for start := range p.Starts.All() {
				if addable(a.sets[i], placed{p, start}) {
					free |= mig.MaskOf(start)
				}
			}
			if got := have.FreeStarts(p); got != free {
				require.Equal(t, free, got, "%s beside %s", p.Name, have)
			}
			most := a.capacity(have, p)
			if got := have.Remaining(p); got != most {
				require.Equal(t, most, got, "%s beside %s", p.Name, have)
			}
		}
		for k, want := range demands {
			got, err := have.Fit(want)
			best, feasible := a.best[question{have, a.demands[k]}]
			if feasible {
				yes++
			}
			switch {
			case feasible && err == nil && got == best.layout:
			case !feasible && errors.Is(err, mig.ErrNoFit) && got == mig.Layout{}:
			default:
				require.Fail(t, "wrong answer", "%s beside %s: want %s (%v), got %s, %v", want, have, best.layout, feasible, got, err)
			}
		}
	}
	assert.NotZero(t, yes)
	return yes
}

// capacity is the largest count of one profile that some state has besides.
func (a *answers) capacity(have mig.Layout, p mig.Profile) int {
	i := slices.Index(a.names, p.Name)
	most := 0
	for n := 1; n <= p.MaxInstances; n++ {
		var want wanted
		want[i] = uint8(n)
		if _, feasible := a.best[question{have, want}]; feasible {
			most = n
		}
	}
	return most
}
