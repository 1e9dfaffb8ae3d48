package mpsfake_test

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

// TestClientOfProtocol3AgainstModel is TestClientAgainstModel for servers, namespaces
// and their clients.
func TestClientOfProtocol3AgainstModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			m := newMachineV3(t)
			t.Repeat(map[string]func(*rapid.T){
				"":                        m.look,
				"create server":           m.createServer,
				"delete server":           m.deleteServer,
				"create namespace":        m.createNamespace,
				"create namespace, again": m.createNamespace,
				"delete namespace":        m.deleteNamespace,
				"set namespace":           m.setNamespace,
				"terminate":               m.terminate,
				"a client comes":          m.connect,
				"a client comes, again":   m.connect,
				"a client goes":           m.disconnect,
			})
		})
	})
}

type machineV3 struct {
	*rig

	v     mps.V3
	model *modelV3
}

func newMachineV3(t *rapid.T) *machineV3 {
	model := &modelV3{clients: map[int]*clientV3{}}
	r := newRig(t, mpsfake.Config{GPUs: gpus(1), Protocol: 3}, model.reset)
	return &machineV3{r, r.client.V3(), model}
}

func drawServer(t *rapid.T) string { return rapid.SampledFrom([]string{"a", "b"}).Draw(t, "server") }

func drawNamespace(t *rapid.T) string {
	return rapid.SampledFrom([]string{"x", "y", "default"}).Draw(t, "namespace")
}

// write is an operation that the model refuses or not. there tells whether what it is to
// leave is what the model has.
func (m *machineV3) write(
	t *rapid.T, calls int, effect func() (refused bool), there func() bool, run func(context.Context) (mps.V3Reply, error),
) {
	var reply mps.V3Reply
	refused := false
	clean, err := m.operate(t, calls, func() { refused = effect() }, func(ctx context.Context) (err error) {
		reply, err = run(ctx)
		return err
	})
	if err == nil && reply.Verified {
		require.True(t, there(), "%+v", reply)
	}
	switch {
	case !clean:
	case !refused:
		require.NoError(t, err)
		require.True(t, reply.Verified || m.words == mpsfake.Wordy, "%+v", reply)
	case m.words != mpsfake.Silent:
		require.Error(t, err)
	case calls == 2 && !there(): // nothing is said, but a list shows it
		require.ErrorIs(t, err, mps.ErrUnverified)
	}
}

func (m *machineV3) createServer(t *rapid.T) {
	name := drawServer(t)
	m.write(t, 2, func() bool { return m.model.createServer(name) }, func() bool { return m.model.server(name) != nil },
		func(ctx context.Context) (mps.V3Reply, error) {
			return m.v.CreateServer(ctx, name, mps.V3ServerOptions{})
		})
}

func (m *machineV3) deleteServer(t *rapid.T) {
	name, force := drawServer(t), rapid.Bool().Draw(t, "force")
	m.write(t, 2, func() bool { return m.model.deleteServer(name, force) }, func() bool { return m.model.server(name) == nil },
		func(ctx context.Context) (mps.V3Reply, error) { return m.v.DeleteServer(ctx, name, force) })
}

func (m *machineV3) createNamespace(t *rapid.T) {
	server, name := drawServer(t), drawNamespace(t)
	m.write(t, 2, func() bool { return m.model.createNamespace(server, name) },
		func() bool { return m.model.namespace(server, name) != nil },
		func(ctx context.Context) (mps.V3Reply, error) { return m.v.CreateNamespace(ctx, server, name) })
}

func (m *machineV3) deleteNamespace(t *rapid.T) {
	server, name, force := drawServer(t), drawNamespace(t), rapid.Bool().Draw(t, "force")
	m.write(t, 2, func() bool { return m.model.deleteNamespace(server, name, force) },
		func() bool { return m.model.namespace(server, name) == nil },
		func(ctx context.Context) (mps.V3Reply, error) { return m.v.DeleteNamespace(ctx, server, name, force) })
}

func (m *machineV3) setNamespace(t *rapid.T) {
	server, name := drawServer(t), drawNamespace(t)
	percent := rapid.SampledFrom([]int{0, 1, 30, 100}).Draw(t, "percent")
	mib := rapid.Int64Range(0, 1).Draw(t, "limit") * rapid.Int64Range(1, 1<<20).Draw(t, "MiB")
	if percent == 0 && mib == 0 {
		mib = 1
	}
	m.write(t, 3, func() bool { return m.model.setNamespace(server, name, percent, mib) }, func() bool {
		n := m.model.namespace(server, name)
		return n != nil && (percent == 0 || n.percent == percent) && (mib == 0 || n.mib == mib)
	}, func(ctx context.Context) (mps.V3Reply, error) {
		return m.v.SetNamespace(ctx, server, name, mps.V3Limits{MemoryMiB: mib, Percentage: float64(percent)})
	})
}

// terminate is safe only where it says so.
func (m *machineV3) terminate(t *rapid.T) {
	pid := rapid.IntRange(1, 6).Draw(t, "client")
	m.write(t, 1, func() bool { return m.model.terminate(pid) }, func() bool {
		c := m.model.clients[pid]
		return c != nil && c.state == mpsfake.Inactive
	}, func(ctx context.Context) (mps.V3Reply, error) { return m.v.Terminate(ctx, pid) })
}

func (m *machineV3) connect(t *rapid.T) {
	server, name := drawServer(t), drawNamespace(t)
	c := &clientV3{
		pid: rapid.IntRange(1, 6).Draw(t, "pid"), env: rapid.SampledFrom([]int{0, 10, 50}).Draw(t, "env"),
	}
	program := mpsfake.Client{PID: c.pid, Namespace: strings.TrimSuffix(server+"/"+name, "/default"), Env: map[string]string{}}
	if c.env > 0 {
		program.Env[percentEnv] = strconv.Itoa(c.env)
	}
	_, err := m.fake.Connect(program)
	if m.model.clients[c.pid] != nil {
		require.ErrorIs(t, err, mpsfake.ErrInput)
		return
	}
	require.NoError(t, err)
	m.model.connect(c, server, name)
}

func (m *machineV3) disconnect(t *rapid.T) {
	pid := rapid.IntRange(1, 6).Draw(t, "pid")
	err := m.fake.Disconnect(pid)
	require.Equal(t, m.model.clients[pid] != nil, err == nil)
	delete(m.model.clients, pid)
}

// look compares all that can be seen with the model.
func (m *machineV3) look(t *rapid.T) {
	require.NoError(t, m.fake.Check())
	servers, err := m.v.Servers(t.Context())
	require.NoError(t, err)
	require.Len(t, servers, len(m.model.servers))
	for i, s := range m.model.servers {
		require.Equal(t, s.name, servers[i].Name)
		namespaces, err := m.v.Namespaces(t.Context(), s.name)
		require.NoError(t, err)
		require.Len(t, namespaces, len(s.namespaces))
		for k, n := range s.namespaces {
			require.Equal(t, n.name, namespaces[k].Name)
			require.Equal(t, n.limit(), namespaces[k].PinnedMemoryLimit)
			if n.percent > 0 { // else it is not known what is told
				require.InDelta(t, n.percent, namespaces[k].Percentage, 0)
			}
		}
	}
	clients, err := m.v.Clients(t.Context(), "")
	require.NoError(t, err)
	seen := map[int]string{}
	for _, c := range clients {
		seen[c.PID] = c.Server + "/" + c.Namespace
	}
	want := map[int]string{}
	for _, pid := range slices.Sorted(maps.Keys(m.model.clients)) {
		c := m.model.clients[pid]
		at, ok := m.fake.Client(pid)
		require.True(t, ok)
		require.Equal(t, c.state, at.State, "client %d", pid)
		require.Equal(t, c.code, at.Code, "client %d", pid)
		if c.state == mpsfake.Active {
			want[pid] = c.place
			require.Equal(t, smsOf(132, c.percent), at.Shares[0].SMs, "client %d", pid)
			require.Equal(t, c.mib, at.Shares[0].LimitMiB, "client %d", pid)
		}
	}
	require.Equal(t, want, seen)
}
