package timeslice_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/timeslice"
)

// simulate runs s and returns the report with all runs, which must follow each
// other without a gap and end at the horizon.
func simulate(t require.TestingT, s timeslice.Sim) (timeslice.Report, []timeslice.Run) {
	var runs []timeslice.Run
	report, err := timeslice.Simulate(s, func(r timeslice.Run) bool {
		runs = append(runs, r)
		return true
	})
	require.NoError(t, err)
	return report, runs
}

func ticksOf(runs []timeslice.Run) []tick {
	var ticks []tick
	for _, r := range runs {
		for range r.End - r.Start {
			ticks = append(ticks, tick{r.Kind, r.Client})
		}
	}
	return ticks
}

func requireHistogram(t require.TestingT, want []int64, got timeslice.Histogram, what string, client int) {
	require.Equal(t, int64(len(want)), got.Count(), "%s of client %d: number", what, client)
	var sum int64
	for _, v := range want {
		sum += v
	}
	require.Equal(t, sum, got.Sum(), "%s of client %d: sum", what, client)
	if len(want) > 0 {
		require.Equal(t, slices.Min(want), got.Min(), "%s of client %d: min", what, client)
		require.Equal(t, slices.Max(want), got.Max(), "%s of client %d: max", what, client)
	}
}

func TestSimulatorEqualsTickByTick(t *testing.T) {
	t.Parallel()
	for _, d := range timeslice.Disciplines() {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				s := genSim(t, d)
				report, runs := simulate(t, s)
				want := newNaive(s)
				require.Equal(t, want.ticks, ticksOf(runs))
				require.Equal(t, want.wasted, report.Wasted)
				for i, c := range want.clients {
					got := report.Clients[i]
					require.Equal(t, c.served, got.Served, "served of client %d", i)
					require.Equal(t, c.ready, got.Ready, "ready of client %d", i)
					requireHistogram(t, c.waits, got.Waits, "waits", i)
					requireHistogram(t, c.turnarounds, got.Turnarounds, "turnarounds", i)
				}
			})
		})
	}
}

func TestTotalTimeIsConserved(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := genSim(t, genDiscipline(t))
		report, runs := simulate(t, s)
		var at int64
		spent := map[timeslice.RunKind]int64{}
		served := make([]int64, len(s.Clients))
		for _, r := range runs {
			require.Equal(t, at, r.Start, "gap before %+v", r)
			require.Less(t, r.Start, r.End, "empty run %+v", r)
			at = r.End
			spent[r.Kind] += r.End - r.Start
			if r.Kind == timeslice.Working {
				served[r.Client] += r.End - r.Start
			}
		}
		require.Equal(t, s.Horizon, at)
		require.Equal(t, s.Horizon, report.Working+report.Switching+report.Idle)
		require.Equal(t, spent[timeslice.Working], report.Working)
		require.Equal(t, spent[timeslice.Switching], report.Switching)
		require.Equal(t, spent[timeslice.Idle], report.Idle)
		require.LessOrEqual(t, report.Wasted, report.Idle)
		for i, c := range report.Clients {
			require.Equal(t, served[i], c.Served)
			require.LessOrEqual(t, c.Served, c.Ready)
			require.LessOrEqual(t, c.Ready, c.Present)
		}
	})
}
