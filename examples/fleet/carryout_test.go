package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
)

// books returns a cluster of one node with an uncut GPU and two A100 in MIG
// mode, and three instances on them.
func books(t *testing.T) *placement.Cluster {
	t.Helper()
	a100, err := mig.Lookup("a100-40gb")
	require.NoError(t, err)
	c, err := placement.NewCluster([]placement.NodeSpec{
		{Name: "mixed", CPU: 64000, GPUs: []placement.GPUSpec{{}, {MIG: a100}, {MIG: a100}}},
		{Name: "plain", CPU: 64000, GPUs: []placement.GPUSpec{{}}},
	})
	require.NoError(t, err)
	for _, a := range []struct {
		id, profile string
		gpu, start  int
	}{{"a", "3g.20gb", 1, 4}, {"b", "1g.5gb", 1, 2}, {"c", "7g.40gb", 2, 0}} {
		shape := fragmentation.Shape{CPU: 1000, GPUs: 1, Profile: a.profile}
		spot := placement.Spot{GPUs: placement.GPUs(a.gpu), Start: a.start}
		require.NoError(t, c.Place("mixed", placement.Assignment{Task: placement.Task{ID: a.id, Shape: shape}, Spot: spot}))
	}
	whole := fragmentation.Shape{CPU: 1000, GPUs: 1, Milli: fragmentation.Whole}
	require.NoError(t, c.Place("mixed", placement.Assignment{Task: placement.Task{ID: "d", Shape: whole}, Spot: placement.Spot{GPUs: placement.GPUs(0)}}))
	return c
}

func TestCarryOut(t *testing.T) {
	t.Parallel()
	out, err := carryOut(t.Context(), books(t))
	require.NoError(t, err)
	assert.Equal(t, 2, out.GPUs)
	assert.Equal(t, 3, out.Instances)
	assert.Empty(t, out.Differences)
	require.Len(t, out.nodes, 1)
	require.Len(t, out.nodes[0].layouts, 2)
	assert.Equal(t, "1g.5gb@2 3g.20gb@4", out.nodes[0].layouts[0].String())
	assert.Equal(t, "7g.40gb@0", out.nodes[0].layouts[1].String())
}

// TestDisagreement lets somebody else work on the devices.
func TestDisagreement(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T) *machine {
		t.Helper()
		m, err := openMachine(t.Context(), books(t).Node("mixed"))
		require.NoError(t, err)
		return m
	}
	t.Run("an instance is gone", func(t *testing.T) {
		t.Parallel()
		m := open(t)
		refused, err := m.create(t.Context())
		require.NoError(t, err)
		require.Empty(t, refused)
		state, err := m.devices[1].State(t.Context())
		require.NoError(t, err)
		half, there := state.At(4)
		require.True(t, there)
		require.NoError(t, m.devices[1].Destroy(t.Context(), half))
		layouts, differences, err := m.compare(t.Context())
		require.NoError(t, err)
		require.Len(t, layouts, 2)
		assert.Equal(t, []string{"node mixed GPU 1: the books say 1g.5gb@2 3g.20gb@4, the GPU holds 1g.5gb@2"}, differences)
	})
	t.Run("an instance is in the way", func(t *testing.T) {
		t.Parallel()
		m := open(t)
		_, err := m.devices[2].Create(t.Context(), mig.Instance{Profile: "1g.5gb", Start: 6})
		require.NoError(t, err)
		refused, err := m.create(t.Context())
		require.NoError(t, err)
		require.Len(t, refused, 1)
		assert.Contains(t, refused[0], "node mixed GPU 2: c refused: ")
		assert.Contains(t, refused[0], "1g.5gb@6")
		_, differences, err := m.compare(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"node mixed GPU 2: the books say 7g.40gb@0, the GPU holds 1g.5gb@6"}, differences)
	})
	t.Run("what the program says", func(t *testing.T) {
		t.Parallel()
		r := &report{CarriedOut: &carriedOut{Policy: "fgd", GPUs: 2, Instances: 2, Differences: []string{"node mixed GPU 1: …"}}}
		assert.Equal(t, exitNo, r.status())
		var out bytes.Buffer
		r.CarriedOut.writeText(&out)
		assert.Contains(t, out.String(), "\nnode mixed GPU 1: …\n2 instances on 2 GPUs read back; books and devices disagree\n")
		assert.Equal(t, exitDone, (&report{CarriedOut: &carriedOut{}}).status())
		assert.Equal(t, exitDone, (&report{}).status())
	})
}
