package timeslice_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/timeslice"
)

const (
	microsecond int64 = 1_000
	millisecond int64 = 1_000_000
	second      int64 = 1_000_000_000
)

// sixtyFour is 64 clients for ten minutes at slices of 1 ms: a mix of endless work,
// bursts and random requests.
func sixtyFour(d timeslice.Discipline) timeslice.Sim {
	s := timeslice.Sim{
		Discipline: d, Horizon: 600 * second,
		Slice: millisecond, Switch: 40 * microsecond, Seed: 1,
	}
	for i := range 64 {
		c := timeslice.Client{Name: fmt.Sprintf("client %d", i), Fraction: 15}
		switch i % 3 {
		case 0:
			c.Arrivals = timeslice.AlwaysBusy{}
		case 1:
			c.Arrivals = timeslice.Periodic{First: int64(i) * millisecond, Every: 500 * millisecond, Work: 5 * millisecond}
		case 2:
			c.Arrivals = timeslice.Poisson{Every: 400 * millisecond, Work: 3 * millisecond, Vary: true}
		}
		s.Clients = append(s.Clients, c)
	}
	return s
}

func BenchmarkSimulate(b *testing.B) {
	for _, d := range timeslice.Disciplines() {
		b.Run(fmt.Sprintf("clients=64/minutes=10/discipline=%s", d), func(b *testing.B) {
			s := sixtyFour(d)
			turns := 0
			b.ReportAllocs()
			for b.Loop() {
				turns = 0
				_, err := timeslice.Simulate(s, func(timeslice.Run) bool { turns++; return true })
				require.NoError(b, err)
			}
			b.ReportMetric(float64(turns), "runs/op")
		})
	}
}

// BenchmarkTickByTick is the plain twin on a thousandth of a second: what going
// from turn to turn is worth.
func BenchmarkTickByTick(b *testing.B) {
	s := sixtyFour(timeslice.RoundRobin)
	s.Horizon = millisecond
	b.ReportAllocs()
	for b.Loop() {
		newNaive(s)
	}
}
