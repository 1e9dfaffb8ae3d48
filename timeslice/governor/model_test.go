package governor_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/timeslice/governor"
)

// tally counts what a governor has granted, in plain big integers: the declared
// cost of what runs, and of what is done the smaller of cost and use.
type tally struct {
	drawn
	latest   time.Duration
	inflight []time.Duration // costs charged
	declared []time.Duration // as asked
	done     *big.Int
}

func (m *tally) cost(declared time.Duration) time.Duration {
	if declared <= 0 {
		return m.unknown
	}
	return min(declared, governor.MaxCost)
}

func (m *tally) ask(t *rapid.T, now, cost time.Duration) time.Duration {
	m.latest = max(m.latest, now)
	wait := m.Ask(now, cost)
	require.GreaterOrEqual(t, wait, time.Duration(0))
	if wait == 0 {
		m.declared = append(m.declared, cost)
		m.inflight = append(m.inflight, m.cost(cost))
		m.bound(t)
	}
	return wait
}

// bound is the promise: granted ≤ rate × time + burst.
func (m *tally) bound(t *rapid.T) {
	granted := new(big.Int).Set(m.done)
	var running time.Duration
	for _, c := range m.inflight {
		granted.Add(granted, big.NewInt(int64(c)))
		running += c
	}
	granted.Mul(granted, big.NewInt(1_000_000))
	most := new(big.Int).Mul(big.NewInt(m.rate), big.NewInt(int64(m.latest)))
	most.Add(most, new(big.Int).Mul(big.NewInt(int64(m.burst)), big.NewInt(1_000_000)))
	require.LessOrEqual(t, granted.Cmp(most), 0, "%s: granted %v over rate × time + burst %v at %v", m.kind, granted, most, m.latest)
	if m.drawn.inflight > 0 && len(m.inflight) > 1 {
		require.LessOrEqual(t, running, m.drawn.inflight)
	}
}

func TestGrantedNeverAboveRateAndBurst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, grantedWithinBound)
}

func FuzzGranted(f *testing.F) { f.Fuzz(rapid.MakeFuzz(grantedWithinBound)) }

// grantedWithinBound does anything at all to a governor and watches the promise.
func grantedWithinBound(t *rapid.T) {
	m := &tally{drawn: genGovernor(t), done: new(big.Int)}
	now := time.Duration(0)
	costs := rapid.OneOf(genSpan(-1, 5*time.Millisecond), genSpan(0, 500*time.Millisecond), rapid.SampledFrom([]time.Duration{1, math.MaxInt64}))
	t.Repeat(map[string]func(*rapid.T){
		"ask": func(t *rapid.T) { m.ask(t, now, costs.Draw(t, "cost")) },
		"ask until granted": func(t *rapid.T) {
			cost := genSpan(1, 300*time.Millisecond).Draw(t, "cost")
			for range 4 {
				wait := m.ask(t, now, cost)
				if wait == 0 || wait == governor.Forever || m.latest > now {
					return
				}
				now += wait
			}
			t.Fatalf("%s: refused again and again after the wait it asked for", m.kind)
		},
		"done": func(t *rapid.T) {
			if len(m.inflight) == 0 {
				return // no t.Skip: an input of the fuzz target may ask for nothing else
			}
			i := rapid.IntRange(0, len(m.inflight)-1).Draw(t, "which")
			used := rapid.OneOf(costs, rapid.Just(m.inflight[i])).Draw(t, "used")
			m.latest = max(m.latest, now)
			m.Done(now, m.declared[i], used)
			m.done.Add(m.done, big.NewInt(int64(max(min(used, m.inflight[i]), 0))))
			m.inflight = append(m.inflight[:i], m.inflight[i+1:]...)
			m.declared = append(m.declared[:i], m.declared[i+1:]...)
		},
		"observe": func(t *rapid.T) {
			s := governor.Signal(rapid.IntRange(0, 4).Draw(t, "signal"))
			v := rapid.OneOf(rapid.Int64Range(-1, 1000), rapid.Int64Range(0, 1e9), rapid.Int64()).Draw(t, "value")
			m.latest = max(m.latest, now)
			m.Observe(now, s, v)
		},
		"pass": func(t *rapid.T) {
			now += rapid.OneOf(genSpan(0, 10*time.Millisecond), genSpan(0, 10*time.Hour)).Draw(t, "time")
		},
		"end of time": func(t *rapid.T) {
			if rapid.IntRange(0, 50).Draw(t, "rarely") == 0 {
				m.ask(t, math.MaxInt64, costs.Draw(t, "cost"))
			}
		},
		"back": func(t *rapid.T) { // a clock that jumps back pays nothing twice
			m.ask(t, now-genSpan(0, time.Minute).Draw(t, "time"), costs.Draw(t, "cost"))
		},
		"": func(t *rapid.T) { m.bound(t) },
	})
}

// Over any stretch, not only from the start, no more is granted than the rate and
// the larger of burst and longest launch.
func TestAnyStretch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := genGovernor(t)
		type grant struct{ at, cost time.Duration }
		var grants []grant
		now, longest := time.Duration(0), d.burst
		for range 60 {
			now += rapid.OneOf(rapid.Just(time.Duration(0)), genSpan(0, 20*time.Millisecond), genSpan(0, time.Second)).Draw(t, "pass")
			cost := rapid.OneOf(genSpan(1, time.Millisecond), genSpan(1, 100*time.Millisecond)).Draw(t, "cost")
			longest = max(longest, cost)
			if d.Ask(now, cost) == 0 {
				grants = append(grants, grant{now, cost})
				d.Done(now, cost, cost)
			}
		}
		for i := range grants {
			sum := time.Duration(0)
			for _, g := range grants[i:] {
				sum += g.cost
				most := int64(g.at-grants[i].at)*d.rate + int64(longest)*1_000_000
				require.LessOrEqual(t, int64(sum)*1_000_000, most, "%s from %v to %v", d.kind, grants[i].at, g.at)
			}
		}
	})
}

// A window of a quota holds the quota and the launch that filled it, no more.
func TestQuotaWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.IntRange(10, 1000).Draw(t, "share")
		window := genSpan(10*time.Millisecond, time.Second).Draw(t, "window")
		q, err := governor.NewQuota(governor.QuotaConfig{Limit: governor.Limit{Share: share}, Window: window})
		require.NoError(t, err)
		quota := window * time.Duration(share) / 1000
		type use struct{ at, cost time.Duration }
		var uses []use
		now, longest := time.Duration(0), time.Duration(0)
		for range 80 {
			now += rapid.OneOf(rapid.Just(time.Duration(0)), genSpan(0, window)).Draw(t, "pass")
			cost := genSpan(1, max(quota, 2)).Draw(t, "cost")
			if q.Ask(now, cost) == 0 {
				longest = max(longest, cost)
				uses = append(uses, use{now, cost})
				q.Done(now, cost, cost)
			}
		}
		for i := range uses {
			sum := time.Duration(0)
			for _, u := range uses[i:] {
				if u.at-uses[i].at >= window {
					break
				}
				sum += u.cost
			}
			require.Less(t, sum, quota+longest)
		}
	})
}
