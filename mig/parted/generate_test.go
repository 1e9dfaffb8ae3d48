package parted_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/parted"
)

func TestGenerate(t *testing.T) {
	t.Parallel()
	labels := func(c *parted.Config) (names []string) {
		for _, l := range c.Labels {
			names = append(names, l.Name)
		}
		return names
	}
	c := parted.Generate(lookup(t, "a30-24gb"))
	assert.Equal(t, []string{
		"all-disabled", "all-enabled", "all-1g.6gb", "all-1g.6gb.me", "all-2g.12gb", "all-2g.12gb.me", "all-4g.24gb", "all-balanced",
	}, labels(c))
	for name, want := range map[string]mig.Demand{
		"all-enabled":    {},
		"all-1g.6gb":     {"1g.6gb": 4},
		"all-2g.12gb.me": {"2g.12gb+me": 1},
		"all-balanced":   {"1g.6gb": 2, "2g.12gb": 1},
	} {
		l, err := c.Label(name)
		require.NoError(t, err)
		require.Len(t, l.Entries, 1)
		assert.Equal(t, want, l.Entries[0].Demand())
		assert.True(t, l.Entries[0].Enabled && l.Entries[0].All)
		assert.Empty(t, l.Entries[0].Filters, "one model needs no filter")
	}

	c = parted.Generate(lookup(t, "rtx-pro-6000-96gb"))
	for _, name := range []string{"all-1g.24gb-me", "all-1g.24gb.me.all", "all-2g.48gb.gfx"} {
		_, err := c.Label(name)
		require.NoError(t, err)
	}

	c = parted.Generate(lookup(t, "a100-40gb"), lookup(t, "a100-80gb"), lookup(t, "a100-40gb"))
	l, err := c.Label("all-1g.10gb")
	require.NoError(t, err)
	require.Len(t, l.Entries, 2, "one name, two things")
	assert.Equal(t, mig.Demand{"1g.10gb": 4}, l.Entries[0].Demand())
	assert.Equal(t, mig.Demand{"1g.10gb": 7}, l.Entries[1].Demand())
	l, err = c.Label("all-balanced")
	require.NoError(t, err)
	assert.Equal(t, mig.Demand{"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}, l.Entries[0].Demand())

	assert.Equal(t, []string{"all-disabled", "all-enabled"}, labels(parted.Generate()))
}

// TestGenerateLints: what is generated for any models is clean, and every label
// can be selected on a node of them, each GPU matched once. It matches one at least.
func TestGenerateLints(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		picked := make([]*mig.Model, rapid.IntRange(1, 4).Draw(t, "models"))
		for i := range picked {
			picked[i] = genModel(t)
		}
		c := parted.Generate(picked...)
		requireRoundTrip(t, c)
		for _, f := range parted.Lint(c, picked...) {
			t.Fatalf("%s", f)
		}
		var gpus []parted.GPU
		for _, m := range picked {
			id := m.Spec().PCIDeviceIDs[0]
			if slices.ContainsFunc(picked, func(o *mig.Model) bool { return o != m && o.Spec().PCIDeviceIDs[0] == id }) {
				return // a label for the one matches a GPU of the other too
			}
			gpus = append(gpus, parted.GPU{Index: len(gpus), PCI: id, Model: m, Capable: true})
		}
		for _, l := range c.Labels {
			s, err := c.Select(l.Name, gpus, nil)
			require.NoError(t, err)
			require.Len(t, s.Targets, len(gpus))
		}
	})
}

// TestGenerateAll covers every model at once, those without placements too.
func TestGenerateAll(t *testing.T) {
	t.Parallel()
	c := parted.Generate(models(false)...)
	requireRoundTrip(t, c)
	for _, f := range parted.Lint(c) {
		assert.Equal(t, parted.Warning, f.Severity, f)
		assert.Contains(t, f.Message, "not published", f)
	}
}
