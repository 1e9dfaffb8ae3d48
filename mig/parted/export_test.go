package parted_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/parted"
)

func TestExport(t *testing.T) {
	t.Parallel()
	halves := mig.Demand{"3g.20gb": 2, "1g.5gb": 0}
	full := mig.Demand{"7g.40gb": 1}
	off := func(g parted.GPU) parted.State { return parted.State{GPU: g} }
	for _, c := range []struct {
		name   string
		states []parted.State
		want   string
	}{
		{
			"one state",
			[]parted.State{on(node(a100x40)[0], halves), on(node(a100x40, a100x40)[1], mig.Demand{"3c.3g.20gb": 2})},
			"  current:\n    - devices: all\n      mig-enabled: true\n      mig-devices:\n        \"3g.20gb\": 2\n",
		},
		{
			"one model in two states",
			[]parted.State{on(node(a100x40)[0], halves), on(node(0, a100x40)[1], full), on(node(0, 0, a100x40)[2], halves)},
			"  current:\n    - devices: [0, 2]\n      mig-enabled: true\n      mig-devices:\n        \"3g.20gb\": 2\n" +
				"    - devices: [1]\n      mig-enabled: true\n      mig-devices:\n        \"7g.40gb\": 1\n",
		},
		{
			"a state for each model",
			[]parted.State{on(node(a100x40)[0], halves), on(node(0, a30)[1], nil), off(node(0, 0, a100x80)[2]), off(parted.GPU{Index: 3, PCI: t4})},
			"  current:\n    - device-filter: \"0x20B010DE\"\n      devices: all\n      mig-enabled: true\n      mig-devices:\n        \"3g.20gb\": 2\n" +
				"    - device-filter: \"0x20B710DE\"\n      devices: all\n      mig-enabled: true\n      mig-devices: {}\n" +
				"    - device-filter: [\"0x1EB810DE\", \"0x20B210DE\"]\n      devices: all\n      mig-enabled: false\n",
		},
		{
			"states across models",
			[]parted.State{off(node(a100x40)[0]), on(node(0, a100x40)[1], full), off(node(0, 0, a30)[2])},
			"  current:\n    - device-filter: [\"0x20B010DE\", \"0x20B710DE\"]\n      devices: [0, 2]\n      mig-enabled: false\n" +
				"    - device-filter: \"0x20B010DE\"\n      devices: [1]\n      mig-enabled: true\n      mig-devices:\n        \"7g.40gb\": 1\n",
		},
		{
			"an unknown id",
			[]parted.State{off(parted.GPU{Index: 0, Capable: true}), on(node(0, a100x40)[1], full)},
			"  current:\n    - devices: [0]\n      mig-enabled: false\n" +
				"    - devices: [1]\n      mig-enabled: true\n      mig-devices:\n        \"7g.40gb\": 1\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := parted.Export(c.states, "")
			require.NoError(t, err)
			var b bytes.Buffer
			require.NoError(t, parted.Write(&b, got))
			assert.Equal(t, "version: v1\nmig-configs:\n"+c.want, b.String())
		})
	}
}

func TestExportErrors(t *testing.T) {
	t.Parallel()
	g := node(a100x40)[0]
	for name, states := range map[string][]parted.State{
		"no GPU":             nil,
		"an index twice":     {{GPU: g}, {GPU: g}},
		"a negative index":   {{GPU: parted.GPU{Index: -1}}},
		"off with instances": {{GPU: g, Instances: mig.Demand{"1g.5gb": 1}}},
		"on and not capable": {{GPU: parted.GPU{PCI: t4}, Enabled: true}},
		"fewer than nothing": {on(g, mig.Demand{"1g.5gb": -1})},
	} {
		c, err := parted.Export(states, "")
		require.ErrorIs(t, err, parted.ErrInventory, name)
		assert.Nil(t, c)
	}
	_, err := parted.Export([]parted.State{on(g, mig.Demand{"1g": 1})}, "")
	require.ErrorIs(t, err, parted.ErrFormat)
}

// TestExportAsserts: what is exported can be written, read, selected and linted,
// and describes the node that it came from, and nothing is matched twice.
func TestExportAsserts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		states := genStates(t)
		c, err := parted.Export(states, "now")
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, parted.Write(&b, c))
		c, err = parted.Parse(b.Bytes(), "")
		require.NoError(t, err)
		r, err := c.Assert("now", rapid.Permutation(states).Draw(t, "order"), nil)
		require.NoError(t, err, b.String())
		require.Empty(t, r.Differences, b.String())
		require.Empty(t, r.Warnings, b.String())
		require.True(t, r.Strict(), b.String())
		require.Len(t, c.Labels, 1)

		again, err := parted.Export(states, "now")
		require.NoError(t, err)
		requireSame(t, again, &parted.Config{Labels: c.Labels})
	})
}
