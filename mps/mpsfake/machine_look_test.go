package mpsfake_test

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

// look compares all that can be seen with the model.
func (m *machine) look(t *rapid.T) {
	require.NoError(t, m.fake.Check())
	ctx := t.Context()
	percent, err := m.client.DefaultPercentage(ctx)
	require.NoError(t, err)
	require.InDelta(t, m.model.percent, percent, 0)
	priority, err := m.client.DefaultClientPriority(ctx)
	same(m, t, m.model.priority, priority, err)
	for _, key := range keys {
		mib, err := m.client.DefaultPinnedLimit(ctx, key)
		sameLimit(m, t, m.model.pinned, key, mib, err)
	}
	servers, err := m.client.Servers(ctx)
	require.NoError(t, err)
	if m.model.server == nil {
		require.Empty(t, servers)
	} else {
		require.Len(t, servers, 1)
		m.lookAtServer(ctx, t, servers[0])
	}
	m.lookAtClients(t, servers)
}

func (m *machine) lookAtServer(ctx context.Context, t *rapid.T, pid int) {
	s := m.model.server
	state, err := m.client.ServerStatus(ctx, pid)
	want := mps.ServerActive
	if len(s.affected) > 0 {
		want = mps.ServerFault
	}
	same(m, t, want, state, err)
	percent, err := m.client.Percentage(ctx, pid)
	same(m, t, float64(s.percent), percent, err)
	for _, key := range keys {
		mib, err := m.client.PinnedLimit(ctx, pid, key)
		sameLimit(m, t, s.pinned, key, mib, err)
	}
	var pids []int
	for _, c := range s.attached {
		pids = append(pids, c.pid)
	}
	got, err := m.client.Clients(ctx, pid)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(pids), fmt.Sprint(got))
	processes, err := m.client.Processes(ctx, pid)
	require.NoError(t, err)
	seen := map[int]bool{}
	for _, p := range processes {
		require.Equal(t, pid, p.Server)
		seen[p.PID] = true
	}
	slices.Sort(pids)
	require.Equal(t, fmt.Sprint(pids), fmt.Sprint(slices.Sorted(maps.Keys(seen))))
}

func (m *machine) lookAtClients(t *rapid.T, servers []int) {
	for pid, c := range m.model.clients {
		at, ok := m.fake.Client(pid)
		require.True(t, ok)
		require.Equal(t, c.state, at.State, "client %d", pid)
		require.Equal(t, c.code, at.Code, "client %d", pid)
		if c.state != mpsfake.Active {
			continue
		}
		require.Equal(t, servers[0], at.Server)
		require.Len(t, at.Shares, len(c.devices))
		for i, share := range at.Shares {
			require.Equal(t, c.devices[i], share.Ordinal)
			require.Equal(t, smsOf(gpus(modelGPUs)[share.Ordinal].SMs, c.percent), share.SMs)
		}
	}
}

// same: the answer is right. Where its form is not published, a client may also say
// that it does not understand it; it may not be wrong.
func same[T any](m *machine, t *rapid.T, want, got T, err error) {
	if err != nil && m.words == mpsfake.Wordy {
		require.ErrorIs(t, err, mps.ErrUnparsed)
		return
	}
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func sameLimit(m *machine, t *rapid.T, pinned map[string]int64, key string, mib int64, err error) {
	if want, set := pinned[key]; set {
		same(m, t, want, mib, err)
		return
	}
	require.True(t, err != nil || mib == 0, "limit of %s: %d", key, mib)
}
