package fleet

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/mig"
)

// ErrGaveUp says that a search ended before it had proven its answer. It never
// means no.
var ErrGaveUp = errors.New("search gave up")

// ErrBadWeight says that a weight, a value or a count of GPUs is negative or too
// large to reckon with.
var ErrBadWeight = errors.New("weight out of range")

// DefaultBudget is the budget of Fit and BestMix where none is given: less
// than a second of search on one core.
const DefaultBudget = 500_000

// GPU is a GPU among many, for Fit.
type GPU struct {
	Layout mig.Layout // what stands there; it does not move
	Weight int        // what it costs to add anything; 0: 1
	Free   bool       // it costs nothing, as where the GPU is in use anyway
}

// Assignment is where the instances of a demand go on many GPUs.
type Assignment struct {
	Layouts []mig.Layout // of every GPU afterwards, in the order of the question
	Used    []int        // the GPUs that got an instance, ascending
	Weight  int          // of those together
	Bound   int          // no fit weighs less; equal to Weight where that is proven
}

// FitError says why a demand does not fit on many GPUs; it wraps ErrNoFit.
type FitError struct {
	GPUs    int
	Want    mig.Demand
	Limit   mig.Limit // the first limit that alone makes it impossible
	Profile string    // the profile of which there are too many, where it is one
	Detail  string    // the figures, for people
}

// Error names the demand, the number of GPUs and the limit.
func (e *FitError) Error() string {
	return fmt.Sprintf("fleet: %s does not fit on %s: %s: %s", e.Want, plural(e.GPUs, "GPU"), e.Limit, e.Detail)
}

// Unwrap returns ErrNoFit.
func (e *FitError) Unwrap() error { return mig.ErrNoFit }

// Fit places a demand on GPUs of any models, beside what stands there, at
// the least total weight. Of the answers that weigh the same it is one that uses
// the fewest GPUs, then those that come first, where GPUs of equal layout and
// weight count as standing together at the place of the first of them. On each
// GPU, what was added stands as Layout.Fit puts it.
//
// A profile goes only to models that offer it by that name: 1g.10gb is served by
// an A100 of 40 GB and by one of 80 GB, with different slices.
//
// The search is exact. It takes at most budget steps (0: DefaultBudget), each
// about a microsecond; where they do not suffice, the error wraps ErrGaveUp, and the
// Assignment is the best one found, Bound being what no fit can undercut. If none
// was found, its Layouts are nil. Where the weight is proven, the answer stands:
// that its number of GPUs and their order are not, is no error. The order alone
// is worth no more than a fraction of the budget.
//
// Any other error means that no fit exists (a *FitError, which wraps ErrNoFit)
// or that there was no question: ErrUnknownProfile for a profile that no GPU
// offers, ErrBadName, ErrBadDemand, ErrBadWeight. GPUs that are not cut and those
// of unknown geometry are passed over; where one of the latter offers what does
// not fit elsewhere, the error wraps ErrUnknownGeometry instead of ErrNoFit.
//
// The cost grows with the number of different GPUs and of profiles wanted:
// milliseconds for 64 different GPUs, or for thousands of few kinds. For hundreds
// that all differ, expect ErrGaveUp about every second time, with an answer that
// weighs a GPU or two more than its bound.
func Fit(gpus []GPU, want mig.Demand, budget int) (Assignment, error) {
	layouts := make([]mig.Layout, len(gpus))
	for i, g := range gpus {
		if g.Weight < 0 {
			return Assignment{}, fmt.Errorf("fleet: GPU %d: weight %d: %w", i, g.Weight, ErrBadWeight)
		}
		layouts[i] = g.Layout
	}
	items, need, err := wanted(layouts, want)
	if err != nil {
		return Assignment{}, err
	}
	if err := limits(layouts, want, items, need); err != nil {
		return Assignment{}, orUnknown(err, layouts, items)
	}
	c := &cover{need: need, steps: steps(budget)}
	members, err := c.group(gpus, items)
	if err != nil {
		return Assignment{}, err
	}
	answer, _, lower, ended := c.solve()
	if answer == nil && ended {
		return Assignment{}, orUnknown(noPosition(layouts, want, items, need), layouts, items)
	}
	fit := Assignment{}
	if answer != nil {
		if fit, err = c.carryOut(gpus, members, items, answer); err != nil {
			return Assignment{}, err
		}
	}
	switch {
	case ended:
		fit.Bound = fit.Weight
		return fit, nil
	case c.unit > 0:
		fit.Bound = lower / c.unit
	case len(members) > 0: // all weigh the same
		fit.Bound = lower * gpus[members[0][0]].weight()
	}
	if answer != nil && fit.Bound == fit.Weight {
		return fit, nil // only the number of GPUs is not proven
	}
	if answer == nil {
		return fit, fmt.Errorf("fleet: %s on %s: no fit found, none excluded: %w", want, plural(len(gpus), "GPU"), ErrGaveUp)
	}
	return fit, fmt.Errorf("fleet: %s on %s: found weight %d, proven %d: %w", want, plural(len(gpus), "GPU"), fit.Weight, fit.Bound, ErrGaveUp)
}

// steps is the budget asked for.
func steps(budget int) int {
	if budget <= 0 {
		return DefaultBudget
	}
	return budget
}

func (g GPU) weight() int {
	switch {
	case g.Free:
		return 0
	case g.Weight == 0:
		return 1
	default:
		return g.Weight
	}
}

// cuttable reports whether instances can be added to a layout as far as the
// tables know.
func cuttable(l mig.Layout) bool { return l.Model() != nil && l.Model().HasGeometry() }

// orUnknown returns a refusal, or that nobody knows, where a GPU that was passed
// over offers what is wanted and the table does not say where it goes.
func orUnknown(no error, layouts []mig.Layout, items []string) error {
	for i, l := range layouts {
		if l.Model() == nil || cuttable(l) {
			continue
		}
		for _, name := range items {
			if _, offers := l.Model().Offers(name); offers {
				return fmt.Errorf("fleet: %s may fit on GPU %d: %w", name, i, mig.ErrUnknownGeometry)
			}
		}
	}
	return no
}

// wanted returns the canonical names of a demand, in order, and the counts.
func wanted(layouts []mig.Layout, want mig.Demand) (items []string, need []int, err error) {
	total := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		canonical, err := offered(layouts, name)
		if err != nil {
			return nil, nil, err
		}
		if want[name] < 0 {
			return nil, nil, fmt.Errorf("fleet: demand %s=%d is negative: %w", name, want[name], mig.ErrBadDemand)
		}
		// The cap keeps sums from overflowing; so many never fit.
		if n := min(want[name], 1<<24); n > 0 {
			total[canonical] += n
		}
	}
	items = slices.Sorted(maps.Keys(total))
	for _, name := range items {
		need = append(need, total[name])
	}
	return items, need, nil
}

// offered returns the canonical name of a profile that some model offers.
func offered(layouts []mig.Layout, name string) (string, error) {
	var models []*mig.Model
	for _, l := range layouts {
		if l.Model() == nil || slices.Contains(models, l.Model()) {
			continue
		}
		models = append(models, l.Model())
		p, err := l.Model().Profile(name)
		if err == nil {
			return p.Name, nil
		}
		if !errors.Is(err, mig.ErrUnknownProfile) {
			return "", err
		}
	}
	switch len(models) {
	case 0: // the name is all there is to check
		n, err := mig.ParseName(name)
		return n.String(), err
	case 1:
		return "", &mig.ProfileError{Model: models[0], Profile: name}
	}
	var keys []string
	for _, m := range models {
		keys = append(keys, m.Key())
	}
	return "", fmt.Errorf("fleet: no GPU offers %q (models: %s): %w", name, strings.Join(keys, ", "), mig.ErrUnknownProfile)
}

// group puts equal GPUs together and lists what can be added to each kind. GPUs
// that can take nothing are left out.
func (c *cover) group(gpus []GPU, items []string) (members [][]int, err error) {
	type kind struct {
		layout mig.Layout
		weight int
	}
	at := map[kind]int{}
	shapes := map[mig.Layout][][]int{}
	uniform, total, dearest := true, 0, 1
	for i, g := range gpus {
		k := kind{g.Layout, g.weight()}
		list, met := shapes[g.Layout]
		if !met {
			list = patterns(g.Layout, items, c.need)
			shapes[g.Layout] = list
		}
		if len(list) == 0 {
			continue
		}
		n, met := at[k]
		if !met {
			n = len(c.kinds)
			at[k] = n
			c.kinds = append(c.kinds, coverKind{layout: g.Layout, cost: k.weight, patterns: list})
			members = append(members, nil)
			uniform = uniform && k.weight == c.kinds[0].cost
			dearest = max(dearest, k.weight)
		}
		c.kinds[n].count++
		members[n] = append(members[n], i)
		total++
	}
	if dearest > 1<<52/(24*8*(total+1)*(total+1)) {
		return nil, fmt.Errorf("fleet: weight %d among %d GPUs: %w", dearest, total, ErrBadWeight)
	}
	// One number stands for weight and count of GPUs: the weight counts first.
	if !uniform {
		c.unit = total + 1
	}
	for n := range c.kinds {
		c.kinds[n].cost = c.kinds[n].cost*c.unit + 1
	}
	return members, nil
}

// carryOut turns an answer into layouts.
func (c *cover) carryOut(gpus []GPU, members [][]int, items []string, answer coverAnswer) (Assignment, error) {
	fit := Assignment{Layouts: make([]mig.Layout, len(gpus))}
	for i, g := range gpus {
		fit.Layouts[i] = g.Layout
	}
	rows, err := c.deal(items, answer)
	if err != nil {
		return Assignment{}, err
	}
	for kind, list := range rows {
		next := 0
		for _, row := range list {
			for range row.count {
				i := members[kind][next]
				next++
				fit.Layouts[i] = row.layout
				fit.Used = append(fit.Used, i)
				fit.Weight += gpus[i].weight()
			}
		}
	}
	slices.Sort(fit.Used)
	return fit, nil
}

// dealt is a number of GPUs of one kind that get the same instances.
type dealt struct {
	layout mig.Layout
	count  int
}

// deal shares out what is needed, and no more, in the order of kinds and
// patterns. GPUs that get nothing are left out.
func (c *cover) deal(items []string, answer coverAnswer) ([][]dealt, error) {
	rem := slices.Clone(c.need)
	rows := make([][]dealt, len(c.kinds))
	for g, k := range c.kinds {
		for n, times := range answer[g] {
			for times > 0 {
				add, same := mig.Demand{}, times
				for i, most := range k.patterns[n] {
					if took := min(most, rem[i]); took > 0 {
						add[items[i]] = took
						same = min(same, rem[i]/took)
					}
				}
				if len(add) == 0 {
					break
				}
				l, err := k.layout.Fit(add)
				if err != nil {
					return nil, err
				}
				for i, name := range items {
					rem[i] -= same * add[name]
				}
				rows[g] = append(rows[g], dealt{l, same})
				times -= same
			}
		}
	}
	return rows, nil
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
