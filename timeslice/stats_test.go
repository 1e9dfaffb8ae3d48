package timeslice_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/timeslice"
)

func TestHistogramAgainstSorting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, timeslice.MaxTime), 1, 60).Draw(t, "values")
		h := timeslice.HistogramOf(values)
		slices.Sort(values)
		require.Equal(t, int64(len(values)), h.Count())
		require.Equal(t, sum(values), h.Sum())
		require.Equal(t, values[0], h.Min())
		require.Equal(t, values[len(values)-1], h.Max())
		for _, permille := range []int{1, 500, 950, 990, 999, rapid.IntRange(1, 999).Draw(t, "permille")} {
			rank := (len(values)*permille + 999) / 1000
			want := values[rank-1]
			got := h.Quantile(permille)
			require.GreaterOrEqual(t, got, want, "p%d", permille)
			require.LessOrEqual(t, got-want, want/64, "p%d", permille)
		}
		require.Equal(t, h.Min(), h.Quantile(0))
		require.Equal(t, h.Max(), h.Quantile(1000))
	})
	var empty timeslice.Histogram
	assert.Zero(t, empty.Quantile(0)+empty.Quantile(500)+empty.Quantile(1000)+empty.Max()+empty.Min())
	assert.Equal(t, timeslice.Ratio{}, empty.Mean())
}

// Jobs come one in Every in the mean, memoryless: the variance of the gaps is the
// square of the mean, and e^-1 of the gaps are longer.
func TestPoissonArrivals(t *testing.T) {
	t.Parallel()
	const every, n = 1_000_000, 200_000
	jobs := timeslice.JobsBefore(timeslice.Poisson{Every: every, Work: every, Vary: true}, 7, 3, every*n)
	assert.InDelta(t, n, len(jobs), 5*447, "five standard deviations")
	var last, work int64
	var squares float64
	longer := 0
	for _, j := range jobs {
		gap := j.At - last
		last = j.At
		work += j.Work
		squares += float64(gap-every) * float64(gap-every)
		if gap > every {
			longer++
		}
	}
	assert.InDelta(t, 0.36788, float64(longer)/float64(len(jobs)), 0.006)
	assert.InDelta(t, 1, squares/float64(len(jobs))/(every*every), 0.05)
	assert.InDelta(t, 1, float64(work)/float64(len(jobs))/every, 0.012)

	again := timeslice.JobsBefore(timeslice.Poisson{Every: every, Work: every, Vary: true}, 7, 3, every*100)
	assert.Equal(t, jobs[:len(again)], again)
	other := timeslice.JobsBefore(timeslice.Poisson{Every: every, Work: every, Vary: true}, 7, 4, every*100)
	assert.NotEqual(t, again[:10], other[:10], "each client has its own")
}

// The first arrivals of a seed are written down: they are the same on every machine.
func TestPoissonIsReproducible(t *testing.T) {
	t.Parallel()
	jobs := timeslice.JobsBefore(timeslice.Poisson{Every: 1000, Work: 100, Vary: true}, 1, 0, 4000)
	assert.Equal(t, poissonOfSeedOne, fmt.Sprint(jobs))
}

// poissonOfSeedOne is what the simulator drew when the test was written.
const poissonOfSeedOne = `[{1023 55} {1613 7} {1767 24} {2243 12} {2784 85} {3005 15} {3670 41}]`

func TestStretchAndSlowdown(t *testing.T) {
	t.Parallel()
	// Two clients with the same burst at the same time: the first runs 10, the second
	// waits for it.
	s := timeslice.Sim{Slice: 10, Horizon: 100, Clients: []timeslice.Client{
		{Name: "first", Arrivals: timeslice.Periodic{Every: 50, Work: 10}},
		{Name: "second", Arrivals: timeslice.Periodic{Every: 50, Work: 10}},
	}}
	report, _ := simulate(t, s)
	first, second := report.Clients[0], report.Clients[1]
	assert.Equal(t, "first 0.200 1.000 1.000", fmt.Sprint(first.Name, " ", first.Share(), " ", first.Slowdown(), " ", first.Stretch()))
	assert.Equal(t, "second 0.200 2.000 2.000", fmt.Sprint(second.Name, " ", second.Share(), " ", second.Slowdown(), " ", second.Stretch()))
	assert.Equal(t, int64(20), second.Turnarounds.Quantile(500))
	assert.Equal(t, int64(10), second.Waits.Max())
	assert.Equal(t, int64(20), second.Solo)

	// Jobs that queue behind each other: alone they would, too.
	s = timeslice.Sim{Slice: 100, Horizon: 100, Clients: []timeslice.Client{
		{Arrivals: timeslice.Trace{{Work: 10}, {Work: 10}}},
	}}
	report, _ = simulate(t, s)
	assert.Equal(t, "1.000", report.Clients[0].Stretch().String())
	assert.Equal(t, int64(30), report.Clients[0].Solo)
}

// The stretch is that of a simulation of the client alone.
func TestSoloIsTheClientAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		trace := timeslice.Trace(timeslice.JobsBefore(genArrivals(t, "mine"), 1, 0, 200))
		s := timeslice.Sim{Slice: 5, Switch: 1, Horizon: 1 << 40, Clients: []timeslice.Client{
			{Arrivals: trace}, {Arrivals: timeslice.Periodic{Every: 3, Work: 2}},
		}}
		if len(trace) > 0 && trace[0].Work > 1000 {
			t.Skip("never done")
		}
		s.Horizon = 5000
		shared, _ := simulate(t, s)
		if shared.Clients[0].Jobs < int64(len(trace)) {
			t.Skip("not done")
		}
		s.Clients = s.Clients[:1]
		alone, _ := simulate(t, s)
		require.Equal(t, alone.Clients[0].Turnarounds.Sum(), shared.Clients[0].Solo)
		require.Equal(t, alone.Clients[0].Turnarounds.Sum(), alone.Clients[0].Solo)
	})
}

func TestSimRefuses(t *testing.T) {
	t.Parallel()
	busy := timeslice.Client{Name: "a", Arrivals: timeslice.AlwaysBusy{}}
	with := func(change func(*timeslice.Sim)) timeslice.Sim {
		s := timeslice.Sim{Slice: 1, Horizon: 1, Clients: []timeslice.Client{busy, busy}}
		change(&s)
		return s
	}
	arrivals := func(a timeslice.Arrivals) timeslice.Sim {
		return with(func(s *timeslice.Sim) { s.Clients[1].Arrivals = a })
	}
	for name, row := range map[string]struct {
		s    timeslice.Sim
		says string
	}{
		"discipline":    {with(func(s *timeslice.Sim) { s.Discipline = 99 }), "discipline(99)"},
		"no horizon":    {with(func(s *timeslice.Sim) { s.Horizon = 0 }), "horizon 0"},
		"long horizon":  {with(func(s *timeslice.Sim) { s.Horizon = timeslice.MaxTime + 1 }), "horizon"},
		"no slice":      {with(func(s *timeslice.Sim) { s.Slice = 0 }), "slice 0"},
		"switch":        {with(func(s *timeslice.Sim) { s.Switch = -1 }), "switch -1"},
		"factor":        {with(func(s *timeslice.Sim) { s.Factor = -1 }), "factor -1"},
		"linger":        {with(func(s *timeslice.Sim) { s.Linger = -1 }), "linger -1"},
		"slots":         {with(func(s *timeslice.Sim) { s.Discipline, s.Slots = timeslice.FixedShare, 1 }), "1 slots for 2 clients"},
		"many clients":  {with(func(s *timeslice.Sim) { s.Clients = make([]timeslice.Client, timeslice.MaxClients+1) }), "4097 clients"},
		"fraction":      {with(func(s *timeslice.Sim) { s.Clients[1].Fraction = 1001 }), timeslice.ErrInput.Error() + `: fraction 1001, not in 0..1000: client 1 "a"`},
		"extra switch":  {with(func(s *timeslice.Sim) { s.Clients[1].ExtraSwitch = -1 }), "extra switch -1"},
		"overrun":       {with(func(s *timeslice.Sim) { s.Clients[1].Overrun = -1 }), "overrun -1"},
		"start":         {with(func(s *timeslice.Sim) { s.Clients[1].Start = -1 }), "start -1"},
		"stop":          {with(func(s *timeslice.Sim) { s.Clients[1].Start, s.Clients[1].Stop = 5, 5 }), "stops at 5"},
		"no arrivals":   {arrivals(nil), "no arrivals"},
		"period":        {arrivals(timeslice.Periodic{Work: 1}), "Every"},
		"periodic work": {arrivals(timeslice.Periodic{Every: 1}), "Work"},
		"first":         {arrivals(timeslice.Periodic{Every: 1, Work: 1, First: -1}), "First"},
		"poisson":       {arrivals(timeslice.Poisson{Work: 1}), "Every"},
		"poisson work":  {arrivals(timeslice.Poisson{Every: 1}), "Work"},
		"trace work":    {arrivals(timeslice.Trace{{At: 1}}), "job 0"},
		"trace order":   {arrivals(timeslice.Trace{{At: 2, Work: 1}, {At: 1, Work: 1}}), "job 1"},
		"fractions": {with(func(s *timeslice.Sim) {
			s.Discipline, s.Clients[0].Fraction, s.Clients[1].Fraction = timeslice.FairFraction, 501, 500
		}), "1001 milli"},
	} {
		_, err := timeslice.Simulate(row.s, nil)
		require.ErrorIs(t, err, timeslice.ErrInput, name)
		require.ErrorContains(t, err, row.says, name)
		_, err = timeslice.Runs(row.s)
		require.ErrorIs(t, err, timeslice.ErrInput, name)
		_, ok := row.s.WorstWait(0)
		assert.False(t, ok, name)
	}
	_, ok := with(func(*timeslice.Sim) {}).WorstWait(2)
	assert.False(t, ok, "no such client")
	report, err := timeslice.Simulate(timeslice.Sim{Slice: 1, Horizon: 5}, nil)
	require.NoError(t, err)
	assert.Equal(t, int64(5), report.Idle, "nobody: idle")
}
