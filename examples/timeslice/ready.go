package main

import "github.com/gpushare/gpushare/timeslice"

// window is the part of a simulation that is drawn: what the GPU did, and when
// clients had work without running.
type window struct {
	from, to int64 // ns
	runs     []timeslice.Run
	waits    [][]between // by client, as many as are drawn
}

// between is a stretch of time in ns.
type between struct{ from, to int64 }

// part is what of a run lies in the window; false if nothing does.
func (w *window) part(r timeslice.Run) (timeslice.Run, bool) {
	r.Start, r.End = max(r.Start, w.from), min(r.End, w.to)
	return r, r.Start < r.End
}

// waiting returns when client i had work in the window and did not run. What
// is done for it alone on the GPU is, at any time, as much as has arrived or it
// is at work: so there is work left where alone it works, or has done more by then.
//
// served is what it had been given before the window.
func (w *window) waiting(s timeslice.Sim, i int, served int64) []between {
	alone := timeslice.Sim{Horizon: w.to, Slice: w.to, Seed: s.Seed, Clients: make([]timeslice.Client, len(s.Clients))}
	for j := range alone.Clients {
		alone.Clients[j].Arrivals = timeslice.Trace{} // keeps the place, which random arrivals depend on
	}
	c := s.Clients[i]
	alone.Clients[i] = timeslice.Client{Arrivals: c.Arrivals, Start: c.Start, Stop: c.Stop}
	ahead := -served // work done alone beyond what has been done
	var solo []between
	_, err := timeslice.Simulate(alone, func(r timeslice.Run) bool {
		if r.Kind == timeslice.Working {
			ahead += max(0, min(r.End, w.from)-r.Start)
			if in, ok := w.part(r); ok {
				solo = append(solo, between{in.Start, in.End})
			}
		}
		return true
	})
	if err != nil {
		return nil // of a valid Sim there is none
	}
	var given []between
	for _, r := range w.runs {
		if r.Kind == timeslice.Working && r.Client == i {
			given = append(given, between{r.Start, r.End})
		}
	}
	end := w.to
	if c.Stop > 0 {
		end = min(end, c.Stop) // what is left then is dropped
	}
	return gaps(w.from, end, ahead, solo, given)
}

// gaps goes through both lists together, from change to change.
func gaps(from, to, ahead int64, solo, given []between) []between {
	var out []between
	for now := from; now < to; {
		next := to
		alone, on := inside(&solo, now, &next), inside(&given, now, &next)
		if !on && (alone || ahead > 0) {
			if n := len(out); n > 0 && out[n-1].to == now {
				out[n-1].to = next
			} else {
				out = append(out, between{now, next})
			}
		}
		if alone {
			ahead += next - now
		}
		if on {
			ahead -= next - now
		}
		now = next
	}
	return out
}

// inside says whether a time lies in the first of the stretches that are not over,
// and lowers next to when that changes.
func inside(list *[]between, now int64, next *int64) bool {
	for len(*list) > 0 && (*list)[0].to <= now {
		*list = (*list)[1:]
	}
	switch {
	case len(*list) == 0:
		return false
	case (*list)[0].from > now:
		*next = min(*next, (*list)[0].from)
		return false
	default:
		*next = min(*next, (*list)[0].to)
		return true
	}
}
