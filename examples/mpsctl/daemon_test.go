package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

// started is a fake daemon that mpsctl reaches as it would a real one.
func started(t *testing.T, config mpsfake.Config) (p *mpsfake.Process, flags []string) {
	t.Helper()
	needsProcess(t)
	dir := t.TempDir()
	program, err := mpsfake.Link(dir)
	require.NoError(t, err)
	p, err = mpsfake.Start(t.Context(), mpsfake.Options{
		Program: program, Pipe: filepath.Join(dir, "pipe"), Log: filepath.Join(dir, "log"),
		Setup: mpsfake.Setup{Config: config},
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Stop()) })
	return p, []string{"-pipe", p.Pipe, "-log", p.Log, "-program", program}
}

// on is a command with the flags that reach a daemon.
func on(flags []string, line string) []string { return append(strings.Fields(line), flags...) }

// TestFakeDaemon: commands that build on one another, from its start to its end.
func TestFakeDaemon(t *testing.T) {
	t.Parallel()
	needsProcess(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read, write := io.Pipe()
	var errs strings.Builder
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"fake", "-dir", dir, "-json"}, strings.NewReader(""), write, &errs)
	}()
	var a fakeAnswer
	require.NoError(t, json.NewDecoder(read).Decode(&a))
	flags := []string{"-pipe", a.PipeDirectory, "-log", a.LogDirectory, "-program", a.Program}

	s := answer[statusAnswer](t, exitDone, on(flags, "status")...)
	assert.Equal(t, 2, s.Protocol, "asked for")
	assert.Equal(t, a.PID, *s.PID)
	done(t, on(flags, "limits set -percent 30 -memory 0=20G")...)
	l := answer[limitsAnswer](t, exitDone, on(flags, "limits get")...).Limits[0]
	assert.InDelta(t, 30, *l.Percent, 0)
	assert.EqualValues(t, 20480, *l.Memory[0].MiB)
	done(t, on(flags, "terminate -client 501")...)
	for _, c := range answer[clientsAnswer](t, exitDone, on(flags, "clients")...).Clients {
		assert.NotEqual(t, 501, c.PID)
	}

	status, _, said := call(t, "fake", "-dir", dir)
	assert.Equal(t, exitBad, status)
	assert.Contains(t, said, fmt.Sprintf("daemon %d runs in %s already", a.PID, dir))
	done(t, on(flags, "status")...)

	cancel()
	assert.Equal(t, 130, <-ended)
	assert.Equal(t, "mpsctl: interrupted\n", errs.String())
	assert.NoFileExists(t, a.Program)

	// One that was killed leaves its link; a file is somebody else's.
	require.NoError(t, os.Symlink(filepath.Join(dir, "gone"), a.Program))
	done(t, "fake", "-dir", dir, "-for", "1ms")
	require.NoError(t, os.WriteFile(a.Program, nil, 0o600))
	status, _, said = call(t, "fake", "-dir", dir)
	assert.Equal(t, exitBad, status)
	assert.Contains(t, said, a.Program+" is in the way")
	assert.FileExists(t, a.Program)
}

// TestNoDaemon: that there is none is an answer, and no reason to wait.
func TestNoDaemon(t *testing.T) {
	t.Parallel()
	_, flags := started(t, mpsfake.Config{})
	flags[1] = filepath.Join(filepath.Dir(flags[1]), "other")
	for _, command := range []string{
		"status", "servers", "clients", "limits get", "limits set -percent 3", "partition list", "terminate -client 5",
		"partition add -device GPU-3 -chunks 1 -protocol 2", "status -protocol 2",
	} {
		a := answer[noAnswer](t, exitNo, on(flags, command)...)
		assert.Equal(t, "no daemon", a.Reason.Kind, command)
		_, out, _ := call(t, on(flags, command)...)
		assert.Contains(t, out, "Cannot find MPS control daemon process", command)
	}
}

// TestDaemonThatHangs: every call has an end.
func TestDaemonThatHangs(t *testing.T) {
	t.Parallel()
	_, flags := started(t, mpsfake.Config{Rules: []mpsfake.Rule{{Always: true, Trouble: mpsfake.Hang}}})
	begin := time.Now()
	a := answer[noAnswer](t, exitNo, on(flags, "status -timeout 50ms")...)
	assert.Equal(t, "timed out", a.Reason.Kind)
	assert.Less(t, time.Since(begin), 5*time.Second)

	// A kill is not safe when nobody said that it is.
	terminated := answer[terminateAnswer](t, exitNo, on(flags, "terminate -timeout 50ms -protocol 2 -server 7 -client 8")...)
	assert.False(t, terminated.Clients[0].SafeToKill)
	assert.Equal(t, "timed out", terminated.Clients[0].Reason.Kind)

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	status, out, errs := callUntil(ctx, on(flags, "status -timeout 1h")...)
	assert.Equal(t, 130, status, "interrupted")
	assert.Empty(t, out)
	assert.Equal(t, "mpsctl: interrupted\n", errs)
}

// TestDaemonReplaced: what a command reads is of one daemon.
func TestDaemonReplaced(t *testing.T) {
	t.Parallel()
	p, flags := started(t, mpsfake.Config{})
	require.NoError(t, p.AddRule(mpsfake.Rule{Command: "get_server_list", Nth: 2, Trouble: mpsfake.Die}))
	a := answer[noAnswer](t, exitNo, on(flags, "status")...)
	assert.Equal(t, "no daemon", a.Reason.Kind)
}

// TestSuccessThatIsNone: exit status 0 with a failure in the text, and a value that
// was taken and is not there.
func TestSuccessThatIsNone(t *testing.T) {
	t.Parallel()
	p, flags := started(t, mpsfake.Config{})
	require.NoError(t, p.AddRule(mpsfake.Rule{Command: "set_default", Always: true, Trouble: mpsfake.Say, Text: "error: failed\n"}))
	a := answer[setAnswer](t, exitNo, on(flags, "limits set -percent 30 -memory 0=1G")...)
	assert.False(t, a.Done)
	require.Len(t, a.Settings, 1, "the rest is not tried")
	assert.Equal(t, "reply not understood", a.Settings[0].Reason.Kind)

	p, flags = started(t, mpsfake.Config{})
	require.NoError(t, p.AddRule(mpsfake.Rule{Command: "set_default", Always: true, Trouble: mpsfake.Say, Text: "30.0\n"}))
	a = answer[setAnswer](t, exitNo, on(flags, "limits set -percent 30")...)
	assert.False(t, a.Settings[0].Verified)
	assert.Equal(t, "not as set", a.Settings[0].Reason.Kind)

	p, flags = started(t, mpsfake.Config{})
	require.NoError(t, p.AddRule(mpsfake.Rule{Command: "get_default", Always: true, Trouble: mpsfake.Say, Text: "thirty\n"}))
	a = answer[setAnswer](t, exitNo, on(flags, "limits set -percent 30 -protocol 2")...)
	assert.Equal(t, "not verified", a.Settings[0].Reason.Kind)
	a = answer[setAnswer](t, exitDone, on(flags, "limits set -percent 30 -protocol 2 -accept-unread")...)
	assert.False(t, a.Settings[0].Verified)
	assert.Equal(t, "thirty", a.Settings[0].Read)
	assert.Contains(t, done(t, on(flags, "limits set -percent 30 -protocol 2 -accept-unread")...), "set, not verified")
}

// TestServerInFault: the daemon answers, and takes no clients.
func TestServerInFault(t *testing.T) {
	t.Parallel()
	for _, protocol := range []int{2, 3} {
		p, flags := started(t, mpsfake.Config{Protocol: protocol})
		assert.Contains(t, done(t, on(flags, "status")...), "no server")
		at, err := p.Connect(mpsfake.Client{PID: 501, UID: 1000})
		require.NoError(t, err)
		require.NoError(t, p.Fault(at.Server, 0))
		a := answer[statusAnswer](t, exitNo, on(flags, "status")...)
		assert.Equal(t, protocol, a.Protocol)
		assert.False(t, a.Ready)
		assert.NotEmpty(t, a.Reason.Detail)
	}
}

// TestSeveralServers: whose client is to be terminated has to be said, and none is a no.
func TestSeveralServers(t *testing.T) {
	t.Parallel()
	p, flags := started(t, mpsfake.Config{})
	a := answer[noAnswer](t, exitNo, on(flags, "terminate -client 5")...)
	assert.Equal(t, "no server", a.Reason.Kind)
	require.NoError(t, p.AddRule(mpsfake.Rule{Command: "get_server_list", Always: true, Trouble: mpsfake.Say, Text: "71\n72\n"}))
	status, out, errs := call(t, on(flags, "terminate -client 5")...)
	assert.Equal(t, exitBad, status)
	assert.Empty(t, out)
	assert.Contains(t, errs, "[71 72]")
}

// TestInMemory: the fake of a system that has no process of its own for it.
func TestInMemory(t *testing.T) {
	t.Parallel()
	inv := &invocation{replies: "quiet"}
	s := inv.fakeConfig(false)
	s.memory = true
	st, err := startStage(t.Context(), s)
	require.NoError(t, err)
	c := mps.New(st.runner, mps.Options{Identity: st.identity})
	require.NoError(t, st.populate(t.Context(), c))
	servers, err := c.Servers(t.Context())
	require.NoError(t, err)
	pids, err := c.Clients(t.Context(), servers[0])
	require.NoError(t, err)
	assert.Equal(t, []int{501, 502}, pids)
	for _, name := range []string{"control.log", "server.log"} {
		text, err := os.ReadFile(filepath.Join(st.directories.Log, name))
		require.NoError(t, err)
		assert.Contains(t, string(text), "501")
	}
	st.close()
	assert.NoDirExists(t, st.directories.Log)
}
