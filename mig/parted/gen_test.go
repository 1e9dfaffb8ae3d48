package parted_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/parted"
)

func lookup(t testing.TB, key string) *mig.Model {
	t.Helper()
	m, err := mig.Lookup(key)
	require.NoError(t, err)
	return m
}

func parse(t testing.TB, text string) *parted.Config {
	t.Helper()
	c, err := parted.Parse([]byte(text), "config.yaml")
	require.NoError(t, err)
	return c
}

// label returns a file with one label "x" that has the given entries.
func label(entries string) string {
	return "version: v1\nmig-configs:\n  x:\n" + entries
}

// bare removes all positions.
func bare(c *parted.Config) *parted.Config {
	if c == nil {
		return nil
	}
	for i := range c.Labels {
		c.Labels[i].Pos = parted.Pos{}
		for j := range c.Labels[i].Entries {
			e := &c.Labels[i].Entries[j]
			e.Pos = parted.Pos{}
			for k := range e.Filters {
				e.Filters[k].Pos = parted.Pos{}
			}
			for k := range e.Instances {
				e.Instances[k].Pos = parted.Pos{}
			}
		}
	}
	return c
}

// models returns all models, or those with published placements.
func models(placed bool) []*mig.Model {
	var list []*mig.Model
	for m := range mig.Models() {
		if !placed || m.MemorySlices() > 0 {
			list = append(list, m)
		}
	}
	return list
}

func genModel(t *rapid.T) *mig.Model {
	all := models(true)
	var keys []string // what a failure prints
	for _, m := range all {
		keys = append(keys, m.Key())
	}
	key := rapid.SampledFrom(keys).Draw(t, "model")
	return all[slices.Index(keys, key)]
}

// genConfig draws any configuration that the format allows.
func genConfig(t *rapid.T) *parted.Config {
	c := &parted.Config{Name: "config.yaml"}
	names := rapid.SliceOfNDistinct(genText(), 0, 4, rapid.ID[string]).Draw(t, "labels")
	for _, name := range names {
		l := parted.Label{Name: name}
		for range rapid.IntRange(1, 3).Draw(t, "entries") {
			l.Entries = append(l.Entries, genEntry(t))
		}
		c.Labels = append(c.Labels, l)
	}
	return c
}

// genText draws texts that YAML could take for something else.
func genText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"", "all-1g.5gb.me", "yes", "on", "n", "null", "~", "<<", "1", "0x10", "1e3", "1:20", "- x", "a: b", "# no", "x #y", "*a", "&a", "!t",
			"2001-01-01", "=", " ", "a\nb", "é", "\u2028", "\u0085", "\ufeff", "\u007f", "\U0001F600", "\"", "\\", "{", "[", "true", "NaN", ".inf",
		}),
		rapid.String(),
		rapid.StringMatching(`[a-z]{1,8}(-[a-z0-9.]{1,8})?`),
	)
}

func genEntry(t *rapid.T) parted.Entry {
	e := parted.Entry{Enabled: rapid.Bool().Draw(t, "enabled"), All: rapid.Bool().Draw(t, "all")}
	if !e.All {
		e.Devices = rapid.SliceOfN(rapid.IntRange(-1, 9), 0, 3).Draw(t, "devices")
	}
	for range rapid.IntRange(0, 3).Draw(t, "filters") {
		e.Filters = append(e.Filters, parted.Filter{Text: genFilter().Draw(t, "filter")})
	}
	if e.Enabled {
		e.Instances = genCounts(t)
	}
	return e
}

func genFilter() *rapid.Generator[string] {
	return rapid.OneOf(
		genText(),
		rapid.Custom(func(t *rapid.T) string { return genID(t).String() }),
	)
}

func genID(t *rapid.T) parted.ID {
	id := parted.ID{PCI: rapid.Uint32().Draw(t, "pci"), HasSubsystem: rapid.Bool().Draw(t, "has subsystem")}
	if id.HasSubsystem {
		id.Subsystem = rapid.Uint32().Draw(t, "subsystem")
	}
	return id
}

// genCounts draws profiles of many spellings; one count at least is not zero.
func genCounts(t *rapid.T) []parted.Count {
	name := rapid.OneOf(
		rapid.StringMatching(`([0-9]c\.)?[0-9]{1,2}g\.[0-9]{1,3}gb`),
		rapid.StringMatching(`[0-9]g\.[0-9]gb(\+me|\+me\.all|\+gfx|-me|\+a,b)`),
		rapid.SampledFrom([]string{"1g.5gb", "1c.1g.5gb", "1c.3g.20gb", "9g.999gb", "1g.24gb+gfx,me"}),
	)
	var list []parted.Count
	for i, n := range rapid.SliceOfNDistinct(name, 0, 4, rapid.ID[string]).Draw(t, "profiles") {
		least := 0
		if i == 0 {
			least = 1
		}
		list = append(list, parted.Count{Profile: n, Count: rapid.IntRange(least, 9).Draw(t, "count")})
	}
	return list
}

// genStates draws a node: GPUs of up to three models, cut in some way, some of
// them without MIG.
func genStates(t *rapid.T) []parted.State {
	kinds := make([]*mig.Model, rapid.IntRange(1, 3).Draw(t, "kinds"))
	for i := range kinds {
		kinds[i] = genModel(t)
	}
	step := rapid.IntRange(1, 2).Draw(t, "step")
	var states []parted.State
	for i := range rapid.IntRange(1, 8).Draw(t, "GPUs") {
		s := parted.State{GPU: parted.GPU{Index: i * step, PCI: 0x1EB810DE}}
		if rapid.IntRange(0, 4).Draw(t, "capable") > 0 {
			m := kinds[rapid.IntRange(0, len(kinds)-1).Draw(t, "kind")]
			s.Model, s.Capable, s.PCI = m, true, m.Spec().PCIDeviceIDs[0]
			s.Enabled = rapid.Bool().Draw(t, "enabled")
		}
		if s.Enabled {
			s.Instances = genInstances(t, s.Model)
		}
		states = append(states, s)
	}
	return states
}

// genInstances draws what stands on a GPU of the model: GPU instances at free
// starts, some filled with compute instances of one slice.
func genInstances(t *rapid.T, m *mig.Model) mig.Demand {
	var profiles []mig.Profile
	for p := range m.PlainProfiles() {
		profiles = append(profiles, p)
	}
	d, l := mig.Demand{}, m.Empty()
	for range rapid.IntRange(0, 3).Draw(t, "instances") {
		p := profiles[rapid.IntRange(0, len(profiles)-1).Draw(t, "profile")]
		free := slices.Collect(l.FreeStarts(p).All())
		if len(free) == 0 {
			continue
		}
		var err error
		l, err = l.With(p, free[rapid.IntRange(0, len(free)-1).Draw(t, "start")])
		require.NoError(t, err)
		small := fmt.Sprintf("1c.%s", p.Name)
		if p.ComputeSlices > 1 && rapid.Bool().Draw(t, "small") {
			for c := range m.ComputeProfiles(p.Name) {
				if c.Name == small {
					d[small] += rapid.IntRange(1, c.MaxInstances).Draw(t, "compute")
					break
				}
			}
			continue
		}
		d[p.Name]++
	}
	return d
}
