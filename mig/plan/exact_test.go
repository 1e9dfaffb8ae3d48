package plan_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// universe is every layout of the plain profiles of a model, as sets of (profile,
// start) pairs: bit i of a set is pairs[i]. Finding the best plan is then a look at
// all layouts, with nothing clever.
type universe struct {
	model *mig.Model
	pairs []mig.Instance // largest first, then in table order, then by start
	names []string       // of the profiles
	of    []uint32       // the pairs of each
	full  map[string][]mig.ComputeInstance
	sets  []set
	wants []mig.Demand // every multiset that some layout holds
}

type set struct {
	members uint32
	layout  mig.Layout
	free    int // pairs
	demand  string
}

// full holds the compute instances of full size, which are asked for often.
func full(t require.TestingT, m *mig.Model) map[string][]mig.ComputeInstance {
	all := map[string][]mig.ComputeInstance{}
	for p := range m.PlainProfiles() {
		var err error
		all[p.Name], err = m.ComputeLayout(p.Name)
		require.NoError(t, err)
	}
	return all
}

func newUniverse(t require.TestingT, m *mig.Model) *universe {
	u := &universe{model: m, full: full(t, m)}
	for p := range m.PlainProfiles() {
		u.names = append(u.names, p.Name)
		for start := range p.Starts.All() {
			u.pairs = append(u.pairs, mig.Instance{Profile: p.Name, Start: start, Size: p.Size})
		}
	}
	slices.SortStableFunc(u.pairs, func(a, b mig.Instance) int { return cmp.Compare(b.Size, a.Size) })
	u.of = make([]uint32, len(u.names))
	for i, in := range u.pairs {
		u.of[slices.Index(u.names, in.Profile)] |= 1 << i
	}
	layouts := []mig.Layout{m.Empty()}
	for l := range m.Layouts(nil) {
		layouts = append(layouts, l)
	}
	seen := map[string]bool{}
	for _, l := range layouts {
		s := set{layout: l, free: l.FreePairs(), demand: l.Demand().String()}
		for in := range l.Instances() {
			s.members |= u.bit(in)
		}
		if !seen[s.demand] {
			seen[s.demand] = true
			u.wants = append(u.wants, l.Demand())
		}
		u.sets = append(u.sets, s)
	}
	return u
}

func (u *universe) bit(in mig.Instance) uint32 { return 1 << slices.Index(u.pairs, in) }

// undominated returns the multisets that no larger one contains.
func (u *universe) undominated() []mig.Demand {
	var list []mig.Demand
	for _, d := range u.wants {
		larger := func(e mig.Demand) bool {
			for name, n := range d {
				if e[name] < n {
					return false
				}
			}
			return e.Total() > d.Total()
		}
		if !slices.ContainsFunc(u.wants, larger) {
			list = append(list, d)
		}
	}
	return list
}

// verdict is what the best plan costs, and where it ends.
type verdict struct {
	destroyed int
	loss      int64
	created   int
	free      int
	made      []int // starts, largest first
	kept      []int
	goal      string
}

func (v verdict) compare(w verdict) int {
	return cmp.Or(
		cmp.Compare(v.destroyed, w.destroyed), cmp.Compare(v.loss, w.loss), cmp.Compare(v.created, w.created),
		cmp.Compare(w.free, v.free), slices.Compare(v.made, w.made), slices.Compare(v.kept, w.kept),
	)
}

// best looks through all layouts. From, busy and the losses are by pairs; exact
// asks for Repartition, else Admit.
func (u *universe) best(from, busy uint32, loss []int64, want mig.Demand, exact bool) (verdict, bool) {
	var best verdict
	found := false
	key, counts := want.String(), make([]int, len(u.names))
	for i, name := range u.names {
		counts[i] = want[name]
	}
	for _, s := range u.sets {
		kept, made := s.members&from, s.members&^from
		if busy&^kept != 0 {
			continue
		}
		if exact && s.demand != key || !exact && !u.serves(kept&^busy, made, counts) {
			continue
		}
		if found && bits.OnesCount32(from&^s.members) > best.destroyed {
			continue
		}
		v := verdict{free: s.free, goal: s.layout.String()}
		for i, in := range u.pairs {
			switch b := uint32(1) << i; {
			case b&from&^s.members != 0:
				v.destroyed++
				v.loss += loss[i] * int64(in.Size)
			case b&made != 0:
				v.created++
				v.made = append(v.made, in.Start)
			case b&kept != 0:
				v.kept = append(v.kept, in.Start)
			}
		}
		if !found || v.compare(best) < 0 {
			best, found = v, true
		}
	}
	return best, found
}

// serves reports whether what was made is just what the idle ones leave missing.
func (u *universe) serves(idle, made uint32, counts []int) bool {
	for i, all := range u.of {
		if max(0, counts[i]-bits.OnesCount32(idle&all)) != bits.OnesCount32(made&all) {
			return false
		}
	}
	return true
}

// ask returns what the package answers, in the terms of the oracle.
func (u *universe) ask(t *testing.T, from, busy uint32, loss []int64, want mig.Demand, exact bool) (verdict, bool) {
	s := plan.State{Model: u.model}
	for i, in := range u.pairs {
		if b := uint32(1) << i; from&b != 0 {
			s.Instances = append(s.Instances, plan.Instance{Instance: in, Compute: u.full[in.Profile], Busy: busy&b != 0, LossSeconds: loss[i]})
		}
	}
	do := plan.Admit
	if exact {
		do = plan.Repartition
	}
	p, err := do(s, want)
	if err != nil {
		require.ErrorIs(t, err, mig.ErrNoFit)
		u.checkRefusal(t, err, from, busy, loss, want, exact)
		return verdict{}, false
	}
	var v verdict
	var goal, made, kept []mig.Instance
	for _, st := range p.Steps {
		switch st.Op {
		case plan.Destroy:
			v.destroyed++
			v.loss += st.LossSeconds * int64(st.Size)
		case plan.Create:
			v.created++
			made = append(made, st.Instance.Instance)
		}
	}
	for _, in := range p.Kept {
		kept = append(kept, in.Instance)
	}
	for _, in := range p.Goal {
		goal = append(goal, in.Instance)
	}
	l, err := u.model.Layout(goal...)
	require.NoError(t, err)
	v.free, v.goal = l.FreePairs(), l.String()
	v.made, v.kept = u.starts(made), u.starts(kept)
	return v, true
}

func (u *universe) starts(instances []mig.Instance) []int {
	var list []int
	for _, in := range u.pairs {
		if slices.Contains(instances, in) {
			list = append(list, in.Start)
		}
	}
	return list
}

// checkRefusal checks that the busy instances named are a smallest set whose end
// makes it possible, and that none are named where nothing helps.
func (u *universe) checkRefusal(t *testing.T, err error, from, busy uint32, loss []int64, want mig.Demand, exact bool) {
	t.Helper()
	var r *plan.Refusal
	require.ErrorAs(t, err, &r)
	fewest := -1
	for sub := busy; sub != 0; sub = (sub - 1) & busy {
		if _, ok := u.best(from, busy&^sub, loss, want, exact); ok && (fewest < 0 || bits.OnesCount32(sub) < fewest) {
			fewest = bits.OnesCount32(sub)
		}
	}
	assert.Equal(t, fewest > 0, errors.Is(err, plan.ErrBusy))
	assert.Len(t, r.Busy, max(fewest, 0), "%v", err)
	if fewest < 0 {
		return
	}
	var named uint32
	for _, in := range r.Busy {
		named |= u.bit(in.Instance)
	}
	_, ok := u.best(from, busy&^named, loss, want, exact)
	assert.True(t, ok && named&^busy == 0, "the end of %s does not help", names(r.Busy))
}

// TestExactOnA30 compares both questions with a look at all layouts: for every
// state, every demand that some layout holds, and every set of busy instances.
func TestExactOnA30(t *testing.T) {
	t.Parallel()
	u := newUniverse(t, lookup(t, "a30-24gb"))
	require.Len(t, u.sets, 26)
	rng := rand.New(rand.NewPCG(1, 2))
	checked := 0
	for _, from := range u.sets {
		for _, want := range append(u.wants, mig.Demand{"1g.6gb": 3, "2g.12gb": 1}) {
			for busy := from.members; ; busy = (busy - 1) & from.members {
				u.compare(t, rng, from, busy, want)
				checked++
				if busy == 0 {
					break
				}
			}
		}
	}
	t.Logf("%d questions, each asked both ways", checked)
}

// TestExactOnA100 does the same for every state and every demand that no larger
// one contains, and for every fourth state and the other demands, without busy
// instances and with one random set of them.
func TestExactOnA100(t *testing.T) {
	t.Parallel()
	u := newUniverse(t, lookup(t, "a100-40gb"))
	hard := u.undominated()
	require.Len(t, u.sets, 723)
	require.Len(t, u.wants, 78)
	require.Len(t, hard, 28)
	rng := rand.New(rand.NewPCG(3, 4))
	checked := 0
	for i, from := range u.sets {
		wants := hard
		if i%4 == 0 {
			wants = u.wants
		}
		if raceEnabled && i%16 != 0 {
			continue
		}
		for _, want := range wants {
			u.compare(t, rng, from, 0, want)
			u.compare(t, rng, from, from.members&rng.Uint32()&rng.Uint32(), want)
			checked += 2
		}
	}
	t.Logf("%d questions, each asked both ways", checked)
}

func (u *universe) compare(t *testing.T, rng *rand.Rand, from set, busy uint32, want mig.Demand) {
	t.Helper()
	loss := make([]int64, len(u.pairs))
	for i := range loss {
		loss[i] = rng.Int64N(3)
	}
	for _, exact := range []bool{true, false} {
		expect, possible := u.best(from.members, busy, loss, want, exact)
		got, ok := u.ask(t, from.members, busy, loss, want, exact)
		if possible != ok || fmt.Sprint(expect) != fmt.Sprint(got) {
			t.Fatalf("from %s, busy %b, loss %v, want %s, exact %v:\n%v %+v expected\n%v %+v found",
				from.layout, busy, loss, want, exact, possible, expect, ok, got)
		}
	}
}
