package timeslice_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/timeslice"
)

// genNumber draws a number that is usual most of the time.
func genNumber(usual int64) *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Just(usual), rapid.Just(usual), rapid.Just(usual), rapid.Int64Range(0, 2*usual+1),
		rapid.SampledFrom([]int64{-1, 0, 1, timeslice.MaxTime, timeslice.MaxTime + 1, math.MaxInt64, math.MinInt64}),
	)
}

func genAnyArrivals(t *rapid.T) timeslice.Arrivals {
	n := func(usual int64, label string) int64 { return genNumber(usual).Draw(t, label) }
	switch rapid.IntRange(0, 12).Draw(t, "arrivals") {
	case 0:
		return nil
	case 1:
		return (*timeslice.Periodic)(nil)
	case 2:
		return &timeslice.Poisson{Every: 10, Work: 10}
	case 3:
		return struct{ timeslice.Arrivals }{}
	case 4, 5:
		return timeslice.Periodic{First: n(5, "first"), Every: n(30, "every"), Work: n(10, "work")}
	case 6, 7:
		return timeslice.Poisson{Every: n(30, "every"), Work: n(10, "work"), Vary: rapid.Bool().Draw(t, "vary")}
	case 8, 9:
		return timeslice.Trace{{At: n(3, "at"), Work: n(10, "work")}, {At: n(40, "at"), Work: n(10, "work")}}
	default:
		return timeslice.AlwaysBusy{}
	}
}

// Whatever the fields say, a Sim runs and conserves time, or is refused.
func TestAnySim(t *testing.T) {
	t.Parallel()
	rapid.Check(t, anySim)
}

func FuzzSim(f *testing.F) { f.Fuzz(rapid.MakeFuzz(anySim)) }

func anySim(t *rapid.T) {
	n := func(usual int64, label string) int64 { return genNumber(usual).Draw(t, label) }
	s := timeslice.Sim{
		Discipline: timeslice.Discipline(rapid.IntRange(0, 7).Draw(t, "discipline")),
		Horizon:    n(200, "horizon"), Slice: n(10, "slice"), Switch: n(1, "switch"),
		Slots:  int(rapid.SampledFrom([]int64{0, 0, 0, 4, -1, int64(timeslice.MaxClients), math.MaxInt32}).Draw(t, "slots")),
		Factor: n(0, "factor"), Linger: n(0, "linger"), Seed: rapid.Uint64().Draw(t, "seed"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "clients") {
		s.Clients = append(s.Clients, timeslice.Client{
			Arrivals: genAnyArrivals(t), Fraction: n(200, "fraction"),
			ExtraSwitch: n(0, "extra switch"), Overrun: n(0, "overrun"), Start: n(0, "start"), Stop: n(0, "stop"),
		})
	}
	left := 500 // a long horizon is cut short here
	report, err := timeslice.Simulate(s, func(timeslice.Run) bool { left--; return left > 0 })
	if err != nil {
		require.ErrorIs(t, err, timeslice.ErrInput)
		_, err = timeslice.Runs(s)
		require.ErrorIs(t, err, timeslice.ErrInput)
		_, ok := s.WorstWait(0)
		require.False(t, ok)
		return
	}
	require.Equal(t, report.Horizon, report.Working+report.Switching+report.Idle)
	require.LessOrEqual(t, report.Horizon, s.Horizon)
	for i, c := range report.Clients {
		if bound, ok := s.WorstWait(i); ok {
			require.LessOrEqual(t, c.Waits.Max(), bound)
		}
		require.GreaterOrEqual(t, c.Served, int64(0))
		require.LessOrEqual(t, c.Served, c.Ready)
		require.LessOrEqual(t, c.Ready, c.Present)
		for _, r := range []timeslice.Ratio{c.Share(), c.Slowdown(), c.Stretch()} {
			require.NotContains(t, r.String(), "-")
		}
	}
}

// What a caller does to its slice afterwards is its own business.
func TestRunsKeepsItsClients(t *testing.T) {
	t.Parallel()
	s := timeslice.Sim{Discipline: timeslice.FixedShare, Horizon: 20, Slice: 5, Clients: []timeslice.Client{{Arrivals: timeslice.AlwaysBusy{}}}}
	runs, err := timeslice.Runs(s)
	require.NoError(t, err)
	s.Clients[0].Arrivals = nil
	for r := range runs {
		require.Equal(t, timeslice.Working, r.Kind)
	}
}

func TestArrivalsOfNoKnownType(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]timeslice.Arrivals{
		"no arrivals":        nil,
		"*timeslice.Poisson": &timeslice.Poisson{Every: 1, Work: 1},
		"Periodic":           (*timeslice.Periodic)(nil),
		"Arrivals":           struct{ timeslice.Arrivals }{},
	} {
		s := timeslice.Sim{Horizon: 1, Slice: 1, Clients: []timeslice.Client{{Name: "web", Arrivals: a}}}
		err := s.Validate()
		require.ErrorIs(t, err, timeslice.ErrInput, name)
		require.ErrorContains(t, err, `client 0 "web"`)
		require.ErrorContains(t, err, name)
	}
}

func TestPagingBeyondAllMemory(t *testing.T) {
	t.Parallel()
	p := timeslice.Paging{WorkingSets: []int64{1 << 40, 1 << 40}, LinkRate: 1 << 50}
	cost, err := p.Cost(0)
	require.NoError(t, err)
	assert.Equal(t, 2048*second, cost)
	p.LinkRate = 1
	cost, err = p.Cost(0)
	require.NoError(t, err)
	assert.Equal(t, int64(math.MaxInt64), cost, "saturates")
	p.WorkingSets[1]++
	_, err = p.Cost(0)
	require.ErrorIs(t, err, timeslice.ErrInput)
	require.ErrorContains(t, err, "client 1")
}

func TestValidateNamesWhatIsNotOffered(t *testing.T) {
	t.Parallel()
	caps := timeslice.DocumentedVGPUCapabilities()
	caps.ARR, caps.MinFrequency, caps.MaxFrequency, caps.MinFactor, caps.MaxFactor = false, 0, 0, 0, 0
	for _, s := range []timeslice.VGPUScheduler{
		{Policy: timeslice.VGPUFixedShare, ARR: timeslice.ARROn},
		{Policy: timeslice.VGPUFixedShare, Frequency: 480},
		{Policy: timeslice.VGPUFixedShare, Factor: 33},
	} {
		err := s.Validate(caps)
		require.ErrorIs(t, err, timeslice.ErrVGPUScheduler)
		require.ErrorContains(t, err, "adaptive round robin", "%s", s)
	}
}
