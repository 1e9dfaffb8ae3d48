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

// runsOf are the spans in which client i worked.
func runsOf(runs []timeslice.Run, i int) []timeslice.Run {
	return slices.DeleteFunc(slices.Clone(runs), func(r timeslice.Run) bool {
		return r.Kind != timeslice.Working || r.Client != i
	})
}

func TestNeighboursDoNotMatter(t *testing.T) {
	t.Parallel()
	for _, d := range []timeslice.Discipline{timeslice.FixedShare, timeslice.StrictFraction} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				s := genSim(t, d)
				s.Horizon = 300
				s.Clients = append(s.Clients, timeslice.Client{Arrivals: timeslice.AlwaysBusy{}})
				if s.Slots > 0 {
					s.Slots++
				}
				for i := range s.Clients {
					s.Clients[i].ExtraSwitch, s.Clients[i].Overrun = 0, 0
				}
				mine := rapid.IntRange(0, len(s.Clients)-1).Draw(t, "mine")
				before, runs := simulate(t, s)

				s.Clients = slices.Clone(s.Clients)
				for i := range s.Clients {
					if i == mine {
						continue
					}
					c := &s.Clients[i]
					c.Arrivals = genArrivals(t, fmt.Sprintf("other arrivals %d", i))
					c.Start = rapid.Int64Range(0, 100).Draw(t, fmt.Sprintf("other start %d", i))
					c.Stop = 0
				}
				after, others := simulate(t, s)
				require.Equal(t, runsOf(runs, mine), runsOf(others, mine))
				require.Equal(t, before.Clients[mine].Served, after.Clients[mine].Served)
			})
		})
	}
}

// An equal share holds over any span of time, not only over whole rounds.
func TestEqualShareWithinOneSlice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := plain(genSim(t, timeslice.EqualShare))
		s.Horizon = 150
		s.Clients = append(s.Clients, timeslice.Client{Arrivals: timeslice.AlwaysBusy{}})
		running := int64(len(s.Clients))
		if running == 1 {
			s.Switch = 0
		}
		_, runs := simulate(t, s)
		served := make([]int64, s.Horizon+1) // by the busy client, up to a time
		for now, tick := range ticksOf(runs) {
			served[now+1] = served[now]
			if tick.kind == timeslice.Working && tick.client == int(running)-1 {
				served[now+1]++
			}
		}
		round := running * (s.Slice + s.Switch)
		for from := range served {
			for to := from; to < len(served); to++ {
				got, length := served[to]-served[from], int64(to-from)
				// |got - length * slice/round| < slice, times round
				if off := got*round - length*s.Slice; max(off, -off) >= s.Slice*round {
					t.Fatalf("%d served from %d to %d", got, from, to)
				}
			}
		}
	})
}

// While others come and go it is 1 / those that are there, between one change and
// the next, but for two windows: that of a client that leaves is not cut short.
func TestEqualShareFollowsWhoIsThere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := genSim(t, timeslice.EqualShare)
		s.Horizon, s.Factor = 200, 0
		changes := []int64{0, s.Horizon}
		for i := range s.Clients {
			c := &s.Clients[i]
			c.ExtraSwitch, c.Overrun = 0, 0
			changes = append(changes, min(c.Start, s.Horizon), min(c.Stop, s.Horizon))
		}
		slices.Sort(changes)
		s.Clients = append(s.Clients, timeslice.Client{Arrivals: timeslice.AlwaysBusy{}})
		_, runs := simulate(t, s)
		served := make([]int64, s.Horizon+1)
		for now, tick := range ticksOf(runs) {
			served[now+1] = served[now]
			if tick.kind == timeslice.Working && tick.client == len(s.Clients)-1 {
				served[now+1]++
			}
		}
		for k := range len(changes) - 1 {
			there, cost := int64(0), s.Switch
			for _, c := range s.Clients {
				if c.Start <= changes[k] && (c.Stop == 0 || c.Stop > changes[k]) {
					there++
				}
			}
			if there == 1 {
				cost = 0
			}
			round := there * (s.Slice + cost)
			for from := changes[k]; from <= changes[k+1]; from++ {
				for to := from; to <= changes[k+1]; to++ {
					got := served[to] - served[from]
					if off := got*round - (to-from)*s.Slice; max(off, -off) > 2*(s.Slice+s.Switch)*round {
						t.Fatalf("%d served from %d to %d with %d there", got, from, to, there)
					}
				}
			}
		}
	})
}

func TestNeverIdleWhileSomeoneIsRunnable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := genDiscipline(t)
		if !d.WorkConserving() {
			t.Skip("leaves idle time idle")
		}
		s := genSim(t, d)
		s.Linger = 0
		report, _ := simulate(t, s)
		require.Zero(t, report.Wasted)
	})
}

func TestWaitsWithinTheBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := genSim(t, genDiscipline(t))
		report, _ := simulate(t, s)
		for i, c := range report.Clients {
			if bound, ok := s.WorstWait(i); ok {
				require.LessOrEqual(t, c.Waits.Max(), bound, "client %d", i)
				require.LessOrEqual(t, newNaive(s).waitsStill(i), bound, "client %d at the end", i)
			}
		}
	})
}

// The timetable has never given more than one window too many or too few.
func TestStrictTimetableWithinOneWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := plain(genSim(t, timeslice.StrictFraction))
		s.Horizon = 3000
		for i := range s.Clients {
			s.Clients[i].Arrivals = timeslice.AlwaysBusy{}
		}
		if len(s.Clients) < 2 {
			s.Switch = 0
		}
		_, runs := simulate(t, s)
		window := s.Slice + s.Switch
		given := make([]int64, len(s.Clients))
		next := int64(1)
		check := func(at int64) {
			for ; next*window <= at; next++ {
				for i, c := range s.Clients {
					if off := 1000*given[i] - c.Fraction*next; max(off, -off) >= 1000 {
						t.Fatalf("client %d after %d windows: %d", i, next, given[i])
					}
				}
			}
		}
		for _, r := range runs {
			check(r.Start)
			if r.Kind == timeslice.Working && r.End-r.Start == s.Slice {
				given[r.Client]++
			}
			check(r.End)
		}
	})
}

// Who is always busy has at no time less than its fraction, but for a turn of its
// own and one of another.
func TestFairFractionIsGuaranteed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := plain(genSim(t, timeslice.FairFraction))
		s.Horizon = 2000
		if len(s.Clients) == 0 {
			t.Skip("nobody")
		}
		s.Clients[0].Arrivals = timeslice.AlwaysBusy{}
		_, runs := simulate(t, s)
		had := int64(0)
		for _, r := range runs {
			if r.Client == 0 && r.Kind != timeslice.Idle {
				had += r.End - r.Start
			}
			if s.Clients[0].Fraction*r.End > 1000*(had+2*(s.Slice+s.Switch)) {
				t.Fatalf("had %d at %d", had, r.End)
			}
		}
	})
}

// Long runs come to the closed form of the shares, whatever the demands.
func TestSharesOfLongRuns(t *testing.T) {
	t.Parallel()
	const period, horizon = 100, 10_000
	for _, d := range timeslice.Disciplines() {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				s := timeslice.Sim{Discipline: d, Horizon: horizon, Slice: 1}
				var claims []timeslice.Claim
				left := int64(1000)
				for i := range rapid.IntRange(1, 5).Draw(t, "clients") {
					work := rapid.Int64Range(1, period).Draw(t, fmt.Sprintf("work %d", i))
					fraction := rapid.Int64Range(0, left).Draw(t, fmt.Sprintf("fraction %d", i))
					left -= fraction
					s.Clients = append(s.Clients, timeslice.Client{
						Arrivals: timeslice.Periodic{Every: period, Work: work}, Fraction: fraction,
					})
					claims = append(claims, timeslice.Claim{Demand: work * horizon / period, Weight: fraction})
				}
				s.Slots = len(s.Clients) + rapid.IntRange(0, 3).Draw(t, "empty slots")
				want, err := timeslice.Shares(d, horizon, s.Slots, claims)
				require.NoError(t, err)
				report, _ := simulate(t, s)
				for i, c := range report.Clients {
					require.InDelta(t, want[i], c.Served, 2*period, "client %d of %+v", i, claims)
				}
			})
		})
	}
}

// Ten minutes of 64 clients, of the size that a planner would ask about.
func TestSixtyFourClients(t *testing.T) {
	t.Parallel()
	for _, d := range timeslice.Disciplines() {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			s := sixtyFour(d)
			if testing.Short() {
				s.Horizon = 20 * second
			}
			report, err := timeslice.Simulate(s, nil)
			require.NoError(t, err)
			require.Equal(t, s.Horizon, report.Working+report.Switching+report.Idle)
			var served int64
			for i, c := range report.Clients {
				served += c.Served
				bound, ok := s.WorstWait(i)
				require.True(t, ok)
				require.LessOrEqual(t, c.Waits.Max(), bound, "client %d", i)
			}
			require.Equal(t, report.Working, served)
			if d.WorkConserving() {
				require.Zero(t, report.Wasted)
			}
		})
	}
}

func TestSameSimSameRuns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := genSim(t, genDiscipline(t))
		report, runs := simulate(t, s)
		again, _ := simulate(t, s)
		require.Equal(t, report, again)
		seq, err := timeslice.Runs(s)
		require.NoError(t, err)
		require.Equal(t, runs, slices.Collect(seq))
		require.Equal(t, runs, slices.Collect(seq), "used twice")
	})
}

func TestVisitEndsTheSimulation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := genSim(t, genDiscipline(t))
		_, runs := simulate(t, s)
		n := rapid.IntRange(1, len(runs)).Draw(t, "runs")
		var seen []timeslice.Run
		report, err := timeslice.Simulate(s, func(r timeslice.Run) bool {
			seen = append(seen, r)
			return len(seen) < n
		})
		require.NoError(t, err)
		require.Equal(t, runs[:n], seen)
		require.Equal(t, runs[n-1].End, report.Horizon)
		require.Equal(t, report.Horizon, report.Working+report.Switching+report.Idle)
	})
}

//nolint:paralleltest // AllocsPerRun counts the allocations of all goroutines.
func TestMemoryDoesNotGrowWithTime(t *testing.T) {
	for _, d := range timeslice.Disciplines() {
		s := sixtyFour(d)
		run := func() {
			_, err := timeslice.Simulate(s, nil)
			require.NoError(t, err)
		}
		s.Horizon = 5 * second
		short := testing.AllocsPerRun(1, run)
		s.Horizon = 20 * second
		long := testing.AllocsPerRun(1, run)
		// Histograms of longer waits are longer; nothing is kept of a turn or a job.
		assert.Less(t, long, short+300, "%s: some 60,000 runs more", d)
	}
}
