package timeslice_test

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/timeslice"
)

// genArrivals draws arrivals of a size that suits a tick of 1 ns.
func genArrivals(t *rapid.T, label string) timeslice.Arrivals {
	switch rapid.IntRange(0, 4).Draw(t, label+" kind") {
	case 0:
		return timeslice.Periodic{
			First: rapid.Int64Range(0, 20).Draw(t, label+" first"),
			Every: rapid.Int64Range(1, 40).Draw(t, label+" every"),
			Work:  rapid.Int64Range(1, 15).Draw(t, label+" work"),
		}
	case 1:
		return timeslice.Poisson{
			Every: rapid.Int64Range(1, 40).Draw(t, label+" every"),
			Work:  rapid.Int64Range(1, 15).Draw(t, label+" work"),
			Vary:  rapid.Bool().Draw(t, label+" vary"),
		}
	case 2:
		var trace timeslice.Trace
		var at int64
		for k := range rapid.IntRange(0, 12).Draw(t, label+" jobs") {
			at += rapid.Int64Range(0, 25).Draw(t, fmt.Sprintf("%s gap %d", label, k))
			trace = append(trace, timeslice.Job{At: at, Work: rapid.Int64Range(1, 12).Draw(t, fmt.Sprintf("%s work %d", label, k))})
		}
		return trace
	default:
		return timeslice.AlwaysBusy{}
	}
}

// genSim draws a small simulation of a discipline, with everything that a Sim has.
func genSim(t *rapid.T, d timeslice.Discipline) timeslice.Sim {
	s := timeslice.Sim{
		Discipline: d,
		Horizon:    rapid.SampledFrom([]int64{0, 100, 250, 500}).Draw(t, "horizon") + rapid.Int64Range(1, 50).Draw(t, "and more"),
		Slice:      rapid.Int64Range(1, 12).Draw(t, "slice"),
		Switch:     rapid.Int64Range(0, 4).Draw(t, "switch"),
		Factor:     rapid.SampledFrom([]int64{0, 0, 1, 2, 5}).Draw(t, "factor"),
		Linger:     rapid.SampledFrom([]int64{0, 0, 1, 4, 20}).Draw(t, "linger"),
		Seed:       rapid.Uint64().Draw(t, "seed"),
	}
	left := int64(1000)
	for i := range rapid.SampledFrom([]int{0, 1, 2, 3, 5}).Draw(t, "clients") {
		label := fmt.Sprintf("client %d", i)
		c := timeslice.Client{
			Name:        label,
			Arrivals:    genArrivals(t, label),
			Fraction:    rapid.Int64Range(0, left).Draw(t, label+" fraction"),
			ExtraSwitch: rapid.SampledFrom([]int64{0, 0, 0, 3}).Draw(t, label+" extra switch"),
			Overrun:     rapid.SampledFrom([]int64{0, 0, 1, 6}).Draw(t, label+" overrun"),
			Start:       rapid.SampledFrom([]int64{0, 0, 0, 7, 60}).Draw(t, label+" start"),
		}
		if rapid.IntRange(0, 3).Draw(t, label+" stops") == 0 {
			c.Stop = c.Start + rapid.Int64Range(1, 150).Draw(t, label+" stays")
		}
		left -= c.Fraction
		s.Clients = append(s.Clients, c)
	}
	if rapid.Bool().Draw(t, "has slots") {
		s.Slots = len(s.Clients) + rapid.IntRange(0, 3).Draw(t, "empty slots")
	}
	return s
}

// plain takes away what no closed form or property of a discipline covers: switches
// of different cost, overruns, lingering, clients that come and go.
func plain(s timeslice.Sim) timeslice.Sim {
	s.Factor, s.Linger = 0, 0
	for i := range s.Clients {
		c := &s.Clients[i]
		c.ExtraSwitch, c.Overrun, c.Start, c.Stop = 0, 0, 0, 0
	}
	return s
}

// genDiscipline draws one of the disciplines.
func genDiscipline(t *rapid.T) timeslice.Discipline {
	return rapid.SampledFrom(timeslice.Disciplines()).Draw(t, "discipline")
}
