package churn

import (
	"fmt"

	"github.com/gpushare/gpushare/mig"
)

// RunRepacking plays the trace with unlimited free moves: a request is admitted
// where all instances, itself included, fit on the empty fleet, however they must
// be moved. It shows what moving could bring, and bounds nothing: it admits more
// large requests, which then keep many small ones out, so a rule without moves can
// reject fewer.
//
// The error wraps ErrBadConfig unless the fleet is of one model whose profiles are
// those of GPUs of 8 memory slices, or halves and quarters of a GPU as on an A30
// and an RTX PRO 6000: then whether all fits follows from counting.
func (t *Trace) RunRepacking() (Result, error) {
	if len(t.fleet) != 1 {
		return Result{}, fmt.Errorf("churn: repacking %d models: not one: %w", len(t.fleet), ErrBadConfig)
	}
	m := t.fleet[0].states.Model()
	ways, fits := packing(m)
	if fits == nil {
		return Result{}, fmt.Errorf("churn: repacking %s: no rule for its profiles: %w", m, ErrBadConfig)
	}
	result := Result{ByProfile: make([]ProfileCount, len(t.requests))}
	way := make([]int, len(t.requests))
	for i := range t.requests {
		name := t.requests[i].shape.Profile
		result.ByProfile[i].Profile = name
		way[i] = ways[name]
	}
	var counts [6]int
	var leaves departures
	for i := range t.arrivals {
		a := &t.arrivals[i]
		for len(leaves) > 0 && leaves[0].at <= a.at {
			counts[leaves.pop().gpu]--
		}
		w := way[a.request]
		counts[w]++
		ok := fits(&counts, t.gpus)
		if ok {
			leaves.push(departure{at: a.at + a.lifetime, gpu: int32(w)})
		} else {
			counts[w]--
		}
		if i >= t.first {
			result.count(a.request, t.requests[a.request].slices, ok)
		}
	}
	return result, nil
}

// packing returns the place of each plain profile in the counts, and the test
// whether the counts fit on so many GPUs; nil where there is none.
func packing(m *mig.Model) (map[string]int, func(*[6]int, int) bool) {
	type geometry struct {
		size   int
		starts mig.Mask
	}
	ways := map[string]int{}
	known := map[geometry]int{
		{8, mig.MaskOf(0)}: 0, {4, mig.MaskOf(0)}: 1, {4, mig.MaskOf(0, 4)}: 2,
		{2, mig.MaskOf(0, 2, 4)}: 3, {2, mig.MaskOf(0, 2, 4, 6)}: 4, {1, mig.MaskOf(0, 1, 2, 3, 4, 5, 6)}: 5,
	}
	fits := fitsEighths
	if units := m.MemorySlices(); units != 8 {
		q := units / 4
		known = map[geometry]int{
			{units, mig.MaskOf(0)}: 0, {2 * q, mig.MaskOf(0, 2*q)}: 1, {q, mig.MaskOf(0, q, 2*q, 3*q)}: 2,
		}
		fits = func(n *[6]int, gpus int) bool { return 4*n[0]+2*n[1]+n[2] <= 4*gpus }
	}
	for p := range m.PlainProfiles() {
		w, ok := known[geometry{p.Size, p.Starts}]
		if !ok {
			return nil, nil
		}
		ways[p.Name] = w
	}
	return ways, fits
}

// fitsEighths is the test for GPUs of 8 memory slices. A half that begins at 0 has
// two quarters; one that begins at 4 has a quarter and one that is a unit short
// of starts for 1g, and takes no 2g. Only halves at 0 take a 4g; 3g go to the
// others first.
func fitsEighths(n *[6]int, gpus int) bool {
	n7, n4, n3, n2, nd, n1 := n[0], n[1], n[2], n[3], n[4], n[5]
	right := gpus - n7
	left := right - n4
	if left < 0 {
		return false
	}
	if n3 <= right {
		right -= n3
	} else {
		left -= n3 - right
		right = 0
	}
	quarters, short := 2*left+right-n2, right
	if left < 0 || quarters < 0 {
		return false
	}
	if nd <= short {
		short -= nd
	} else {
		quarters -= nd - short
		short = 0
	}
	return quarters >= 0 && n1 <= 2*quarters+short
}
