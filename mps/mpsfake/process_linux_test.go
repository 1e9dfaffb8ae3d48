package mpsfake_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

const (
	noDaemon = "Cannot find MPS control daemon process\n"
	running  = "An instance of this daemon is already running\n"
)

// How long to wait for what has to come, and how often to look. Only a failure or a very
// busy machine takes that long.
const (
	patience = 30 * time.Second
	poll     = 2 * time.Millisecond
)

// link is the fake program: this test binary under its name.
func link(t *testing.T) string {
	t.Helper()
	path, err := mpsfake.Link(t.TempDir())
	require.NoError(t, err)
	return path
}

// shortDir is a directory whose path leaves room for a socket's name.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mps") //nolint:usetesting // the path of t.TempDir grows with the test's name
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// start is a running daemon and a client's Exec for it.
func start(t *testing.T, o mpsfake.Options) (*mpsfake.Process, *mps.Exec) {
	t.Helper()
	if o.Program == "" {
		o.Program = link(t)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p, err := mpsfake.Start(ctx, o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Stop()) })
	return p, &mps.Exec{
		Path: o.Program, Directories: mps.Directories{Pipe: p.Pipe, Log: p.Log}, Env: o.Setup.Environ(),
	}
}

// client speaks to a process, and would notice if it became another.
func client(p *mpsfake.Process, x *mps.Exec) *mps.Client {
	return mps.New(x, mps.Options{Timeout: patience, Identity: mps.PIDFile(p.Pipe)})
}

func run(t *testing.T, x *mps.Exec, input string, args ...string) mps.Output {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := x.Run(ctx, mps.Call{Args: args, Input: input})
	require.NoError(t, err)
	return out
}

func TestPipeDirectoryHasTheKindsOfARealOne(t *testing.T) {
	t.Parallel()
	p, _ := start(t, mpsfake.Options{})
	pid, err := p.PID()
	require.NoError(t, err)

	for name, mode := range map[string]os.FileMode{
		"control":                     os.ModeSocket | 0o666,
		"control_privileged":          os.ModeSocket | 0o755,
		"control_lock":                0o666,
		"log":                         os.ModeNamedPipe | 0o777,
		"nvidia-cuda-mps-control.pid": 0o666,
	} {
		info, err := os.Stat(filepath.Join(p.Pipe, name))
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode(), name)
	}
	entries, err := os.ReadDir(p.Pipe)
	require.NoError(t, err)
	assert.Len(t, entries, 5)

	text, err := os.ReadFile(filepath.Join(p.Pipe, "nvidia-cuda-mps-control.pid"))
	require.NoError(t, err)
	assert.Equal(t, strconv.Itoa(pid), string(text), "no newline behind it")

	for _, name := range []string{"control", "control_privileged"} {
		conn, err := net.Dial("unixpacket", filepath.Join(p.Pipe, name))
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		_, err = net.Dial("unix", filepath.Join(p.Pipe, name))
		require.ErrorIs(t, err, syscall.EPROTOTYPE, "%s takes packets only", name)
	}

	lock, err := os.OpenFile(filepath.Join(p.Pipe, "control_lock"), os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, lock.Close()) })
	held := syscall.Flock_t{Type: syscall.F_WRLCK}
	require.NoError(t, syscall.FcntlFlock(lock.Fd(), syscall.F_GETLK, &held))
	assert.EqualValues(t, syscall.F_WRLCK, held.Type)
	assert.EqualValues(t, pid, held.Pid, "the lock is the daemon's")
}

func TestLinesOfTheFIFOComeIntoTheServersLog(t *testing.T) {
	t.Parallel()
	p, _ := start(t, mpsfake.Options{})
	fifo, err := os.OpenFile(filepath.Join(p.Pipe, "log"), os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = fifo.WriteString("a line of a server\n")
	require.NoError(t, err)
	require.NoError(t, fifo.Close())
	require.Eventually(t, func() bool {
		text, _ := os.ReadFile(filepath.Join(p.Log, "server.log"))
		return strings.HasSuffix(string(text), "a line of a server\n")
	}, patience, poll)
}

func TestStartInTheBackground(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	setup := mpsfake.Setup{Hooks: "@mpsfake-test-" + filepath.Base(dir), Owner: os.Getpid()}
	x := &mps.Exec{
		Path:        link(t),
		Directories: mps.Directories{Pipe: filepath.Join(dir, "pipe"), Log: filepath.Join(dir, "log")},
		Env:         setup.Environ(),
	}
	p := mpsfake.Attach(setup.Hooks)
	t.Cleanup(func() { assert.NoError(t, p.Stop()) })

	assert.Equal(t, mps.Output{Stdout: noDaemon, Exit: 1}, run(t, x, "get_server_list"))
	began := time.Now()
	x.WaitDelay = patience
	assert.Equal(t, mps.Output{}, run(t, x, "", "-d"))
	assert.Less(t, time.Since(began), patience, "it has detached: nothing holds the outputs open")
	assert.Equal(t, mps.Output{Stdout: running, Exit: 1}, run(t, x, "", "-d"))
	assert.Equal(t, mps.Output{Stdout: running, Exit: 1}, run(t, x, "", "-f"))

	// The sockets may come a moment later.
	require.Eventually(t, func() bool { return run(t, x, "get_server_list") == mps.Output{} }, patience, poll)
	id, err := mps.PIDFile(x.Directories.Pipe)()
	require.NoError(t, err)
	pid, err := p.PID()
	require.NoError(t, err)
	assert.Equal(t, pid, id.PID)
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	require.NoError(t, err)
	assert.Equal(t, "nvidia-cuda-mps-control\x00-d\x00", string(line))
	session, _, errno := syscall.Syscall(syscall.SYS_GETSID, uintptr(pid), 0, 0)
	require.Zero(t, errno)
	assert.EqualValues(t, pid, session, "a session of its own")

	assert.Equal(t, mps.Output{}, run(t, x, "quit"))
	require.Eventually(t, func() bool { return run(t, x, "get_server_list") == mps.Output{Stdout: noDaemon, Exit: 1} },
		patience, poll)
	_, err = os.Stat(filepath.Join(x.Directories.Pipe, "nvidia-cuda-mps-control.pid"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestEnvironmentOfTheProgramWins(t *testing.T) {
	t.Parallel()
	var o mpsfake.Options
	o.Env = []string{"CUDA_MPS_CLIENT_PRIORITY=1"}
	o.Setup.Config.Env = map[string]string{percentEnv: "40", "CUDA_MPS_CLIENT_PRIORITY": "0"}
	p, x := start(t, o)
	assert.Equal(t, mps.Output{Stdout: "40.0\n"}, run(t, x, "get_default_active_thread_percentage"))
	assert.Equal(t, mps.Output{Stdout: "1\n"}, run(t, x, "get_default_client_priority"))
	at, err := p.Connect(mpsfake.Client{PID: 501})
	require.NoError(t, err)
	assert.Equal(t, 52, at.Shares[0].SMs)
}

func TestComplaintsOnStandardError(t *testing.T) {
	t.Parallel()
	x := &mps.Exec{
		Path: link(t), Directories: mps.Directories{Pipe: shortDir(t), Log: t.TempDir()},
		Env: mpsfake.Setup{Stderr: true}.Environ(),
	}
	assert.Equal(t, mps.Output{Stderr: noDaemon, Exit: 1}, run(t, x, "get_server_list"))
	_, err := mps.New(x, mps.Options{}).Servers(t.Context())
	require.ErrorIs(t, err, mps.ErrNoDaemon)
}

// Case 79: the path counted is that of the control socket.
func TestPathOfASocketCanBeTooLong(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	for _, length := range []int{107, 108} {
		setup := mpsfake.Setup{Hooks: "@mpsfake-test-" + filepath.Base(dir) + strconv.Itoa(length), Owner: os.Getpid()}
		pipe := filepath.Join(dir, strings.Repeat("p", length-len(dir)-len("//control")))
		x := &mps.Exec{
			Path: link(t), Directories: mps.Directories{Pipe: pipe, Log: filepath.Join(dir, "log")}, Env: setup.Environ(),
		}
		require.Len(t, x.Directories.Control(), length)
		out := run(t, x, "", "-d")
		assert.Equal(t, mps.Output{}, out, "the start says nothing")
		if length > 107 {
			require.Eventually(t, func() bool { return len(processesWith(setup.Hooks)) == 0 }, patience, poll)
			assert.Equal(t, mps.Output{Stdout: noDaemon, Exit: 1}, run(t, x, "get_server_list"))
			_, err := mps.Open(x.Directories, mps.Options{})
			require.ErrorIs(t, err, mps.ErrInput)
			continue
		}
		p := mpsfake.Attach(setup.Hooks)
		t.Cleanup(func() { assert.NoError(t, p.Stop()) })
		require.Eventually(t, func() bool { return run(t, x, "get_server_list") == mps.Output{} }, patience, poll)
	}
}
