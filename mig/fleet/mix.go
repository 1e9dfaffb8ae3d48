package fleet

import (
	"fmt"
	"slices"

	"github.com/gpushare/gpushare/mig"
)

// Pool is a number of GPUs with the same layout: whole GPUs of a model are
// Pool{Layout: model.Empty(), Count: n}.
type Pool struct {
	Layout mig.Layout // what stands there; it does not move
	Count  int        // GPUs
}

// Request is one row of a histogram of requests: what is waiting, or expected.
type Request struct {
	Profile string
	Count   int
	// Value is that of serving one, in any unit that suits all rows. 0: the
	// memory slices that it takes on the first pool whose model offers it, which
	// is the share of a GPU that it keeps from others.
	Value int
}

// Cut is a number of GPUs of one pool that get the same layout.
type Cut struct {
	Pool   int // place in the question
	Layout mig.Layout
	Count  int // GPUs
}

// Mix is how GPUs are cut for a histogram of requests.
type Mix struct {
	Cuts     []Cut      // by pool, every GPU counted; within a pool in a fixed order
	Served   mig.Demand // the requests that have an instance
	Unserved mig.Demand // those that have none
	Value    int        // of the served ones
	Bound    int        // no mix serves a larger value; equal to Value where that is proven
}

// BestMix cuts GPUs for the requests of a histogram, so that the value of those
// that are served is as large as it can be. Nothing is created that nobody asked
// for: each instance added is a request served, and GPUs that are not needed stay
// as they are. Which of several mixes of equal value comes out is fixed, but not
// further promised; Fit places the Served of the answer on the fewest GPUs.
//
// The search is exact. It takes at most budget steps (0: DefaultBudget), each
// about a microsecond; where they do not suffice, the error wraps ErrGaveUp, and the
// Mix is the best one found, Bound being what no mix can exceed. Any other error
// means that there was no question: ErrUnknownProfile for a profile that no pool
// offers, ErrBadName, ErrBadDemand for a negative count or two rows of one
// profile, and ErrBadWeight. That something stays unserved is no error. Pools that
// are not cut and those of unknown geometry stay as they are.
//
// The cost grows with the number of profiles and of different pools, hardly with
// the number of GPUs: milliseconds for thousands of a model.
func BestMix(pools []Pool, requests []Request, budget int) (Mix, error) {
	layouts, gpus := make([]mig.Layout, len(pools)), 0
	for i, p := range pools {
		if p.Count < 0 || p.Count > 1<<24 {
			return Mix{}, fmt.Errorf("fleet: pool %d: count %d: %w", i, p.Count, ErrBadWeight)
		}
		layouts[i] = p.Layout
		gpus += p.Count
	}
	values, asked, err := valued(layouts, requests)
	if err != nil {
		return Mix{}, err
	}
	items := sortedNames(asked)
	c := &cover{steps: steps(budget), fines: []int{}}
	units, dearest := 1, 1
	for _, name := range items {
		n := min(asked[name], gpus*mig.MaxUnits) // more are never served
		c.need = append(c.need, n)
		c.fines = append(c.fines, values[name])
		units += n
		dearest = max(dearest, values[name])
	}
	units += 2 * mig.MaxUnits * gpus
	if dearest > 1<<52/units {
		return Mix{}, fmt.Errorf("fleet: value %d among %d GPUs: %w", dearest, gpus, ErrBadWeight)
	}
	for _, p := range pools {
		c.kinds = append(c.kinds, coverKind{layout: p.Layout, count: p.Count, patterns: patterns(p.Layout, items, c.need)})
	}
	answer, _, lower, ended := c.solve()
	mix, err := c.mix(pools, items, answer, asked)
	if err != nil {
		return Mix{}, err
	}
	worth := 0
	for i, n := range c.need {
		worth += n * c.fines[i]
	}
	mix.Bound = worth - lower
	if ended || mix.Bound == mix.Value {
		mix.Bound = mix.Value
		return mix, nil
	}
	return mix, fmt.Errorf("fleet: mix for %s: found value %d, no more than %d: %w", plural(gpus, "GPU"), mix.Value, mix.Bound, ErrGaveUp)
}

// valued returns the value of one of each profile and how many are asked for, by
// canonical name.
func valued(layouts []mig.Layout, requests []Request) (values map[string]int, asked mig.Demand, err error) {
	values, asked = map[string]int{}, mig.Demand{}
	for i, r := range requests {
		name, err := offered(layouts, r.Profile)
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("request %d: %w", i, err)
		case r.Count < 0:
			return nil, nil, fmt.Errorf("fleet: request %d: %s=%d is negative: %w", i, r.Profile, r.Count, mig.ErrBadDemand)
		case r.Value < 0:
			return nil, nil, fmt.Errorf("fleet: request %d: value %d of %s: %w", i, r.Value, r.Profile, ErrBadWeight)
		case values[name] > 0:
			return nil, nil, fmt.Errorf("fleet: request %d: %s stands there twice: %w", i, r.Profile, mig.ErrBadDemand)
		}
		values[name] = max(1, r.Value)
		for _, l := range layouts {
			if l.Model() == nil {
				continue
			}
			if p, offers := l.Model().Offers(name); offers && r.Value == 0 {
				values[name] = max(1, p.Size)
				break
			}
		}
		if r.Count > 0 {
			asked[name] = r.Count
		}
	}
	return values, asked, nil
}

func sortedNames(d mig.Demand) []string {
	names := make([]string, 0, len(d))
	for name := range d {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// mix carries an answer out.
func (c *cover) mix(pools []Pool, items []string, answer coverAnswer, asked mig.Demand) (Mix, error) {
	mix := Mix{Served: mig.Demand{}, Unserved: mig.Demand{}}
	rows, err := c.deal(items, answer)
	if err != nil {
		return Mix{}, err
	}
	for i, p := range pools {
		rest := p.Count
		before := p.Layout.Demand()
		for _, row := range rows[i] {
			mix.Cuts = append(mix.Cuts, Cut{Pool: i, Layout: row.layout, Count: row.count})
			rest -= row.count
			for name, n := range row.layout.Demand() {
				if added := n - before[name]; added > 0 {
					mix.Served[name] += added * row.count
				}
			}
		}
		if rest > 0 {
			mix.Cuts = append(mix.Cuts, Cut{Pool: i, Layout: p.Layout, Count: rest})
		}
	}
	for i, name := range items {
		mix.Value += mix.Served[name] * c.fines[i]
		if n := asked[name] - mix.Served[name]; n > 0 {
			mix.Unserved[name] = n
		}
	}
	return mix, nil
}
