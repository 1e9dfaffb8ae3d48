package mpsfake_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

// TestClientAgainstModel runs the client against the fake and a naive model, with
// faults between. Every run has a bubble and its time to itself: a call that hung for
// ever would be a deadlock, and a goroutine that is left keeps the bubble from ending.
func TestClientAgainstModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			m := newMachine(t)
			t.Repeat(map[string]func(*rapid.T){
				"":                      m.look,
				"set default percent":   m.setDefaultPercent,
				"set percent":           m.setPercent,
				"set default limit":     m.setDefaultLimit,
				"set limit":             m.setLimit,
				"set priority":          m.setPriority,
				"start server":          m.startServer,
				"shut down":             m.shutDown,
				"terminate":             m.terminate,
				"read":                  m.read,
				"quit":                  m.quit,
				"a client comes":        m.connect,
				"a client comes, again": m.connect,
				"a client goes":         m.disconnect,
				"fault":                 m.fault,
				"crash":                 m.crash,
				"nobody there":          m.nobodyThere,
			})
		})
	})
}

type machine struct {
	*rig

	model *model
}

func newMachine(t *rapid.T) *machine {
	model := newModel()
	return &machine{newRig(t, mpsfake.Config{GPUs: gpus(modelGPUs), ClientCap: modelCap}, model.reset), model}
}

// pid is a server that is there, or one that is not.
func (m *machine) pid(t *rapid.T) int {
	servers, err := m.client.Servers(t.Context())
	require.NoError(t, err)
	if len(servers) > 0 && rapid.IntRange(0, 9).Draw(t, "wrong server") > 0 {
		return servers[0]
	}
	return 77777
}

// changed judges a set that no fault touched. What is read back cannot be understood in
// every form, where the form is not published.
func (m *machine) changed(t *rapid.T, s mps.Setting, err error, there bool) {
	switch {
	case there:
		require.NoError(t, err)
		require.True(t, s.Verified || m.words == mpsfake.Wordy, "%+v", s)
	default:
		require.False(t, s.Verified)
		require.True(t, err != nil || m.words == mpsfake.Silent, "%+v", s)
	}
}

func (m *machine) setDefaultPercent(t *rapid.T) {
	p := rapid.IntRange(1, 100).Draw(t, "percent")
	var s mps.Setting
	clean, err := m.operate(t, 2, func() { m.model.percent = p }, func(ctx context.Context) (err error) {
		s, err = m.client.SetDefaultPercentage(ctx, float64(p))
		return err
	})
	if clean {
		m.changed(t, s, err, true)
	}
}

func (m *machine) setPercent(t *rapid.T) {
	p, pid := rapid.IntRange(1, 100).Draw(t, "percent"), m.pid(t)
	there := pid != 77777
	var s mps.Setting
	clean, err := m.operate(t, 2, func() {
		if there && m.model.server != nil {
			m.model.server.percent = p
		}
	}, func(ctx context.Context) (err error) {
		s, err = m.client.SetPercentage(ctx, pid, float64(p))
		return err
	})
	if clean {
		m.changed(t, s, err, there)
	}
}

var keys = []string{"0", "1", "7", gpus(1)[0].UUID}

func (m *machine) setDefaultLimit(t *rapid.T) {
	key, mib := rapid.SampledFrom(keys).Draw(t, "device"), rapid.Int64Range(1, 1<<20).Draw(t, "MiB")
	var s mps.Setting
	clean, err := m.operate(t, 2, func() { m.model.pinned[key] = mib }, func(ctx context.Context) (err error) {
		s, err = m.client.SetDefaultPinnedLimit(ctx, key, mib)
		return err
	})
	if clean {
		m.changed(t, s, err, true)
	}
}

func (m *machine) setLimit(t *rapid.T) {
	key, mib := rapid.SampledFrom(keys).Draw(t, "device"), rapid.Int64Range(1, 1<<20).Draw(t, "MiB")
	pid := m.pid(t)
	there := pid != 77777
	var s mps.Setting
	clean, err := m.operate(t, 2, func() {
		if there && m.model.server != nil {
			m.model.server.pinned[key] = mib
		}
	}, func(ctx context.Context) (err error) {
		s, err = m.client.SetPinnedLimit(ctx, pid, key, mib)
		return err
	})
	if clean {
		m.changed(t, s, err, there)
	}
}

func (m *machine) setPriority(t *rapid.T) {
	p := rapid.IntRange(0, 1).Draw(t, "priority")
	var s mps.Setting
	clean, err := m.operate(t, 2, func() { m.model.priority = p }, func(ctx context.Context) (err error) {
		s, err = m.client.SetDefaultClientPriority(ctx, p)
		return err
	})
	if clean {
		m.changed(t, s, err, true)
	}
}

func (m *machine) startServer(t *rapid.T) {
	uid := rapid.IntRange(0, 2).Draw(t, "uid")
	refused := false
	clean, err := m.operate(t, 1, func() { refused = m.model.startServer(uid) }, func(ctx context.Context) error {
		_, err := m.client.StartServer(ctx, uid, false)
		return err
	})
	if clean && m.words != mpsfake.Silent {
		require.Equal(t, refused, err != nil, "%v", err)
	}
}

func (m *machine) shutDown(t *rapid.T) {
	pid, force := m.pid(t), rapid.Bool().Draw(t, "force")
	there := pid != 77777
	clean, err := m.operate(t, 1, func() {
		s := m.model.server
		switch {
		case !there || s == nil:
		case force:
			m.model.lose(s.attached, mpsfake.RPCFailure)
			m.model.server = nil
		default:
			s.draining = true
		}
		m.model.settle()
	}, func(ctx context.Context) error {
		_, err := m.client.ShutdownServer(ctx, pid, force)
		return err
	})
	if clean && m.words != mpsfake.Silent {
		require.Equal(t, there, err == nil, "%v", err)
	}
}

// terminate is safe only if it says so: then the client has lost its contexts.
func (m *machine) terminate(t *rapid.T) {
	server, pid := m.pid(t), rapid.IntRange(1, 9).Draw(t, "client")
	attached := func() bool {
		s, c := m.model.server, m.model.clients[pid]
		return server != 77777 && s != nil && c != nil && slices.Contains(s.attached, c)
	}
	was := attached()
	clean, err := m.operate(t, 1, func() {
		if attached() {
			c := m.model.clients[pid]
			c.state, c.code = mpsfake.Inactive, mpsfake.ClientTerminated
			m.model.leave(c)
		}
	}, func(ctx context.Context) error { return m.client.TerminateClient(ctx, server, pid) })
	if clean {
		require.Equal(t, was, err == nil, "%v", err)
	}
	if err == nil {
		at, ok := m.fake.Client(pid)
		require.True(t, ok)
		require.NotEqual(t, mpsfake.Active, at.State)
	}
}

// read meets faults too: what is answered then is an error, or right.
func (m *machine) read(t *rapid.T) {
	var servers []int
	there := m.model.server != nil
	_, err := m.operate(t, 1, func() {}, func(ctx context.Context) (err error) {
		servers, err = m.client.Servers(ctx)
		return err
	})
	if err == nil && (!m.there || m.kind != mpsfake.Truncate) {
		require.Equal(t, there, len(servers) == 1)
	}
}

func (m *machine) quit(t *rapid.T) {
	m.model.reset()
	require.NoError(t, m.timed(t, 1, func(ctx context.Context) error { return m.client.Quit(ctx, 0) }))
	_, err := m.client.Servers(t.Context())
	require.ErrorIs(t, err, mps.ErrNoDaemon)
	require.NoError(t, m.client.Quit(t.Context(), 0), "an absent daemon is as quiet as can be")
	require.Empty(t, m.fake.Start("-d"))
	out := m.fake.Start("-d")
	require.Equal(t, 1, out.Exit)
}

func (m *machine) connect(t *rapid.T) {
	c := &modelClient{
		pid: rapid.IntRange(1, 9).Draw(t, "pid"), uid: rapid.IntRange(0, 2).Draw(t, "uid"),
		devices: rapid.SampledFrom([][]int{{0}, {1}, {0, 1}}).Draw(t, "devices"),
		env:     rapid.SampledFrom([]int{0, 0, 1, 30, 100}).Draw(t, "env"),
	}
	_, err := m.fake.Connect(c.client())
	if m.model.clients[c.pid] != nil {
		require.ErrorIs(t, err, mpsfake.ErrInput)
		return
	}
	require.NoError(t, err)
	m.model.connect(c)
}

func (m *machine) disconnect(t *rapid.T) {
	pid := rapid.IntRange(1, 9).Draw(t, "pid")
	c := m.model.clients[pid]
	err := m.fake.Disconnect(pid)
	if c == nil {
		require.ErrorIs(t, err, mpsfake.ErrInput)
		return
	}
	require.NoError(t, err)
	delete(m.model.clients, pid)
	m.model.leave(c)
}

func (m *machine) fault(t *rapid.T) {
	device := rapid.IntRange(0, modelGPUs-1).Draw(t, "device")
	s := m.model.server
	uses := func(c *modelClient) bool { return slices.Contains(c.devices, device) }
	err := m.fake.Fault(m.pid(t), device)
	if err == nil {
		m.model.fault(device)
		return
	}
	require.ErrorIs(t, err, mpsfake.ErrInput)
	if s != nil && slices.ContainsFunc(s.attached, uses) {
		require.ErrorContains(t, err, "77777")
	}
}

func (m *machine) crash(t *rapid.T) {
	if err := m.fake.CrashServer(m.pid(t)); err == nil {
		m.model.crash()
	}
}

// nobodyThere: a daemon that was killed leaves a stale pid file, and every operation
// says that there is none.
func (m *machine) nobodyThere(t *rapid.T) {
	m.fake.Kill()
	m.model.reset()
	_, err := m.client.DefaultPercentage(t.Context())
	require.ErrorIs(t, err, mps.ErrNoDaemon)
	_, err = m.client.SetDefaultPercentage(t.Context(), 50)
	require.ErrorIs(t, err, mps.ErrNoDaemon)
	m.fake.Replace(0)
}
