package fleet_test

import (
	"math/rand/v2"
	"slices"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/fleet"
)

// fleetQuestion is a demand on GPUs of several models, most of them in use.
type fleetQuestion struct {
	gpus []fleet.GPU
	want mig.Demand
}

// fleetQuestions returns questions from a fixed seed. Each asks for about a third
// of what is free, in profiles of every model.
func fleetQuestions(models []*mig.Model, gpus, questions int, weights bool) []fleetQuestion {
	r := rand.New(rand.NewPCG(uint64(gpus), 7))
	list := make([]fleetQuestion, 0, questions)
	for range questions {
		q := fleetQuestion{want: mig.Demand{}}
		for range gpus {
			m := models[r.IntN(len(models))]
			l := m.Empty()
			plain := slices.Collect(m.PlainProfiles())
			for range r.IntN(4) {
				p := plain[r.IntN(len(plain))]
				if start, ok := l.DefaultStart(p); ok {
					l, _ = l.With(p, start)
				}
			}
			g := fleet.GPU{Layout: l}
			if weights {
				g.Weight, g.Free = 1+r.IntN(3), l.Len() > 0 && r.IntN(2) == 0
			}
			q.gpus = append(q.gpus, g)
			// What the GPU could hold is asked for, of one GPU in three.
			if r.IntN(3) == 0 {
				for range r.IntN(5) {
					p := plain[r.IntN(len(plain))]
					if start, ok := l.DefaultStart(p); ok {
						l, _ = l.With(p, start)
						q.want[p.Name]++
					}
				}
			}
		}
		list = append(list, q)
	}
	return list
}

// firstFit places the largest profiles first, each on the first GPU that has room,
// where the driver would put it.
func firstFit(q fleetQuestion) (weight int, fits bool) {
	type item struct {
		name string
		size int
	}
	var items []item
	for name, n := range q.want {
		size := 0
		for _, g := range q.gpus {
			if p, offers := g.Layout.Model().Offers(name); offers {
				size = max(size, 100*p.Size/g.Layout.Model().MemorySlices())
			}
		}
		for range n {
			items = append(items, item{name, size})
		}
	}
	slices.SortFunc(items, func(a, b item) int {
		if a.size != b.size {
			return b.size - a.size
		}
		if a.name < b.name {
			return -1
		}
		return 1
	})
	after := make([]mig.Layout, len(q.gpus))
	for i, g := range q.gpus {
		after[i] = g.Layout
	}
next:
	for _, it := range items {
		for i, l := range after {
			p, offers := l.Model().Offers(it.name)
			if !offers {
				continue
			}
			if start, ok := l.DefaultStart(p); ok {
				after[i], _ = l.With(p, start)
				continue next
			}
		}
		return 0, false
	}
	for i, g := range q.gpus {
		if after[i] != g.Layout {
			weight += weightOf(g)
		}
	}
	return weight, true
}

// sameEverywhere is the largest value that one layout on every GPU serves.
func sameEverywhere(m *mig.Model, gpus int, requests []fleet.Request) int {
	most := 0
	for l := range m.Layouts(nil) {
		value := 0
		have := l.Demand()
		for _, r := range requests {
			p, _ := m.Offers(r.Profile)
			value += p.Size * min(r.Count, gpus*have[r.Profile])
		}
		most = max(most, value)
	}
	return most
}

// mixQuestion is a histogram for n GPUs of 8 memory slices that asks for a little
// more than they hold.
func mixQuestion(n int) []fleet.Request {
	return []fleet.Request{
		{Profile: "1g.5gb", Count: 3*n + 3},
		{Profile: "1g.10gb", Count: n/2 + 1},
		{Profile: "2g.10gb", Count: n/3 + 2},
		{Profile: "3g.20gb", Count: 2*n/3 + 1},
		{Profile: "4g.20gb", Count: n / 9},
		{Profile: "7g.40gb", Count: n / 10},
	}
}
