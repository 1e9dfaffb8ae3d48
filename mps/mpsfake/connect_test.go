package mpsfake_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps/mpsfake"
)

// come connects a client with an environment given in pairs.
func come(t *testing.T, d *mpsfake.Daemon, pid, uid int, env ...string) mpsfake.Attachment {
	t.Helper()
	c := mpsfake.Client{PID: pid, UID: uid, Env: map[string]string{}}
	for i := 0; i < len(env); i += 2 {
		c.Env[env[i]] = env[i+1]
	}
	at, err := d.Connect(c)
	require.NoError(t, err)
	require.NoError(t, d.Check())
	return at
}

func stateOf(t *testing.T, d *mpsfake.Daemon, pid int) mpsfake.ClientState {
	t.Helper()
	at, ok := d.Client(pid)
	require.True(t, ok)
	return at.State
}

const (
	percentEnv = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"
	limitEnv   = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"
	visibleEnv = "CUDA_VISIBLE_DEVICES"
)

// TestLimitsGoToWhoComesLater: a default to servers, a server's value to clients.
func TestLimitsGoToWhoComesLater(t *testing.T) {
	t.Parallel()
	d := daemon(t, func(c *mpsfake.Config) { c.GPUs = gpus(1) })
	share := func(pid int, env ...string) mpsfake.Share { return come(t, d, pid, 0, env...).Shares[0] }
	assert.Equal(t, 132, share(50).SMs)
	told(t, d, "set_default_active_thread_percentage 25")
	told(t, d, "set_default_device_pinned_mem_limit 0 4G")
	assert.Equal(t, 132, share(51).SMs, "the server has what it was started with")
	assert.Zero(t, share(52).LimitMiB)
	told(t, d, "set_active_thread_percentage 1001 50")
	told(t, d, "set_device_pinned_mem_limit 1001 0 8G")
	assert.Equal(t, 66, share(53).SMs)
	at, _ := d.Client(50)
	assert.Equal(t, 132, at.Shares[0].SMs, "who is there keeps what they have")
	assert.Equal(t, int64(8192), share(54).LimitMiB)
	assert.Equal(t, mpsfake.Share{UUID: gpus(1)[0].UUID, Percent: 10, SMs: 12, LimitMiB: 512},
		share(55, percentEnv, "10", limitEnv, "0=512M"), "a client may ask for less")
	assert.Equal(t, mpsfake.Share{UUID: gpus(1)[0].UUID, Percent: 50, SMs: 66, LimitMiB: 8192},
		share(56, percentEnv, "80", limitEnv, "0=16G"), "and gets no more")
	assert.Zero(t, share(57, limitEnv, "0=1G,1=1G").LimitMiB, "a device that is not there drops all limits")
	told(t, d, "shutdown_server 1001 -f")
	assert.Equal(t, mpsfake.Inactive, stateOf(t, d, 50))
	assert.Equal(t, mpsfake.Share{UUID: gpus(1)[0].UUID, Percent: 25, SMs: 32, LimitMiB: 4096}, share(58))
}

// TestTwoNamesOfOneDevice: the one that was set last counts, if UUIDs count at all.
func TestTwoNamesOfOneDevice(t *testing.T) {
	t.Parallel()
	uuid := gpus(1)[0].UUID
	for _, row := range []struct {
		ignore bool
		sets   []string
		want   int64
	}{
		{false, []string{"0 4G", uuid + " 2G"}, 2048},
		{false, []string{uuid + " 2G", "0 4G"}, 4096},
		{false, []string{"0 4G", uuid + " 2G", "0 6G"}, 6144},
		{false, []string{uuid + " 2G", "5 1G"}, 2048},
		{true, []string{"0 4G", uuid + " 2G"}, 4096},
		{true, []string{uuid + " 2G"}, 0},
	} {
		d := daemon(t, func(c *mpsfake.Config) { c.GPUs, c.IgnoreUUIDLimits = gpus(1), row.ignore })
		for _, set := range row.sets {
			told(t, d, "set_default_device_pinned_mem_limit "+set)
		}
		assert.Equal(t, row.want, come(t, d, 50, 0).Shares[0].LimitMiB, "%v", row)
	}
}

// TestEnvironmentOfTheDaemon: hidden devices renumber the others, and defaults can be
// given from the start.
func TestEnvironmentOfTheDaemon(t *testing.T) {
	t.Parallel()
	d := daemon(t, func(c *mpsfake.Config) {
		c.GPUs = gpus(3)
		c.Env = map[string]string{visibleEnv: "0,2", percentEnv: "40", limitEnv: "1=3G", "CUDA_MPS_CLIENT_PRIORITY": "1"}
	})
	at := come(t, d, 50, 0)
	require.Len(t, at.Shares, 2)
	assert.Equal(t, mpsfake.Share{Ordinal: 1, UUID: gpus(3)[2].UUID, Percent: 40, SMs: 52, LimitMiB: 3072}, at.Shares[1])
	assert.Equal(t, 1, at.Priority)
	assert.Equal(t, mpsfake.NoDevice, come(t, d, 51, 0, visibleEnv, "0,2").Code, "a client counts as the daemon does")
	assert.Equal(t, 1, come(t, d, 52, 0, visibleEnv, gpus(3)[2].UUID).Shares[0].Ordinal)
	assert.Equal(t, mpsfake.NoDevice, come(t, d, 53, 0, visibleEnv, gpus(3)[1].UUID).Code)
	told(t, d, "set_default_active_thread_percentage 10")
	told(t, d, "quit")
	assert.Empty(t, d.Start("-d").Stdout)
	assert.Equal(t, "40.0\n", told(t, d, "get_default_active_thread_percentage"), "a quit forgets what was set")
}

// TestOneUserAtATime: the next user waits until the clients of the one before are gone.
func TestOneUserAtATime(t *testing.T) {
	t.Parallel()
	d := daemon(t, nil)
	assert.Equal(t, mpsfake.Active, come(t, d, 50, 1000).State)
	assert.Equal(t, mpsfake.Pending, come(t, d, 51, 2000).State)
	assert.Equal(t, mpsfake.Active, come(t, d, 52, 1000).State)
	require.NoError(t, d.Disconnect(50))
	assert.Equal(t, mpsfake.Pending, stateOf(t, d, 51))
	require.NoError(t, d.Disconnect(52))
	assert.Equal(t, mpsfake.Active, stateOf(t, d, 51))
	assert.Equal(t, "1002\n", told(t, d, "get_server_list"))
	require.NoError(t, d.Disconnect(51))
	assert.Equal(t, "1002\n", told(t, d, "get_server_list"), "an idle server stays")

	many := daemon(t, func(c *mpsfake.Config) { c.MultiUser = true })
	assert.Equal(t, mpsfake.Active, come(t, many, 50, 1000).State)
	assert.Equal(t, mpsfake.Active, come(t, many, 51, 2000).State)
	assert.Equal(t, "50\n51\n", told(t, many, "get_client_list 1001"))

	own := daemon(t, func(c *mpsfake.Config) { c.UID = 1000 })
	assert.Equal(t, mpsfake.Active, come(t, own, 50, 1000).State)
	assert.Equal(t, mpsfake.NotPermitted, come(t, own, 51, 0).Code, "not even root")
	assert.Contains(t, told(t, own, "start_server -uid 0"), "not permitted")
}

// TestWhatAClientIsTold: every way in which a connection ends.
func TestWhatAClientIsTold(t *testing.T) {
	t.Parallel()
	d := daemon(t, func(c *mpsfake.Config) { c.GPUs, c.ClientCap = gpus(1), 2 })
	come(t, d, 50, 0)
	come(t, d, 51, 0)
	assert.Equal(t, mpsfake.MaxClientsReached, come(t, d, 52, 0).Code)
	assert.Equal(t, "0\n", told(t, d, "terminate_client 1001 50"))
	at, _ := d.Client(50)
	assert.Equal(t, mpsfake.ClientTerminated, at.Code)
	assert.Equal(t, "51\n", told(t, d, "get_client_list 1001"))
	assert.Equal(t, "1\n", told(t, d, "terminate_client 1001 50"))
	require.NoError(t, d.Fault(1001, 0))
	assert.Equal(t, mpsfake.ServerNotReady, come(t, d, 53, 0).Code)
	require.NoError(t, d.Disconnect(51))
	assert.Equal(t, mpsfake.Active, come(t, d, 54, 0).State)
	d.Kill()
	at, _ = d.Client(54)
	assert.Equal(t, mpsfake.RPCFailure, at.Code)
	assert.Equal(t, mpsfake.ConnectionFailed, come(t, d, 55, 0).Code, "a socket is there, and nobody behind it")
	d.Start("-d")
	told(t, d, "quit")
	assert.Equal(t, mpsfake.Direct, come(t, d, 56, 0).State, "no socket: it runs without MPS and does not notice")

	_, err := d.Connect(mpsfake.Client{PID: 56})
	require.ErrorIs(t, err, mpsfake.ErrInput)
	require.ErrorIs(t, d.Disconnect(1), mpsfake.ErrInput)
}

func TestSlowStartAndSlowEnd(t *testing.T) {
	t.Parallel()
	d := daemon(t, func(c *mpsfake.Config) { c.InitPolls, c.ExitPolls = 2, 2 })
	assert.Equal(t, mpsfake.Pending, come(t, d, 50, 0).State)
	assert.Equal(t, "INITIALIZING\n", told(t, d, "get_server_status 1001"))
	assert.Equal(t, "INITIALIZING\n", told(t, d, "get_server_status 1001"))
	assert.Equal(t, "ACTIVE\n", told(t, d, "get_server_status 1001"))
	assert.Equal(t, mpsfake.Active, stateOf(t, d, 50))
	told(t, d, "shutdown_server 1001")
	assert.Equal(t, mpsfake.Active, stateOf(t, d, 50), "without -f it waits for its clients")
	assert.Equal(t, mpsfake.Pending, come(t, d, 51, 0).State)
	require.NoError(t, d.Disconnect(50))
	assert.Equal(t, "1001\n1002\n", told(t, d, "get_server_list"), "one that ends and one that starts")
	assert.Equal(t, "1001\n1002\n", told(t, d, "get_server_list"))
	assert.Equal(t, "1002\n", told(t, d, "get_server_list"))
	told(t, d, "quit")
	assert.Equal(t, "1002\n", told(t, d, "get_server_list"))
	_, err := d.PIDFile()
	require.NoError(t, err)
	assert.Equal(t, 1, ask(t, d, "get_server_list").Exit)

	held := daemon(t, func(c *mpsfake.Config) { c.HoldInit = true })
	told(t, held, "start_server -uid 0")
	held.Advance()
	assert.Equal(t, "INITIALIZING\n", told(t, held, "get_server_status 1001"))
	require.NoError(t, held.ServerReady(1001))
	assert.Equal(t, "ACTIVE\n", told(t, held, "get_server_status 1001"))
	require.ErrorIs(t, held.ServerReady(1001), mpsfake.ErrInput)
}

// TestLog is a short life as its logs tell it.
func TestLog(t *testing.T) {
	t.Parallel()
	d := daemon(t, func(c *mpsfake.Config) { c.GPUs = gpus(1) })
	told(t, d, "set_default_device_pinned_mem_limit 0 5120M")
	come(t, d, 50, 1000)
	require.NoError(t, d.CrashServer(1001))
	want := `[2026-01-01 00:00:00.000 Control  1000] Starting control daemon using socket /tmp/nvidia-mps/control
[2026-01-01 00:00:00.001 Control  1000] To connect CUDA applications to this daemon, set env CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps
[2026-01-01 00:00:00.002 Control  1000] CUDA MPS Control binary version: 13010
[2026-01-01 00:00:00.003 Control  1000] Accepting connection...
[2026-01-01 00:00:00.004 Control  1000] Accepting connection...
[2026-01-01 00:00:00.005 Control  1000] User did not send valid credentials
[2026-01-01 00:00:00.006 Control  1000] Accepting connection...
[2026-01-01 00:00:00.007 Control  1000] NEW CLIENT 50 from user 1000: Server is not ready, push client to pending list
[2026-01-01 00:00:00.008 Control  1001] Starting new server 1001 for user 1000
`
	got := d.LogFrom("control.log", 0)
	assert.Equal(t, want, got[:len(want)])
	var texts []string
	for line := range strings.SplitSeq(strings.TrimSpace(got[len(want):]), "\n") {
		_, text, _ := strings.Cut(line, "] ")
		texts = append(texts, text)
	}
	assert.Equal(t, []string{
		"NEW SERVER 1001: Ready", "Server encountered a fatal exception. Shutting down",
		"Server 1001 exited with status 1", "Starting new server 1002 for user 1000", "NEW SERVER 1002: Ready",
	}, texts)
	server := d.LogFrom("server.log", 0)
	for _, line := range []string{
		"Server  1001] Startup\n", "Active Threads Percentage set to 100.0\n",
		"Device pinned memory limit for device 0 set to 0x140000000 bytes\n", "Server Priority set to 0\n",
		"Client {PID: 50, Context ID: 1} connected\n", "Creating server context on device 0 (NVIDIA H100 80GB HBM3)\n",
	} {
		assert.Contains(t, server, line)
	}
	assert.Equal(t, []string{"control.log", "server.log"}, d.LogFiles())
	assert.Empty(t, d.LogFrom("server.log", len(server)))
	assert.Empty(t, d.LogFrom("server.log", len(server)+1))
	assert.Empty(t, d.LogFrom("other.log", 0))
}

// TestOlderLog: before CUDA 13 the daemon logs the start of a server itself.
func TestOlderLog(t *testing.T) {
	t.Parallel()
	d := daemon(t, func(c *mpsfake.Config) { c.Version, c.PID = 12040, 80 })
	come(t, d, 50, 0)
	assert.Contains(t, d.LogFrom("control.log", 0), "Control    80] Starting new server 81 for user 0\n")
	assert.NotContains(t, d.LogFrom("control.log", 0), "binary version")
	assert.Contains(t, d.LogFrom("server.log", 0), "/cuda.shm.0.51.1\n")
}
