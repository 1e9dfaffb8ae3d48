package mps_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mps"
)

func TestMaxClients(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		q    mps.ClientLimitQuery
		n    int
		how  mps.Certainty
	}{
		{"before Volta", mps.ClientLimitQuery{ComputeMajor: 6}, 16, mps.Documented},
		{"before Volta the later limit does not count", mps.ClientLimitQuery{ComputeMajor: 6, FromVolta: mps.ClientsVoltaLater}, 16, mps.Documented},
		{"V100", mps.ClientLimitQuery{ComputeMajor: 7}, 48, mps.Documented},
		{"H100", mps.ClientLimitQuery{ComputeMajor: 9}, 48, mps.Documented},
		{"H100, recent driver", mps.ClientLimitQuery{ComputeMajor: 9, FromVolta: mps.ClientsVoltaLater}, 60, mps.Documented},
		{"connections as by default", mps.ClientLimitQuery{ComputeMajor: 9, MaxConnections: 2}, 48, mps.Documented},
		{"more connections", mps.ClientLimitQuery{ComputeMajor: 9, MaxConnections: 8}, 48, mps.AtMost},
		{"a seventh of a GPU", mps.ClientLimitQuery{ComputeMajor: 8, InstanceSize: 1, DeviceSize: 7}, 6, mps.Estimated},
		{"three sevenths", mps.ClientLimitQuery{ComputeMajor: 8, InstanceSize: 3, DeviceSize: 7}, 20, mps.Estimated},
		{"the whole GPU as an instance", mps.ClientLimitQuery{ComputeMajor: 8, InstanceSize: 7, DeviceSize: 7}, 48, mps.Estimated},
		{"never none", mps.ClientLimitQuery{ComputeMajor: 8, InstanceSize: 1, DeviceSize: 100}, 1, mps.Estimated},
		{"a seventh, more connections", mps.ClientLimitQuery{ComputeMajor: 8, InstanceSize: 1, DeviceSize: 7, MaxConnections: 3}, 7, mps.AtMost},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l, err := mps.MaxClients(c.q)
			require.NoError(t, err)
			assert.Equal(t, c.n, l.Contexts)
			assert.Equal(t, c.how, l.Certainty)
			assert.Equal(t, c.how == mps.Documented, l.Reason == "")
			require.NoError(t, l.Check(0))
			require.NoError(t, l.Check(c.n))
			require.ErrorIs(t, l.Check(c.n+1), mps.ErrInput)
			require.ErrorIs(t, l.Check(-1), mps.ErrInput)
		})
	}
	for _, q := range []mps.ClientLimitQuery{
		{},
		{ComputeMajor: -1},
		{ComputeMajor: 9, FromVolta: -1},
		{ComputeMajor: 9, MaxConnections: -1},
		{ComputeMajor: 9, InstanceSize: 1},
		{ComputeMajor: 9, DeviceSize: 7},
		{ComputeMajor: 9, InstanceSize: 8, DeviceSize: 7},
		{ComputeMajor: 9, InstanceSize: -1, DeviceSize: 7},
		{ComputeMajor: 7, InstanceSize: 1, DeviceSize: 7},
	} {
		l, err := mps.MaxClients(q)
		require.ErrorIs(t, err, mps.ErrInput, "%+v", q)
		assert.Zero(t, l)
	}
}

// TestMaxClientsInInstances: by estimate, instances that share a GPU never take more
// clients together than the GPU.
func TestMaxClientsInInstances(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.IntRange(1, 8).Draw(t, "whole")
		q := mps.ClientLimitQuery{ComputeMajor: 9, FromVolta: rapid.SampledFrom([]int{48, 60}).Draw(t, "limit"), DeviceSize: whole}
		sum := 0
		for left := whole; left > 0; {
			q.InstanceSize = rapid.IntRange(1, left).Draw(t, "instance")
			left -= q.InstanceSize
			l, err := mps.MaxClients(q)
			require.NoError(t, err)
			sum += l.Contexts
		}
		require.LessOrEqual(t, sum, q.FromVolta)
	})
}

func TestCertaintyString(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "documented, estimated, at most, Certainty(9)",
		mps.Documented.String()+", "+mps.Estimated.String()+", "+mps.AtMost.String()+", "+mps.Certainty(9).String())
}
