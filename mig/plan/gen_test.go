package plan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// lookup returns a model that must exist.
func lookup(t require.TestingT, key string) *mig.Model {
	m, err := mig.Lookup(key)
	require.NoError(t, err)
	return m
}

// state reads "1g.5gb@0! 3g.20gb@4[1c.3g.20gb@0 2c.3g.20gb@1] 2g.10gb@2[]", where
// "!" marks a busy one and brackets give compute instances other than one of full
// size.
func state(t require.TestingT, m *mig.Model, text string) plan.State {
	s := plan.State{Model: m, Instances: []plan.Instance{}}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		end := strings.IndexAny(text, " [!")
		if end < 0 {
			end = len(text)
		}
		var in plan.Instance
		var err error
		in.Instance, err = mig.ParseInstance(text[:end])
		require.NoError(t, err)
		text = text[end:]
		if strings.HasPrefix(text, "[") {
			inside, rest, closed := strings.Cut(text[1:], "]")
			require.True(t, closed)
			in.Compute, text = []mig.ComputeInstance{}, rest
			for item := range strings.FieldsSeq(inside) {
				c, err := mig.ParseInstance(item)
				require.NoError(t, err)
				row, err := m.ComputeProfile(in.Profile, c.Profile)
				require.NoError(t, err)
				in.Compute = append(in.Compute, mig.ComputeInstance{Profile: c.Profile, Start: c.Start, Size: row.Size, Index: row.Index})
			}
		} else {
			in.Compute, err = m.ComputeLayout(in.Profile)
			require.NoError(t, err)
		}
		in.Busy = strings.HasPrefix(text, "!")
		text = strings.TrimPrefix(text, "!")
		s.Instances = append(s.Instances, in)
	}
	return s
}

func demand(t require.TestingT, text string) mig.Demand {
	if text == "" {
		return mig.Demand{}
	}
	d, err := mig.ParseDemand(text)
	require.NoError(t, err)
	return d
}

// known reports whether the placements of a model are known: without them nothing
// can be planned.
func known(m *mig.Model) bool { return m.MemorySlices() > 0 }

// forEachModel runs a parallel subtest for every model that is known.
func forEachModel(t *testing.T, f func(t *testing.T, m *mig.Model)) {
	t.Helper()
	for m := range mig.Models() {
		if !known(m) {
			continue
		}
		t.Run(m.Key(), func(t *testing.T) {
			t.Parallel()
			f(t, m)
		})
	}
}

// genModel draws a model that is known.
func genModel(t *rapid.T) *mig.Model {
	var keys []string // what a failure prints
	for m := range mig.Models() {
		if known(m) {
			keys = append(keys, m.Key())
		}
	}
	return lookup(t, rapid.SampledFrom(keys).Draw(t, "model"))
}

// genProfile draws from all profiles of the model, media variants included.
func genProfile(t *rapid.T, m *mig.Model) mig.Profile {
	var names []string
	for p := range m.Profiles() {
		names = append(names, p.Name)
	}
	p, err := m.Profile(rapid.SampledFrom(names).Draw(t, "profile"))
	require.NoError(t, err)
	return p
}

// genLayout adds instances at free starts while the draw says so.
func genLayout(t *rapid.T, m *mig.Model) mig.Layout {
	l := m.Empty()
	for range rapid.IntRange(0, 7).Draw(t, "instances") {
		p := genProfile(t, m)
		var starts []int
		for s := range l.FreeStarts(p).All() {
			starts = append(starts, s)
		}
		if len(starts) == 0 {
			continue
		}
		next, err := l.With(p, rapid.SampledFrom(starts).Draw(t, "start"))
		require.NoError(t, err)
		l = next
	}
	return l
}

// genCompute draws the compute instances of one GPU instance: mostly one of full
// size, at times others, rarely none.
func genCompute(t *rapid.T, m *mig.Model, gi string) []mig.ComputeInstance {
	kind := rapid.IntRange(0, 9).Draw(t, "compute")
	if kind < 6 {
		full, err := m.ComputeLayout(gi)
		require.NoError(t, err)
		return full
	}
	list := []mig.ComputeInstance{}
	if kind == 9 {
		return list
	}
	for row := range m.ComputeProfiles(gi) {
		free, err := m.ComputeFreeStarts(gi, row, list...)
		require.NoError(t, err)
		for s := range free.All() {
			c := mig.ComputeInstance{Profile: row.Name, Start: s, Size: row.Size, Index: row.Index}
			if rapid.Bool().Draw(t, "more") && m.ValidateCompute(gi, append(list, c)...) == nil {
				list = append(list, c)
			}
		}
	}
	return list
}

// genState draws what stands on a GPU, in any order, some of it busy.
func genState(t *rapid.T, m *mig.Model) plan.State {
	s := plan.StateOf(genLayout(t, m))
	s.GPU = rapid.SampledFrom([]string{"", "GPU-1"}).Draw(t, "GPU")
	for i := range s.Instances {
		in := &s.Instances[i]
		in.Compute = genCompute(t, m, in.Profile)
		in.Busy = rapid.IntRange(0, 4).Draw(t, "busy") == 0
		in.LossSeconds = rapid.Int64Range(0, 3).Draw(t, "loss")
		if s.GPU != "" {
			for range in.Compute {
				in.UUIDs = append(in.UUIDs, "MIG-"+rapid.StringMatching(`[a-f]{4}`).Draw(t, "UUID"))
			}
		}
	}
	if len(s.Instances) > 1 {
		s.Instances = rapid.Permutation(s.Instances).Draw(t, "order")
	}
	return s
}

// genDemand draws a demand that fits on an empty GPU about as often as not: what a
// layout holds, or a few of some profiles, compute names among them.
func genDemand(t *rapid.T, m *mig.Model) mig.Demand {
	if rapid.Bool().Draw(t, "of a layout") {
		return genLayout(t, m).Demand()
	}
	d := mig.Demand{}
	for range rapid.IntRange(0, 3).Draw(t, "names") {
		var names []string
		p := genProfile(t, m)
		names = append(names, p.Name)
		for row := range m.ComputeProfiles(p.Name) {
			names = append(names, row.Name)
		}
		d[rapid.SampledFrom(names).Draw(t, "name")] = rapid.IntRange(0, 3).Draw(t, "count")
	}
	return d
}

// names returns the instances as text, in the given order.
func names(instances []plan.Instance) string {
	var list []string
	for _, in := range instances {
		list = append(list, in.String())
	}
	return strings.Join(list, " ")
}
