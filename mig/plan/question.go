package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gpushare/gpushare/mig"
)

// question is a demand on a state, prepared for the search. Sets of instances are
// bit sets: bit k is from.Instances[k].
type question struct {
	from  State // tidy
	have  mig.Layout
	want  mig.Demand
	exact bool // all that is not wanted goes

	names []wanted
	// serves[k] is what an instance serves, by names: it holds that many.
	serves [][]int
	// misfit are the instances that hold something that nobody wants. They cannot
	// be part of an exact goal.
	misfit, busy uint
	furnished    []answered
}

// wanted is one name of the demand.
type wanted struct {
	name    string
	count   int
	profile mig.Profile // of the GPU instance
	whole   bool        // one compute instance of full size
	index   int         // of the compute profile, where not whole
}

// answered is what Furnish says about counts of the names that are not whole.
type answered struct {
	counts []int
	list   []mig.Furnished
	ok     bool
}

func planFor(from State, want mig.Demand, exact bool) (Plan, error) {
	from, have, err := from.tidy()
	if err != nil {
		return Plan{}, err
	}
	q := &question{from: from, have: have, want: want, exact: exact}
	least := want // as GPU instances
	if !undivided(from.Model, want) {
		var list []mig.Furnished
		list, err = from.Model.Furnish(want)
		least = demandOf(list)
	}
	if err == nil {
		_, err = from.Model.Empty().Fit(least)
	}
	var no *mig.FitError
	if errors.As(err, &no) {
		return Plan{}, &Refusal{Want: want.String(), Have: have, Limit: no.Limit, Detail: no.Detail}
	}
	if err != nil {
		return Plan{}, err
	}
	if err := q.prepare(); err != nil {
		return Plan{}, err
	}
	best, found := q.solve(q.busy)
	if !found {
		return Plan{}, q.refuse()
	}
	c, err := q.change(best)
	if err != nil {
		return Plan{}, err
	}
	return c.plan(), nil
}

// undivided reports whether a demand names GPU instances only, by their canonical
// names.
func undivided(m *mig.Model, want mig.Demand) bool {
	for name := range want {
		if _, plain := m.Offers(name); !plain {
			return false
		}
	}
	return true
}

func demandOf(list []mig.Furnished) mig.Demand {
	d := make(mig.Demand, len(list))
	for _, f := range list {
		d[f.Profile]++
	}
	return d
}

// prepare lists the names that are wanted, and what each instance serves. The
// demand is known to be good.
func (q *question) prepare() error {
	m := q.from.Model
	q.names = make([]wanted, 0, len(q.want))
	for _, text := range slices.Sorted(maps.Keys(q.want)) {
		if q.want[text] == 0 {
			continue
		}
		w, err := wantedOf(m, text)
		if err != nil {
			return err
		}
		w.count = q.want[text]
		if k := slices.IndexFunc(q.names, func(x wanted) bool { return x.name == w.name }); k >= 0 {
			q.names[k].count += w.count // written in two ways
			continue
		}
		q.names = append(q.names, w)
	}
	counts := make([]int, len(q.from.Instances)*len(q.names))
	q.serves = make([][]int, len(q.from.Instances))
	for k, in := range q.from.Instances {
		q.serves[k], counts = counts[:len(q.names)], counts[len(q.names):]
		if in.Busy {
			q.busy |= 1 << k
		}
		if !q.serve(q.serves[k], in) {
			q.misfit |= 1 << k
		}
	}
	return nil
}

// wantedOf looks up a name of a demand.
func wantedOf(m *mig.Model, text string) (wanted, error) {
	if p, found := m.Offers(text); found {
		return wanted{name: text, profile: p, whole: true}, nil
	}
	n, err := mig.ParseName(text)
	if err != nil {
		return wanted{}, err
	}
	w := wanted{name: n.String()}
	n.ComputeSlices = n.GPUSlices
	if w.profile, err = m.Profile(n.String()); err != nil {
		return wanted{}, err
	}
	if w.whole = w.name == w.profile.Name; w.whole {
		return w, nil
	}
	row, err := m.ComputeProfile(w.profile.Name, w.name)
	w.index = row.Index
	return w, err
}

// serve counts what an instance holds, by names, and reports whether that is
// something, and nothing else.
func (q *question) serve(counts []int, in Instance) bool {
	complete := len(in.Compute) > 0
	undivided := isWhole(q.from.Model, in.Profile, in.Compute)
	for _, c := range in.Compute {
		found := slices.IndexFunc(q.names, func(w wanted) bool {
			if w.profile.Name != in.Profile || w.whole != undivided {
				return false
			}
			return undivided || w.name == c.Profile && w.index == c.Index
		})
		if found < 0 {
			complete = false
			continue
		}
		counts[found]++
	}
	return complete
}

// missing returns how many of each name are wanted besides what stands there when
// the given instances are kept, and false if more stands there than is wanted and
// that is not allowed.
func (q *question) missing(kept, pinned uint, counts []int) bool {
	for i, w := range q.names {
		counts[i] = w.count
	}
	for k := range q.from.Instances {
		if kept&(1<<k) == 0 || !q.exact && pinned&(1<<k) != 0 {
			continue
		}
		for i, n := range q.serves[k] {
			counts[i] -= n
		}
	}
	for i, n := range counts {
		if n < 0 && q.exact {
			return false
		}
		counts[i] = max(n, 0)
	}
	return true
}

// furnish returns the fewest GPU instances that hold the given counts, and false if
// no GPU holds so many. Compute nil stands for one of full size.
func (q *question) furnish(counts []int) ([]mig.Furnished, bool) {
	divided := false
	for i, n := range counts {
		divided = divided || n > 0 && !q.names[i].whole
	}
	var list []mig.Furnished
	if !divided {
		for i, n := range counts {
			for range n {
				list = append(list, mig.Furnished{Profile: q.names[i].profile.Name})
			}
		}
		return list, true
	}
	for _, a := range q.furnished {
		if slices.Equal(a.counts, counts) {
			return a.list, a.ok
		}
	}
	d := mig.Demand{}
	for i, n := range counts {
		d[q.names[i].name] = n
	}
	list, err := q.from.Model.Furnish(d)
	q.furnished = append(q.furnished, answered{slices.Clone(counts), list, err == nil})
	return list, err == nil
}

// refuse says why there is no way: what does not fit beside the busy instances,
// and which of them would have to end.
func (q *question) refuse() error {
	r := &Refusal{Want: q.want.String(), Have: q.have}
	counts := make([]int, len(q.names))
	surplus := !q.missing(q.busy, q.busy, counts)
	if list, ok := q.furnish(counts); ok {
		var no *mig.FitError
		if _, err := q.layout(q.busy).Fit(demandOf(list)); errors.As(err, &no) {
			r.Limit, r.Detail = no.Limit, no.Detail
		}
	}
	ended := q.inTheWay()
	for k, in := range q.from.Instances {
		if ended&(1<<k) != 0 {
			r.Busy = append(r.Busy, in.clone())
		}
	}
	if r.Detail == "" {
		why := "not part of what is wanted"
		if surplus {
			why = "more than is wanted"
		}
		r.Detail = fmt.Sprintf("busy and %s: %s", why, list(q.from.Model, r.Busy))
	}
	return r
}

// inTheWay returns a smallest set of busy instances whose end would make it
// possible: of those sets the one with the best plan.
func (q *question) inTheWay() uint {
	for n := 1; n <= len(q.from.Instances); n++ {
		var best choice
		var ended uint
		for set := range subsets(q.busy, n) {
			if c, found := q.solve(q.busy &^ set); found && (ended == 0 || q.better(&c, &best)) {
				best, ended = c, set
			}
		}
		if ended != 0 {
			return ended
		}
	}
	return 0
}
